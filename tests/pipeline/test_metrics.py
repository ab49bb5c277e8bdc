"""Decision metrics of whole sweeps: decisions judged, files written, refusals."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.games.uno.arena import UnoArena
from gauntlet.pipeline import metrics
from gauntlet.pipeline.judging.judgement_cache import RecordedCell
from gauntlet.pipeline.judging.metric_rows import JudgedCell, wins
from gauntlet.stats.proportions import wilson
from tests.pipeline.conftest import Refusal, Sweep
from tests.pipeline.logs import edited, matches
from tests.pipeline.records import ended

TURNS = ((0, 1), (1, 0))
"""The player in each seat, by rotation."""


def measured(folder: Path, *options: str) -> pd.DataFrame:
    assert metrics.main([str(folder), "--playouts", "40", "--threads", "1", *options]) == 0
    return pd.read_csv(folder / "metrics" / "metrics.csv")


def lines(folder: Path) -> list[dict[str, Any]]:
    text = (folder / "metrics" / "decisions.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("game", ["uno", "uno_arena"])
def test_every_decision_of_the_subject_is_judged(sweep: Sweep, folder: Path, game: str) -> None:
    assert sweep(f"game={game}", "agent=rule", "deals=3") == 0
    table = measured(folder, "--traces", "1")
    summary = pd.read_csv(folder / "summary.csv")
    found = lines(folder)
    assert len(found) == summary["decisions"].sum()
    assert {line["player"] for line in found} == {1}
    for line in found:
        for source in ("true", "seen"):
            values = line[source]["values"]
            assert len(values) == len(set(line["options"])) == len(line["options"])
            assert 0 <= min(values) <= max(values) <= 1
            better = sum(value > values[line["chosen"]] for value in values)
            assert line[source]["rank"] == 1 + better
            assert line[source]["criticality"] == pytest.approx(max(values) - min(values))
    assert len(table) == 3 * 2 * 2 * 2
    row = table[(table["options"] == 2) & (table["values"] == "true")].iloc[0]
    two = [line["true"]["rank"] for line in found if len(line["options"]) == 2]
    assert row["decisions"] == len(two)
    assert row["adr"] == pytest.approx(sum(two) / len(two))
    assert row["odhr"] == pytest.approx(2 - row["adr"])
    assert row["wins"] == (summary["raw"] * summary["matches"]).sum()
    trace = pd.read_csv(folder / "metrics" / "traces.csv")
    assert set(trace["deal"]) == {0}
    (first,) = (record for record in matches(folder).values() if record.deal == 0)
    last = trace[trace["ply"] == trace["ply"].max()].sort_values("seat")
    assert list(last["true"]) == [float(worth > 0) for worth in first.returns]


@pytest.mark.parametrize("game", ["rock_paper_scissors"])
def test_a_game_without_playouts_of_its_own_is_judged_too(
    sweep: Sweep, folder: Path, game: str
) -> None:
    assert sweep(f"game={game}", "agent=search", "agent.playouts=20", "deals=2") == 0
    measured(folder, "--traces", "1")
    found = lines(folder)
    assert found
    for line in found:
        assert line["true"] == line["seen"]
        values = line["true"]["values"]
        assert 0 <= min(values) <= max(values) <= 1
        assert line["true"]["rank"] == 1 + sum(value > values[line["chosen"]] for value in values)
    trace = pd.read_csv(folder / "metrics" / "traces.csv")
    assert set(trace["seat"]) == {0, 1}


def recorded(game: Any, deals: int) -> RecordedCell:
    """A cell of matches with one decision between two options each, and one ply after it."""
    records = tuple(ended(deal=deal) for deal in range(deals))
    about: Any = None
    return RecordedCell(about, game, ("a", "b"), records)


def test_playouts_are_as_many_as_the_games_can_be_asked_for() -> None:
    fast, slow = recorded(UnoArena(), 1), recorded(TicTacToe(), 1)
    assert metrics.Options().settled([fast]).playouts == metrics.PLAYOUTS == 1_000
    assert metrics.Options().settled([fast, slow]).playouts == metrics.SLOW_PLAYOUTS
    asked = metrics.Options(playouts=7).settled([slow])
    assert (asked.playouts, asked.deals) == (7, None)


def test_what_a_game_lacks_to_be_judged_is_one_line(
    sweep: Sweep, folder: Path, refusal: Refusal, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sweep("game=tic_tac_toe", "agent=random", "deals=1") == 0
    monkeypatch.setattr(TicTacToe, "perfect_information", False)
    line = "TicTacToe cannot be played on from what a seat knows: it has no `sample`"
    assert line in refusal(metrics.main([str(folder)]))


def test_wins_alone_and_shared_ones_are_told_apart() -> None:
    """Three matches, the last with the players' seats exchanged."""
    returns = ((1.0, -1.0), (1.0, 1.0), (-1.0, 1.0))
    records = [
        ended(returns=worth, rotation=rotation, deal=deal)
        for deal, (worth, rotation) in enumerate(zip(returns, (0, 0, 1), strict=True))
    ]
    cell = JudgedCell("cell", "key", ("a", "b"), (0, 1), TURNS, tuple(records), (), ())
    counts = ("games", "wins", "solo_wins", "shared_wins")
    assert [wins(cell, 0)[name] for name in counts] == [3, 3, 2, 1]
    assert [wins(cell, 1)[name] for name in counts] == [3, 1, 0, 1]


