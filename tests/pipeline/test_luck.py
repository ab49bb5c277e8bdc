"""Luck-adjusted columns of whole sweeps: their places and values, and reasons for refusal."""

from __future__ import annotations

import json
import shutil
import threading
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gauntlet.games.holdem import Holdem
from gauntlet.pipeline import report
from gauntlet.pipeline.judging import luck
from gauntlet.pipeline.judging.luck import Luck, error_of
from gauntlet.pipeline.judging.references import Reference, games_of, judged
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.plan.rng import DEAL, stream
from tests.pipeline.conftest import Capsys, Sweep
from tests.pipeline.made import KnownBaseline, about, summary_table, won

COLUMNS = ["estimate", "ci_low", "ci_high"]


def summary(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "summary.csv")


def stored(folder: Path) -> dict[str, Any]:
    (path,) = (folder / "luck").iterdir()
    found: dict[str, Any] = json.loads(path.read_text())
    del found["crc32"]
    return found


def test_the_adjusted_rate_is_the_references_plus_the_mean_advantage(
    sweep: Sweep, folder: Path, capsys: Capsys
) -> None:
    assert sweep("agent=rule", "baseline=random", "deals=60") == 0
    (row,) = summary(folder).to_dict("records")
    found = stored(folder)
    gained = np.array(list(found["advantages"].values()))
    assert len(gained) == 60
    assert found["reference"] == "rule"
    assert found["rate"] == pytest.approx(0.5425, abs=0.002), "of 5,000,000 games 54.25%"
    assert row["estimate"] == pytest.approx(found["rate"] + gained.mean())
    assert row["ci_low"] < row["estimate"] < row["ci_high"]
    assert row["ci_high"] - row["ci_low"] < 0.6 * (row["raw_high"] - row["raw_low"])
    error = np.hypot(gained.std(ddof=1) / np.sqrt(60), found["error"])
    t = 2.001
    for reach in (row["ci_high"] - row["estimate"], row["estimate"] - row["ci_low"]):
        assert t < reach / error < 1.5 * t, "wider than Student's by a deal that was not seen"
    capsys.readouterr()
    assert report.main([str(folder), "--full"]) == 0
    shown = capsys.readouterr().out
    assert "luck-adjusted win rates" in shown
    tables = shown[: shown.index("report: ")]
    assert max(map(len, tables.splitlines())) <= 100
    page = (folder / "report.html").read_text()
    assert "Luck-adjusted win rates" in page
    assert "<th>adjusted</th><th>95% interval</th><th>baseline</th>" in page


def test_what_was_kept_is_found_again_from_the_log(sweep: Sweep, folder: Path) -> None:
    sweep("agent=rule", "baseline=random", "deals=10")
    before = stored(folder)
    shutil.rmtree(folder / "luck")
    sweep("agent=rule", "baseline=random", "deals=10")
    assert stored(folder) == before
    columns = summary(folder)[COLUMNS]
    report.main([str(folder)])
    pd.testing.assert_frame_equal(summary(folder)[COLUMNS], columns)


def test_rotated_matches_are_judged_in_the_seat_that_the_player_had(
    sweep: Sweep, folder: Path
) -> None:
    """The rule player against itself: it gains nothing over the reference in any seat."""
    sweep("agent=rule", "seats.0.agent=rule", "baseline=rule", "deals=8", "rotate=true")
    gained = list(stored(folder)["advantages"].values())
    assert len(gained) == 16
    (row,) = summary(folder).to_dict("records")
    assert (row["estimator"], row["estimate"]) == ("raw", 0.5), "equal players share every deal"
    (luckless,) = pd.read_csv(folder / "luck.csv").to_dict("records")
    assert luckless["estimate"] == pytest.approx(row["baseline"] + np.mean(gained))


def test_cells_of_a_game_take_the_same_estimate(tmp_path: Path) -> None:
    """One cell whose luck is known, and one or two whose results do not vary."""
    rng, cells = np.random.default_rng(1), []
    for name, figures, spread in (("a", [0, 1] * 20, 0.01), *((b, [1] * 40, 0.2) for b in "bc")):
        cells.append(won(about(name, baseline=KnownBaseline(0.5, 0.0)), figures))
        found = {each.match: float(rng.normal(0, spread)) for each in cells[-1].outcomes}
        luck.keep(tmp_path, cells[-1].about, Luck("", "random", 1, 0.5, 0.0, found))
    for many, leading in ((1, True), (2, True), (3, False)):
        judged = luck.with_adjustment(tmp_path, cells[:many])
        assert [cell.adjusted and cell.adjusted.leads for cell in judged] == [leading] * many
        table = summary_table(judged)
        assert table["estimator"].tolist() == ["adjusted" if leading else "raw"] * many
    assert table["estimate"].tolist() == [0.5, 1.0, 1.0]


HANDS = ("game=holdem_hands", "game.hands=2", "baseline=random", "rotate=true")


