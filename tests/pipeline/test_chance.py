"""Luck out of matches in which nobody is scripted."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from msgspec import structs

from benchmarks.chance import FEW, HANDS, ROWS, measured
from gauntlet.games.openspiel.game import OpenSpiel
from gauntlet.games.pit import Pit
from gauntlet.games.playouts import RANDOM, scripted_move
from gauntlet.pipeline import report, verify
from gauntlet.pipeline.judging.chance import Judge, Turn, turns
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.tables.registry import load_cells
from tests.pipeline.conftest import Capsys, Sweep

LEAST = {
    "kuhn_poker, sharp v soft, 0 and 1, habits": 1.5,
    "hold'em, tight v random, none, reference": 1.2,
}
"""The least ratio of variances."""


@pytest.mark.parametrize("name", LEAST)
def test_corrections_have_mean_0_and_take_luck_out(name: str) -> None:
    found = measured(ROWS[name], 100)
    assert np.abs(found.z).max() < 4.5
    assert found.ratio > LEAST[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", FEW)
def test_corrections_have_mean_0_over_many_deals(name: str) -> None:
    found = measured(ROWS[name], 1_000)
    assert np.abs(found.z).max() < 4.5
    assert found.ratio > 0.9


@dataclass(frozen=True)
class Guess:
    """A bit is shown after the first move; then the player guesses it, and wins if it is right."""

    num_seats: int = 1

    def deal(self, rng: np.random.Generator) -> tuple[int, ...]:
        return (int(rng.random() * 2),)

    def redealt(self, state: tuple[int, ...], rng: np.random.Generator) -> tuple[int, ...]:
        return (int(rng.random() * 2),) if len(state) == 1 else state

    def to_move(self, state: tuple[int, ...]) -> tuple[int, ...]:
        return (0,) if len(state) < 3 else ()

    def legal(self, state: tuple[int, ...], seat: int) -> tuple[int, ...]:
        return (0, 1) if len(state) == 2 else (0,)

    def play(self, state: tuple[int, ...], moves: Sequence[int]) -> tuple[int, ...]:
        return (*state, moves[0])

    def returns(self, state: tuple[int, ...]) -> tuple[float, ...]:
        return (1.0 if state[0] == state[2] else -1.0,)


def test_playouts_do_not_share_random_numbers_with_redeals() -> None:
    """If they did, every guess of a playout would be right, and showing the bit cost half a win."""
    game: Any = Guess()
    judge = Judge(game, (RANDOM,), frozenset(), (0,), "win")
    found = []
    for deal in range(100):
        start = game.deal(np.random.default_rng(deal))
        shown = game.play(start, (0,))
        turns = [Turn(start, (0,), (0,)), Turn(shown, (0,), (deal % 2,))]
        found.append(judge.corrections(start, turns, deal))
    mean = np.mean(found, axis=0)
    assert np.abs(mean).max() < 0.03


def test_the_moves_of_a_slow_game_are_left_alone() -> None:
    """A match of Pit has 200 turns of about 20 options, and nothing plays on from each quickly."""
    game, rng, turns = Pit(), np.random.default_rng(1), list[Turn]()
    start = state = game.deal(rng)
    while seats := game.to_move(state):
        moves = [scripted_move(game, state, seat, RANDOM, rng) for seat in seats]
        turns.append(Turn(state, seats, moves))
        state = game.play(state, moves)
    policies = (RANDOM,) * game.num_seats
    judge = Judge(game, policies, frozenset(range(game.num_seats)), (0,), "match_score")
    dealt, _, moved = judge.corrections(start, turns, 1)
    assert dealt != 0
    assert moved == 0


def hands(opening: int, told: bool, count: int) -> np.ndarray:
    """Corrections of hold'em hands of two known tight players, (hands, 3), with an opening at
    random, which the method is told or not."""
    judge = Judge(HANDS, ("tight", "tight"), frozenset((0, 1)), (0,), "bb_per_hand")
    found = []
    for deal in range(count):
        rng = np.random.default_rng((5, deal))
        start = state = HANDS.deal(rng)
        turns: list[Turn] = []
        while seats := HANDS.to_move(state):
            by, options = "tight", HANDS.legal(state, seats[0])
            drawn = len(turns) < opening
            move = scripted_move(HANDS, state, seats[0], RANDOM if drawn else by, rng)
            law = (1 / len(options),) * len(options) if drawn and told else ()
            turns.append(Turn(state, seats, (move,), law))
            state = HANDS.play(state, (move,))
        found.append(judge.corrections(start, turns, deal))
    return np.array(found)


def test_an_opening_at_random_is_not_taken_for_its_players_choice() -> None:
    """Of a player that is sure of what it does, an opening at random shows as one more luck."""
    moves = hands(1, True, 150)[:, 2]
    assert moves.std() > 1
    assert abs(moves.mean()) < 4 * moves.std() / 150**0.5


def test_the_law_of_a_move_is_read_from_its_record(sweep: Sweep, folder: Path) -> None:
    words = (*LEDUC, "seats.0.model=fake", "prompt.temperature=0.5", "deals=2")
    assert sweep(*words) == 0
    assert verify.main([str(folder), "--replay", "all"]) == 0
    (about,) = [one.about for one in load_cells(folder)]
    game = OpenSpiel(name="leduc_poker")
    for record in Folder(folder).matches(about.stem):
        read, drawn = [*turns(game, 1, record, 1)], record.decisions
        for number, (turn, made) in enumerate(zip(read, drawn, strict=True)):
            law = (1 / len(made.options),) * len(made.options) if number == 0 else made.chances
            assert turn.law == law
            assert bool(made.chances) == (not made.forced)
        fallback = structs.replace(drawn[-1], fallback=True)
        changed = structs.replace(record, decisions=(*drawn[:-1], fallback))
        assert [*turns(game, 1, changed, 1)][-1].law == (), "a fallback is no draw of that law"
        ended = structs.replace(record, decisions=drawn[:2], plies=2, forfeits=(0,), clock=None)
        assert [*turns(game, 1, ended, 1)] == read[:1], "no move follows when a seat gives up"


def test_another_measure_is_judged_anew(sweep: Sweep, folder: Path) -> None:
    """It is not in the cell's key."""
    words = (*LEDUC, "seats.0.model=fake", "seats.0.prompt=counterfactual", "deals=3")
    assert sweep(*words, "measure=utility") == 0
    chips = stored(folder)["corrections"]
    assert sweep(*words, "measure=win") == 0
    wins = stored(folder)["corrections"]
    assert wins.keys() == chips.keys()
    assert wins != chips
    assert sweep(*words, "measure=utility") == 0
    assert stored(folder)["corrections"] == chips


