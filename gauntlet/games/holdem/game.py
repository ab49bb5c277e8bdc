"""Hold'em: the Game class over the compiled rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from gauntlet.common.errors import IllegalAction
from gauntlet.games.base import Action, Fact, Observation
from gauntlet.games.capabilities import WIN, BeliefQuestion, Measure
from gauntlet.games.holdem import luck, policies, response, rules, words
from gauntlet.games.holdem import playouts as engine
from gauntlet.games.holdem.playouts import make_belief
from gauntlet.games.holdem.policies import CODES, Players, habits, learn, make_room
from gauntlet.games.holdem.rules import State, View, seen_by
from gauntlet.games.playouts import check_known_policy

AT_ONCE = 20_000
"""Hands per compiled call, which takes about a second at most: signals are handled only between
calls."""


@dataclass(frozen=True)
class Holdem:
    """Heads-up no-limit hold'em with eight actions, by TALAGA (OpenReview iS3fQooCaa).

    mode: "match": until one seat has all chips and wins; after `hands` hands the one with more
        chips wins, and the match yields `capped`. "hands": `hands` hands with fresh stacks each;
        the seat that won chips overall wins, and the measure is `bb_per_hand`.
    stack, small_blind, big_blind: in chips.
    raises: what the share of the pot in a raise gives. "paper": the bet to raise to. "neuron": the
        chips to add, as in neuron_poker.
    paper_bugs: True gives the whole of a tied pot to player 0, as neuron_poker gives it to the
        first of the best hands; False splits it.

    An action is an index into `words.NAMES`. Raises ValueError for invalid settings.
    """

    num_seats: int = 2
    mode: Literal["match", "hands"] = "match"
    hands: int = 200
    stack: int = 200
    small_blind: int = 1
    big_blind: int = 2
    raises: Literal["paper", "neuron"] = "paper"
    paper_bugs: bool = False

    policies: ClassVar[tuple[str, ...]] = tuple(CODES)
    told_policies: ClassVar[Mapping[str, str]] = words.POLICIES
    references: ClassVar[tuple[str, ...]] = ("tight", "caller", "maniac")

    def __post_init__(self) -> None:
        if self.num_seats != 2:
            raise ValueError(f"hold'em seats 2 players here, got {self.num_seats}")
        if not 1 <= self.hands <= 10_000:
            raise ValueError(f"hands is {self.hands}; a match has 1 to 10,000")
        if not 1 <= self.small_blind <= self.big_blind <= self.stack <= 1_000_000:
            raise ValueError(
                f"blinds of {self.small_blind} and {self.big_blind} with a stack of {self.stack}: "
                "1 <= small_blind <= big_blind <= stack <= 1,000,000"
            )

    @cached_property
    def settings(self) -> np.ndarray:
        """A state's array with only the settings filled in."""
        array = rules.blank()
        array[rules.PLAY : rules.PAPER_BUGS + 1] = (
            *(int(self.mode == "hands"), self.hands, self.stack),
            *(self.small_blind, self.big_blind, int(self.raises == "neuron"), int(self.paper_bugs)),
        )
        return array

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Chips won, in big blinds per hand; hands won outright; hands played; for a match also
        whether it ended with chips on both sides. A match is judged by its winner."""
        most = self.stack / self.big_blind
        won, hands = Measure("hands_won", 0, self.hands), Measure("hands", 1, self.hands)
        chips = Measure("bb_per_hand", -most, most)
        if self.mode == "hands":
            return (chips, won, hands)
        return (WIN, chips, won, hands, Measure("capped", 0, 1))

    @property
    def points(self) -> str:
        return "chips" if self.mode == "hands" else ""

    def deal(self, rng: np.random.Generator) -> State:
        array = self.settings.copy()
        rules.begin(array, int(rng.integers(2**63)))
        return self._deal_until_decision(array, (), 0)

    def to_move(self, state: State) -> tuple[int, ...]:
        return () if rules.over(state.array) else (state.array.item(rules.TO_MOVE),)

    def legal(self, state: State, seat: int) -> tuple[Action, ...]:
        return distinct(state.array) if self.to_move(state) == (seat,) else ()

    def play(self, state: State, moves: Sequence[Action]) -> State:
        (action,) = moves
        before = state.array
        if action not in self.legal(state, before.item(rules.TO_MOVE)):
            known = 0 <= action < len(words.NAMES)
            name = words.NAMES[action] if known else f"action {action}"
            raise IllegalAction(f"{name} is not legal in:\n{self.show(state)}")
        array = before.copy()
        rules.act(array, action)
        history = (*state.history, words.taken(before, action))
        street = before.item(rules.STREET)
        if rules.over(array):
            return self._deal_until_decision(
                array, (*history, *words.hand_end(array, street)), state.start, street
            )
        if array.item(rules.STREET) > street:
            history = (*history, words.faced(array, street + 1))
        return State(array, history, state.start)

    def _deal_until_decision(
        self, array: np.ndarray, history: tuple[str, ...], start: int, street: int = 0
    ) -> State:
        """Return the next state with a decision to make; hands without a decision only add their
        end to the history."""
        while rules.over(array) and rules.another_hand(array):
            start = len(history)
            rules.next_hand(array)
            history = (*history, words.blinds(array))
            if rules.over(array):
                history = (*history, *words.hand_end(array, rules.PREFLOP))
        return State(array, history, start)

    def observe(self, state: State, seat: int) -> Observation:
        array, options = state.array, self.legal(state, seat)
        hand = state.history[state.start :]
        facts = (
            Fact("Hand", f"{array.item(rules.HAND) + 1} of {self._hands()}"),
            Fact("Position", words.position(array, seat), own=True),
            Fact("Street", words.STREETS[array.item(rules.STREET)]),
            Fact("Board", words.table(array)),
            Fact("Pot", words.total(array)),
            Fact("Stacks", words.chips(array, rules.STACKS, seat)),
            Fact("Bets this round", words.chips(array, rules.BETS, seat)),
            Fact("This hand", "; ".join(hand)),
            Fact("Your cards", words.cards(array[rules.hole_slice(seat)].tolist()), own=True),
            Fact(
                "Legal actions",
                "\n".join(f"{words.NAMES[one]}: {words.meaning(array, one)}" for one in options),
                own=True,
            ),
        )
        view = View(seat, tuple(seen_by(array, seat).tolist()), state.start, options)
        return Observation(
            game="Texas hold'em",
            seat=seat,
            rules=words.rules(self.settings),
            facts=facts,
            history=state.history,
            options=tuple(words.NAMES[action] for action in options),
            view=view,
        )

    def _hands(self) -> str:
        return f"{'at most ' * (self.mode == 'match')}{self.hands}"

    def returns(self, state: State) -> tuple[float, ...]:
        """The share of all it could win that seat 0 has won, from -1 to 1, and its negative. In a
        match it is 1 and -1 if one seat has all chips, less if it ended early."""
        hands = self.hands if self.mode == "hands" else 1
        won = state.array.item(rules.WON) / (self.stack * hands)
        return won, -won

    def measure(self, state: State) -> Mapping[str, Sequence[float]]:
        return {
            entry.name: tuple(
                engine.figure(state.array, engine.ASKED[entry.name], seat) for seat in range(2)
            )
            for entry in self.measures
        }

    def show(self, state: State) -> str:
        array = state.array
        lines = [
            f"hand {array.item(rules.HAND) + 1}, player {array.item(rules.DEALER)} deals, "
            f"{words.STREETS[array.item(rules.STREET)]}",
            f"board: {words.table(array)}{words.to_come(array)}",
            f"pot: {words.total(array)}; bets this round: {words.chips(array, rules.BETS, -1)}",
        ]
        lines += [
            f"player {seat}: {words.cards(array[rules.hole_slice(seat)].tolist())}, "
            f"{array.item(rules.STACKS + seat)} chips left"
            for seat in range(2)
        ]
        return "\n".join((*lines, *self._history_lines(state)))

    def _history_lines(self, state: State) -> Iterable[str]:
        """Yield the actions of the hand, one line per betting round; for a hand just dealt also how
        the previous one ended."""
        array = state.array
        fresh = array.item(rules.PLY) == 0 and not rules.over(array)
        before = state.history[: state.start][-1:] if fresh else ()
        yield from (f"before: {clause}" for clause in before)
        yield from words.by_round(state.history[state.start :])
        if rules.over(array):
            won = array.item(rules.WON)
            end = "after the last hand" if self._capped(array) else "with all chips on one side"
            yield f"over {end}: player 0 {won:+} chips, player 1 {-won:+}"

    def _capped(self, array: np.ndarray) -> bool:
        return bool(engine.figure(array, engine.CAPPED, 0)) or self.mode == "hands"

    def sample(self, observation: Observation, rng: np.random.Generator) -> State:
        """Return a state consistent with what the seat sees, with hidden cards uniformly
        distributed."""
        view: View = observation.view
        array = np.array(view.cells)
        key = int(rng.integers(2**63))
        engine.redealt(array, policies.RANDOM, key, make_room(), make_belief())
        array[rules.SEED] = rng.integers(2**63)
        return State(array, observation.history, view.start)

    def redealt(self, state: State, rng: np.random.Generator) -> State:
        array = state.array.copy()
        engine.redeal_board(array, np.uint64(rng.integers(2**63)))
        array[rules.SEED] = rng.integers(2**63)
        return State(array, state.history, state.start)

    def rollouts(
        self,
        state: State | None,
        moves: Sequence[Action],
        policies: Sequence[str],
        count: int,
        seed: int,
        measure: str,
    ) -> np.ndarray:
        (action,) = moves or (engine.NO_ACTION,)
        results, asked = np.empty((count, 2)), (engine.ASKED[measure], seed, make_room())
        start = self.settings if state is None else state.array
        engine.rollouts(results, start, state is None, action, self.players(policies), *asked)
        return results

    def probabilities(self, policy: str, observation: Observation) -> tuple[float, ...]:
        view: View = observation.view
        room = make_room()
        total = policies.chances(self.code(policy), np.array(view.cells), room)
        return tuple((room.weights[list(view.options)] / total).tolist())

    def simulate(self, policies: Sequence[str], games: int, seed: int) -> np.ndarray:
        wins = self.scores(policies, games, seed, WIN.name).sum(axis=0)
        return np.array([*wins, games - wins.sum()], np.int64)

    def scores(self, policies: Sequence[str], games: int, seed: int, measure: str) -> np.ndarray:
        players, room = self.players(policies), make_room()
        results, size = np.empty((games, 2)), max(1, AT_ONCE // self.hands)
        for first in range(0, games, size):
            asked = self.settings, players, engine.ASKED[measure], seed, first
            engine.scores(results[first : first + size], *asked, room)
        return results

    def unadjustable(self, measure: str) -> str:
        if self.mode == "match":
            return (
                "its playouts judge hands with fresh stacks, and a match goes on with what is left"
            )
        if measure != "bb_per_hand":
            return f"its playouts judge by bb_per_hand, and the cell is judged by {measure}"
        return ""

    def advantage(
        self,
        start: State,
        moves: Sequence[str],
        seat: int,
        measured: int,
        policies: Sequence[str],
        playouts: int,
        seed: int,
    ) -> float:
        measure = luck.Measure(self.players(policies), playouts, luck.EXACT)
        value = luck.advantage(start.array, parsed(moves), seat, measure, seed, self._desk())
        if np.isnan(value):
            raise ValueError("hold'em: the moves are not a game of these policies from this start")
        return value if seat == measured else -value

    def imitate(self, games: Sequence[tuple[State, Sequence[str], int]]) -> str:
        desk = self._desk()
        samples = [
            luck.noticed(start.array, parsed(moves), seat, desk) for start, moves, seat in games
        ]
        facts, taken = (np.concatenate(parts) for parts in zip(*samples, strict=True))
        return learn(facts, taken) if len(taken) else self.references[0]

    def _desk(self) -> luck.Desk:
        return luck.make_desk(self.settings)

    def holdings(self, observation: Observation) -> np.ndarray:
        return np.flatnonzero(response.possible(np.array(observation.view.cells)))

    def hold(self, state: State, seat: int, holding: int) -> State:
        array = state.array.copy()
        array[rules.hole_slice(seat)] = policies.PAIRS[holding]
        return State(array, state.history, state.start)

    def range_states(self, observation: Observation) -> tuple[list[State], list[State]]:
        now, seat = self.sample(observation, np.random.default_rng(0)), observation.seat
        clauses = now.history[: now.start + 1]
        state, past = State(response.first_decision(now.array), clauses, now.start), []
        for action in now.array[rules.LOG : rules.LOG + now.array.item(rules.PLY)].tolist():
            past += [] if self.to_move(state) == (seat,) else [state]
            state = self.play(state, (action,))
        raises = [one for one in distinct(now.array) if one > rules.CALL]
        return past, [self.play(now, (one,)) for one in raises]

    def shares(self, policy: str, state: State) -> np.ndarray:
        known = habits(policy)
        code = self.code(self.references[0] if known.counts.size else policy)
        return response.shares(state.array, code, known)

    def local_values(
        self,
        observation: Observation,
        past: Sequence[np.ndarray],
        later: Sequence[np.ndarray],
        seed: int,
    ) -> np.ndarray:
        array = np.array(observation.view.cells)
        raises = [one for one in distinct(array) if one > rules.CALL]
        answers = dict(zip(raises, later, strict=True))
        return response.values(array, past, answers, seed) / self.big_blind

    def outcomes(
        self,
        state: State,
        policies: Sequence[str],
        playouts: int,
        seed: int,
        hidden: bool,
        measure: str,
    ) -> np.ndarray:
        players, room = self.players(policies), make_room()
        belief, arguments = make_belief(), (players, engine.ASKED[measure], seed)
        left = self.hands - state.array.item(rules.HAND)
        results = np.empty((len(distinct(state.array)), playouts, 2))
        size = max(1, AT_ONCE // (len(results) * left))
        for first in range(0, playouts, size):
            last = min(first + size, playouts)
            engine.outcomes(results, state.array, *arguments, first, last, hidden, room, belief)
        return results

    def questions(self, state: State, seat: int, move: Action) -> Sequence[BeliefQuestion]:
        """Of this hand's cards; "win" is of the whole match."""
        other, before = 1 - seat, state.array
        held = f"What does player {other} hold in this hand?"
        found = [BeliefQuestion("hidden", other, held, response.HOLDINGS)]
        after = self.play(state, [move]).array
        street = (rules.HAND, rules.STREET)
        if all(after[one] == before[one] for one in street) and after[rules.TO_MOVE] == other:
            names = tuple(words.NAMES[action] for action in distinct(after))
            next_move = f"What will player {other} do next?"
            found.append(BeliefQuestion("move", other, next_move, names))
        if not rules.over(after):
            won = "win this match" if self.mode == "match" else "win chips over all hands"
            found.append(BeliefQuestion("win", seat, f"Will you {won}?", ("yes", "no")))
        return found

    def truth(self, state: State, question: BeliefQuestion) -> int:
        return response.holding(*state.array[rules.hole_slice(question.about)].tolist())

    def posterior(
        self,
        state: State,
        seat: int,
        move: Action,
        question: BeliefQuestion,
        policies: Sequence[str | None],
    ) -> np.ndarray | None:
        policy = policies[1 - seat]
        code = None if policy is None else self.code(policy)
        pairs = response.pair_chances(state.array, seat, code)
        if pairs is None or question.kind == "win" or (question.kind == "move" and code is None):
            return None
        if question.kind == "hidden":
            return np.bincount(response.holdings(), pairs, minlength=len(response.HOLDINGS))
        after = self.play(state, [move]).array
        assert code is not None
        return response.move_chances(after, pairs, code)[list(distinct(after))]

    def worths(
        self, state: State, seat: int, question: BeliefQuestion, policies: Sequence[str | None]
    ) -> None:
        """None: a best response to an opponent is not known here."""

    @property
    def move_format(self) -> str:
        return words.FORMAT

    @property
    def intents(self) -> Sequence[str]:
        """The eight actions themselves, as in the paper's ReAct, appendix C."""
        return words.NAMES

    def fallback(self, observation: Observation) -> int:
        """Check if possible, else fold: either is the first option."""
        return 0

    def advice(self, observation: Observation) -> tuple[str, ...]:
        return words.ADVICE

    def review(self, observation: Observation, moves: int) -> tuple[Fact, ...]:
        return words.review(observation.history, moves, observation.seat)

    def players(self, policies: Sequence[str]) -> Players:
        """Return the policies, or habits as text, for the compiled functions. Raises ValueError
        unless there is one per seat."""
        learnt = [habits(policy) for policy in policies]
        known = [
            self.references[0] if own.counts.size else policy
            for own, policy in zip(learnt, policies, strict=True)
        ]
        return Players(self.codes(known), *learnt)

    def codes(self, policies: Sequence[str]) -> np.ndarray:
        """Return the policies as codes for the compiled functions. Raises ValueError unless there
        is one per seat."""
        if len(policies) != self.num_seats:
            raise ValueError(f"{self.num_seats} seats need as many policies, got {len(policies)}")
        return np.array([self.code(policy) for policy in policies])

    def code(self, policy: str) -> int:
        """Return the code of a policy. Raises ValueError for an unknown one."""
        check_known_policy("hold'em", policy, CODES)
        return CODES[policy]


def distinct(array: np.ndarray) -> tuple[Action, ...]:
    """Return the legal actions of the seat to move, in order."""
    mask = rules.legal(array)
    return tuple(action for action in range(rules.ACTIONS) if mask >> action & 1)


def parsed(moves: Sequence[str]) -> np.ndarray:
    """Return moves given by name as codes for the compiled functions."""
    return np.array([words.parse(move) for move in moves], np.int64)
