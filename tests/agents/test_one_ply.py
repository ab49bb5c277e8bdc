"""One-ply search maximises the mean over hidden information; and the text of scripted players."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from gauntlet.agents.base import Decision, Goal
from gauntlet.agents.one_ply import OnePly
from gauntlet.agents.rule import Rule
from gauntlet.games.base import Action, Fact, Observation, TextMove
from tests.agents.hints import COLOURS, HINT, Hints, State
from tests.agents.play import drive, turn_at, unasked
from tests.games.bare import Bare

CLUES = dict(zip(COLOURS, HINT.examples, strict=True))


@dataclass(frozen=True)
class Spoken(Hints):
    """The game with text, and two players that hint: one with the right example, one with a wrong
    one. A hint that fits wins, one that does not loses, and silence wins one time in three."""

    policies: ClassVar[Sequence[str]] = ("random", "greedy", "liar")

    def probabilities(self, policy: str, observation: Observation) -> tuple[float, ...]:
        count = len(observation.options)
        return (*([0.0] * (count - 1)), 1.0)

    def words(
        self, policy: str, observation: Observation, option: int, rng: np.random.Generator
    ) -> str:
        colour = COLOURS[observation.view[0]]
        wrong = [clue for other, clue in CLUES.items() if other != colour]
        return CLUES[colour] if policy == "greedy" else wrong[int(rng.integers(2))]

    def worth(self, state: State, seat: int) -> float:
        if len(state[1]) == 2:
            return float(state[1][1] == state[0])
        (hint,) = state[1]
        return float(hint.text == CLUES[COLOURS[state[0]]]) if isinstance(hint, TextMove) else 1 / 3


@dataclass(frozen=True)
class Bets:
    """Each seat holds a different card of 1 to 9; seat 0 bets that its own is higher, or takes .45.
    `at_once`: seat 1 simultaneously bets that its own is lower."""

    num_seats: int = 2
    at_once: bool = False

    policies: ClassVar[Sequence[str]] = ("random", "greedy")

    def deal(self, rng: np.random.Generator) -> tuple[int, ...]:
        return tuple(int(card) for card in rng.permutation(9)[:2] + 1)

    def to_move(self, state: tuple[int, ...]) -> tuple[int, ...]:
        return () if len(state) > 2 else (0, 1) if self.at_once else (0,)

    def legal(self, state: tuple[int, ...], seat: int) -> tuple[Action, ...]:
        return (0, 1) if seat in self.to_move(state) else ()

    def play(self, state: tuple[int, ...], moves: Sequence[Action]) -> tuple[int, ...]:
        return (*state, *moves)

    def observe(self, state: tuple[int, ...], seat: int) -> Observation:
        card = Fact("Your card", str(state[seat]), own=True)
        return Observation(
            "Bets", seat, "Bet.", (card,), (), ("take", "bet"), view=(seat, state[seat])
        )

    def probabilities(self, policy: str, observation: Observation) -> tuple[float, ...]:
        return (0.0, 1.0)

    def sample(self, observation: Observation, rng: np.random.Generator) -> tuple[int, ...]:
        seat, own = observation.view
        other = int(rng.choice([card for card in range(1, 10) if card != own]))
        return (own, other) if seat == 0 else (other, own)

    def worth(self, state: tuple[int, ...], seat: int) -> float:
        mine, other, bet, *answer = state
        got = (0.45 if not bet else float(mine > other)) * (0.5 if answer == [1] else 1.0)
        return got if seat == 0 else 1 - got

    def returns(self, state: tuple[int, ...]) -> tuple[float, ...]:
        got = 2 * self.worth(state, 0) - 1
        return got, -got

    def show(self, state: tuple[int, ...]) -> str:
        return str(state)


def taken(game: Any, state: Any, seed: int = 0, seat: int = 0, **settings: Any) -> Decision:
    agent = OnePly(**settings)
    agent.check(game)
    decision, _ = drive(agent, turn_at(game, state, seat), unasked, seed)
    return decision


@pytest.mark.parametrize(
    ("card", "bets"), [(1, False), (4, False), (5, True), (9, True)]
)  # (card - 1) / 8 is .375 for a 4, and .5 for a 5
def test_it_bets_where_that_is_better_in_the_mean(card: int, bets: bool) -> None:
    decision = taken(Bets(), (card, 10 - card or 1), worlds=1000)
    assert decision.option == bets
    assert decision.scores[0] == pytest.approx(0.45)
    assert decision.scores[1] == pytest.approx((card - 1) / 8, abs=0.06)


def test_the_hidden_card_does_not_change_its_choice() -> None:
    for seed in range(20):
        low, high = (taken(Bets(), (5, other), seed, worlds=3) for other in (1, 9))
        assert low == high


def test_more_worlds_choose_better() -> None:
    """A 6 wins 5 of 8 bets: with one world the player bets that often; with many, always."""
    bets = [taken(Bets(), (6, 9), seed, worlds=1).option for seed in range(200)]
    assert 100 < sum(bets) < 150
    assert all(taken(Bets(), (6, 9), seed, worlds=200).option for seed in range(20))


def test_others_that_move_at_once_move_as_the_policy_does() -> None:
    """Seat 1 always answers a bet, which halves seat 0's return, whatever seat 0 does."""
    decision = taken(Bets(at_once=True), (9, 1), worlds=10)
    assert decision.scores == pytest.approx((0.225, 0.5))
    random = taken(Bets(at_once=True), (9, 1), worlds=400, policy="random")
    assert random.scores == pytest.approx((0.45 * 0.75, 0.75), abs=0.03)
    assert random.scores[0] / random.scores[1] == pytest.approx(0.45)  # alike after each option


