"""Adaptive sweeps: rounds of the pairs that the verdict still needs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gauntlet.common.errors import ModelError
from gauntlet.models.fake import FakeModel
from gauntlet.pipeline import report, track, verify
from gauntlet.pipeline.judging.tournament import evidence, sentences, shares
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.tables.registry import Results
from gauntlet.pipeline.tables.sweep.tournament import pair_verdict
from gauntlet.stats.tournament import Tournament, Verdict
from tests.pipeline.conftest import Capsys, Once, Refusal, Sweep
from tests.pipeline.logs import matches
from tests.pipeline.stores import runs

FIELD = (
    *("pairing=adaptive", "game=tic_tac_toe", "players=[random,first,minimax]"),
    *("deals=400", "round_deals=4", "margin=.2", "controls=auto"),
)


@pytest.fixture
def settled(once: Once) -> Folder:
    return Folder(once(*FIELD))


def test_rounds_have_fresh_deals_and_only_open_pairs(settled: Folder) -> None:
    rounds, cells = settled.rounds, settled.sweep_cells()
    assert [one.deals.start for one in rounds] == [0, *(one.deals.stop for one in rounds[:-1])]
    assert len(rounds[0].cells) == 3
    assert len(rounds[-1].cells) < 3
    played = {(one.cell, one.deal) for one in matches(settled.path).values()}
    assert played == {(key, deal) for one in rounds for key in one.cells for deal in one.deals}
    assert all(about.rotations == 2 for about in cells)


def test_each_round_follows_from_the_rounds_before(settled: Folder) -> None:
    rule, cells = settled.rule, Results.load(settled.path).cells
    for number, each in enumerate(settled.rounds):
        before = [_first(cell, each.deals.start) for cell in cells]
        found = evidence(rule, before)
        asked = {frozenset(rule["players"][one] for one in pair) for pair in found.next_pairs()}
        chosen = {
            frozenset(cell.about.sides or ()) for cell in cells if cell.about.key in each.cells
        }
        assert asked == chosen, number
    assert not evidence(rule, cells).next_pairs()


def _first(cell: Any, deals: int) -> Any:
    return replace(cell, outcomes=cell.outcomes.first(deals))


def test_a_share_is_the_mean_over_both_seats(settled: Folder) -> None:
    for cell in Results.load(settled.path).cells:
        own: dict[int, list[float]] = {}
        for record in settled.matches(cell.about.stem):
            (seat,) = record.measured
            win, lost = (record.measures["win"][at] for at in (seat, 1 - seat))
            own.setdefault(record.deal, []).append((1 + win - lost) / 2)
        assert shares(cell).tolist() == [sum(own[deal]) / 2 for deal in sorted(own)]


def test_a_killed_run_makes_the_same_rounds(settled: Folder, sweep: Sweep, tmp_path: Path) -> None:
    copy, lost = tmp_path / "copy", 5
    shutil.copytree(settled.path, copy)
    rounds = (copy / "rounds.jsonl").read_bytes().splitlines(keepends=True)
    (copy / "rounds.jsonl").write_bytes(b"".join(rounds[:-lost]) + rounds[-lost][:20])
    end = json.loads(rounds[-lost - 1])["deals"][1]
    for file in (copy / "records").iterdir():
        kept = [
            line for line in file.read_bytes().splitlines(keepends=True) if _deal(line) < end - 1
        ]
        file.write_bytes(b"".join(kept))
    assert sweep(*FIELD, f"output_dir={copy}") == 0
    assert (copy / "rounds.jsonl").read_bytes() == b"".join(rounds)
    assert matches(copy).keys() == matches(settled.path).keys()
    assert sweep(*FIELD, f"output_dir={copy}") == 0, "nothing is left to play"
    assert (copy / "rounds.jsonl").read_bytes() == b"".join(rounds)


@pytest.mark.parametrize("number", [0, -1])
def test_a_damaged_round_is_refused_and_found_again(
    settled: Folder, sweep: Sweep, refusal: Refusal, number: int
) -> None:
    file = settled.path / "rounds.jsonl"
    rounds, verdict = file.read_bytes(), (settled.path / "verdict.csv").read_bytes()
    lines = rounds.splitlines(keepends=True)
    lines[number] = lines[number].replace(b'"deals"', b'"dealt"')
    file.write_bytes(b"".join(lines))
    assert str(file) in refusal(report.main([str(settled.path)]))
    assert verify.main([str(settled.path)]) == 1
    assert sweep(*FIELD) == 0
    assert file.read_bytes() == rounds
    assert (settled.path / "verdict.csv").read_bytes() == verdict
    assert verify.main([str(settled.path)]) == 0


def test_matches_of_no_round_are_named(settled: Folder, capsys: Capsys) -> None:
    file = settled.path / "rounds.jsonl"
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-1]))
    capsys.readouterr()
    assert verify.main([str(settled.path)]) == 1
    assert "of no round" in capsys.readouterr().out


def _deal(line: bytes) -> int:
    return int(json.loads(line).get("deal", 0))


def test_the_verdict_leads(settled: Folder) -> None:
    verdict = pd.read_csv(settled.path / "verdict.csv")["verdict"]
    assert len(verdict) == 1
    assert "Settled after" in verdict[0]
    assert "minimax > " in verdict[0]
    rows = pd.read_csv(settled.path / "tournament.csv")
    assert rows["player_a"][0] == "minimax"
    assert len(rows) == 3
    assert set(rows["verdict"]) <= {"better", "level", "unneeded"}
    assert not (settled.path / "pairs.csv").exists()
    assert not (settled.path / "standings.csv").exists()


def test_verify_expects_only_the_deals_of_the_rounds(settled: Folder, capsys: Capsys) -> None:
    assert verify.main([str(settled.path)]) == 0
    file = max(settled.records_folder.iterdir(), key=lambda one: one.stat().st_size)
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-3]))
    capsys.readouterr()
    assert verify.main([str(settled.path)]) == 1
    assert "3 matches missing" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("verdict", "line"),
    [("top1", "minimax is the best of 3"), ("pair", "first"), ("all", "minimax > ")],
)
def test_other_verdicts(sweep: Sweep, folder: Path, verdict: str, line: str) -> None:
    assert sweep(*FIELD, f"verdict={verdict}", "margin=.3") == 0
    found = pd.read_csv(folder / "verdict.csv")["verdict"][0]
    assert "Settled" in found
    assert line in found


@pytest.mark.parametrize(
    ("budget", "line"),
    [
        ("deals=8", "all 8 deals are played"),
        ("budget.matches=20", "budget.matches=20 is spent"),
    ],
)
def test_a_limit_leaves_the_verdict_open(
    sweep: Sweep, folder: Path, capsys: Capsys, budget: str, line: str
) -> None:
    assert sweep(*FIELD, "margin=.01", budget) == 0
    assert line in capsys.readouterr().out
    assert "Open after" in pd.read_csv(folder / "verdict.csv")["verdict"][0]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("stop=precision",), "stop=fixed"),
        (("deals=auto",), "most deals"),
        (("noise_floor=true",), "noise_floor=false"),
        (("controls=[first]",), "no controls"),
        (("rotate=false",), "rotate=false"),
        (("model.seed=1,2", "players=[vanilla,first]"), "one model and prompt"),
        (("verdict=best",), "verdict"),
        (("round_deals=0",), "round_deals"),
        (("budget.matches=0",), "budget.matches"),
        (("budget.hours=1",), "budget.hours"),
    ],
)
def test_what_does_not_go_with_rounds_is_refused(
    sweep: Sweep, refusal: Refusal, folder: Path, words: tuple[str, ...], line: str
) -> None:
    assert line in refusal(sweep(*FIELD, *words))
    assert not (folder / "rounds.jsonl").exists()


def league(verdict: Verdict, wins: Sequence[tuple[int, int]], margin: float = 0.0) -> Tournament:
    """Of four players, who win all deals of these pairs."""
    found = Tournament(4, verdict, margin=margin)
    for pair in wins:
        found.add(*pair, np.ones(100))
    return found


RULE = {"players": [*"ABCD"]}
ROUND = ((0, 1), (1, 2), (2, 0))


def test_claims_that_go_round_are_said_in_their_direction() -> None:
    found = league("order", ROUND)
    assert next(sentences(RULE, found, 1)).startswith("No order after 1 round: A beats B beats C")
    assert [pair_verdict(found, pair) for pair in ROUND] == ["better"] * 3
    assert pair_verdict(found, (0, 2)) == "worse"
    found = league("all", [*ROUND, (0, 3), (1, 3), (2, 3)])
    assert not found.open
    assert next(sentences(RULE, found, 1)).startswith("No order after 1 round: A beats B beats C")


def test_a_failing_player_ends_the_rounds_and_the_next_run_goes_on(
    sweep: Sweep, folder: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(self: FakeModel, requests: object) -> object:
        raise ModelError("no answer")

    asked = (*FIELD[:2], "players=[vanilla,random,first]", "deals=16", "margin=.01")
    with monkeypatch.context() as down:
        down.setattr(FakeModel, "answer", failing)
        assert sweep(*asked) == 0
    said = capsys.readouterr().out
    assert "stopped  no round follows, as a cell failed" in said
    assert len(Folder(folder).rounds) == 1
    assert sweep(*asked) == 0
    said = capsys.readouterr().out
    assert "already in the log: 1 round\n" in said
    assert "preflight 32 matches of this round" in said
    assert [one.deals for one in Folder(folder).rounds] == [range(8), range(8, 16)]
    assert "no round follows" not in said


def test_money_needs_prices(sweep: Sweep, refusal: Refusal) -> None:
    asked = (*FIELD[:2], "players=[vanilla,first]", "budget.money=1")
    assert "budget.money: the price of vanilla.fake's model is" in refusal(sweep(*asked))


@pytest.mark.filterwarnings("ignore")  # mlflow's own
def test_mlflow_counts_the_deals_that_a_cell_played(settled: Folder, store: Path) -> None:
    assert track.main([str(settled.path), "--store", str(store)]) == 0
    found = {run.data.tags.get("gauntlet.cell"): run.data for run in runs(store)}
    deals = {about.key: 0 for about in settled.sweep_cells()}
    for one in settled.rounds:
        deals |= {key: deals[key] + len(one.deals) for key in one.cells}
    assert len({*deals.values()}) > 1
    assert {key: int(found[key].params["deals"]) for key in deals} == deals


def test_a_folder_of_other_matches_is_refused(sweep: Sweep, folder: Path, refusal: Refusal) -> None:
    asked = (*FIELD[:2], "players=[vanilla,first]", "verdict=pair", "deals=8")
    assert sweep(*asked, "pairing=round_robin", "rotate=true") == 0
    assert "belong to no round" in refusal(sweep(*asked))
    assert "not of this sweep" in refusal(sweep(*asked, "game.size=4"))
    shutil.rmtree(folder)
    assert sweep(*asked) == 0
    assert "not of this sweep" in refusal(sweep(*asked, "game.size=4"))


def test_a_folder_keeps_its_rule(settled: Folder, sweep: Sweep, refusal: Refusal) -> None:
    assert "verdict=order" in refusal(sweep(*FIELD, "verdict=top1"))
    assert "pairing=adaptive" in refusal(sweep(*FIELD, "pairing=round_robin"))
