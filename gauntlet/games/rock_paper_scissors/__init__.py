"""Rock-paper-scissors over several rounds: both seats move simultaneously; its scripted players are
the 19 strategies of Observer, Not Player."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import ClassVar

import numpy as np

from gauntlet.common.errors import IllegalAction
from gauntlet.common.ids import LATER
from gauntlet.games.base import Action, Fact, Observation
from gauntlet.games.rock_paper_scissors import strategies

HANDS = ("rock", "paper", "scissors")
"""Each beats the one before it; the first beats the last."""
MOST_ROUNDS = 10_000

SPECTATOR_RULES = (
    "Players 1 and 2 play rock-paper-scissors round after round. In a round both choose a hand at "
    "the same time: rock (R), paper (P) or scissors (S). Rock beats scissors, scissors beat paper, "
    "paper beats rock. A round is told with its number, the hand of player 1 (move1), the hand of "
    "player 2 (move2) and the result for player 1: 1 a win, 0 a draw, -1 a loss. Each round is a "
    "step."
)
"""The keys of a round as JSON, and players counted from 1, are those of the published prototype."""

State = tuple[tuple[Action, Action], ...]
"""The rounds so far: what each seat chose."""


@dataclass(frozen=True)
class RockPaperScissors:
    """Two seats choose a hand simultaneously, `rounds` times; the winner of more rounds wins.

    An action is an index into HANDS. A state holds finished rounds only, so a seat cannot see what
    the other is about to choose.

    react: how reactive strategies play `together` with another one: "lag1" by their rule, which
    answers the other's last hand; "iid" by independent draws from their long-run mix. A policy
    given by its plain name follows its rule.
    legacy_D: D is (.333, .333, .334) instead of exact thirds.

    Raises ValueError for other than 2 seats, a bad number of rounds, or another `react`.
    """

    num_seats: int = 2
    rounds: int = 1
    react: str = field(default="lag1", metadata=LATER)
    legacy_D: bool = field(default=False, metadata=LATER)  # noqa: N815, D is its name

    draws: ClassVar[bool] = True
    policies: ClassVar[tuple[str, ...]] = strategies.CODES
    spectator_rules: ClassVar[str] = SPECTATOR_RULES
    spectator_names: ClassVar[tuple[str, ...]] = ("1", "2")

    def __post_init__(self) -> None:
        if self.num_seats != 2:
            raise ValueError(f"rock-paper-scissors seats 2 players, got {self.num_seats}")
        if not 1 <= self.rounds <= MOST_ROUNDS:
            raise ValueError(f"rounds is {self.rounds:,}; a game has 1 to {MOST_ROUNDS:,}")
        if self.react not in ("lag1", "iid"):
            raise ValueError(f"react is {self.react!r}; it is lag1 or iid")

    def deal(self, rng: np.random.Generator) -> State:
        return ()

    def to_move(self, state: State) -> tuple[int, ...]:
        return () if len(state) == self.rounds else (0, 1)

    def legal(self, state: State, seat: int) -> tuple[Action, ...]:
        return tuple(range(len(HANDS))) if seat in self.to_move(state) else ()

    def play(self, state: State, moves: Sequence[Action]) -> State:
        seats = self.to_move(state)
        if not seats or len(moves) != 2 or not all(0 <= move < len(HANDS) for move in moves):
            raise IllegalAction(f"moves {list(moves)} for seats {seats} in\n{self.show(state)}")
        return (*state, (moves[0], moves[1]))

    def observe(self, state: State, seat: int) -> Observation:
        scores = (
            f"player {player}{' (you)' if player == seat else ''}: {won}"
            for player, won in enumerate(self._score(state))
        )
        return Observation(
            game="Rock-Paper-Scissors",
            seat=seat,
            rules=self._rules(),
            facts=(
                Fact("Round", f"{len(state) + 1} of {self.rounds}"),
                Fact("Score", ", ".join(scores)),
            ),
            history=tuple(map(_clause, range(1, self.rounds + 1), state)),
            options=tuple(HANDS[action] for action in self.legal(state, seat)),
            view=state,
        )

    def returns(self, state: State) -> tuple[float, ...]:
        first, second = self._score(state)
        if first == second:
            return (0.0, 0.0)
        return (1.0, -1.0) if first > second else (-1.0, 1.0)

    def show(self, state: State) -> str:
        first, second = self._score(state)
        lines = [f"{len(state)} of {self.rounds} rounds played, score {first}:{second}"]
        return "\n".join([*lines, *map(_clause, range(1, self.rounds + 1), state)])

    def probabilities(self, policy: str, observation: Observation) -> tuple[float, ...]:
        rounds: State = observation.view
        if not rounds:
            return strategies.first_mix(policy, self.legacy_D)
        return strategies.after(policy, rounds[-1][1 - observation.seat], self.legacy_D)

    def together(self, policies: Sequence[str]) -> tuple[str, ...]:
        """Return the names of these policies when they play each other."""
        if self.react == "lag1":
            return tuple(policies)
        one, other = policies
        mixes = strategies.steady([(one, other)], self.legacy_D).mixes[0]
        return tuple(
            strategies.settled(name, mix) if name in strategies.ANSWERS else name
            for name, mix in zip(policies, mixes, strict=True)
        )

    def outlook(self, policies: Sequence[str]) -> tuple[float, ...]:
        """Return the exact long-run probabilities that seat 0 wins, draws and loses a round; the
        same for either `react`."""
        mine, other = policies
        if {mine, other} <= set(self.policies):
            at = self.policies.index(mine), self.policies.index(other)
            return tuple(strategies.grid(self.legacy_D)[at].tolist())
        joint = strategies.exact([(mine, other)], self.legacy_D)
        return tuple(strategies.outcomes(joint)[0].tolist())

    @property
    def mixes(self) -> Mapping[str, tuple[float, ...]]:
        """The hand probabilities of the policies that do not react to the other player."""
        return strategies.mixes(self.legacy_D)

    @property
    def told_policies(self) -> Mapping[str, str]:
        return {code: strategies.sentence(code, self.legacy_D) for code in self.policies}

    def spectate(self, moves: Sequence[Sequence[Action]], first: int) -> str:
        """Return these rounds as JSON; `first` is the number of the first."""
        return rounds_as_json(moves, first)

    def simulate(self, policies: Sequence[str], games: int, seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        hands = strategies.play_rounds(policies, games, self.rounds, rng, self.legacy_D)
        ahead = (hands[0] - hands[1]) % len(HANDS)  # 1: seat 0 wins the round; 2: seat 1 does
        lead = (ahead == 1).sum(axis=1) - (ahead == 2).sum(axis=1)
        return np.array([(lead > 0).sum(), (lead < 0).sum(), (lead == 0).sum()], np.int64)

    def sample(self, observation: Observation, rng: np.random.Generator) -> State:
        """Return the state itself: the rounds played are public, and it holds nothing else."""
        state: State = observation.view
        return state

    def _score(self, state: State) -> tuple[int, int]:
        ahead = [(first - second) % len(HANDS) for first, second in state]
        return ahead.count(1), ahead.count(2)

    def _rules(self) -> str:
        rounds = "1 round" if self.rounds == 1 else f"{self.rounds} rounds"
        return (
            f"Players 0 and 1 play {rounds}. In a round both choose rock, paper or scissors at the "
            "same time, so neither sees the other's choice before making one. Rock beats scissors, "
            "scissors beat paper, paper beats rock; after equal choices nobody wins the round. The "
            "player who wins more rounds wins the game; equal scores are a draw."
        )

    def review(self, observation: Observation, moves: int) -> tuple[Fact, ...]:
        """How often each seat chose each hand in the last rounds."""
        rounds: State = observation.view[-moves:] if moves else ()
        chosen = {
            seat: [played[seat] for played in rounds]
            for seat in (1 - observation.seat, observation.seat)
        }
        return tuple(
            Fact(
                f"Player {seat}{' (you)' * (seat == observation.seat)}",
                ", ".join(f"{hands.count(hand)} {name}" for hand, name in enumerate(HANDS)),
            )
            for seat, hands in chosen.items()
            if hands
        )

    def advice(self, observation: Observation) -> tuple[str, ...]:
        return (
            "If the other player favours a hand, choose the hand that beats it.",
            "If not, be hard to foresee: choose each hand equally often and in no order.",
        )


@cache  # nine distinct clauses per round, and every turn repeats all rounds
def _clause(number: int, choices: tuple[Action, Action]) -> str:
    first, second = choices
    return f"round {number}: player 0 {HANDS[first]}, player 1 {HANDS[second]}"


def rounds_as_json(moves: Sequence[Sequence[int]], first: int) -> str:
    """Return these rounds as a JSON list, one a line; `first` is the number of the first."""
    lines = (
        f'{{"round":{number},"move1":"{"RPS"[int(hand)]}","move2":"{"RPS"[int(other)]}",'
        f'"result":{(int(hand) - int(other) + 1) % 3 - 1}}}'
        for number, (hand, other) in enumerate(moves, first)
    )
    return "[\n" + ",\n".join(lines) + "\n]"
