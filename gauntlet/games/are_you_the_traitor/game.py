"""Are You the Traitor?: the Game class, with GameBench's five roles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from gauntlet.games.are_you_the_traitor import players, words
from gauntlet.games.are_you_the_traitor.players import (
    TOLD,
    answer_spec,
    beliefs,
    question_spec,
    suspects,
)
from gauntlet.games.are_you_the_traitor.state import (
    ACCUSE,
    ANSWER,
    ASK,
    DECK,
    EVIL,
    EVIL_WIZARD,
    GOOD,
    MOST_POINTS,
    NAMES,
    ROLES,
    STOP,
    TARGETS,
    TEAMS,
    TRAITOR,
    Exchange,
    Piles,
    State,
    View,
    World,
    knowledge,
    richest,
    use_rings,
    wizards,
)
from gauntlet.games.base import Action, Observation, TextAction, TextMove, only_move
from gauntlet.games.capabilities import full_rules

ANSWERS, PASSES, STOPS = range(5, 8)
"""Actions besides the names, which are 0 to 4."""

ROUND, EXCHANGE, ORDER, RINGS = range(4)
"""The purpose of a random stream."""

STOPPERS = tuple(role for role in range(5) if role != TRAITOR)


@dataclass(frozen=True)
class AreYouTheTraitor:
    """The conversation game of GameBench: evil (traitor, evil wizard) against good (good wizard,
    key holder, guard).

    num_seats: 2, one per team, or 5, one per role. points: that one role needs to win, 1 to
    `MOST_POINTS`. exchanges: maximum per round, 1 to 50. paper_bugs: plays as the published code
    does: every role keeps its name all game, the traitor does not know who holds the key, and evil
    wins if both teams have the points.

    Raises ValueError for invalid settings.
    """

    num_seats: int = 2
    points: int = 10
    exchanges: int = 6
    paper_bugs: bool = False

    policies: ClassVar[tuple[str, ...]] = tuple(TOLD)
    told_policies: ClassVar[Mapping[str, str]] = TOLD

    def __post_init__(self) -> None:
        ROLES.check(words.TITLE, self.num_seats)
        if not 1 <= self.points <= MOST_POINTS:
            raise ValueError(f"points is {self.points}; a game is to 1 to {MOST_POINTS}")
        if not 1 <= self.exchanges <= 50:
            raise ValueError(f"exchanges is {self.exchanges}; a round has 1 to 50")

    @property
    def seatings(self) -> tuple[tuple[int, ...], ...]:
        return ROLES.seatings(self.num_seats)

    @property
    def rules_summary(self) -> str:
        return words.SUMMARY

    @property
    def rules_headings(self) -> Mapping[str, str]:
        return words.headings(self.points, self.exchanges, self.paper_bugs)

    def deal(self, rng: np.random.Generator) -> State:
        deck = tuple(rng.permutation(DECK).tolist())
        blank = State(int(rng.integers(2**63)), 0, 0, (), ASK, 0, (), (), ((),) * 5, deck)
        return self._round(blank)

    def _round(self, state: State) -> State:
        """Return the state with names dealt and the first asker drawn."""
        rng = _chance(state, ROUND)
        names = tuple(range(5)) if self.paper_bugs else tuple(rng.permutation(5).tolist())
        told = words.dealt(state.round, *wizards(names))
        return _exchange(replace(state, names=names, talk=(), history=(*state.history, told)))

    def to_move(self, state: State) -> tuple[int, ...]:
        if state.winner >= 0:
            return ()
        return (ROLES.seat(self.num_seats, state.actor),)

    def legal(self, state: State, seat: int) -> tuple[Action, ...]:
        if self.to_move(state) != (seat,):
            return ()
        if state.phase == ANSWER:
            return (TextAction(ANSWERS, answer_spec()),)
        if state.phase == STOP:
            return (STOPS,) if self._forced(state) else (PASSES, STOPS)
        names = _other_names(state.names[state.actor])
        return (
            names if state.phase == ACCUSE else tuple(TextAction(n, question_spec()) for n in names)
        )

    def _forced(self, state: State) -> bool:
        """Whether the acting role is the last one offered to stop after the last exchange."""
        last = state.exchange == self.exchanges - 1 and not state.order
        return state.phase == STOP and last

    def play(self, state: State, moves: Sequence[Action]) -> State:
        move = only_move(self, state, moves)
        if state.phase == ACCUSE:
            return self._accused(state, int(move))
        if state.phase == STOP:
            return self._stop_talk(state) if move == STOPS else self._pass_turn(state)
        assert isinstance(move, TextMove)
        return _ask(state, move) if state.phase == ASK else _answered(state, move)

    def _pass_turn(self, state: State) -> State:
        if state.order:
            return replace(state, actor=state.order[0], order=state.order[1:])
        history = (*state.history, "nobody says STOP")
        return _exchange(replace(state, exchange=state.exchange + 1, history=history))

    def _stop_talk(self, state: State) -> State:
        return replace(state, phase=ACCUSE, order=())

    def _accused(self, state: State, name: int) -> State:
        """End the round: its winners take treasure, rings are used, and a new round begins if
        nobody has the points."""
        accuser, accused = state.actor, state.names.index(name)
        right = TARGETS[accuser] == accused
        team = ROLES.teams[accuser] if right else 1 - ROLES.teams[accuser]
        winners = [role for role, side in enumerate(ROLES.teams) if side == team]
        cards = dict(zip(winners, state.deck, strict=False))
        piles = tuple(
            (*pile, cards[role]) if role in cards else pile for role, pile in enumerate(state.piles)
        )
        piles, lines = use_rings(piles, _chance(state, RINGS))
        history = (
            *state.history,
            words.accuses(self._revealed(state, accuser), self._revealed(state, accused), right),
            words.takes(team, cards),
            *lines,
        )
        after = replace(state, piles=piles, deck=state.deck[len(cards) :], history=history, talk=())
        winner = self._winner(piles, team)
        if winner >= 0:
            return replace(after, winner=winner, order=())
        return self._round(replace(after, round=state.round + 1, exchange=0))

    def _revealed(self, state: State, role: int) -> str:
        """Return the name of someone involved in an accusation, with the role if names are dealt
        again."""
        name = NAMES[state.names[role]]
        return name if self.paper_bugs else f"{name} ({ROLES.names[role]})"

    def _winner(self, piles: Piles, team: int) -> int:
        """Return the team that has won the game, -1 for none; `team` won the round."""
        evil, good = (richest(piles, side) for side in (EVIL, GOOD))
        if max(evil, good) < self.points:
            return -1
        if self.paper_bugs:
            return EVIL if evil >= self.points else GOOD
        return team if evil == good else EVIL if evil > good else GOOD

    def view(self, state: State) -> View:
        return View(
            state.actor,
            state.phase,
            knowledge(state.names, state.actor, not self.paper_bugs),
            wizards(state.names),
            self._forced(state),
            state.round,
            state.exchange,
            state.talk,
            state.piles,
            tuple(sorted(state.deck)),
        )

    def observe(self, state: State, seat: int) -> Observation:
        view = self.view(state)
        return Observation(
            game=words.TITLE,
            seat=seat,
            rules=full_rules(self),
            facts=words.facts(view, self.exchanges),
            history=state.history,
            options=words.options(view, _other_names(state.names[state.actor])),
            view=view,
            role=ROLES.role(self.num_seats, state.actor),
            team=ROLES.team(self.num_seats, state.actor),
        )

    def sample(self, observation: Observation, rng: np.random.Generator) -> State:
        """Return a state consistent with what the acting role knows; the assignment of roles is
        drawn from its posterior given the talk, assuming that all talk as the greedy players do."""
        view: View = observation.view
        worlds, weights = beliefs(view.known, view.wizards, view.talk, not self.paper_bugs)
        names = worlds[int(rng.choice(len(worlds), p=weights))]
        return State(
            seed=int(rng.integers(2**63)),
            round=view.round,
            exchange=view.exchange,
            names=names,
            phase=view.phase,
            actor=view.role,
            order=self._order(view, rng),
            talk=view.talk,
            piles=view.piles,
            deck=tuple(rng.permutation(view.deck).tolist()),
            history=observation.history,
        )

    def _order(self, view: View, rng: np.random.Generator) -> tuple[int, ...]:
        """Return the roles offered to stop after the acting role, which cannot know them."""
        if view.phase != STOP or view.forced:
            return ()
        others = rng.permutation([role for role in STOPPERS if role != view.role]).tolist()
        least = int(view.exchange == self.exchanges - 1)
        return tuple(others[: int(rng.integers(least, len(others) + 1))])

    def probabilities(self, policy: str, observation: Observation) -> tuple[float, ...]:
        players.check(policy)
        view: View = observation.view
        if policy == "random":
            return (1 / len(observation.options),) * len(observation.options)
        return players.greedy(view, _other_names(view.known[view.role]))

    def words(
        self, policy: str, observation: Observation, option: int, rng: np.random.Generator
    ) -> str:
        players.check(policy)
        return players.say(observation.view, rng)

    def returns(self, state: State) -> tuple[float, ...]:
        evil = 1.0 if state.winner == EVIL else -1.0
        return ROLES.each_seat(self.num_seats, (evil, -evil))

    def worth(self, state: State, seat: int) -> float:
        """From the points of each team's richest role and the odds of this round."""
        evil = self._worth_to_evil(state)
        return ROLES.each_seat(self.num_seats, (evil, 1 - evil))[seat]

    def _worth_to_evil(self, state: State) -> float:
        if state.winner >= 0:
            return float(state.winner == EVIL)
        evil, good = (richest(state.piles, side) for side in (EVIL, GOOD))
        return (
            0.5 + 0.35 * (evil - good) / self.points + 0.15 * (2 * self._round_to_evil(state) - 1)
        )

    def _round_to_evil(self, state: State) -> float:
        """Return the probability that evil wins the round. Once an accuser is chosen it follows
        from how sure that role's best guess is; before, it is a mean over possible accusers,
        weighted by how sure they are."""
        if state.phase == ACCUSE:
            sure = max(self._suspects(state, state.actor))
            return sure if state.actor == EVIL_WIZARD else 1 - sure
        total = lost = 0.0
        for role in STOPPERS:
            chances = self._suspects(state, role)
            best = max(chances)
            likely = [name for name, chance in enumerate(chances) if chance >= best - 1e-9]
            right = (state.names[TARGETS[role]] in likely) / len(likely)
            total += best
            lost += best * (right if role == EVIL_WIZARD else 1 - right)
        return lost / total

    def _suspects(self, state: State, role: int) -> tuple[float, ...]:
        told = not self.paper_bugs
        known = knowledge(state.names, role, told)
        return suspects(role, known, wizards(state.names), state.talk, told)

    def show(self, state: State) -> str:
        names = ", ".join(
            f"{NAMES[name]} is {ROLES.names[role]}" for role, name in enumerate(state.names)
        )
        acting = ROLES.names[state.actor]
        doing = ("asks", "answers", "may say STOP", "accuses")[state.phase]
        lines = [
            f"round {state.round + 1}, exchange {state.exchange + 1}: {names}",
            f"points: {words.scores(state.piles)}; {len(state.deck)} cards of treasure left",
            f"{acting} {doing}" if state.winner < 0 else f"over: {TEAMS[state.winner]} wins",
        ]
        return "\n".join(lines)


def _exchange(state: State) -> State:
    """Return the state with a random asker."""
    actor = int(_chance(state, EXCHANGE).integers(5))
    return replace(state, phase=ASK, actor=actor, order=())


def _ask(state: State, move: TextMove) -> State:
    exchange = Exchange(state.names[state.actor], int(move), move.text)
    return replace(
        state,
        phase=ANSWER,
        actor=state.names.index(int(move)),
        talk=(*state.talk, exchange),
        history=(*state.history, words.asks(exchange)),
    )


def _answered(state: State, move: TextMove) -> State:
    exchange = state.talk[-1]._replace(answer=move.text)
    order = _chance(state, ORDER).permutation(STOPPERS).tolist()
    return replace(
        state,
        phase=STOP,
        actor=order[0],
        order=tuple(order[1:]),
        talk=(*state.talk[:-1], exchange),
        history=(*state.history, words.responds(exchange)),
    )


def _chance(state: State, purpose: int) -> np.random.Generator:
    return np.random.default_rng((state.seed, state.round, state.exchange, purpose))


def _other_names(name: int) -> World:
    return tuple(other for other in range(len(NAMES)) if other != name)
