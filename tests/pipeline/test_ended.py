"""Draws, losses, shared wins, who moved first, round robins, and tests of chips and scores."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gauntlet.games.capabilities import MATCH_SCORE, Measure, add_match_score, judgeable_measures
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.pipeline import report
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.outcomes import Outcome, Outcomes, outcome
from gauntlet.pipeline.log.results import CellInfo, CellResults
from gauntlet.pipeline.tables.registry import TERMINAL, tables
from gauntlet.pipeline.tables.sweep.claims import null_value
from gauntlet.pipeline.tracking.params import of_cells
from gauntlet.stats.means import limits, p_value
from tests.pipeline.conftest import Capsys, Full, Sweep
from tests.pipeline.made import KnownBaseline, about, made_of, pairs_table, scored, summary_table
from tests.pipeline.records import ended as record_of
from tests.pipeline.scored import Harvest

RETURNS = {"w": (1, 0), "d": (0, 0), "l": (0, 1), "s": (1, 1)}
"""Whether the measured player won, and whether the other one did: s is a shared win."""


def meeting(
    players: Sequence[str], ends: str, opened: str = "", rotations: int = 1, **more: Any
) -> CellResults:
    """The second of two players, which is measured, against the first. ends: one letter per match,
    by deal and rotation; opened: 1 if the measured one moved first."""
    own: CellInfo = replace(
        about("-".join(players), rotations=rotations, **more),
        players=tuple(players),
        seats=((1,), (0,))[:rotations],
        in_turn=True,
    )
    own.labels["seats"] = f"solo against {players[0]}"
    kept = Outcomes(own.key)
    for at, end in enumerate(ends):
        won, other = RETURNS[end]
        place = (f"match{at}", own.key, *divmod(at, rotations))
        value = {"w": 1.0, "d": 0.0, "l": -1.0, "s": 1.0}[end]
        ended_by: dict[str, Any] = {"others_won": other, "others_figure": float(other)}
        began = opened[at : at + 1] == "1"
        kept.add(
            Outcome(*place, value, float(won), won, 9, 5, 4, 0, 0, 0.1, **ended_by, opened=began)
        )
    return CellResults(own, kept, len(ends) // rotations, 0)


def rows(result: CellResults) -> dict[str, dict[str, Any]]:
    table = made_of([result])["outcomes"]
    return {row["moved"]: row for row in table.to_dict("records")}


def test_ends_are_counted_with_the_intervals_of_the_summary() -> None:
    (found,) = rows(cell := meeting(("a", "b"), "wwwwwdllls")).values()
    counts = [found[name] for name in ("matches", "wins", "draws", "losses", "shared_wins")]
    assert counts == [10, 6, 1, 3, 1]
    for name, count in (("win", 6), ("draw", 1), ("loss", 3)):
        expected = [count / 10, *map(float, limits((0, 1), (0, 1), counts=(10 - count, count)))]
        assert [found[name + end] for end in ("", "_low", "_high")] == pytest.approx(expected)
    (summary,) = summary_table([cell]).to_dict("records")
    assert (found["win_low"], found["win_high"]) == (summary["raw_low"], summary["raw_high"])
    low, high = limits([1] * 6 + [0.5] * 1 + [0] * 3, (0, 1))
    told = [found[name] for name in ("score", "score_low", "score_high")]
    assert told == pytest.approx([0.65, float(low), float(high)])


def test_rotated_matches_are_counted_by_deal() -> None:
    """Four deals of two: results that go together by deal widen the interval."""
    (found,) = rows(meeting(("a", "b"), "wwddllww", rotations=2)).values()
    low, high = limits([1, 0, 0, 1], (0, 1))
    assert (found["win_low"], found["win_high"]) == (low, high)
    apart = limits((0, 1), (0, 1), counts=(4, 4))
    assert high - low > apart[1] - apart[0]
    assert (found["deals"], found["matches"]) == (4, 8)
    assert (found["ahead"], found["behind"]) == (2, 1)


def test_a_draw_and_a_shared_win_put_nobody_ahead() -> None:
    (found,) = rows(meeting(("a", "b"), "wwwwwddlls")).values()
    assert (found["ahead"], found["behind"]) == (5, 2)


def test_nobody_is_ahead_where_the_sides_are_not_of_one_size() -> None:
    cell = meeting(("a", "b"), "wwl")
    lone = replace(cell, about=replace(cell.about, players=("a", "b", "c")))
    (found,) = rows(lone).values()
    assert np.isnan(found["ahead"])
    assert found["losses"] == 1


def test_who_moved_first_is_told_apart() -> None:
    found = rows(meeting(("a", "b"), "wwdlwl", opened="101010", rotations=2))
    assert list(found) == ["all", "first", "second"]
    first, second = found["first"], found["second"]
    assert [first[name] for name in ("wins", "draws", "losses")] == [2, 1, 0]
    assert [second[name] for name in ("wins", "draws", "losses")] == [1, 0, 2]
    alone = limits((0, 1), (0, 1), counts=(1, 2))
    assert first["win_low"] == pytest.approx(float(alone[0])), "a deal is a match here"


def test_seats_that_move_at_once_have_no_first_mover() -> None:
    cell = meeting(("a", "b"), "wl", opened="10")
    assert list(rows(replace(cell, about=replace(cell.about, in_turn=False)))) == ["all"]


def test_the_end_of_a_record() -> None:
    record = record_of(returns=(0.0, 0.0), measures={"win": (0.0, 0.0)}, measured=(1,))
    asked = outcome(record, {record.cell: MATCH_SCORE.name})
    assert (asked.figure, asked.others_figure, asked.others_won) == (0.5, 0.5, 0)
    won = record_of(returns=(-1.0, 1.0), measures={"win": (0.0, 1.0)}, measured=(0,))
    assert (outcome(won).others_won, outcome(won).others_figure, outcome(won).won) == (1, 1.0, 0.0)


def test_every_game_can_be_judged_by_the_match_score() -> None:
    assert [one.name for one in judgeable_measures(TicTacToe())] == ["match_score", "win"]
    assert [one.name for one in judgeable_measures(Harvest())] == ["score", "win", "match_score"]
    assert add_match_score({}, (1.0, 0.0, -0.5)) == {"match_score": (1.0, 0.5, 0.0)}
    assert add_match_score({"match_score": (3.0,)}, (1.0,)) == {"match_score": (3.0,)}


CHIPS = [3.0, 1.0, 4.0, -1.0, 5.0, 9.0, 2.0]


def test_chips_are_tested_against_the_baseline_or_nothing_won() -> None:
    """A range of 0 up has no natural middle."""
    evenly, up = Measure("chips", -10.0, 10.0), Measure("chips", 0.0, 10.0)
    cells = [
        results_of(about("a", evenly), CHIPS),
        results_of(about("b", evenly, baseline=KnownBaseline(1.0)), CHIPS),
        results_of(about("c", up), CHIPS),
    ]
    found = summary_table(cells)
    assert [null_value(cell.about) for cell in cells[:2]] == [0.0, 1.0]
    assert np.isnan(null_value(cells[2].about))
    for at, against in ((0, 0.0), (1, 1.0)):
        assert found["p"][at] == p_value(CHIPS, (-10, 10), against, "either")
    assert np.isnan(found["p"][2])
    assert np.isnan(found["difference"]).tolist() == [True, False, True], "of a baseline alone"


def test_where_there_is_no_interval_there_is_no_p() -> None:
    """Deals without a range: 99 of them have neither, 100 have both."""
    chips = Measure("chips")
    figures = np.random.default_rng(1).normal(1, 1, 100).tolist()
    cells = [results_of(about(f"{n}", chips), figures[:n]) for n in (99, 100)]
    others = [results_of(about(f"other {n}", chips), [0.0] * n) for n in (99, 100)]
    found = summary_table(cells)
    pairs = pairs_table([*cells, *others]).set_index(["cell_a", "cell_b"])
    for n, known in ((99, False), (100, True)):
        row = found.set_index("cell").loc[f"{n}"]
        assert pd.notna([row["raw_low"], row["p"]]).tolist() == [known] * 2
        pair = pairs.loc[(f"{n}", f"other {n}")]
        assert pd.notna([pair["ci_low"], pair["p"], pair["p_holm"]]).all() == known
    assert [null_value(cell.about) for cell in cells] == [0.0, 0.0]


def results_of(cell: CellInfo, figures: Sequence[float]) -> CellResults:
    return replace(scored(cell.name, figures), about=cell)


def test_a_match_score_is_held_against_half_if_both_took_every_seat() -> None:
    cell = meeting(("a", "b"), "wwdlwwwdww", rotations=2, measure=MATCH_SCORE)
    three = replace(cell.about, players=("a", "b", "c"))
    fixed = replace(cell.about, seats=((1,),))
    found = summary_table([cell, *(replace(cell, about=own) for own in (three, fixed))])
    assert null_value(cell.about) == 0.5
    assert 0 < found["p"][0] <= 1
    for at, own in ((1, three), (2, fixed)):
        assert np.isnan([null_value(own), found["p"][at]]).all()


def robin() -> list[CellResults]:
    """a beats b 3 to 1, b beats c 2 to 0 with two draws, c beats a 2 to 1 with one."""
    return [
        meeting(("b", "a"), "wwwl", opened="0000"),
        meeting(("c", "b"), "wwdd", opened="0000"),
        meeting(("c", "a"), "wlld", opened="0000"),
    ]


def test_a_row_is_wins_and_a_column_losses_over_all_opponents() -> None:
    found = made_of(robin())["standings"].set_index("player")
    assert found["win"].to_dict() == pytest.approx({"a": 0.5, "b": 0.375, "c": 0.25})
    assert found["loss"].to_dict() == pytest.approx({"a": 0.375, "b": 0.375, "c": 0.375})
    assert found["draw"].to_dict() == pytest.approx({"a": 0.125, "b": 0.25, "c": 0.375})
    assert found["score"].sum() == pytest.approx(1.5), "what one wins another loses"
    assert set(found["opponents"]) == {2}
    assert set(found["matches"]) == {8}
    deals = np.array([[1, 1, 1, 0], [1, 0, 0, 0]]).mean(0)
    low, high = limits(deals, (0, 1))
    assert (found["win_low"]["a"], found["win_high"]["a"]) == (low, high)


def test_there_are_standings_where_every_two_have_met_once() -> None:
    whole = robin()
    assert len(made_of(whole)["standings"]) == 3
    for cells in (whole[:2], whole[:1], [*whole, whole[0]], []):
        assert made_of(cells)["standings"].empty


def test_the_other_side_has_its_own_figure_of_a_measure() -> None:
    """Goods of 3 and 7 per deal: the player that is not measured gets the other figure."""
    goods = Measure("goods", 0.0, 10.0)
    cells = []
    for cell in robin():
        own = replace(cell.about, measure=goods)
        each = (replace(one, figure=3.0, others_figure=7.0) for one in cell.outcomes)
        cells.append(CellResults(own, Outcomes.from_outcomes(own.key, each), 4, 0))
    made = made_of(cells)
    found = made["standings"].set_index("player")
    assert found["mean"].to_dict() == pytest.approx({"a": 3.0, "b": 5.0, "c": 7.0})
    (sheet,), (other,) = (
        tables()[name].sheets(made, TERMINAL) for name in ("standings", "shared_opponents")
    )
    assert [row[0] for row in sheet.rows] == ["c", "b", "a"]
    assert sheet.headings[-2] == "goods"
    assert list(other.rows[0][1:5]) == ["1", "3.000", "3.000", "+0.000"]
    assert made["shared_opponents"]["measure_high"].tolist() == [10.0] * 3


def test_a_games_own_match_score_is_the_score() -> None:
    """A game that splits each match .7 to .3 has these scores, whoever won."""
    cells = []
    for cell in robin():
        own = replace(cell.about, measure=MATCH_SCORE)
        each = (replace(one, figure=0.7, others_figure=0.3) for one in cell.outcomes)
        cells.append(CellResults(own, Outcomes.from_outcomes(own.key, each), 4, 0))
    found = made_of(cells)["standings"].set_index("player")
    assert found["score"].to_dict() == pytest.approx({"a": 0.7, "b": 0.5, "c": 0.3})


def test_every_two_stand_side_by_side_over_the_opponents_that_both_have() -> None:
    """Over c alone a has a score of .375 and b one of .75; a beat b in 3 matches of 4."""
    table = made_of(robin())["standings"].set_index("player")
    assert table["over"].to_dict() == {"a": "b, c", "b": "a, c", "c": "a, b"}
    fixed = made_of(robin())["shared_opponents"].set_index(["player_a", "player_b"])
    assert np.isnan(fixed.loc[("a", "b"), ["low", "high"]].astype(float)).all(), "seats differ"
    took_both = [replace(cell, about=replace(cell.about, seats=((1,), (0,)))) for cell in robin()]
    found = made_of(took_both)["shared_opponents"].set_index(["player_a", "player_b"])
    row = found.loc[("a", "b")]
    assert (row["over"], row["opponents"], row["deals"]) == ("c", 1, 4)
    assert [row[name] for name in ("mean_a", "mean_b", "difference")] == [0.375, 0.75, -0.375]
    assert row["head_to_head"] == 0.75
    differences = np.array([1, 0, 0, 0.5]) - [1, 1, 0.5, 0.5]
    low, high = limits(differences, (-1, 1))
    assert (row["low"], row["high"]) == (low, high)


ROBIN = (
    *("game=tic_tac_toe", "pairing=round_robin", "players=[random,minimax,first_option]"),
    *("deals=20", "rotate=true"),
)


def test_a_round_robin_with_draws_from_its_log(sweep: Sweep, folder: Path, full: Full) -> None:
    assert sweep(*ROBIN) == 0
    out = full()
    assert "Wins, draws and losses" in out
    assert "Every two of them in tic_tac_toe" in out
    table = pd.read_csv(folder / "outcomes.csv")
    split = table[table["moved"] != "all"].groupby("cell")[["matches", "wins", "draws"]].sum()
    whole = table[table["moved"] == "all"].set_index("cell")[["matches", "wins", "draws"]]
    assert split.loc[whole.index].equals(whole)
    by_hand = [match.decisions[0].seat in match.measured for match in Folder(folder).matches()]
    assert sum(by_hand) == table[table["moved"] == "first"]["matches"].sum()
    assert len(pd.read_csv(folder / "shared_opponents.csv")) == 3
    players_table = pd.read_csv(folder / "standings.csv").set_index("player")
    assert players_table.loc["minimax", "loss"] == 0
    assert players_table["score"].sum() == pytest.approx(1.5)


@pytest.mark.parametrize("first", ["random", "first_option"])
def test_pairs_are_compared_with_each_other(
    sweep: Sweep, folder: Path, capsys: Capsys, first: str
) -> None:
    """The order of `players` changes nothing: each is tested against its opponent."""
    other = {"random": "first_option", "first_option": "random"}[first]
    robin = ("game=tic_tac_toe", "pairing=round_robin", "deals=100", "rotate=true")
    assert sweep(*robin, f"players=[{first},{other},minimax]") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "tic_tac_toe: by score minimax 9" in told
    assert "3 of 3 pairings show which side is better" in told
    assert pd.read_csv(folder / "summary.csv")["baseline"].isna().all()


def test_a_log_can_be_judged_by_its_score_afterwards(
    sweep: Sweep, folder: Path, capsys: Capsys
) -> None:
    """The same matches with another measure requested; nothing is replayed."""
    game = ("game=tic_tac_toe", "agent=random", "deals=8")
    assert sweep(*game, "measure=win") == 0
    (before,) = pd.read_csv(folder / "summary.csv").to_dict("records")
    records = {file: file.read_bytes() for file in (folder / "records").iterdir()}
    (ends,) = pd.read_csv(folder / "outcomes.csv").to_dict("records")
    assert (before["measure"], before["raw"]) == ("win", ends["win"])
    assert sweep(*game) == 0, "draws count as half where nobody asks for another measure"
    assert {file: file.read_bytes() for file in (folder / "records").iterdir()} == records
    (found,) = pd.read_csv(folder / "summary.csv").to_dict("records")
    assert (found["measure"], found["raw"]) == ("match_score", ends["score"])
    assert (found["raw_low"], found["raw_high"]) == (ends["score_low"], ends["score_high"])
    (file,) = (folder / "cells").iterdir()
    assert json.loads(file.read_text())["measure"]["name"] == "match_score"
    assert report.main([str(folder)]) == 0


def test_mlflow_has_what_the_summary_and_the_outcomes_have() -> None:
    made = made_of([meeting(("a", "b"), "wwdls")])
    (found,) = of_cells(made).values()
    (row,) = made["summary"].select_dtypes("number").to_dict("records")
    assert row.keys() <= found.keys()
    counted = {name: found[f"outcomes/{name}_all"] for name in ("losses", "shared_wins")}
    assert counted == {"losses": 1, "shared_wins": 1}