LEDUC = ("game=openspiel", "game.name=leduc_poker", "seats.0.agent=llm", "prompt=cloze")


@pytest.mark.parametrize("more", [(), ("samples=2", "seed=3,4", "prompt.temperature=0.5")])
def test_a_sweep_of_models_against_models_is_adjusted(
    sweep: Sweep, folder: Path, capsys: Capsys, more: Sequence[str]
) -> None:
    """Habits are learnt from deals 0 to 9."""
    words = (*LEDUC, "seats.0.model=fake", "seats.0.prompt=counterfactual", "rotate=true", *more)
    assert sweep(*words, "deals=12") == 0
    (row,) = pd.read_csv(folder / "luck.csv").to_dict("records")
    before, values = stored(folder), by_deal(folder)
    assert row["estimate"] == pytest.approx(values.mean())
    assert report.main([str(folder), "--full"]) == 0
    shown = capsys.readouterr().out
    assert "chance: what no player had seen yet" in shown
    shutil.rmtree(folder / "luck")
    assert sweep(*words, "deals=20") == 0
    again = stored(folder)["corrections"]
    assert {match: again[match] for match in before["corrections"]} == before["corrections"]
    assert np.array_equal(by_deal(folder)[: len(values)], values), "later deals change nothing"


def stored(folder: Path) -> dict[str, Any]:
    (path,) = (folder / "luck").iterdir()
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def by_deal(folder: Path) -> np.ndarray:

    (cell,) = load_cells(folder)
    assert cell.adjusted is not None
    return cell.adjusted.values
