"""GameBench's published matches: its tables recomputed, its figures, and its misprints."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pandas as pd
import pytest

from gauntlet.common.errors import UserError
from gauntlet.papers import reproduce
from gauntlet.papers.audit import gamebench as audit
from gauntlet.papers.gamebench import matches, reproduction, rows
from gauntlet.papers.gamebench.bootstrap import as_gamebench, spectral
from gauntlet.papers.gamebench.matches import FILE, load_matches
from gauntlet.papers.gamebench.tables import (
    ALL,
    PublishedResults,
    columns,
    corrected,
    fields,
    table,
)
from gauntlet.papers.published import Row, paper
from gauntlet.pipeline.tables.commands.ratings import rate_contest
from gauntlet.stats.matches import Matches
from gauntlet.stats.ratings import rated
from tests.pipeline.conftest import Capsys

HERE = Path(os.environ.get("MATCHES", FILE))
needs_matches = pytest.mark.skipif(not HERE.exists(), reason=matches.WHERE)
PUBLISHED = paper("gamebench")
TABLE1 = {"agrees": 65, "uninformative": 3, "differs": 2}
"""Verdicts of ratings."""


@pytest.fixture(scope="module")
def again() -> PublishedResults:
    found = load_matches(HERE)
    assert found is not None
    return PublishedResults(found)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole reproduction, without our own round robin."""
    folder = tmp_path_factory.mktemp("gamebench")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduction, "round_robin", lambda _: None)
        words = ["gamebench", "--out", str(folder), "--matches", str(HERE)]
        assert reproduce.main(words) == 0
    return folder


def read(file: Path) -> pd.DataFrame:
    return pd.read_csv(file, keep_default_na=False, na_values=[""])


@needs_matches
def test_all_70_ratings_of_table_1(again: PublishedResults) -> None:
    """Each within the noise of both numbers of draws and its own, under the right headings: of 70
    at 5% three or four may lie outside by chance, and the two that do are no further off than
    expected of the largest of 70."""
    gaps = [rows.rating_gap(again, agent, game, value)
            for agent, _, game, value in fields(PUBLISHED, "table1")]  # fmt: skip
    p = np.array([gap.p_value for gap in gaps])
    assert len(p) == 70
    assert (p < 0.05).sum() == 2
    assert 70 * p.min() > 0.05
    reach = [gap.high - gap.value for gap in gaps]
    assert (round(min(reach), 3), round(max(reach), 3)) == (0.015, 0.221)


@needs_matches
def test_all_63_scores_of_table_2(again: PublishedResults) -> None:
    found = table(PUBLISHED, again, "table2").dropna(subset=["printed"])
    assert len(found) == 63
    assert found["difference"].abs().max() <= 0.005 + 1e-9


@needs_matches
def test_seven_ratings_have_no_match_and_are_blank(again: PublishedResults) -> None:
    found = table(PUBLISHED, again, "table1")
    blank = found[found["matches"] == 0]
    assert len(blank) == 7
    assert blank["corrected"].isna().all()
    assert blank["ours"].notna().all()
    wide = corrected(PUBLISHED, found)
    assert list(wide.columns) == ["Overall", *PUBLISHED["games"]]
    assert wide.isna().sum().sum() == 7
    assert wide.loc["gpt-4", "SB"] == pytest.approx(-7.38, abs=0.21)


@needs_matches
def test_every_line_recounts_the_same_file_and_has_its_difference(out: Path) -> None:
    found = read(out / "gamebench.csv").set_index("id")
    counts = {name: found[found.index.str.startswith(f"gamebench.{name}.")] for name in
              ("table1", "table2", "table3", "fig2")}  # fmt: skip
    assert [len(one) for one in counts.values()] == [70, 70, 6, 17]
    assert {*pd.concat(counts)["kind"]} == {"recount"}
    assert counts["table1"]["verdict"].value_counts().to_dict() == TABLE1
    assert counts["table2"]["verdict"].value_counts().to_dict() == {"agrees": 63, "no_reference": 7}
    assert (pd.concat([counts["table3"], counts["fig2"]])["verdict"] == "agrees").all()
    told = found.loc["gamebench.table1.human.SN"]
    assert told["gap"] == pytest.approx(told["ours"] - told["published"])
    assert told["matters"] == abs(told["published"])
    assert found.loc["gamebench.setting.bootstrap_B", "verdict"] == "agrees"
    assert found.loc["gamebench.fig1a", "verdict"] == "not_computable"


@needs_matches
def test_every_figure_is_drawn(out: Path) -> None:
    drawn = sorted(path.name for path in (out / "figures").iterdir())
    panels = [f"gamebench_app_l_{game}.png" for game in (ALL, *PUBLISHED["games"].values())]
    assert drawn == sorted([*panels, *(f"gamebench_fig{n}.png" for n in ("1a", "1b", "2"))])
    for name in drawn:
        assert np.ptp(matplotlib.image.imread(out / "figures" / name)) > 0.5


def test_without_the_file_everything_else_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    monkeypatch.setattr(reproduction, "round_robin", lambda _: None)
    monkeypatch.setattr(matches, "FILE", tmp_path / "none.json")
    assert reproduce.main(["gamebench", "--out", str(tmp_path)]) == 0
    found = read(tmp_path / "gamebench.csv").set_index("id")
    assert (found.filter(like=".table1.", axis=0)["verdict"] == "not_run").all()
    assert (found.filter(like=".table3.", axis=0)["verdict"] == "agrees").all()
    assert "github.com/Joshuaclymer/GameBench" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be read: No such file"),
        ("{", "is no JSON"),
        ('[{"game": "pit", "random": 1, "nobody": 0}]', "KeyError: 'nobody'"),
        ('[{"game": "pit", "random": 2, "human": -1}]', "scores must lie between 0 and 1"),
        ("[1]", "holds other things than matches"),
    ],
)
def test_a_file_that_is_none(tmp_path: Path, text: str | None, message: str) -> None:
    file = tmp_path / "matches.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(UserError, match=message):
        load_matches(file)


