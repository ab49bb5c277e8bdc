"""Side questions: they change no match, a resumed run neither loses nor doubles them, and the
tables are theirs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gauntlet.pipeline import report as command
from gauntlet.pipeline.log.beliefs import Belief, MatchBeliefs, beliefs_file, read_beliefs
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.tables.commands.beliefs import BeliefTable, belief_scores
from tests.pipeline.conftest import Capsys, Full, Refusal, Sweep

LEDUC = ("game=openspiel", "game.name=leduc_poker")
KUHN = ("game=openspiel", "game.name=kuhn_poker")
HOLDEM = ("game=holdem", "game.mode=hands", "game.hands=2")
BESIDE = ("seconds", "device_seconds", "clock", "crc32")
ON = ("beliefs=on", "beliefs.every=1")


def plain(folder: Path) -> list[bytes]:
    """The lines of all records without times."""
    lines = []
    for path in Folder(folder).record_files():
        for line in path.read_bytes().splitlines():
            data = json.loads(line)
            lines.append(json.dumps({k: v for k, v in data.items() if k not in BESIDE}).encode())
    return sorted(lines)


def stored(folder: Path) -> dict[str, MatchBeliefs]:
    (about,) = Folder(folder).sweep_cells()
    return {one.match: one for one in read_beliefs(folder, about.stem)}


def raw_lines(folder: Path) -> list[bytes]:
    (path,) = (folder / "beliefs").glob("*.jsonl")
    return path.read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize(
    ("game", "prompt"), [(KUHN, "cloze"), (KUHN, "cot"), (LEDUC, "tutri"), (HOLDEM, "cloze")]
)
def test_asking_changes_no_record(
    sweep: Sweep, tmp_path: Path, game: tuple[str, ...], prompt: str
) -> None:
    in_order = "concurrent_matches=1"  # which match keeps shared texts depends on the order
    words = (*game, f"prompt={prompt}", "rotate=true", "deals=3", in_order)
    without, beside = tmp_path / "without", tmp_path / "beside"
    assert sweep(*words, f"output_dir={without}") == 0
    assert sweep(*words, f"output_dir={beside}", *ON) == 0
    assert plain(beside) == plain(without)
    assert len(stored(beside)) == 6
    assert not (without / "beliefs").exists()
    before = {path: path.read_bytes() for path in Folder(without).record_files()}
    assert sweep(*words, f"output_dir={without}", *ON) == 0
    assert {path: path.read_bytes() for path in before} == before, "byte for byte"
    assert stored(without) == stored(beside), "asked later is asked alike"


def test_a_resumed_run_neither_loses_nor_doubles(
    sweep: Sweep, folder: Path, capsys: Capsys
) -> None:
    words = (*LEDUC, "prompt=cloze", *ON)
    assert sweep(*words, "deals=4") == 0
    lines = raw_lines(folder)
    assert sweep(*words, "deals=9") == 0
    later = raw_lines(folder)
    assert later[:4] == lines
    assert len(later) == len(stored(folder)) == 9
    assert sweep(*words, "deals=9") == 0
    assert raw_lines(folder) == later
    (path,) = (folder / "beliefs").glob("*.jsonl")
    path.write_bytes(b"".join([later[0], later[1].replace(b'"truth":', b'"trvth":'), *later[2:8]]))
    with path.open("ab") as file:
        file.write(later[8][:40])
    capsys.readouterr()
    assert sweep(*words, "deals=9") == 0
    assert "1 damaged line moved" in capsys.readouterr().out
    assert sorted(raw_lines(folder)) == sorted(later)


def test_every_third_decision_is_asked_about_from_the_first_on(sweep: Sweep, folder: Path) -> None:
    assert sweep(*HOLDEM, "prompt=cloze", "beliefs=on", "deals=4", "game.hands=8") == 0
    for record in Folder(folder).matches():
        own = [n for n, d in enumerate(record.decisions) if d.seat == 1 and d.asked]
        found = stored(folder)[record.match].beliefs
        assert list(dict.fromkeys(one.ply for one in found)) == own[::3]
    assert sweep(*HOLDEM, "prompt=cloze", *ON, "deals=4", "game.hands=8") == 0
    for record in Folder(folder).matches():
        own = [n for n, d in enumerate(record.decisions) if d.seat == 1 and d.asked]
        found = stored(folder)[record.match].beliefs
        assert list(dict.fromkeys(one.ply for one in found)) == own, "asked anew"


def test_what_turned_out_is_what_the_record_says(sweep: Sweep, folder: Path) -> None:
    against = ("seats=against", "seats.0.player=equilibrium", "rotate=true")
    assert sweep(*KUHN, *against, "prompt=cloze", "deals=20", *ON) == 0
    kinds = set()
    for record in Folder(folder).matches():
        for one in stored(folder)[record.match].beliefs:
            kinds.add(one.kind)
            taken = record.decisions[one.ply]
            assert (taken.seat, taken.chosen) == (one.seat, one.chosen)
            assert one.seat in record.subjects
            if one.kind == "win":
                assert one.answers[one.truth] == ("yes" if record.returns[one.seat] > 0 else "no")
            elif one.kind == "move":
                assert record.decisions[one.ply + 1].move == one.answers[one.truth]
            if one.kind != "win":
                assert one.exact
                assert one.exact[one.truth] > 0
    assert kinds == {"hidden", "move", "win"}


def test_moves_of_an_unknown_opponent_tell_nothing(sweep: Sweep, folder: Path) -> None:
    seat = ("seats.0.agent=llm", "seats.0.model=fake", "seats.0.prompt=direct")
    assert sweep(*KUHN, *seat, "prompt=cloze", "deals=6", *ON) == 0
    found = [one for match in stored(folder).values() for one in match.beliefs]
    assert all(not one.exact and not one.worths for one in found)
    assert all(bool(one.deal) == (one.kind == "hidden") for one in found)
    row = pd.read_csv(folder / "beliefs.csv").set_index("question").loc["hidden"]
    assert np.isnan(row["distance"])
    assert not (folder / "beliefs_used.csv").exists()


@pytest.mark.drawn
def test_the_tables_are_those_of_the_file(sweep: Sweep, folder: Path, full: Full) -> None:
    assert sweep(*KUHN, "prompt=cloze", "deals=120", *ON) == 0
    assert (folder / "figures" / "belief_calibration.png").exists()
    found = [one for match in stored(folder).values() for one in match.beliefs]
    rows = pd.read_csv(folder / "beliefs.csv").set_index("question")
    for kind, row in rows.iterrows():
        own = [one for one in found if one.kind == kind]
        briers, masses = [], []
        for one in own:
            q = np.array(one.scores) / sum(one.scores)
            briers.append(((q - np.eye(len(q))[one.truth]) ** 2).sum())
            masses.append(sum(one.scores))
        assert row["beliefs"] == len(own)
        assert row["brier"] == pytest.approx(np.mean(briers))
        assert row["mass"] == pytest.approx(np.mean(masses))
        total = row["miscalibration"] - row["discrimination"] + row["uncertainty"]
        assert total == pytest.approx(row["brier"] / row["answers"])
    used = pd.read_csv(folder / "beliefs_used.csv").iloc[0]
    assert used["lost"] == pytest.approx(used["not_knowing"] + used["not_using"])
    assert used["not_knowing"] >= 0
    told = full()
    assert "What players believed" in told
    assert "Lost by not knowing, or by not using it" in told
    low = rows["mass"].min() < 0.01
    assert ("answers have less than 1% of all probability" in " ".join(told.split())) == low


def test_a_win_is_forecast_as_a_martingale_or_not() -> None:
    """Two matches of one deal each: .5, .8, won; .5, lost."""
    rows = []
    for match, (ply, stated, truth) in zip(
        "aab", ((0, 0.5, 0), (2, 0.8, 0), (1, 0.5, 1)), strict=True
    ):
        line = MatchBeliefs(match=match, deal=ord(match), rotation=0, every=1, beliefs=())
        rows.append((line, belief(ply=ply, scores=(stated, 1 - stated), truth=truth)))
    found = belief_scores(BeliefTable.from_rows(rows), "win")
    assert found["drift"] == pytest.approx((0.3 + 0.2 - 0.5) / 3)
    assert found["excess"] == pytest.approx((0.3 * 0 + 0.2 * -0.6 + -0.5 * 0) / 3)


def belief(**changes: Any) -> Belief:
    usual = {"ply": 0, "seat": 0, "chosen": 0, "kind": "win", "about": 0, "truth": 0}
    return Belief(**{**usual, "answers": ("yes", "no"), "scores": (0.5, 0.5), **changes})


def test_beliefs_without_any_probability_are_counted() -> None:
    line = MatchBeliefs(match="a", deal=0, rotation=0, every=1, beliefs=())
    own = BeliefTable.from_rows([(line, belief()), (line, belief(scores=(0.0, 0.0)))])
    assert (len(own.rows), own.unread, own.mass) == (1, 1, 0.5)


def test_probabilities_that_do_not_sum_to_1_are_refused() -> None:
    for wrong in ({"exact": (0.5, 0.4)}, {"deal": (1.0,)}, {"scores": (0.9, 0.9)}, {"truth": 2}):
        with pytest.raises(ValueError, match=r"sum|fit"):
            belief(**wrong)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("game=tic_tac_toe", "prompt=cloze"), "tic_tac_toe has no questions about what is hidden"),
        ((*KUHN, "agent=random"), "asks no model"),
        ((*KUHN, "prompt=cloze", "beliefs.every=0"), "beliefs.every is 0"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_play(
    sweep: Sweep, folder: Path, refusal: Refusal, words: tuple[str, ...], told: str
) -> None:
    assert told in refusal(sweep(*words, "beliefs=on"))
    assert not beliefs_file(folder, "").parent.exists()


def test_a_report_reads_what_was_asked(sweep: Sweep, folder: Path) -> None:
    assert sweep(*KUHN, "prompt=cloze", "deals=5", *ON) == 0
    (folder / "beliefs.csv").unlink()
    assert command.main([str(folder), "--full"]) == 0
    assert sweep(*KUHN, "prompt=cloze", "deals=5") == 0, "later runs keep the table"
    assert (folder / "beliefs.csv").exists()
