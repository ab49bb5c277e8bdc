"""The pocket model's UNO teacher: a small value network, fitted to Monte Carlo playouts.

It uses only what the seat to move can see. Each option is described by some twenty counts, which a
network with one hidden layer maps to a value. The first network is fitted to playouts with random
players; each later one to playouts in which the measured seat follows the previous network, so that
it learns the value of an option for a player who continues to play well. The others always play at
random.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from gauntlet.games.compiling import below, derive, nth_of, number_of
from gauntlet.games.uno import policies, rules
from gauntlet.games.uno.rules import allocating, cached

SIZES = (6, 11, 7, 7, 7, 7, 4, 3, 12, 12, 12, 4, 4, 4, 4, 4, 5, 6)
"""Number of values of each count of `describe`; larger counts are clipped."""

STARTS = np.concatenate(([0], np.cumsum(SIZES)[:-1]))
FEATURES = len(SIZES)
LIMITS = np.array(SIZES) - 1
HIDDEN = 64
MOST = 16
"""Decisions with more options are left out of the fit."""


class Network(NamedTuple):
    """inner: (sum of SIZES, HIDDEN), bias and outer: (HIDDEN,); all float32."""

    inner: np.ndarray
    bias: np.ndarray
    outer: np.ndarray


class Sample(NamedTuple):
    """Decisions. features: int64 (decisions, MOST, FEATURES); worth: float64 (decisions, MOST), the
    share of playouts won; options: int64 (decisions,), how many of MOST are real."""

    features: np.ndarray
    worth: np.ndarray
    options: np.ndarray


@allocating
def describe(state: np.ndarray, action: int, row: np.ndarray) -> None:
    """Fill `row` (FEATURES) with the features of playing `action`: rows of `Network.inner`."""
    seat, seats = state[rules.TO_MOVE], state[rules.SEATS]
    hand = rules.hand_of(seat)
    colour, trait = action // 15, action % 15
    colours, traits = np.zeros(4, np.int64), np.zeros(15, np.int64)
    held = np.zeros(64, np.bool_)
    playable = False
    for place in range(hand + 1, hand + 1 + state[hand]):
        card = state[place]
        if not playable and rules.plays(action, card):
            playable = True
            continue
        traits[rules.trait_of(card)] += 1
        if rules.trait_of(card) < rules.WILD:
            colours[rules.kind_of(card) // 15] += 1
            held[rules.kind_of(card)] = True
    colour_count = colours[colour]
    colours[colour] = -1
    others = np.sort(colours)
    bridges = effects = 0
    for kind in range(rules.WILD):
        if held[15 * colour + kind]:
            effects += kind == rules.SKIP or kind == rules.DRAW_TWO
            for other in range(4):
                bridges += other != colour and held[15 * other + kind]
    penalty = 2 * (trait == rules.DRAW_TWO) + 4 * (trait == rules.WILD_DRAW_FOUR)
    passed = penalty > 0 or trait == rules.SKIP
    direction = -state[rules.DIRECTION] if trait == rules.REVERSE else state[rules.DIRECTION]
    next_seat = (seat + direction) % seats
    fewest = 99 if seats > 2 else 0
    for other in range(seats):
        if other != seat and other != next_seat:
            fewest = min(fewest, state[rules.hand_of(other)])
    row[0] = max(trait - 9, 0)
    row[1] = state[hand] - 1
    row[2] = colour_count
    row[3], row[4], row[5] = others[3], others[2], others[1]
    row[6], row[7] = traits[rules.WILD], traits[rules.WILD_DRAW_FOUR]
    row[8] = state[rules.hand_of(next_seat)] + penalty
    row[9] = fewest
    row[10] = 2 * min(seats - 2, 5) + passed
    row[11] = traits[trait] if trait < rules.WILD else 0
    row[12], row[13], row[14] = (
        traits[rules.DRAW_TWO],
        traits[rules.SKIP],
        traits[rules.REVERSE],
    )
    row[15] = effects
    row[16] = (colour_count > 0) + (others[3] > 0) + (others[2] > 0) + (others[1] > 0)
    row[17] = bridges
    for feature in range(FEATURES):
        row[feature] = STARTS[feature] + min(row[feature], LIMITS[feature])


@partial(cached, fastmath=True)
def rate(network: Network, row: np.ndarray) -> float:
    """The network's value of an option as a win probability, up to a constant per decision."""
    total = np.float32(0)
    for unit in range(HIDDEN):
        value = network.bias[unit]
        for feature in range(FEATURES):
            value += network.inner[row[feature], unit]
        total += max(value, np.float32(0)) * network.outer[unit]
    return float(total)