def test_deals_that_all_come_out_alike_do_not_settle_a_win_rate() -> None:
    """Two players who play alike, seats exchanged: each wins one game of every deal."""
    records = [ended(rotation=rotation, deal=deal) for deal in range(100) for rotation in (0, 1)]
    found = wins(JudgedCell("cell", "key", ("a", "b"), (0, 1), TURNS, tuple(records), (), ()), 1)
    reach = float(wilson(0, 100).high) / 2
    assert found["win_rate"] == 0.5
    assert (found["win_low"], found["win_high"]) == pytest.approx(
        (0.5 - reach, 0.5 + reach), abs=5e-4
    )


FIVE = [f"+seats.{seat}={{agent: llm, model: fake, prompt: cloze}}" for seat in (2, 3, 4)]
FIVE += [f"seats.0={{agent: llm, model: fake, prompt: {prompt}}}" for prompt in ("counterfactual",)]


def test_everybody_at_a_table_of_five_has_rows(sweep: Sweep, folder: Path) -> None:
    """Wins are counted here from the returns, seat by seat."""
    table = ("game=uno_arena", "agent=llm", "prompt=cloze", *FIVE)
    assert sweep(*table, "deals=2", "rotate=true") == 0
    found = measured(folder, "--everybody", "--playouts", "10", "--traces", "1")
    records = list(matches(folder).values())
    readings = found.groupby(["options", "values", "threshold", "fallbacks"])
    assert len(readings) == 3 * 2 * 2 * 2
    assert all(list(rows["player"]) == [0, 1, 2, 3, 4] for _, rows in readings)
    players = found.drop_duplicates("player").set_index("player")
    assert players.loc[0, "name"] == "llm.fake.counterfactual"
    assert players.loc[4, "name"] == "llm.fake.cloze"
    for player, row in players.iterrows():
        own = [r.returns[(player + r.rotation) % 5] > 0 for r in records]
        alone = [sum(worth > 0 for worth in r.returns) == 1 for r in records]
        assert row["games"] == len(records)
        assert row["solo_wins"] == sum(map(all, zip(own, alone, strict=True)))
        assert row["shared_wins"] == sum(own) - row["solo_wins"]
        assert row["win_rate"] == sum(own) / len(own)
    (cell,) = pd.read_csv(folder / "summary.csv").to_dict("records")
    subject = players.loc[1]
    assert subject["win_low"] == pytest.approx(cell["raw_low"])
    assert subject["win_high"] == pytest.approx(cell["raw_high"])
    decided = {line["player"] for line in lines(folder)}
    assert decided == {0, 1, 2, 3, 4}
    trace = pd.read_csv(folder / "metrics" / "traces.csv")
    rotations = pd.DataFrame(
        [(r.match, r.rotation) for r in records], columns=["match", "rotation"]
    )
    turns = trace.merge(rotations, on="match")
    assert (turns["player"] == (turns["seat"] - turns["rotation"]) % 5).all()
    drawn = {path.name for path in (folder / "metrics").glob("*.png")}
    assert drawn == {"decision_quality.png", "heat_map.png", "traces.png"}


