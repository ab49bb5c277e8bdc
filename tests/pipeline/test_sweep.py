"""Small whole sweeps: their output, and the effect of running again."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from gauntlet.pipeline import report
from gauntlet.pipeline.tables.pairs import COLUMNS as PAIRS
from gauntlet.pipeline.tables.summary import SUMMARY
from tests.pipeline.conftest import Sweep
from tests.pipeline.logs import matches


def summary(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "summary.csv", keep_default_na=False, na_values=[""])


@pytest.mark.drawn
def test_a_sweep_leaves_the_promised_files(sweep: Sweep, folder: Path) -> None:
    assert sweep() == 0
    table, pairs = summary(folder), pd.read_csv(folder / "pairs.csv")
    assert (list(table.columns), list(pairs.columns)) == ([*SUMMARY], [*PAIRS])
    assert list(table["prompt"]) == ["cloze", "counterfactual"]
    assert list(table["matches"]) == [6, 6]
    assert len(pairs) == 1
    assert "<svg" in (folder / "report.html").read_text()
    assert "http-equiv" not in (folder / "report.html").read_text()


def test_a_record_tells_the_whole_match(sweep: Sweep, folder: Path) -> None:
    sweep("prompt=cloze", "deals=1")
    (record,) = matches(folder).values()
    asked = [d for d in record.decisions if d.asked]
    assert asked, "the model was asked nothing"
    for decision in record.decisions:
        assert decision.forced == (len(decision.options) == 1)
        assert 0 <= decision.chosen < len(decision.options)
        if decision.seat == 1 and not decision.forced:
            (exchange,) = decision.asked
            assert len(exchange.branches) == len(decision.options) == len(decision.scores)
            assert decision.chosen == decision.scores.index(max(decision.scores))
            assert decision.tokens == sum(exchange.tokens)
            assert record.statics[exchange.static].startswith("You are player 1")
            assert exchange.shared.startswith("Players: 2")


def test_forced_moves_never_reach_the_model(sweep: Sweep, folder: Path) -> None:
    sweep("prompt=cloze")
    forced = [d for r in matches(folder).values() for d in r.decisions if d.forced]
    assert forced
    assert not any(decision.asked for decision in forced)


def test_the_published_paper_bugs_ask_forced_turns(sweep: Sweep, folder: Path) -> None:
    sweep("prompt=cloze", "paper_bugs=true", "deals=2")
    own = [d for r in matches(folder).values() for d in r.decisions if d.seat == 1]
    assert any(decision.forced for decision in own)
    assert all(decision.asked for decision in own)


def test_more_deals_play_only_what_is_missing(sweep: Sweep, folder: Path) -> None:
    sweep("deals=3")
    before = {path: path.read_bytes() for path in (folder / "records").iterdir()}
    assert sweep("deals=5") == 0
    for path, content in before.items():
        assert path.read_bytes().startswith(content)
    assert len(matches(folder)) == 10
    runs = [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]
    assert [run["matches"] for run in runs] == [6, 4]
    assert all(run["command"].startswith("python -m pipeline.run launch=inline ") for run in runs)
    assert [run["command"].split()[-1] for run in runs] == ["deals=3", "deals=5"]


def test_fewer_deals_than_the_log_holds_play_nothing_and_every_table_has_all(
    sweep: Sweep, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run with fewer deals shows what `python -m pipeline.report` does, and says so."""
    sweep("deals=5")
    whole = (folder / "summary.csv").read_bytes()
    capsys.readouterr()
    assert sweep("deals=3") == 0
    told = capsys.readouterr().out
    line = "5 deals are in the log and 3 were asked for, nothing is left to play; tables use all 5"
    assert line in told.splitlines()
    assert (folder / "summary.csv").read_bytes() == whole
    assert report.main([str(folder)]) == 0
    assert (folder / "summary.csv").read_bytes() == whole
    shown = capsys.readouterr().out
    assert told[told.index("\ncell") : told.index("\nrecords")].strip() in shown


