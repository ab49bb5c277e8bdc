"""One estimate, one test, one correction: all outputs about a question use the same row.

A question is a cell against its baseline, or one cell against another. Its p-value and the interval
of its difference are looked up in the terminal, the report, the exported tables, MLflow, the CSV
files and both ways of comparing two runs.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet.pipeline import compare, report
from gauntlet.pipeline.library import Shelf
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import Adjusted, CellResults
from gauntlet.pipeline.pages.run_status import finished
from gauntlet.pipeline.tables.formatting import Scale, p_value
from gauntlet.pipeline.tables.media.latex import number
from gauntlet.pipeline.tables.sweep.conditions import claimed_pairs, conditions, family
from gauntlet.pipeline.tables.sweep.primary_test import (
    cell_columns,
    pair_columns,
    read_difference,
    read_estimate,
)
from gauntlet.pipeline.tracking.store import PARENT_TAG
from tests.pipeline.conftest import Capsys, Refusal, Sweep
from tests.pipeline.made import RANDOM, about, made_of, won
from tests.pipeline.stores import client_of, runs, table_of
from tests.pipeline.test_measures import game

KINDS = {
    "wins, luck taken out": ("game=uno", "deals=40"),
    "wins by deal": ("game=tic_tac_toe", "deals=30", "rotate=true", "test=above"),
    "chips": (*game("Market"), "deals=100"),
    "chips, luck taken out": ("game=holdem_hands", "deals=12"),
}


def assert_said_everywhere(
    verdict: list[str], folder: Path, store: Path, terminal: str, page: str
) -> None:
    """One verdict in the terminal, the report, the page of a run, and MLflow."""
    assert verdict
    (parent,) = (run for run in runs(store) if "cells" in run.data.params)
    shelf = Shelf(Folder(folder))
    places = {
        "terminal": " ".join(terminal.split()),
        "report": html.unescape(page),
        "run page": " ".join(finished("out", shelf).verdict),
        "MLflow": parent.data.tags["mlflow.note.content"].replace("\\", ""),
    }
    for place, text in places.items():
        assert all(one in text for one in verdict), place


@pytest.mark.filterwarnings("ignore")  # mlflow's own
@pytest.mark.parametrize(
    "kind",
    [pytest.param(one, marks=[pytest.mark.slow] * one.startswith("chips")) for one in KINDS],
)
def test_every_question_has_one_p_and_one_interval(
    kind: str, sweep: Sweep, folder: Path, store: Path, capsys: Capsys, refusal: Refusal
) -> None:
    own = (*KINDS[kind], "baseline=random")
    told = ("prompt=cloze,counterfactual", "tracking=mlflow", f"tracking.store={store}")
    assert sweep(*own, *told, "tracking.traces=none") == 0
    capsys.readouterr()
    assert report.main([str(folder), "--paper", "--full"]) == 0
    terminal = capsys.readouterr().out
    page = (folder / "report.html").read_text(encoding="utf-8")
    summary, pairs = (pd.read_csv(folder / f"{name}.csv") for name in ("summary", "pairs"))
    for file in {*folder.glob("*.csv")} - {folder / "controls.csv"}:  # another question
        tests = [one for one in pd.read_csv(file).columns if re.match(r"(p|z)(_|$)", one)]
        assert tests in ([], ["p", "p_holm"]), file
    verdict = [*pd.read_csv(folder / "verdict.csv")["verdict"]]
    assert_said_everywhere(verdict, folder, store, terminal, page)
    paper = (folder / "paper" / "tables" / "summary.tex").read_text(encoding="utf-8")
    client = client_of(store)
    logged = {
        run.data.params.get("cell", run.info.run_name): {
            **table_of(client, run),
            **run.data.metrics,
        }
        for run in runs(store)
        if PARENT_TAG in run.data.tags
    }

    for row in summary.to_dict("records"):
        of_run = logged[row["cell"]]
        assert {one for one in of_run if re.search(r"\b(p|z)_", one)} <= {"p", "p_holm"}
        for name in ("p", "p_holm", "difference", "difference_low", "difference_high"):
            assert of_run[name] == pytest.approx(row[name])
        scale = Scale.from_row(row)
        assert row["p_holm"] >= row["p"]
        assert row["difference"] == pytest.approx(read_estimate(row)[0] - row["baseline"])
        reach = scale.reach(of_run["difference_low"], of_run["difference_high"])
        for text, told in ((terminal, reach), (page, reach), (paper, number(reach))):
            assert told in text
            assert (number if text is paper else str)(p_value(row["p_holm"])) in text
    (pair,) = pairs.to_dict("records")
    assert (pair["test"] == "adjusted") == kind.endswith("luck taken out")
    _, low, high = read_difference(pair)
    for text in (terminal, page):
        assert scale.reach(low, high) in text
        assert p_value(pair["p_holm"]) in text

    other = folder.parent / "other"
    assert sweep(*own, "agent=random", f"output_dir={other}") == 0
    capsys.readouterr()
    assert compare.main([str(folder), str(other), "--csv", str(folder.parent / "two.csv")]) == 0
    shown = capsys.readouterr().out
    two = pd.read_csv(folder.parent / "two.csv")
    assert len(two) == 2
    assert all(p_value(p) in shown for p in (*two["p"], *two["p_holm"]))
    assert "not in the pairs.csv of one of them" in refusal(
        compare.main([str(folder), str(folder)])
    )


CELL = st.tuples(st.integers(0, 12), st.sampled_from("xyz"), st.booleans())
"""How many of twelve deals are won, the prompt, and whether luck is taken out."""


@settings(max_examples=25, deadline=None)
@given(st.lists(CELL, min_size=2, max_size=5), st.booleans())
def test_no_row_of_any_table_has_a_corrected_p_below_its_own(
    drawn: Sequence[tuple[int, str, bool]], stopped: bool
) -> None:
    """And a sentence about two cells agrees with their row of pairs.csv."""
    cells = [made(at, *one, stopped=stopped and at == 0) for at, one in enumerate(drawn)]
    results = made_of(cells)
    summary, pairs = results["summary"], results["pairs"]
    _, settled = family(summary, conditions(results), {})
    told = claimed_pairs(settled)
    for table in (summary, pairs):
        known = table.dropna(subset=["p"])
        assert (known["p_holm"] >= known["p"]).all()
        assert table["p_holm"].isna().equals(table["p"].isna())
    for effect in (effect for found in settled for effect in found.effects):
        assert np.isnan(effect.p) or effect.p_holm >= effect.p
    for _, row in pairs.iterrows():
        both = frozenset((row["cell_a"], row["cell_b"]))
        assert row["p_holm"] == pytest.approx(told.get(both, row["p_holm"]), nan_ok=True)


def made(at: int, wins: int, prompt: str, adjusted: bool, stopped: bool) -> CellResults:
    told = about(f"cell{at}", baseline=RANDOM, model="one")
    told = replace(told, labels={**told.labels, "prompt": prompt})
    found = replace(won(told, [1] * wins + [0] * (12 - wins)), stopped=stopped)
    values = 0.25 + found.by_deal()[1] / 2
    luckless = Adjusted(np.arange(12), values, "rule", 0.5, 0.01)
    return replace(found, adjusted=luckless) if adjusted else found


def test_a_luckless_difference_ends_where_the_measure_does() -> None:
    """Luck-adjusted values may lie outside the range of wins; what they estimate does not."""
    low, high = (made(at, wins, "cloze", True, False) for at, wins in enumerate((0, 12)))
    values = np.array([-0.4, 0.1] * 6)
    assert low.adjusted
    assert high.adjusted
    low = replace(low, adjusted=replace(low.adjusted, values=values))
    high = replace(high, adjusted=replace(high.adjusted, values=1 - values[::-1]))
    pair, row = pair_columns(high, low), cell_columns(high)
    assert pair["test"] == "adjusted"
    assert pair["ci_low"] <= pair["difference"] <= pair["ci_high"] == 1.0
    assert pair["ci_low"] > 0
    assert row["ci_low"] <= row["estimate"] <= row["ci_high"] == 1.0
    assert 0.5 <= row["difference_high"] < 0.51, "and the error of the baseline, of 50%"


@pytest.mark.parametrize(
    ("p", "written"),
    [(np.nan, "-"), (0.51, "0.5100"), (7.3e-6, "7e-06"), (2e-15, "2e-15"), (0.0, "<1e-15")],
)
def test_a_p_is_written_in_six_characters_at_most(p: float, written: str) -> None:
    assert p_value(p) == written
