"""Two Rooms and a Boom: the Game class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gauntlet.games.base import Action, Observation, TextAction, TextMove, only_move
from gauntlet.games.capabilities import full_rules
from gauntlet.games.two_rooms import rules, words
from gauntlet.games.two_rooms.rules import (
    ANSWER,
    BLUE,
    MIXING,
    PEOPLE,
    QUESTION,
    RED,
    State,
    View,
    known_kin,
    sample_state,
)
from gauntlet.games.two_rooms.words import ROLES


@dataclass(frozen=True)
class TwoRooms:
    """Blue against red, three people each, as in GameBench (arXiv 2406.06613).

    num_seats: 2, one per team, or 6, one per person. rounds: of questions and hostages. paper_bugs:
    True plays by the published code: nobody knows who president and bomber are, and others in a
    room do not hear what two say.

    An action is the number of the person to ask, answer or send. Raises ValueError for other seats
    and for rounds outside 1 to 20.
    """

    num_seats: int = 2
    rounds: int = 3
    paper_bugs: bool = False

    policies: ClassVar[tuple[str, ...]] = tuple(rules.TOLD)
    told_policies: ClassVar[Mapping[str, str]] = rules.TOLD
    rules_summary: ClassVar[str] = words.SUMMARY

    def __post_init__(self) -> None:
        ROLES.check("two rooms", self.num_seats)
        if not 1 <= self.rounds <= 20:
            raise ValueError(f"rounds is {self.rounds}; a match has 1 to 20")

    @property
    def rules_headings(self) -> Mapping[str, str]:
        return words.headings(self.rounds, self.paper_bugs)

    @property
    def seatings(self) -> tuple[tuple[int, ...], ...]:
        return ROLES.seatings(self.num_seats)

    def deal(self, rng: np.random.Generator) -> State:
        roles = tuple(rng.permutation(PEOPLE).tolist())
        teams = [role // (PEOPLE // 2) for role in roles]
        president, bomber = (int(rng.choice(rules.within(teams, side))) for side in (BLUE, RED))
        rooms = self._mixed(teams, rng) if self.paper_bugs else rng.permutation([0, 0, 0, 1, 1, 1])
        first, second = (int(rng.choice(np.flatnonzero(rooms == room))) for room in rules.ROOMS)
        return State(roles, president, bomber, (first, second), (tuple(rooms.tolist()),))

    def _mixed(self, teams: Sequence[int], rng: np.random.Generator) -> np.ndarray:
        """Start with blue in room 0 and red in room 1, then repeatedly swap two random people."""
        rooms = np.array(teams)
        for _ in range(MIXING):
            moving = [rng.choice(np.flatnonzero(rooms == room)) for room in rules.ROOMS]
            rooms[moving] = 1 - rooms[moving]
        return rooms

    def to_move(self, state: State) -> tuple[int, ...]:
        if rules.number(state) == self.rounds:
            return ()
        return (ROLES.seat(self.num_seats, state.roles[rules.acting(state)]),)

    def legal(self, state: State, seat: int) -> tuple[Action, ...]:
        return self._options(state) if self.to_move(state) == (seat,) else ()

    def _options(self, state: State) -> tuple[Action, ...]:
        if rules.unanswered(state):
            return (TextAction(state.talk[-1].asker, ANSWER),)
        people = rules.room_mates(state, rules.acting(state))
        if rules.trading(state):
            return tuple(people)
        return tuple(TextAction(person, QUESTION) for person in people)

    def play(self, state: State, moves: Sequence[Action]) -> State:
        move = only_move(self, state, moves, self._options(state))
        if not isinstance(move, TextMove):
            return rules.with_hostage(state, int(move))
        if rules.unanswered(state):
            return rules.with_answer(state, move.text)
        return rules.with_question(state, int(move), move.text)

    def observe(self, state: State, seat: int) -> Observation:
        """Return what the person knows for whom the seat acts."""
        role = state.roles[rules.acting(state)]
        return Observation(
            game=words.TITLE,
            seat=seat,
            rules=full_rules(self),
            facts=tuple(words.facts(state, self.rounds, self.paper_bugs)),
            history=words.history(state),
            options=tuple(words.option(state, int(one)) for one in self._options(state)),
            view=self._view(state),
            role=ROLES.role(self.num_seats, role),
            team=ROLES.team(self.num_seats, role),
        )

    def _view(self, state: State) -> View:
        person = rules.acting(state)
        heard_exchanges = dict(rules.heard_exchanges(state, person, self.paper_bugs))
        special = None if self.paper_bugs else person in (state.president, state.bomber)
        return View(
            person=person,
            role=state.roles[person],
            special=special,
            kin=known_kin(state, person, self.paper_bugs),
            leaders=state.leaders,
            rooms=state.rooms,
            talk=tuple(heard_exchanges.get(at) for at in range(len(state.talk))),
            chosen=state.chosen is not None,
        )

    def returns(self, state: State) -> tuple[float, ...]:
        red = 1.0 if rules.together(state) else -1.0
        return ROLES.each_seat(self.num_seats, (-red, red))

    def show(self, state: State) -> str:
        return words.show_state(state, self.rounds)

    def sample(self, observation: Observation, rng: np.random.Generator) -> State:
        """Return a state with cards drawn from their posterior given the talk heard, and the rest
        at random."""
        return sample_state(observation.view, rng)

    def probabilities(self, policy: str, observation: Observation) -> tuple[float, ...]:
        rules.check(policy)
        view: View = observation.view
        options = [words.NAMES.index(name.split()[-1]) for name in observation.options]
        if policy == "random":
            return (1 / len(options),) * len(options)
        if observation.options[0].startswith("send"):
            return rules.sending(view, options)
        return rules.asking(view, options)

    def words(
        self, policy: str, observation: Observation, option: int, rng: np.random.Generator
    ) -> str:
        view: View = observation.view
        answers = observation.options[option].startswith("answer")
        return rules.truth(view) if answers else rules.question(view)

    def worth(self, state: State, seat: int) -> float:
        team = seat if self.num_seats == 2 else ROLES.teams[seat]
        return rules.worth(state, team, self.rounds)
