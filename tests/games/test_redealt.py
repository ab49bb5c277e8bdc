"""What no seat has seen is dealt again by the law by which it was dealt.

A state and its redeals must be exchangeable: played on alike, the true one has every rank among
them equally often.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from gauntlet.games.air_land_sea import AirLandSea
from gauntlet.games.base import Game, default_text_move
from gauntlet.games.capabilities import Redealt, measures_of
from gauntlet.games.contract import values_with_score
from gauntlet.games.holdem import Holdem
from gauntlet.games.openspiel.game import OpenSpiel
from gauntlet.games.pit import Pit
from gauntlet.games.playouts import RANDOM, play_on
from gauntlet.games.uno import Uno
from gauntlet.games.uno.arena import UnoArena
from gauntlet.games.uno.rules import PILE
from gauntlet.games.uno.state import State
from tests.games.cases import NAMED

OURS: dict[str, Any] = {
    "uno": Uno(num_seats=3),
    "uno_arena": UnoArena(num_seats=2),
    "holdem": Holdem(mode="hands", hands=2),
    "air_land_sea": AirLandSea(goal=7),
    "pit": Pit(turns=60, deal_turns=20),
}
if find_spec("pyspiel"):
    OURS |= {
        "leduc": OpenSpiel(name="leduc_poker"),
        "kuhn of 3": OpenSpiel(name="kuhn_poker", num_seats=3),
        "pig": OpenSpiel(name="pig", parameters={"winscore": 6, "horizon": 20}),
    }
GAMES = {**{name: game for name, game in NAMED.items() if isinstance(game, Redealt)}, **OURS}
"""OURS, and every other game of conf/game that has a `redealt`; a new one is tested at once."""
REDEALS = 4
Redealing = Callable[[Any, np.random.Generator], Any]


def rank_p(game: Game[Any], redealt: Redealing, matches: int) -> float:
    """The chi-square p-value of the true state's ranks."""
    counts = np.zeros(REDEALS + 1)
    for number in range(matches):
        rng = np.random.default_rng((matches, number))
        state = some_state(game, rng)
        copies = [state, *(redealt(state, rng) for _ in range(REDEALS))]
        marks = [mark(game, one, number) for one in copies]
        lower, ties = (sum(one < marks[0] for one in marks), marks[1:].count(marks[0]))
        counts[lower + rng.integers(ties + 1)] += 1
    return float(chisquare(counts).pvalue)


def some_state(game: Game[Any], rng: np.random.Generator) -> Any:
    """A state of a random match, not its end."""
    states, state = [], game.deal(rng)
    while seats := game.to_move(state):
        states.append(state)
        options = [game.legal(state, seat) for seat in seats]
        drawn = [legal[rng.integers(len(legal))] for legal in options]
        state = game.play(state, [default_text_move(option, rng) for option in drawn])
    return states[int(len(states) * rng.random() ** 2)]


def mark(game: Game[Any], state: Any, seed: int) -> int:
    """A number for how a state goes on with random players."""
    end, _ = play_on(game, state, [RANDOM] * game.num_seats, np.random.default_rng(seed))
    return zlib.crc32(game.show(end).encode())


@pytest.mark.parametrize("name", GAMES)
def test_the_true_state_is_one_of_its_redeals(name: str) -> None:
    assert isinstance(GAMES[name], Redealt)
    assert rank_p(GAMES[name], GAMES[name].redealt, 150) > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("name", GAMES)
def test_the_true_state_is_one_of_its_redeals_in_many_matches(name: str) -> None:
    assert rank_p(GAMES[name], GAMES[name].redealt, 1_500) > 1e-4


def test_a_wrong_redeal_is_caught() -> None:
    """A pile in order, and a board that may repeat a card of a hand."""

    def sorted_pile(state: State, rng: np.random.Generator) -> State:
        array = state.array.copy()
        array[PILE + 1 : PILE + 1 + array[PILE]].sort()
        return replace(state, array=array)

    assert rank_p(GAMES["uno"], sorted_pile, 150) < 1e-6


@pytest.mark.parametrize("name", GAMES)
def test_what_a_seat_sees_stays(name: str) -> None:
    game = GAMES[name]
    for number in range(20):
        rng = np.random.default_rng(number)
        state = some_state(game, rng)
        other = game.redealt(state, rng)
        assert game.to_move(other) == game.to_move(state)
        for seat in range(game.num_seats):
            assert game.observe(other, seat) == game.observe(state, seat)


@pytest.mark.parametrize("name", GAMES)
def test_a_redeal_depends_on_what_was_seen_alone(name: str) -> None:
    game = GAMES[name]
    for number in range(20):
        rng = np.random.default_rng(number)
        state = some_state(game, rng)
        once, twice = (
            game.redealt(one, np.random.default_rng(7)) for one in (state, game.redealt(state, rng))
        )
        assert once == twice


@pytest.mark.parametrize(
    "name", [name for name, game in GAMES.items() if hasattr(game, "rollouts")]
)
def test_rollouts_are_those_by_the_rules(name: str) -> None:
    """With the same means, by a z-test, from new deals, from a state and after a move."""
    game = GAMES[name]
    measure = measures_of(game)[0].name
    players = [getattr(game, "references", (RANDOM,))[0], *[RANDOM] * (game.num_seats - 1)]
    state = game.deal(np.random.default_rng(3))
    (seat,) = game.to_move(state)
    move = game.legal(state, seat)[-1]

    for start, moves in ((None, ()), (state, ()), (state, (move,))):
        fast = game.rollouts(start, moves, players, 4_000, 1, measure)
        slow = []
        for number in range(400):
            rng = np.random.default_rng((9, number))
            begun = game.deal(rng) if start is None else game.redealt(start, rng)
            begun = game.play(begun, moves) if moves else begun
            end, _ = play_on(game, begun, players, rng)
            slow.append(values_with_score(game, end)[measure])
        off = fast.mean(axis=0) - np.mean(slow, axis=0)
        error = np.hypot(fast.std(axis=0) / 4_000**0.5, np.std(slow, axis=0) / 20)
        assert (np.abs(off) < 4.5 * error + 1e-12).all(), (off, error)