def test_who_helps_another_does_what_is_best_for_that_one() -> None:
    turn = turn_at(Bets(), (9, 1), 0)
    decision, _ = drive(OnePly(), replace(turn, goal=Goal(helps=1)), unasked)
    assert decision.option == 0
    assert decision.scores == pytest.approx((0.55, 0.0))


def test_of_equals_it_takes_any() -> None:
    @dataclass(frozen=True)
    class Even(Bets):
        def worth(self, state: tuple[int, ...], seat: int) -> float:
            return 0.5

    found = Counter(taken(Even(), (3, 4), seed).option for seed in range(200))
    assert 70 < found[0] < 130


def test_the_words_of_an_option_are_those_that_it_is_judged_with() -> None:
    for colour, name in enumerate(COLOURS):
        decision = taken(Spoken(), (colour, ()))
        assert (decision.option, decision.text) == (1, CLUES[name])
        assert decision.scores == (pytest.approx(1 / 3), 1.0)
        liar = taken(Spoken(), (colour, ()), policy="liar")
        assert (liar.option, liar.text, liar.scores[1]) == (0, "", 0.0)
        chances = [taken(Spoken(), (colour, ()), s, policy="random").scores[1] for s in range(60)]
        assert 5 < sum(chances) < 35  # one of three examples


def test_where_nothing_is_hidden_one_world_is_enough() -> None:
    looked: list[int] = []

    @dataclass(frozen=True)
    class Clear(Bets):
        perfect_information: ClassVar[bool] = True

        def sample(self, observation: Observation, rng: np.random.Generator) -> tuple[int, ...]:
            looked.append(1)
            return (7, 3)

    assert taken(Clear(), (7, 3), worlds=50).option == 1
    assert len(looked) == 1


@pytest.mark.parametrize("worlds", [0, 1001])
def test_worlds_that_cannot_be(worlds: int) -> None:
    with pytest.raises(ValueError, match=f"worlds is {worlds}; a search looks at 1 to 1,000"):
        OnePly(worlds=worlds)


def test_games_that_it_cannot_play_are_refused() -> None:
    with pytest.raises(ValueError, match="Hints does not tell what a position is worth"):
        OnePly().check(Hints())
    with pytest.raises(ValueError, match="has no scripted policy 'rule'; it has random, greedy"):
        OnePly(policy="rule").check(Bets())

    class Closed(Bare):
        def worth(self, state: Any, seat: int) -> float:
            return 0.5

    with pytest.raises(ValueError, match="Closed cannot be played on from what a seat knows"):
        OnePly().check(Closed(Bets()))


def test_a_scripted_player_says_what_its_policy_says() -> None:
    for colour, name in enumerate(COLOURS):
        turn = turn_at(Spoken(), (colour, ()), 0)
        decision, _ = drive(Rule("greedy"), turn, unasked)
        assert decision == Decision(1, text=CLUES[name])
        lies = {drive(Rule("liar"), turn, unasked, seed)[0].text for seed in range(30)}
        assert lies == set(HINT.examples) - {CLUES[name]}


def test_a_random_player_says_any_example_and_no_words_where_none_are_wanted() -> None:
    turn = turn_at(Spoken(), (0, ()), 0)
    found = [drive(Rule("random"), turn, unasked, seed)[0] for seed in range(200)]
    said = Counter((decision.option, decision.text) for decision in found)
    assert set(said) == {(0, ""), *((1, clue) for clue in HINT.examples)}
    assert 70 < said[0, ""] < 130


def test_a_policy_of_a_game_without_words_of_its_own_says_examples() -> None:
    @dataclass(frozen=True)
    class Quiet(Hints):
        policies: ClassVar[Sequence[str]] = ("random", "greedy")

        def probabilities(self, policy: str, observation: Observation) -> tuple[float, ...]:
            return (0.0, 1.0)

    turn = turn_at(Quiet(), (0, ()), 0)
    said = {drive(Rule("greedy"), turn, unasked, seed)[0].text for seed in range(40)}
    assert said == set(HINT.examples)