@allocating
def ratings(network: Network, state: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """Return the value of each action, float64; differences are differences in win probability."""
    row = np.empty(FEATURES, np.int64)
    worth = np.empty(len(actions))
    for option in range(len(actions)):
        describe(state, actions[option], row)
        worth[option] = rate(network, row)
    return worth


@allocating
def best(network: Network, state: np.ndarray, actions: int, row: np.ndarray) -> int:
    """Return the legal action with the highest rating."""
    chosen, highest = -1, -np.inf
    for option in range(number_of(actions)):
        action = nth_of(actions, option)
        describe(state, action, row)
        rating = rate(network, row)
        if rating > highest:
            chosen, highest = action, rating
    return chosen


@allocating
def move(
    network: Network, state: np.ndarray, follows: bool, key: np.uint64, row: np.ndarray
) -> int:
    """Return the network's action, or a random one."""
    actions = rules.legal(state)
    if actions & (actions - 1) == 0:
        return nth_of(actions, 0)
    if follows:
        return best(network, state, actions, row)
    return nth_of(actions, below(number_of(actions), key, state[rules.PLY]))


@allocating
def playout(network: Network, state: np.ndarray, seat: int, key: np.uint64, row: np.ndarray) -> int:
    """Play on in place, `seat` (-1: none) by the network; return the winner, -1 for none."""
    while not rules.over(state):
        rules.step(state, move(network, state, state[rules.TO_MOVE] == seat, key, row))
    return int(state[rules.WINNER])


@allocating
def sample(network: Network, follow: bool, seats: int, decisions: int, n: int, seed: int) -> Sample:
    """Return decisions from games in which the measured seat, each in turn, follows the network
    except for every third move, with the share of `n` playouts won by each option.

    follow: whether the measured seat follows the network in the playouts, or plays at random too.
    """
    features = np.zeros((decisions, MOST, FEATURES), np.int64)
    worth = np.zeros((decisions, MOST))
    options = np.zeros(decisions, np.int64)
    row = np.empty(FEATURES, np.int64)
    state, start, trial = rules.blank(seats), rules.blank(seats), rules.blank(seats)
    done = game = 0
    state[rules.WINNER] = 0
    while done < decisions:
        if rules.over(state):
            game += 1
            rules.deal(state, seats, int(np.int64(derive(seed, 2, game))))
        key = derive(seed, 3, game)
        ply = state[rules.PLY]
        actions = rules.legal(state)
        count = number_of(actions)
        mine = state[rules.TO_MOVE] == game % seats
        if mine and 1 < count <= MOST:
            options[done] = count
            start[:] = state
            for playing in range(n):
                trick = derive(int(key), 4 + ply % 50, playing)
                policies.redeal(start, start[rules.TO_MOVE], trick)
                start[rules.SEED] = np.int64(trick)
                for option in range(count):
                    trial[:] = start
                    rules.step(trial, nth_of(actions, option))
                    seat = state[rules.TO_MOVE]
                    won = playout(network, trial, seat if follow else -1, trick, row) == seat
                    worth[done, option] += won / n
            for option in range(count):
                describe(state, nth_of(actions, option), features[done, option])
            done += 1
        follows = mine and below(3, key, ply + 10000) > 0
        rules.step(state, move(network, state, follows, key, row))
    return Sample(features, worth, options)


def blank_network() -> Network:
    return Network(
        np.zeros((sum(SIZES), HIDDEN), np.float32),
        np.zeros(HIDDEN, np.float32),
        np.zeros(HIDDEN, np.float32),
    )


def fit(samples: Sequence[Sample], seed: int, passes: int = 8, batch: int = 1024) -> Network:
    """Fit a network to each option's value relative to the decision's mean.

    Only differences within a decision matter for play, and the playouts measure them best, since
    all options of a decision share the same cards.
    """
    arrays = (np.concatenate(part) for part in zip(*samples, strict=True))
    features, worth, options = map(torch.from_numpy, arrays)
    real = torch.arange(MOST) < options[:, None]
    generator = torch.Generator().manual_seed(seed)
    inner = torch.randn((sum(SIZES), HIDDEN), generator=generator) * 0.1
    bias = torch.zeros(HIDDEN)
    outer = torch.randn(HIDDEN, generator=generator) * 0.05
    weights = [weight.requires_grad_() for weight in (inner, bias, outer)]
    optimizer = torch.optim.Adam(weights)
    steps = passes * (len(real) // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.01, total_steps=steps)
    for _ in range(passes):
        order = torch.randperm(len(real), generator=generator)
        for start in range(0, len(real) - batch + 1, batch):
            indices = order[start : start + batch]
            rows = functional.embedding_bag(features[indices][real[indices]], inner, mode="sum")
            rating = torch.zeros(batch, MOST)
            rating[real[indices]] = (rows + bias).relu() @ outer
            gap = centred(rating - worth[indices].float(), real[indices])
            optimizer.zero_grad()
            torch.autograd.backward(gap.square().sum() / real[indices].sum())
            optimizer.step()
            schedule.step()
    return Network(*(weight.detach().numpy() for weight in weights))


def centred(values: Tensor, real: Tensor) -> Tensor:
    """Values, (decisions, MOST), minus the mean over the decision's real options; 0 elsewhere."""
    mean = (values * real).sum(1, keepdim=True) / real.sum(1, keepdim=True)
    return (values - mean) * real


def teach(seed: int, decisions: int, rounds: int = 3) -> Network:
    """Return the network after `rounds` rounds; a tenth of the decisions each from three and four
    seats.

    The first round's playouts are cheap, the later ones cost a network evaluation per move: hence
    many playouts per decision in the first round, few in the others.
    """
    network = blank_network()
    samples: list[Sample] = []
    for number in range(rounds):
        previous = samples if number > 1 else []
        sizes = {2: decisions * 8 // 10, 3: decisions // 10, 4: decisions // 10}
        fresh = [
            sample(
                network, number > 0, seats, size, 6 if number else 30, seed + 100 * number + seats
            )
            for seats, size in sizes.items()
        ]
        samples = [*previous, *fresh]
        network = fit(samples, seed + number)
    return network
