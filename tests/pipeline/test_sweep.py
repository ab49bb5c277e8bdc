"""Whole sweeps in small, also of generated games and of observers: what they leave, what
running again does, and when they stop."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pandas as pd
import pytest

from gauntlet.pipeline import replay, report, verify
from gauntlet.pipeline.tables.sweep.pairs import COLUMNS as PAIRS
from gauntlet.pipeline.tables.sweep.summary import SUMMARY
from gauntlet.stats.sequential import FIRST_LOOK, sprt
from tests.pipeline.conftest import Capsys, Full, Sweep
from tests.pipeline.logs import matches, raw_lines


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
    for absent in ("labels", "ablation", "obfuscation"):
        assert not (folder / f"{absent}.csv").exists(), "nobody asked for it"
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


def test_only_what_is_missing_is_played_and_every_table_has_all(
    sweep: Sweep, folder: Path, capsys: Capsys
) -> None:
    """A run with fewer deals than the log has shows what `python -m pipeline.report` does."""
    sweep("game=tic_tac_toe", "deals=3")
    before = {path: path.read_bytes() for path in (folder / "records").iterdir()}
    assert sweep("game=tic_tac_toe", "deals=5") == 0
    for path, content in before.items():
        assert path.read_bytes().startswith(content)
    whole, played = (folder / "summary.csv").read_bytes(), matches(folder)
    assert len(played) == 10
    capsys.readouterr()
    assert sweep("game=tic_tac_toe", "deals=3") == 0
    told = capsys.readouterr().out
    line = "5 deals are in the log and 3 were asked for, nothing is left to play; tables use all 5"
    assert line in told.splitlines()
    assert (folder / "summary.csv").read_bytes() == whole
    assert report.main([str(folder)]) == 0
    assert (folder / "summary.csv").read_bytes() == whole
    shown = capsys.readouterr().out
    assert told[told.index("\ncell") : told.index("\nreport")].strip() in shown
    sweep("game=tic_tac_toe", "deals=5", "prompt=cloze")
    assert matches(folder) == played
    assert list(summary(folder)["prompt"]) == ["cloze"]
    runs = [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]
    assert [run["matches"] for run in runs] == [6, 4]
    assert all(run["command"].startswith("python -m pipeline.run launch=inline ") for run in runs)
    assert [run["command"].split()[-1] for run in runs] == ["deals=3", "deals=5"]


def test_every_cell_meets_the_same_deals_and_the_same_opponent(sweep: Sweep, folder: Path) -> None:
    """Up to the subject's first turn two cells are the same match."""
    sweep("deals=12")
    by_deal: dict[int, list[list[object]]] = {}
    for record in matches(folder).values():
        opening = []
        for decision in record.decisions:
            if decision.seat == 1 and not decision.forced:
                break
            opening.append((decision.options, decision.chosen))
        by_deal.setdefault(record.deal, []).append(opening)
    assert all(a == b for a, b in by_deal.values())
    assert len({str(openings) for openings in by_deal.values()}) > 8


# --- stopping


STRONG = ("game=tic_tac_toe", "agent=minimax", "baseline=random", "expect.win_rate=0.9")


def deals(folder: Path) -> int:
    (row,) = pd.read_csv(folder / "summary.csv").to_dict("records")
    return int(row["deals"])


def test_sprt_stops_at_the_deal_that_the_log_says_and_plays_nothing_more(
    sweep: Sweep, folder: Path, capsys: Capsys, full: Full
) -> None:
    assert sweep(*STRONG, "stop=sprt", "deals=400") == 0
    found, stopped = matches(folder), deals(folder)
    scores = {
        record.deal: (1 + record.returns[record.measured[0]]) / 2 for record in found.values()
    }
    (row,) = pd.read_csv(folder / "summary.csv").to_dict("records")
    said = sprt([scores[deal] for deal in range(stopped)], row["baseline"], 0.9)
    assert said is not None
    assert said.deals == stopped <= len(scores) < 400
    assert "above the baseline" in capsys.readouterr().out
    assert "take the number of deals as fixed" in full()
    assert deals(folder) == stopped
    assert sweep(*STRONG, "stop=sprt", "deals=400") == 0
    assert matches(folder) == found
    more = len(found) + 5
    assert sweep(*STRONG, f"deals={more}") == 0
    assert deals(folder) == more
    assert not (folder / "stop.json").exists()