def test_money_is_adjusted_in_its_own_unit_against_the_players_own_habits(
    sweep: Sweep, folder: Path, capsys: Capsys
) -> None:
    """With the maniac as the subject: after ten deals it is known, and no variance is left."""
    assert sweep(*HANDS, "agent=rule", "agent.policy=maniac", "deals=30") == 0
    (row,) = summary(folder).to_dict("records")
    found = stored(folder)
    (own,) = found["later"]
    assert row["measure"] == "bb_per_hand"
    assert (found["reference"], own["start"]) == ("tight", 10)
    gained = [found["advantages"][each] for each in matches(folder)]
    assert all(gained[:20])
    assert not any(gained[20:])
    assert own["rate"] == pytest.approx(5.4, abs=5 * own["error"])
    rate = (10 * found["rate"] + 20 * own["rate"]) / 30
    assert row["estimate"] == pytest.approx(rate + sum(gained) / 60)
    assert report.main([str(folder), "--full"]) == 0
    shown = capsys.readouterr().out
    table = shown[shown.index("luck-adjusted bb_per_hand") :]
    assert f"habits {rate:.3f}" in table
    assert "learnt from its earlier deals" in " ".join(table.split())
    assert "%" not in table[: table.index("Wins, draws and losses")].replace("95%", "")


def matches(folder: Path) -> list[str]:
    """Those of the folder's only cell, by deal and rotation."""
    (path,) = (folder / "records").glob("*.jsonl")
    found = [json.loads(line) for line in path.read_text().splitlines()]
    told = [(one["deal"], one["rotation"], one["match"]) for one in found if "match" in one]
    return [match for _, _, match in sorted(told)]


def test_what_judges_a_deal_was_learnt_from_earlier_ones_alone(sweep: Sweep, folder: Path) -> None:
    """A sweep that is extended, and one that was played at once: a deal's value does not depend on
    later ones. And the habits are those of ten deals, not of those that they judge."""
    player = (*HANDS, "agent=rule", "agent.policy=mixed")
    sweep(*player, "deals=12")
    before, first = stored(folder), matches(folder)
    sweep(*player, "deals=42")
    found = stored(folder)
    assert [one["start"] for one in found["later"]] == [10, 40]
    assert found["later"][:1] == before["later"]
    assert {each: found["advantages"][each] for each in first} == before["advantages"]
    shutil.rmtree(folder / "luck")
    sweep(*player, "deals=42")
    assert stored(folder) == found
    assert found["later"][0]["policy"] == imitated(folder, 10)
    assert found["later"][0]["policy"] != imitated(folder, 12)


def imitated(folder: Path, deals: int) -> str:
    """Return hold'em's reference from a cell's first deals, by its log alone."""
    place, game, seen = Folder(folder), Holdem(mode="hands", hands=2), []
    (about,) = place.sweep_cells()
    for played in games_of(folder, about, set(matches(folder)[: 2 * deals])):
        seat = 1 - played.rotation  # the subject is player 1
        seen.append((game.deal(stream(place.seed, game, played.deal, DEAL)), played.moves, seat))
    return game.imitate(seen)


def test_references_of_several_stretches_bring_their_errors_by_share() -> None:
    two = [Reference(0, "tight", 0.0, 0.3), Reference(10, "habits a", 0.0, 0.4)]
    assert error_of(two) == pytest.approx(np.hypot(0.3, 0.4) / 2)
    alike = [Reference(10, "habits a", 0.0, 0.4), Reference(40, "habits a", 0.0, 0.2)]
    assert error_of(alike) == pytest.approx(0.3), "no two that might cancel"


@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        (
            ["agent=rule", "baseline=null"],
            "there is no baseline to compare with; every player is scripted",
        ),
        (
            ["agent=random", "game=holdem", "game.hands=2", "baseline=null"],
            "a match goes on with what is left; every player is scripted",
        ),
        (
            ["agent=random", "game=arctic_scavengers", "baseline=null"],
            "arctic_scavengers has no playouts to judge luck by; arctic_scavengers has no ",
        ),
        (
            ["seats.0.agent=llm", "rotate=true"],
            "equal players in all seats share every deal evenly",
        ),
    ],
)
def test_what_cannot_be_adjusted_is_refused_with_the_reason(
    sweep: Sweep, folder: Path, capsys: Capsys, overrides: list[str], reason: str
) -> None:
    assert sweep(*overrides, "prompt=cloze", "deals=2") == 0
    assert set(summary(folder)["estimator"]) == {"raw"}
    capsys.readouterr()
    assert report.main([str(folder), "--full"]) == 0
    assert reason in " ".join(capsys.readouterr().out.split())
    assert reason in " ".join((folder / "report.html").read_text().split())


def test_an_interrupt_ends_the_judging_of_a_long_match() -> None:
    cell: Any = type("cell", (), {"name": "long"})
    matches: list[Any] = [type("match", (), {"match": str(number)}) for number in range(8)]
    begun, late, ended = threading.Event(), threading.Event(), list[BaseException]()

    def judge(match: Any) -> int:
        if match.match == "0":
            return 0
        begun.set()
        try:
            return sum(1 for _ in takewhile(lambda _: not late.is_set(), count()))
        except BaseException as error:
            ended.append(error)
            raise

    found: Any = judged(cell, matches, judge, print)
    assert next(found) == ("0", 0)
    assert begun.wait(10)
    closing = threading.Thread(target=found.close)
    closing.start()
    closing.join(timeout=20)
    late.set()
    assert [type(error) for error in ended] == [SystemExit] * len(ended)
    assert 1 <= len(ended) <= 2
