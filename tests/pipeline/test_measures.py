"""Sweeps of games with custom measures, from the log to every view."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gauntlet.games.capabilities import WIN
from gauntlet.pipeline import status
from gauntlet.pipeline.judging.stopping import deal_values
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.outcomes import outcome
from gauntlet.pipeline.log.results import CellInfo
from gauntlet.stats.means import limits, p_value
from gauntlet.stats.paired import sign_flip
from tests.pipeline.conftest import Capsys, Sweep
from tests.pipeline.logs import matches
from tests.pipeline.made import scored
from tests.pipeline.records import ended

BARE = ("game=tic_tac_toe", "~game.size", "~game.win_length", "packages=[tests]")
TEAMS = (
    *("seats.0={agent: random, goal: win}", "seats.1={agent: subject, goal: win}"),
    *("+seats.2={agent: random, goal: win}", "+seats.3={agent: subject, goal: win}"),
    "seats.measured=[1,3]",
)


def game(name: str) -> tuple[str, ...]:
    return (*BARE, f"game._target_=tests.pipeline.scored.{name}")


def rows(folder: Path, name: str = "summary") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pd.read_csv(folder / f"{name}.csv").to_dict("records")
    return found


def scores(folder: Path, prompt: str) -> np.ndarray:
    """Return the measured seat's score in a cell, by deal, directly from the records."""
    (key,) = (
        about.key for about in Folder(folder).sweep_cells() if about.labels["prompt"] == prompt
    )
    found = {
        record.deal: record.measures["score"][record.measured[0]]
        for record in matches(folder).values()
        if record.cell == key
    }
    return np.array([found[deal] for deal in sorted(found)])


@pytest.mark.parametrize(
    ("words", "goal"),
    [
        (game("Harvest"), "Goal: score as many points as you can.\n"),
        (("game=holdem_hands",), "Goal: score as many chips as you can.\n"),
        (("game=holdem",), "Goal: win the game yourself.\n"),
    ],
)
def test_a_prompt_says_what_is_played_for(
    sweep: Sweep, folder: Path, words: tuple[str, ...], goal: str
) -> None:
    assert sweep(*words, "prompt=vanilla", "deals=1") == 0
    (record,) = matches(folder).values()
    asked = [one for decision in record.decisions for one in decision.asked]
    assert asked
    assert all(goal in record.statics.get(one.static, "") + one.shared for one in asked)


@pytest.mark.drawn
def test_a_scored_game_is_judged_by_its_score(sweep: Sweep, folder: Path, capsys: Capsys) -> None:
    assert sweep(*game("Harvest"), "deals=30") == 0
    terminal = capsys.readouterr().out
    for found in rows(folder):
        own = scores(folder, found["prompt"])
        expected = limits(own, (0, 10))
        assert (found["measure"], found["measure_high"]) == ("score", 10)
        assert found["raw"] == pytest.approx(own.mean())
        assert (found["raw_low"], found["raw_high"]) == pytest.approx(expected)
        assert found["estimator"] == "raw"
    (pair,) = rows(folder, "pairs")
    first, second = (scores(folder, prompt) for prompt in ("cloze", "counterfactual"))
    assert pair["difference"] == pytest.approx((first - second).mean())
    tests = (sign_flip(first, second, 0).p_value, p_value(first - second, (-10, 10), 0, "either"))
    assert pair["p"] == pytest.approx(max(tests))
    tables = terminal[: terminal.index("report   ")]
    assert max(map(len, tables.splitlines())) <= 100
    assert "what 30 deals detect in score depends on the spread of its values" in tables
    assert "score" in (folder / "report.html").read_text()
    assert {path.name for path in (folder / "figures").iterdir()} == {
        *("means_score.png", "running_means_score.png", "paired_differences_score.png"),
        *("choices.png", "means_score_and_cost.png"),
    }
    assert status.main([str(folder)]) == 0
    assert "score" in capsys.readouterr().out


def test_a_team_is_judged_by_the_wins_and_the_turns_of_its_players(
    sweep: Sweep, folder: Path
) -> None:
    """Seats 1 and 3 win together; the decisions of both count."""
    assert sweep(*game("Race"), *TEAMS, "prompt=cloze", "deals=40") == 0
    (found,) = rows(folder)
    won = [record.measures["win"][1] for record in matches(folder).values()]
    assert found["raw"] == np.mean(won)
    assert found["decisions"] == 2 * 40
    assert (found["raw_low"], found["raw_high"]) == pytest.approx(limits(won, (0, 1)))
    (about,) = Folder(folder).sweep_cells()
    assert (about.measured, about.measure) == (2, WIN)


def test_a_description_comes_back_as_it_was_written() -> None:
    for bounds in ((0, 10), (-np.inf, np.inf), (0, np.inf)):
        about = scored("a", [1]).about
        measure = type(about.measure)("score", *bounds)
        kept = CellInfo(**{**vars(about), "measure": measure})
        assert CellInfo.read(json.loads(json.dumps(kept.data(), allow_nan=False))) == kept


def test_a_match_of_a_team_is_worth_what_its_seats_have_in_the_mean() -> None:
    record = ended(
        returns=(0.5, -1.0),
        measures={"win": (1.0, 0.0), "return": (0.5, -1.0)},
        subjects=(0,),
        measured=(0, 1),
    )
    assert (outcome(record).figure, outcome(record).won) == (0.5, 0.5)
    assert outcome(record, {"c": "return"}).figure == outcome(record).value == -0.25


def test_precision_looks_at_figures_in_parts_of_the_range(folder: Path) -> None:
    result, cell = scored("a", [4, 6, 10]), SimpleNamespace(game=None, labels={"game": "race"})
    folder.mkdir()
    values, null = deal_values(folder, cell, result, 1)  # type: ignore[arg-type]
    assert (values, null) == ([0.4, 0.6, 1.0], np.inf)
