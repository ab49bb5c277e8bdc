"""Arctic Scavengers: the Game class, with GameBench's cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from gauntlet.common.errors import IllegalAction
from gauntlet.games.arctic_scavengers import players, rules, words
from gauntlet.games.arctic_scavengers.players import TOLD, worth
from gauntlet.games.arctic_scavengers.rules import Rules
from gauntlet.games.arctic_scavengers.state import (
    BLOCK,
    CONTESTED,
    GATHER,
    LOOK,
    OVER,
    RESPOND,
    Action,
    State,
    View,
    card_list,
    people,
    sample_state,
    seen_by,
)
from gauntlet.games.base import Observation, move_fault
from gauntlet.games.capabilities import full_rules

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
        (move,) = moves
        legal = self.legal(state, state.seat)
        if fault := move_fault(move, legal):
            raise IllegalAction(f"{move} {fault} in:\n{self.show(state)}")
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
        players.check(policy)
        if policy == "random":
            return (1 / len(observation.options),) * len(observation.options)
        view: View = observation.view
        state = sample_state(view, observation.seat, (), np.random.default_rng(0))
        choices = list(self._choices(state).values())
        best = players.greedy(self.settings, view, choices)
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
