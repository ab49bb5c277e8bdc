"""Arctic Scavengers: the Game class, with GameBench's cards, and the scripted players with their
evaluation of cards and positions, in people of the tribe at the end.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from gauntlet.games.arctic_scavengers import rules, words
from gauntlet.games.arctic_scavengers.rules import Rules, apply_action, hires, tribes_count
from gauntlet.games.arctic_scavengers.state import (
    BLOCK,
    CARDS,
    CONTESTED,
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
    card_list,
    people,
    remove_cards,
    sample_state,
    seen_by,
    strength,
)
from gauntlet.games.base import Observation, only_move
from gauntlet.games.capabilities import full_rules
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


KEEPS, STRIKES = 6, 7
NONE = BLOCK - 1
"""Actions besides those of `rules.actions`: KEEPS or STRIKES times BLOCK plus the kind of a card,
NONE for no card."""

Choice = Action | int | None
"""The meaning of an option: an action of the gathering seat, or a kind of card to keep or strike,
or none."""


@dataclass(frozen=True)
class ArcticScavengers:
    """Two tribes of GameBench's Arctic Scavengers.

    rounds: 1 to 20; the last five end in a skirmish each. paper_bugs: plays as the published code
    does: five rounds at most, hiring is free, any number of tools on one card, all fight values
    count, no snipers, saboteurs can strike repeatedly, a dug card must be kept, and at the end only
    the people of the last hand count, with ties for player 1.

    Raises ValueError for invalid settings.
    """

    num_seats: int = 2
    rounds: int = 6
    paper_bugs: bool = False

    policies: ClassVar[tuple[str, ...]] = tuple(TOLD)
    told_policies: ClassVar[Mapping[str, str]] = TOLD

    def __post_init__(self) -> None:
        if self.num_seats != 2:
            raise ValueError(f"Arctic Scavengers seats 2 players here, got {self.num_seats}")
        if not 1 <= self.rounds <= 20:
            raise ValueError(f"rounds is {self.rounds}; a game has 1 to 20")

    @cached_property
    def settings(self) -> Rules:
        """The settings in the form that the rules take."""
        rounds = min(self.rounds, len(CONTESTED)) if self.paper_bugs else self.rounds
        return Rules(rounds, self.paper_bugs)

    @property
    def rules_summary(self) -> str:
        return words.summary(self.settings.rounds, self.paper_bugs)

    @property
    def rules_headings(self) -> Mapping[str, str]:
        return words.headings(self.settings.peaceful, self.paper_bugs)

    def deal(self, rng: np.random.Generator) -> State:
        return rules.initial_state(self.settings, rng)

    def to_move(self, state: State) -> tuple[int, ...]:
        return () if state.phase == OVER else (state.seat,)

    def legal(self, state: State, seat: int) -> tuple[int, ...]:
        return tuple(self._choices(state)) if self.to_move(state) == (seat,) else ()

    def _choices(self, state: State) -> Mapping[int, Choice]:
        """Return the meaning of each legal action, in order."""
        if state.phase == GATHER:
            return rules.actions(self.settings, state)
        if state.phase == LOOK:
            choices: dict[int, Choice] = {
                KEEPS * BLOCK + kind: kind for kind in sorted(set(state.junkyard[: state.looking]))
            }
            return choices if self.paper_bugs else {**choices, KEEPS * BLOCK + NONE: None}
        return {
            **{STRIKES * BLOCK + kind: kind for kind in self._targets(state)},
            STRIKES * BLOCK + NONE: None,
        }

    def _targets(self, state: State) -> tuple[int, ...]:
        if state.phase != RESPOND or state.pending is None:
            return rules.strikes(self.settings, state)
        return rules.targets(self.settings, state.tribes[state.seat].hand, state.pending.cards)

    def play(self, state: State, moves: Sequence[int]) -> State:
        move = only_move(self, state, moves)
        choice = self._choices(state)[move]
        if isinstance(choice, Action):
            return rules.announced(self.settings, state, choice)
        if state.phase == LOOK:
            return rules.keep_card(self.settings, state, choice)
        if state.phase == RESPOND:
            return rules.responded(self.settings, state, choice)
        if choice is None:
            return rules.end_strikes(self.settings, state)
        return rules.struck(self.settings, state, choice)

    def observe(self, state: State, seat: int) -> Observation:
        view = seen_by(state, seat)
        settings = self.settings
        return Observation(
            game=words.TITLE,
            seat=seat,
            rules=self._rules,
            facts=words.facts(view, seat, settings.rounds, settings.peaceful, self.paper_bugs),
            history=state.history,
            options=tuple(
                self._option_text(state.phase, one) for one in self._choices(state).values()
            ),
            view=view,
        )

    @cached_property
    def _rules(self) -> str:
        return full_rules(self)

    def _option_text(self, phase: int, choice: Choice) -> str:
        if isinstance(choice, Action):
            return words.option(choice, self.paper_bugs)
        if phase == LOOK:
            return words.keep(choice)
        if choice is None:
            return "let it happen" if phase == RESPOND else "hold"
        return words.strike(choice)

    def sample(self, observation: Observation, rng: np.random.Generator) -> State:
        """Return a state consistent with what the seat knows, with hidden cards uniformly
        distributed. It ignores what the seat could remember of cards at the bottom of the junkyard.
        """
        return sample_state(observation.view, observation.seat, observation.history, rng)

    def probabilities(self, policy: str, observation: Observation) -> tuple[float, ...]:
        check(policy)
        if policy == "random":
            return (1 / len(observation.options),) * len(observation.options)
        view: View = observation.view
        state = sample_state(view, observation.seat, (), np.random.default_rng(0))
        choices = list(self._choices(state).values())
        best = greedy(self.settings, view, choices)
        return tuple(float(at == best) for at in range(len(choices)))

    @property
    def draws(self) -> bool:
        """In the published code a tie goes to the second tribe."""
        return not self.paper_bugs

    def returns(self, state: State) -> tuple[float, ...]:
        first, second = rules.tribes_count(self.settings, state)
        if first == second and not self.paper_bugs:
            return 0.0, 0.0
        return (1.0, -1.0) if first > second else (-1.0, 1.0)

    def worth(self, state: State, seat: int) -> float:
        """From the people of both tribes, what their cards will bring, and this round's
        skirmish."""
        return worth(self.settings, state, seat)

    def show(self, state: State) -> str:
        lines = [f"round {state.round + 1} of {self.settings.rounds}"]
        for seat, tribe in enumerate(state.tribes):
            lines.append(
                f"player {seat}, {people(tribe.cards)} people: hand {card_list(tribe.hand)}; "
                f"next in reserve {_row(tribe.reserve)}; used {card_list(tribe.aside)}"
            )
        lines.append(
            f"junkyard of {len(state.junkyard)}: {_row(state.junkyard[:5])}; contested: "
            f"{_row(state.contested)}"
        )
        if state.phase == OVER:
            first, second = rules.tribes_count(self.settings, state)
            lines.append(f"over: {first} people against {second}")
        return "\n".join(lines)


def _row(cards: Sequence[int]) -> str:
    return ", ".join(card_list((kind,)) for kind in cards) or "none"