def test_precision_waits_for_its_first_look(sweep: Sweep, folder: Path) -> None:
    sweep(
        "game=tic_tac_toe", "agent=random", "stop=precision", "expect.half_width=0.4", "deals=300"
    )
    assert deals(folder) == FIRST_LOOK
    (stop,) = json.loads((folder / "stop.json").read_text())["cells"].values()
    assert stop == {"deals": FIRST_LOOK, "above": False}


def test_perfect_players_keep_all_value(sweep: Sweep, folder: Path) -> None:
    players = ("agent=rule", "agent.policy=perfect,one_ply", "baseline=null", "rotate=true")
    game = ("game=evergreen", "game.family=takeaway", "measure=value_kept")
    assert sweep(*game, *players, "deals=20") == 0
    rows = pd.read_csv(folder / "summary.csv")
    perfect, one_ply = rows["estimate"]
    assert rows["measure"].eq("value_kept").all()
    assert perfect == 1.0
    assert one_ply < 0.98


WATCH = ("game=watch_rps", "game.of.rounds=14", "seats=observer", "deals=3")
TEXTS = (
    "prompt=observe",
    r"""+model.texts=['{"guess_s1": "D", "guess_s2": "Y"}', 'I cannot say']""",
)


def records(folder: Path) -> dict[str, dict[str, object]]:
    """Return each match's result, without its duration."""
    timed = ("seconds", "device_seconds", "clock", "crc32")
    return {
        match: {key: value for key, value in one.items() if key not in timed}
        for match, one in raw_lines(folder).items()
    }


def test_observers_are_played_and_told_apart(sweep: Sweep, folder: Path, full: Full) -> None:
    players = "game.players=[H,C],[D,Y]"
    assert sweep(*WATCH, players, "agent=random,likeliest,llm", *TEXTS) == 0
    shown = full()
    (start,) = (n for n, line in enumerate(shown.splitlines()) if line.startswith("Who was named"))
    assert max(map(len, shown.splitlines()[start : start + 24])) <= 100
    warned = [one for one in " ".join(shown.split()).split("WARNING ") if "by outcomes:" in one]
    assert len(warned) == 2 * 3, "below the verdict, and below the table"
    assert all("[D,Y]" in line and "46 answers" in line for line in warned)
    with (folder / "watched.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["alike"], row["blind"]) for row in rows].count(("46.0", "1.0")) == 3
    assert {row["guesses"] for row in rows} == {"12"}
    before = records(folder)
    assert len(before) == 18
    for match, record in list(before.items())[::4]:
        again = replay.replay(match, [folder])
        assert list(again.returns) == record["returns"]
    assert verify.main([str(folder)]) == 0
    assert report.main([str(folder)]) == 0
    for file in (folder / "records").glob("*.jsonl"):  # as if it had been killed in the middle
        file.write_text("".join(file.read_text().splitlines(keepends=True)[:1]))
    assert sweep(*WATCH, players, "agent=random,likeliest,llm", *TEXTS) == 0
    assert records(folder) == before


def test_no_guess_is_a_fallback_and_a_null(sweep: Sweep, folder: Path) -> None:
    assert sweep(*WATCH, "agent=llm", *TEXTS) == 0
    for record in records(folder).values():
        decisions, measures = record["decisions"], record["measures"]
        assert isinstance(decisions, list)
        assert isinstance(measures, dict)
        nulls = [one for one in decisions if one["text"] == "-"]
        assert all(one["fallback"] and len(one["asked"]) == 2 for one in nulls)
        assert measures["null_rate"] == [len(nulls) / 4]
        assert all(one["text"] == "D Y" for one in decisions if one not in nulls)
