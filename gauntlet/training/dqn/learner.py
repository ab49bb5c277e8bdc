"""Deep Q-learning of several seeds at once: their networks are stacked in one set of tensors.

The algorithm is RLCard 1.2.0's DQN (Mnih et al. 2013, 2015): a replay memory, a target network
copied at intervals, epsilon-greedy play, squared error, Adam, tanh between the layers and Xavier
initialisation. Like RLCard's agent and unlike Mnih's, the code whose target value counts is chosen
by the online network (double DQN, van Hasselt et al. 2016). Only legal codes are chosen, as in
RLCard. RLCard also uses batch normalisation of the input; it is left out here because it blows up
features that are rarely on.

The seeds are independent: each network is the same as if it were trained alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from gauntlet.agents.dqn.network import Network
from gauntlet.training.dqn.practice import Practice


@dataclass(frozen=True)
class Settings:
    """Hyperparameters; a step is a decision of the learner. Defaults are RLCard's, except the
    layers.

    hidden: units of each hidden layer. replay: capacity of the memory, in steps. warm_up: steps
    before the first update. explore: steps in which epsilon falls from 1 to `epsilon`.
    update_every: steps between updates; 4 in Mnih et al. 2015. sync: steps between copies to the
    target network.
    """

    hidden: tuple[int, ...] = (64, 64)
    replay: int = 20_000
    warm_up: int = 100
    batch: int = 32
    rate: float = 5e-5
    discount: float = 0.99
    explore: int = 20_000
    epsilon: float = 0.1
    update_every: int = 1
    sync: int = 1000


class Batch(NamedTuple):
    """Steps of every seed, (batch, seeds, ...). `more` is the discount, 0 where the game ended;
    `legal` marks the legal codes of the next decision."""

    features: Tensor
    codes: Tensor
    rewards: Tensor
    more: Tensor
    successors: Tensor
    legal: Tensor


class Memory:
    """Replay memory of every seed. The next slot holds the decision that follows a step."""

    def __init__(self, seeds: int, features: int, codes: int, settings: Settings) -> None:
        self.slots = settings.replay + 1
        self.settings = settings
        self.features = np.zeros((seeds, self.slots, features), np.float32)
        self.legal = np.zeros((seeds, self.slots, codes), np.bool_)
        self.codes = np.zeros((seeds, self.slots), np.int64)
        self.rewards = np.zeros((seeds, self.slots), np.float32)
        self.more = np.zeros((seeds, self.slots), np.float32)

    def sample(self, step: int, rngs: Sequence[np.random.Generator]) -> Batch:
        """Sample from the steps before `step`, whose decision must be stored already."""
        held = min(step, self.slots - 1)
        back = np.stack([rng.integers(held, size=self.settings.batch) for rng in rngs], axis=1)
        seeds = np.arange(len(rngs))
        at, after = (step - 1 - back) % self.slots, (step - back) % self.slots
        columns = (
            *(self.features[seeds, at], self.codes[seeds, at], self.rewards[seeds, at]),
            *(self.more[seeds, at], self.features[seeds, after], self.legal[seeds, after]),
        )
        return Batch(*map(torch.from_numpy, columns))


class Stack:
    """One network per seed; the first axis of every tensor is the seed."""

    def __init__(self, sizes: Sequence[int], seeds: Sequence[int]) -> None:
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        self.layers: list[tuple[Tensor, Tensor]] = []
        for inputs, outputs in pairwise(sizes):
            xavier, plain = (6 / (inputs + outputs)) ** 0.5, inputs**-0.5
            weight = [torch.rand((inputs, outputs), generator=own) for own in generators]
            bias = [torch.rand((1, outputs), generator=own) for own in generators]
            self.layers.append(
                ((torch.stack(weight) * 2 - 1) * xavier, (torch.stack(bias) * 2 - 1) * plain)
            )

    @property
    def parameters(self) -> list[Tensor]:
        return [part for layer in self.layers for part in layer]

    def values(self, features: Tensor) -> Tensor:
        """features: (batch, seeds, features). Returns (seeds, batch, codes)."""
        hidden = features.transpose(0, 1)
        for number, (weight, bias) in enumerate(self.layers):
            if number:
                hidden = hidden.tanh()
            hidden = torch.baddbmm(bias, hidden, weight)
        return hidden

    def network(self, seed: int) -> Network:
        """Return a seed's network for play."""
        return Network(
            tuple(weight[seed].detach().numpy().copy() for weight, _ in self.layers),
            tuple(bias[seed, 0].detach().numpy().copy() for _, bias in self.layers),
        )