def test_the_same_command_again_plays_nothing(sweep: Sweep, folder: Path) -> None:
    sweep()
    before = matches(folder)
    sweep()
    assert matches(folder) == before
    assert len((folder / "runs.jsonl").read_text().splitlines()) == 1


def test_one_prompt_uses_what_two_have_left(sweep: Sweep, folder: Path) -> None:
    sweep()
    sweep("prompt=cloze")
    assert len(matches(folder)) == 12
    assert list(summary(folder)["prompt"]) == ["cloze"]


def test_every_cell_meets_the_same_deals_and_the_same_opponent(sweep: Sweep, folder: Path) -> None:
    """Up to the subject's first turn two cells are the same match."""
    sweep("deals=20")
    by_deal: dict[int, list[list[object]]] = {}
    for record in matches(folder).values():
        opening = []
        for decision in record.decisions:
            if decision.seat == 1 and not decision.forced:
                break
            opening.append((decision.options, decision.chosen))
        by_deal.setdefault(record.deal, []).append(opening)
    assert all(a == b for a, b in by_deal.values())
    assert len({str(openings) for openings in by_deal.values()}) > 15


def test_width_changes_no_record(sweep: Sweep, folder: Path, tmp_path: Path) -> None:
    sweep("concurrent_matches=1")
    sweep("concurrent_matches=50", f"output_dir={tmp_path / 'wide'}")
    assert matches(folder) == matches(tmp_path / "wide")


def test_another_seed_plays_other_deals(sweep: Sweep, folder: Path, tmp_path: Path) -> None:
    sweep("seed=1")
    sweep("seed=2", f"output_dir={tmp_path / 'two'}")
    assert not matches(folder).keys() & matches(tmp_path / "two").keys()


def test_rotated_seats_give_a_match_a_seat_and_an_interval_by_deal(
    sweep: Sweep, folder: Path
) -> None:
    assert sweep("rotate=true", "deals=10") == 0
    table, pairs = summary(folder), pd.read_csv(folder / "pairs.csv")
    assert list(table["matches"]) == [20, 20]
    assert list(table["deals"]) == [10, 10]
    seats = {(r.rotation, r.subjects[0]) for r in matches(folder).values()}
    assert seats == {(0, 1), (1, 0)}
    assert set(pairs["test"]) == {"permutation"}
    assert pairs["p"].notna().all()


def test_a_baseline_is_measured_and_tested_against(sweep: Sweep, folder: Path) -> None:
    sweep("baseline=random", "agent=rule", "deals=400")
    (row,) = summary(folder).to_dict("records")
    assert row["baseline"] == pytest.approx(0.4954, abs=0.002)
    assert row["baseline_n"] == 400_000
    assert 0 < row["p"] == row["p_holm"] < 1
    assert row["raw"] == pytest.approx(0.542, abs=0.085)  # 3.4 standard errors


def test_other_seats_take_their_own_players(sweep: Sweep, folder: Path) -> None:
    sweep("prompt=cloze", "seats.0.agent=llm", "seats.0.model=fake", "seats.0.prompt=cloze")
    (record, *_) = matches(folder).values()
    assert {d.seat for d in record.decisions if d.asked} == {0, 1}


def test_a_helper_is_told_whom_to_help(sweep: Sweep, folder: Path) -> None:
    sweep("prompt=cloze", "seats=coop", "deals=2")
    for record in matches(folder).values():
        assert record.subjects == (2,)
        assert record.measured == (1,)
        (static,) = record.statics.values()
        assert "You are player 2" in static
        assert "help player 1 win" in static


def test_another_game_is_one_word(sweep: Sweep, folder: Path) -> None:
    assert sweep("game=tic_tac_toe") == 0
    assert list(summary(folder)["game"]) == ["tic_tac_toe", "tic_tac_toe"]


@pytest.mark.parametrize("value", ["0", "-1", "soon", "true"])
def test_a_patience_that_cannot_be_meant_is_refused(
    sweep: Sweep, capsys: pytest.CaptureFixture[str], value: str
) -> None:
    assert sweep("launch=local", f"launch.patience={value}") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "launch.patience is" in line
    assert line.endswith("it must be seconds, more than 0, or null")