def outputs(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "metrics").iterdir()}


@pytest.mark.slow
def test_by_ray_the_files_are_the_same_to_the_byte(sweep: Sweep, folder: Path) -> None:
    """With more matches than one batch holds, in a separate process."""
    assert sweep("game=uno_arena", "agent=random,rule", "deals=20") == 0
    measured(folder, "--everybody")
    here = outputs(folder)
    shutil.rmtree(folder / "judged")  # cached results would not be judged again
    command = [sys.executable, "-m", "gauntlet.pipeline.metrics", str(folder), "--playouts", "40"]
    command += ["--everybody", "--launch", "local", "workers=2"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert "judged 40 of 40 matches" in run.stdout
    assert outputs(folder) == here
    assert set(here) == {
        "metrics.csv",
        "decisions.jsonl",
        "traces.csv",
        "traces.png",
        "decision_quality.png",
        "heat_map.png",
    }


def test_threads_and_the_order_of_the_log_change_no_table(sweep: Sweep, folder: Path) -> None:
    """Of eight matches with exchanged seats."""
    assert sweep("game=uno_arena", "agent=random", "deals=4", "rotate=true") == 0
    measured(folder, "--everybody")
    first = outputs(folder)
    (path,) = (folder / "records").glob("*.jsonl")
    written = path.read_text().splitlines(keepends=True)
    path.write_text("".join(reversed(written)))
    measured(folder, "--everybody", "--threads", "2")
    assert outputs(folder) == first


def fallen_back(message: dict[str, Any]) -> dict[str, Any]:
    for decision in message["decisions"]:
        decision["fallback"] = decision["seat"] in message["subjects"]
    return message


def test_decisions_of_a_fallback_are_left_out_and_counted_apart(sweep: Sweep, folder: Path) -> None:
    assert sweep("game=uno_arena", "agent=llm", "prompt=cloze", "deals=2") == 0
    (path,) = (folder / "records").glob("*.jsonl")
    edited(path, fallen_back)
    table = measured(folder)
    left_out = table[table["fallbacks"] == "left_out"]
    assert left_out["decisions"].sum() == 0
    assert left_out["odhr"].isna().all()
    assert table[table["fallbacks"] == "counted"]["decisions"].sum() > 0


UNUSABLE = {
    "--playouts 0": "playouts, threads and deals are 1 or more",
    "--thresholds 0 15": "from 0 to 1, got 0 15",
    "--thresholds nan": "from 0 to 1, got nan",
    "--thresholds 0.1 0.1": "different numbers",
    "--launch lokal": "did you mean 'local'",
    "--launch slurm": "(known: local, ray)",
    "--launch local worker=2": "did you mean 'workers'",
    "--launch local workers=0": "launch.workers is 0",
    "--launch ray": "launch.address must be given",
}


def test_options_that_cannot_be_used_are_refused(
    sweep: Sweep, folder: Path, refusal: Refusal
) -> None:
    assert sweep("game=uno_arena", "agent=random", "deals=1") == 0
    for options, message in UNUSABLE.items():
        assert message in refusal(metrics.main([str(folder), *options.split()]))
    assert not (folder / "judged").exists()
