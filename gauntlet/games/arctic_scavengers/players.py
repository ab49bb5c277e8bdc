"""Arctic Scavengers' scripted players and their evaluation of cards and positions, in people of the
tribe at the end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from gauntlet.games.arctic_scavengers.rules import Rules, apply_action, hires, tribes_count
from gauntlet.games.arctic_scavengers.state import (
    CARDS,
    DIG,
    DRAW,
    FIGHT,
    GATHER,
    HIRE,
    HUNT,
    JUNK,
    LOOK,
    OVER,
    RESPOND,
    SKIRMISH,
    STOP,
    TRASH,
    Action,
    Hand,
    State,
    View,
    people,
    remove_cards,
    strength,
)
from gauntlet.games.playouts import check_known_policy

TOLD = {
    "random": "does anything that is allowed",
    "greedy": "hunts with the fewest cards that pay a mercenary, hires the best one, digs where "
    "that costs little fight value, trashes junk, keeps the rest, and strikes whenever it can",
}
"""What each policy does, by name."""


def check(policy: str) -> None:
    """Raises ValueError for an unknown policy."""
    check_known_policy("Arctic Scavengers", policy, TOLD)


def greedy(rules: Rules, view: View, options: Sequence[Action | int | None]) -> int:
    """Return the index of the greedy player's option. The options are actions while it gathers,
    else kinds of cards, or None for none."""
    rounds_left = rules.rounds - 1 - view.round
    if view.phase == GATHER:
        actions = [one for one in options if isinstance(one, Action)]
        return actions.index(_gathered(rules, view, actions, rounds_left))
    kinds = [-1 if one is None else int(one) for one in options if not isinstance(one, Action)]
    if view.phase == LOOK:
        return max(
            range(len(kinds)), key=lambda at: 0 if kinds[at] < 0 else asset(kinds[at], rounds_left)
        )
    hand = view.shown if view.phase == SKIRMISH else ()
    return max(range(len(kinds)), key=lambda at: _hurt(rules, hand, kinds[at]))


def _gathered(rules: Rules, view: View, actions: Sequence[Action], rounds_left: int) -> Action:
    hand = view.own.hand

    def costs(action: Action) -> int:
        return loss(hand, remove_cards(hand, action.cards), rules.loose)

    by_verb = {
        verb: [one for one in actions if one.verb == verb]
        for verb in (DIG, HUNT, HIRE, TRASH, STOP)
    }
    if by_verb[HIRE]:
        return max(by_verb[HIRE], key=lambda choice: asset(choice.hired, rounds_left))
    if HIRE not in view.taken and by_verb[HUNT]:
        return min(by_verb[HUNT], key=lambda choice: (len(choice.cards), costs(choice)))
    digs = [one for one in by_verb[DIG] if costs(one) <= 1]
    if digs:
        return min(digs, key=costs)
    return next((one for one in by_verb[TRASH] if one.cards == (JUNK,)), by_verb[STOP][0])


def _hurt(rules: Rules, hand: Hand, kind: int) -> tuple[int, int, int]:
    """Return how much losing a card hurts the other seat; for a shown hand, first in fight
    value."""
    if kind < 0:
        return (0, 0, 0)
    lost = loss(hand, remove_cards(hand, (kind,)), rules.loose) if hand else 0
    return (lost, CARDS[kind].people, max(CARDS[kind].values[FIGHT], 0) + 1)


PER_ROUND = {FIGHT: 0.12, HUNT: 0.08, DIG: 0.06, DRAW: 0.05}
"""What a point of each value brings per remaining round."""
CURE = 0.08
"""What a point of medicine brings per remaining round."""
CROWDING = 0.08
"""What every card costs per remaining round by diluting the deck."""
SPREAD = 1.0
"""Lead in fight value that wins a skirmish about three times in four."""
SCALE = 4.0
"""Lead in people that makes a tribe about three times as likely to win."""


@lru_cache(maxsize=1 << 10)
def asset(kind: int, rounds_left: int) -> float:
    """Return the value of a card to its owner with `left` rounds to come."""
    card = CARDS[kind]
    brings = sum(rate * max(card.values[action], 0) for action, rate in PER_ROUND.items())
    return card.people + rounds_left * (brings + CURE * card.medicine - CROWDING)


def worth(rules: Rules, state: State, seat: int) -> float:
    """Return the value of the state for `seat`, 0 to 1."""
    if state.phase == OVER:
        return score(rules, state, seat)
    if state.phase == RESPOND:
        assert state.pending is not None
        state = apply_action(rules, without_response(state), state.pending)
        return worth(rules, state, seat)
    lead = _lead(rules, state)
    return 1 / (1 + math.exp(-(lead if seat == 0 else -lead) / SCALE))


def without_response(state: State) -> State:
    """Return the state as if the other seat had not been offered a response."""
    return state._replace(phase=GATHER, seat=state.turn, pending=None)


def score(rules: Rules, state: State, seat: int) -> float:
    first, second = tribes_count(rules, state)
    if first == second and not rules.loose:
        return 0.5
    return float((first > second) == (seat == 0))


def _lead(rules: Rules, state: State) -> float:
    """Return the lead of seat 0, in people."""
    rounds_left = rules.rounds - 1 - state.round
    first, second = (
        sum(asset(kind, rounds_left) for kind in tribe.cards) for tribe in state.tribes
    )
    if rules.loose and rounds_left == 0:
        first, second = (float(people(tribe.hand)) for tribe in state.tribes)
    own = _promised(rules, state, rounds_left)
    lead = first - second + (own if state.seat == 0 else -own)
    if state.round < rules.peaceful or not state.contested:
        return lead
    prize = sum(asset(kind, rounds_left) for kind in state.contested) / len(state.contested)
    return lead + prize * (2 * _skirmish(rules, state) - 1)


def _promised(rules: Rules, state: State, rounds_left: int) -> float:
    """Return what the acting seat can get at once: a dug card, or a mercenary it can pay for."""
    if state.phase == LOOK:
        cards = state.junkyard[: state.looking]
        return max(0.0, *(asset(kind, rounds_left) for kind in cards))
    if state.phase != GATHER or HIRE in state.taken or not state.food:
        return 0.0
    return max((asset(one.hired, rounds_left) for one in hires(rules, state)), default=0.0)


def _skirmish(rules: Rules, state: State) -> float:
    """Return the probability that seat 0 wins this round's skirmish."""
    fights = [float(strength(tribe.hand, rules.loose)) for tribe in state.tribes]
    edge = fights[0] - fights[1]
    if edge == 0:
        edge = 0.1 * (people(state.tribes[0].hand) - people(state.tribes[1].hand))
    return 1 / (1 + math.exp(-edge / SPREAD))


def loss(hand: Hand, after: Hand, loose: bool) -> int:
    return strength(hand, loose) - strength(after, loose)