def test_our_own_ratings_are_lines_of_the_reproduction(tmp_path: Path) -> None:
    file = tmp_path / "matches.json"
    one = '{"game": "pit", "random": %s, "human": %s}'
    file.write_text(f"[{one % (1, 0)}, {one % (0, 1)}, {one % (0.25, 0.75)}]")
    contest = load_matches(file)
    assert contest is not None
    found = list(rows.own_rows(rate_contest(contest, partial(rated, by="match"))))
    told: dict[str, Row] = {row.id: row for row in found}
    assert told["gamebench.own.human.Overall.score"].ours == pytest.approx(1.75 / 3)
    assert told["gamebench.own.human.pit.rating"].n == 3
    assert {row.verdict for row in found} == {"no_reference"}


FINDINGS = {
    "GB-01": ("fails", ["as headed 15 of 63 scores", "63 and 68 are", "CN is ALS", "PT is HV"]),
    "GB-02": ("fails", ["really ARC, SB, SN", "AYT, HV, SN, TRB, really ARC, AYT, CN, SN"]),
    "GB-03": ("fails", ["all but CN", "SN 1.00", "CN 0.43"]),
    "GB-04": ("fails", ["7 of these", "human in ALS, ARC, AYT, TRB", "rap in ALS, HV, SB", "1.26"]),
    "GB-06": ("fails", ["18 of its 18 matches", "3 are left"]),
    "GB-07": ("fails", ["SB has 0.20", "printed as ALS, with 0.00"]),
    "GB-08": ("fails", ["random is in 196", "never meets random"]),
    "GB-09": ("fails", ["human 0.85 / 0.84", "gpt-4, by 0.08"]),
    "GB-10": ("holds", ["of 10,000 draws"]),
    "GB-11": ("holds", ["6 of 6"]),
}


@needs_matches
@pytest.mark.parametrize("name", FINDINGS)
def test_a_finding_comes_out_as_known(name: str, again: PublishedResults) -> None:
    check: Callable[[], Any] = (
        audit.CHECKS[name] if name in audit.CHECKS else partial(audit.OF_MATCHES[name], again)
    )
    _, recomputed, holds = check()
    verdict, parts = FINDINGS[name]
    assert holds == (verdict == "holds")
    for part in parts:
        assert part in recomputed


def test_findings_without_the_file_are_open() -> None:
    checks, undecided = audit.checks(None)
    assert sorted({*checks, *undecided}) == [f"GB-{number:02}" for number in range(1, 14)]
    assert "MATCHES=FILE" in undecided["GB-01"][1]


Edit = Callable[[dict[str, Any]], object]


def right_headings(reported: dict[str, Any]) -> None:
    reported["columns"] = dict(reported["games"])


def captions(reported: dict[str, Any]) -> None:
    right_headings(reported)
    small, rap = ["ALS", "HV", "TRB"], ["AYT", "HV", "SN", "TRB"]
    reported["captions"] |= {"small_beats_cot": small, "rap_beats_cot": rap}


def filled(reported: dict[str, Any]) -> None:
    for line in reported["table2"].values():
        line[:] = [0.5 if value is None else value for value in line]


def lost(reported: dict[str, Any]) -> None:
    reported["table2"]["gpt-4"][9] = 0.0


CHANGES: Mapping[str, Edit] = {
    "GB-02": captions,
    "GB-03": lambda told: told["captions"].update(human_not_best="CN"),
    "GB-04": filled,
    "GB-07": lost,
    "GB-11": lambda told: told["table3"]["cooperation"].update(total=5),
}


@pytest.mark.parametrize("name", CHANGES)
def test_another_number_in_print_changes_the_verdict(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, told = audit.CHECKS[name]()[2], paper("gamebench")
    CHANGES[name](told)
    monkeypatch.setattr(audit, "paper", lambda _: told)
    assert audit.CHECKS[name]()[2] != before


@needs_matches
def test_the_right_headings_would_hold(
    again: PublishedResults, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = paper("gamebench")
    order = {game: place for place, game in enumerate(columns(told).values())}
    for name in ("table1", "table2"):
        for agent, line in told[name].items():
            told[name][agent] = [line[order[game]] for game in (ALL, *told["games"].values())]
    right_headings(told)
    monkeypatch.setattr(audit, "paper", lambda _: told)
    assert audit.gb_01(again)[2]


def test_ratings_of_the_published_code() -> None:
    rows = [(0, 1, 1.0, 0, 0), (1, 0, 0.25, 0, 0), (0, 2, 0.5, 0, 1), (2, 1, 0.0, 0, 1)]
    first, second, scores, games, deals = map(np.array, zip(*rows, strict=True))
    some = Matches(4, first, second, scores, games, deals)
    ours, same = as_gamebench(some, 200), as_gamebench(some, 200)
    assert np.array_equal(ours.draws, same.draws)
    assert ours.mean == pytest.approx(spectral(some.wins("drop")), abs=1.5)
    assert np.isfinite(ours.draws[:, 3]).all(), "who has not played is rated all the same"
    low, high = ours.limits
    assert (low < ours.mean).all()
    assert (ours.mean < high).all()
