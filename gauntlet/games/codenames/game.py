"""Codenames: the Game class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gauntlet.common.errors import IllegalAction
from gauntlet.games.base import Action, Observation, TextAction, TextMove, move_fault
from gauntlet.games.capabilities import MATCH_SCORE, Measure, full_rules
from gauntlet.games.codenames import players, rules, words
from gauntlet.games.codenames.clues import NOUNS, clue_spec
from gauntlet.games.codenames.players import sample_key, worth
from gauntlet.games.codenames.rules import CARDS, COUNTS, STOP, State, Turn
from gauntlet.games.codenames.words import ROLES, SPYMASTERS, to_act


@dataclass(frozen=True)
class View:
    """What a role knows: the kinds of the words, -1 if unknown, and all turns."""

    role: int
    words: tuple[str, ...]
    seen: tuple[int, ...]
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class Codenames:
    """Red against blue, each a spymaster and an operative, as in GameBench (arXiv 2406.06613).

    num_seats: 2, one per team, or 4, one per role. paper_bugs: True plays by the published code:
    clues are not checked, a 0 allows one guess, guessing is optional, and a team that meets
    the assassin with its last allowed guess wins.

    An action is a clue's number, the place of a word, or `STOP`. Raises ValueError for other seats.
    """

    num_seats: int = 2
    paper_bugs: bool = False

    policies: ClassVar[tuple[str, ...]] = tuple(players.TOLD)
    told_policies: ClassVar[Mapping[str, str]] = players.TOLD
    measures: ClassVar[tuple[Measure, ...]] = (MATCH_SCORE,)
    rules_summary: ClassVar[str] = words.SUMMARY

    def __post_init__(self) -> None:
        ROLES.check("codenames", self.num_seats)

    @property
    def rules_headings(self) -> Mapping[str, str]:
        return words.headings(self.paper_bugs)

    @property
    def seatings(self) -> tuple[tuple[int, ...], ...]:
        return ROLES.seatings(self.num_seats)

    def deal(self, rng: np.random.Generator) -> State:
        board = rng.choice(len(NOUNS), CARDS, replace=False).tolist()
        key = rng.permutation(np.repeat(np.arange(len(COUNTS)), COUNTS)).tolist()
        return State(tuple(NOUNS[noun] for noun in board), tuple(key))

    def to_move(self, state: State) -> tuple[int, ...]:
        if rules.over(state, self.paper_bugs):
            return ()
        return (ROLES.seat(self.num_seats, to_act(state.turns)),)

    def legal(self, state: State, seat: int) -> tuple[Action, ...]:
        return self._options(state) if self.to_move(state) == (seat,) else ()

    def _options(self, state: State) -> tuple[Action, ...]:
        """Return clues for up to the team's number of hidden words; or the hidden words, and STOP
        once a word has been guessed."""
        turn = rules.pending(state.turns)
        if turn is None:
            most = rules.hidden_counts(state)[rules.team_of(state.turns)]
            spec = clue_spec(state.words, self.paper_bugs)
            return tuple(TextAction(number, spec) for number in range(most + 1))
        lies_open = rules.guessed(state.turns)
        hidden = tuple(place for place in range(CARDS) if place not in lies_open)
        return (*hidden, STOP) if turn.guesses or self.paper_bugs else hidden

    def play(self, state: State, moves: Sequence[Action]) -> State:
        seats = self.to_move(state)
        if not seats or len(moves) != 1:
            raise IllegalAction(f"moves {list(moves)} for seats {seats} in\n{self.show(state)}")
        (move,) = moves
        if fault := move_fault(move, self._options(state)):
            raise IllegalAction(f"move {move} {fault} in\n{self.show(state)}")
        if isinstance(move, TextMove):
            return rules.with_clue(state, move.text, int(move))
        return rules.with_guess(state, int(move), self.paper_bugs)

    def observe(self, state: State, seat: int) -> Observation:
        role = to_act(state.turns)
        lies_open = rules.guessed(state.turns)
        knows_all = role in SPYMASTERS
        visible = tuple(
            kind if knows_all or place in lies_open else -1 for place, kind in enumerate(state.key)
        )
        return Observation(
            game=words.TITLE,
            seat=seat,
            rules=full_rules(self),
            facts=tuple(words.facts(state, role, self.paper_bugs)),
            history=tuple(words.history(state, self.paper_bugs)),
            options=tuple(
                words.option(role, int(action), state.words) for action in self.legal(state, seat)
            ),
            view=View(role, state.words, visible, state.turns),
            role=ROLES.role(self.num_seats, role),
            team=ROLES.team(self.num_seats, role),
        )

    def returns(self, state: State) -> tuple[float, ...]:
        """Twice the score, minus 1."""
        return tuple(2 * score - 1 for score in self._scores(state))

    def measure(self, state: State) -> Mapping[str, Sequence[float]]:
        return {MATCH_SCORE.name: self._scores(state)}

    def _scores(self, state: State) -> tuple[float, ...]:
        return ROLES.each_seat(self.num_seats, rules.shares(state, self.paper_bugs))

    def show(self, state: State) -> str:
        return words.show_board(state)

    def sample(self, observation: Observation, rng: np.random.Generator) -> State:
        """Return a state consistent with what the role knows; for an operative the key is drawn
        from its posterior given the clues."""
        view: View = observation.view
        if view.role in SPYMASTERS:
            return State(view.words, view.seen, view.turns)
        key = sample_key(view.words, view.seen, view.turns, rng)
        return State(view.words, key, view.turns)

    def probabilities(self, policy: str, observation: Observation) -> tuple[float, ...]:
        players.check(policy)
        options = len(observation.options)
        if policy == "random":
            return (1 / options,) * options
        view: View = observation.view
        if view.role in SPYMASTERS:
            state = State(view.words, view.seen, view.turns)
            number = players.best_number(state, self.paper_bugs)
            return tuple(float(option == number) for option in range(options))
        opened = rules.guessed(view.turns)
        places = [place for place in range(CARDS) if place not in opened]
        actions = [*places, STOP] if len(places) < options else places
        return players.guess_chances(view.words, view.turns, actions)

    def words(
        self, policy: str, observation: Observation, option: int, rng: np.random.Generator
    ) -> str:
        """Return a clue for the number of the option."""
        view: View = observation.view
        state = State(view.words, view.seen, view.turns)
        clues = players.best_clues(state, option, self.paper_bugs)
        return clues[int(rng.integers(len(clues)))]

    def worth(self, state: State, seat: int) -> float:
        team = seat if self.num_seats == 2 else ROLES.teams[seat]
        return worth(state, team, self.paper_bugs)
