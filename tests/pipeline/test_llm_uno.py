"""LLM-UNO's experiments as configured in conf/: seats, goals in words, sizes, other players."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from gauntlet.games.uno import Uno
from gauntlet.pipeline.plan import baseline
from tests.nodes import nodes
from tests.pipeline.conftest import Sweep
from tests.pipeline.logs import matches


def aims(record: dict[str, Any]) -> set[tuple[int, str]]:
    """Return each seat's goal as stated in its prompt."""
    found = set()
    for text in record.statics.values():
        seat = re.search(r"You are player (\d)", text)
        goal = re.search(r"Goal: ([^.;]*)", text)
        assert seat
        assert goal
        found.add((int(seat[1]), goal[1]))
    return found


def test_the_published_sizes_are_the_default() -> None:
    experiments = nodes("experiment")
    assert experiments["llm_uno_solo"]["deals"] == experiments["llm_uno_coop"]["deals"] == 10_000
    assert experiments["llm_uno_baselines"]["deals"] == 100_000


def test_alone_the_model_plays_to_win_from_seat_1(sweep: Sweep, folder: Path) -> None:
    assert sweep("experiment=llm_uno_solo", "deals=3") == 0
    assert list(pd.read_csv(folder / "summary.csv")["prompt"]) == ["cloze", "counterfactual"]
    for record in matches(folder).values():
        assert (record.subjects, record.measured, len(record.returns)) == ((1,), (1,), 2)
        assert aims(record) == {(1, "win the game yourself")}


def test_together_the_model_in_seat_2_helps_seat_1(sweep: Sweep, folder: Path) -> None:
    assert sweep("experiment=llm_uno_coop", "deals=3") == 0
    for record in matches(folder).values():
        assert (record.subjects, record.measured, len(record.returns)) == ((2,), (1,), 3)
        assert aims(record) <= {(2, "help player 1 win")}


def test_with_rotated_seats_the_helped_one_moves_along(sweep: Sweep, folder: Path) -> None:
    assert sweep("experiment=llm_uno_coop", "prompt=cloze", "deals=6", "rotate=true") == 0
    seen: set[tuple[int, str]] = set()
    for record in matches(folder).values():
        assert record.measured == ((record.subjects[0] - 1) % 3,)
        seen |= aims(record)
    assert seen == {(seat, f"help player {(seat - 1) % 3} win") for seat in range(3)}
    (row,) = pd.read_csv(folder / "summary.csv").to_dict("records")
    assert (row["deals"], row["matches"]) == (6, 18)


def test_rotated_seats_are_compared_with_the_mean_over_seats(
    sweep: Sweep, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second rule player's share in each of the three rotations of rule, rule, random."""
    monkeypatch.setattr(baseline, "FEWEST", 400_000)  # a standard error of .0008
    words = ("experiment=llm_uno_coop", "prompt=cloze", "deals=2", "baseline=random")
    assert sweep(*words) == 0
    assert pd.read_csv(folder / "summary.csv")["baseline"][0] == pytest.approx(0.3520, abs=0.0025)
    rotated = folder / "rotated"
    sweep(*words, "rotate=true", f"output_dir={rotated}")
    seated = (("rule rule random", 1), ("random rule rule", 2), ("rule random rule", 0))
    shares = [Uno(3).simulate(players.split(), 200_000, 8)[seat] for players, seat in seated]
    expected = sum(shares) / 600_000
    assert abs(expected - 0.3520) > 0.0025
    assert pd.read_csv(rotated / "summary.csv")["baseline"][0] == pytest.approx(
        expected, abs=0.0025
    )


@pytest.mark.parametrize(
    "player",
    [
        ["seats.0.agent=random"],
        ["seats.0.agent=search"],
        ["seats.0.agent=saboteur", "seats.0.goal=help:1"],
        ["seats.1.agent=llm", "seats.1.model=fake", "seats.1.prompt=counterfactual"],
    ],
)
def test_any_player_may_take_another_seat(sweep: Sweep, folder: Path, player: list[str]) -> None:
    assert sweep("experiment=llm_uno_coop", "prompt=cloze", "deals=2", *player) == 0
    assert len(matches(folder)) == 2
