"""Luck out of matches in which nobody is scripted."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gauntlet.games.capabilities import values_with_score
from gauntlet.games.holdem import Holdem
from gauntlet.games.openspiel.game import OpenSpiel
from gauntlet.games.playouts import scripted_move
from gauntlet.games.uno import Uno
from gauntlet.pipeline import report
from gauntlet.pipeline.judging.chance import Judge, Turn, fresh_mean
from gauntlet.pipeline.tables.registry import load_cells
from gauntlet.stats.control_variates import corrected
from tests.pipeline.conftest import Capsys, Sweep

ROWS = {
    "leduc, unknown": (OpenSpiel(name="leduc_poker"), "utility", ("random", "random"), (), 1.0),
    "leduc, both known": (
        *(OpenSpiel(name="leduc_poker"), "utility", ("random", "random"), (0, 1)),
        5.0,
    ),
    "kuhn, both known": (
        *(OpenSpiel(name="kuhn_poker"), "utility", ("random", "random"), (0, 1)),
        1.5,
    ),
    "holdem, unknown": (Holdem(mode="hands", hands=1), "bb_per_hand", ("tight", "random"), (), 1.5),
    "holdem, one known": (
        *(Holdem(mode="hands", hands=1), "bb_per_hand", ("maniac", "random"), (1,)),
        1.5,
    ),
    "uno, unknown": (Uno(), "win", ("rule", "random"), (), 1.2),
}
"""Game, measure, players, those known to the method, and the least ratio of variances."""


def deals(row: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Each deal's result of player 0 and its corrections, means over both seatings."""
    game, measure, players, known, _ = ROWS[row]
    judges = [judge(game, measure, players, known, seating) for seating in ((0, 1), (1, 0))]
    found = np.array(
        [[match(one, players, deal, s) for s, one in enumerate(judges)] for deal in range(count)]
    ).mean(axis=1)
    return found[:, 0], found[:, 1:]


def judge(game: Any, measure: str, players: Any, known: Any, seating: tuple[int, int]) -> Judge:
    reference = getattr(game, "references", ("random",))[0]
    policies = tuple(players[player] if player in known else reference for player in seating)
    scripted = frozenset(seat for seat, player in enumerate(seating) if player in known)
    measured = (seating.index(0),)
    mean = fresh_mean(game, policies, measured, measure)
    return Judge(game, policies, scripted, measured, measure, mean)


def match(one: Judge, players: Any, deal: int, rotation: int) -> tuple[float, ...]:
    game, rng = one.game, np.random.default_rng((deal, rotation))
    start = state = game.deal(np.random.default_rng(deal))
    turns: list[Turn] = []
    while seats := game.to_move(state):
        played = [players[seat if rotation == 0 else 1 - seat] for seat in seats]
        moves = [
            scripted_move(game, state, seat, by, rng)
            for seat, by in zip(seats, played, strict=True)
        ]
        turns.append((state, seats, moves))
        state = game.play(state, moves)
    result = values_with_score(game, state)[one.measure][one.measured[0]]
    return result, *one.corrections(start, turns, 2 * deal + rotation)


@pytest.mark.parametrize("row", ["kuhn, both known", "holdem, unknown"])
def test_corrections_have_mean_0_and_take_luck_out(row: str) -> None:
    check(row, 150)


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS)
def test_corrections_have_mean_0_over_many_deals(row: str) -> None:
    z, ratio = check(row, 3_000)
    print(f"luck out of 3,000 deals, {row}: z {z.round(1)}, variance ratio {ratio:.2f}")


def check(row: str, count: int) -> tuple[np.ndarray, float]:
    values, corrections = deals(row, count)
    spread = corrections.std(axis=0)
    z = corrections.mean(axis=0)[spread > 0] / spread[spread > 0] * np.sqrt(count)
    assert np.abs(z).max() < 4.5, z
    ratio = values.var() / corrected(values, corrections).var()
    assert ratio > ROWS[row][-1]
    return z, float(ratio)


LEDUC = ("game=openspiel", "game.name=leduc_poker", "seats.0.agent=llm", "prompt=cloze")


def test_a_sweep_of_models_against_models_is_adjusted(
    sweep: Sweep, folder: Path, capsys: Capsys
) -> None:
    words = (*LEDUC, "seats.0.model=fake", "seats.0.prompt=counterfactual", "rotate=true")
    assert sweep(*words, "deals=12") == 0
    (row,) = pd.read_csv(folder / "summary.csv").to_dict("records")
    before, values = stored(folder), by_deal(folder)
    assert row["estimator"] == "adjusted"
    assert row["estimate"] == pytest.approx(values.mean())
    assert report.main([str(folder), "--full"]) == 0
    shown = capsys.readouterr().out
    assert "chance: what no player had seen yet" in shown
    shutil.rmtree(folder / "luck")
    assert sweep(*words, "deals=30") == 0
    again = stored(folder)["corrections"]
    assert {match: again[match] for match in before["corrections"]} == before["corrections"]
    assert np.array_equal(by_deal(folder)[:12], values), "later deals change nothing"


def stored(folder: Path) -> dict[str, Any]:
    (path,) = (folder / "luck").iterdir()
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def by_deal(folder: Path) -> np.ndarray:

    (cell,) = load_cells(folder)
    assert cell.adjusted is not None
    return cell.adjusted.values


def test_a_game_without_redeals_keeps_its_reason(sweep: Sweep, folder: Path) -> None:
    assert sweep("game=tic_tac_toe", "prompt=cloze", "deals=2", "seats.0.agent=llm") == 0
    assert "tic_tac_toe has no `redealt`" in stored(folder)["reason"]