class Learner:
    """Online and target networks with their optimizer."""

    def __init__(self, features: int, codes: int, seeds: Sequence[int], settings: Settings) -> None:
        sizes = (features, *settings.hidden, codes)
        self.online, self.target = Stack(sizes, seeds), Stack(sizes, seeds)
        for parameter in self.online.parameters:
            parameter.requires_grad_()
        self.optimizer = torch.optim.Adam(self.online.parameters, lr=settings.rate, fused=True)

    @torch.no_grad()
    def values(self, features: np.ndarray) -> np.ndarray:
        """features: (seeds, features), one decision per seed. Returns (seeds, codes)."""
        return self.online.values(torch.from_numpy(features)[None])[:, 0].numpy()

    def learn(self, batch: Batch) -> None:
        """Update every seed's network once."""
        goal = self.goal(batch)
        values = self.online.values(batch.features)
        taken = values.gather(2, batch.codes.T[..., None])[..., 0]
        loss = (taken - goal).square().mean(dim=1).sum()
        self.optimizer.zero_grad()
        torch.autograd.backward(loss)
        self.optimizer.step()

    @torch.no_grad()
    def synchronise(self) -> None:
        """Copy the online networks to the target networks."""
        for mine, theirs in zip(self.target.parameters, self.online.parameters, strict=True):
            mine.copy_(theirs)

    @torch.no_grad()
    def goal(self, batch: Batch) -> Tensor:
        """Return the target values of the chosen codes, (seeds, batch)."""
        online = self.online.values(batch.successors)
        best = online.masked_fill(~batch.legal.transpose(0, 1), -torch.inf).argmax(2, keepdim=True)
        later = self.target.values(batch.successors).gather(2, best)[..., 0]
        return batch.rewards.T + batch.more.T * later


def train(
    practices: Sequence[Practice],
    seeds: Sequence[int],
    episodes: int,
    every: int,
    settings: Settings,
) -> Iterator[tuple[int, int, int, Network]]:
    """Train one network per seed, each on its own practice, all seeds in lockstep.

    Yields (index of the seed, episodes, steps, network) whenever a seed has played `every` more
    episodes and when it has played `episodes`, until all have. Games that end without a choice are
    not counted.
    """
    numbers = [count() for _ in seeds]
    for practice, number in zip(practices, numbers, strict=True):
        begin(practice, number)
    features, codes = len(practices[0].features), len(practices[0].legal)
    learner = Learner(features, codes, seeds, settings)
    memory = Memory(len(seeds), features, codes, settings)
    rngs = [np.random.default_rng((seed, 0)) for seed in seeds]
    games_played = [0] * len(seeds)
    for step in count():
        slot = step % memory.slots
        for index, practice in enumerate(practices):
            memory.features[index, slot] = practice.features
            memory.legal[index, slot] = practice.legal
        if step >= settings.warm_up and step % settings.update_every == 0:
            learner.learn(memory.sample(step, rngs))
        if step % settings.sync == 0:
            learner.synchronise()
        values = learner.values(memory.features[:, slot])
        epsilon = max(settings.epsilon, 1 - (1 - settings.epsilon) * step / settings.explore)
        for index, practice in enumerate(practices):
            code = choose(values[index], practice.legal, epsilon, rngs[index])
            on = practice.take(code)
            memory.codes[index, slot] = code
            memory.rewards[index, slot] = 0.0 if on else practice.result
            memory.more[index, slot] = settings.discount if on else 0.0
            if on:
                continue
            begin(practice, numbers[index])
            games_played[index] += 1
            due = games_played[index] % every == 0 or games_played[index] == episodes
            if due and games_played[index] <= episodes:
                yield index, games_played[index], step + 1, learner.online.network(index)
        if min(games_played) >= episodes:
            return


def begin(practice: Practice, numbers: Iterator[int]) -> None:
    """Begin the next game that has a choice."""
    while not practice.begin(next(numbers)):
        pass


def choose(values: np.ndarray, legal: np.ndarray, epsilon: float, rng: np.random.Generator) -> int:
    """Return a random legal code with probability `epsilon`, else the one of the highest value."""
    codes = np.flatnonzero(legal)
    if rng.random() < epsilon:
        return int(codes[rng.integers(len(codes))])
    return int(codes[values[codes].argmax()])


def one_thread() -> None:
    """Use one thread, the fastest for matrices of this size."""
    torch.set_num_threads(1)
