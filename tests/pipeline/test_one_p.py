"""One estimate, one test, one correction: all outputs about a question use the same row.

A question is a cell against its baseline, or one cell against another. All p-values of it, and all
intervals of its difference, are collected from the terminal, the report, the exported tables,
MLflow, the CSV files and both ways of comparing two runs.
"""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

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
from gauntlet.pipeline.tables.registry import short_names
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
P = re.compile(r"(?<!\S)(?:p(?: (?:Holm|raw|sign))?|z)(?!\S)")
"""Matches headings of columns with a test's p-value."""
SENTENCE = re.compile(r"95% interval (\S+ to \S+), (p[ A-Za-z]*) (\S+?)[;)]")
ROW = re.compile(r"<tr>(.*?)</tr>", re.DOTALL)
FIELD = re.compile(r"<t[hd](?: [^>]*)?>(.*?)</t[hd]>", re.DOTALL)

Printed = dict[str, set[str]]
"""The printed values about a question, by the heading of a p-value, or `interval`."""


def in_terminal(text: str, heading: str) -> list[dict[str, str]]:
    """The p-values of each row of the table whose heading begins so; numbers end where headings
    do. A wide table continues below under the same first heading."""
    lines = iter(text.splitlines())
    columns = next(line for line in lines if line.startswith(heading) and P.search(line))
    ends = {found.end(): found[0] for found in P.finditer(columns)}
    rows = []
    for line in lines:
        words = {word.end(): word[0] for word in re.finditer(r"\S+", line)}
        if not words or line.startswith("p Holm"):
            break
        if ends.keys() <= words.keys():
            rows.append({name: words[end] for end, name in ends.items()})
    return rows


def on_page(text: str, heading: str) -> list[dict[str, str]]:
    """Return the rows of the page's first table with this first heading; an interval is named after
    its estimate."""
    for table in text.split("<table>")[1:]:
        first, *rows = (
            [html.unescape(field) for field in FIELD.findall(row)]
            for row in ROW.findall(table.partition("</table>")[0])
        )
        if first[0] == heading:
            names = [
                f"interval of {first[at - 1]}" if name == "95% interval" else name
                for at, name in enumerate(first)
            ]
            return [dict(zip(names, row, strict=True)) for row in rows]
    raise AssertionError(f"no table of {heading}")


def in_sentence(text: str, start: str) -> Iterator[tuple[str, str]]:
    (sentence,) = (one for one in re.findall(r"<p>(.*?)</p>", text) if one.startswith(start))
    ((interval, name, p),) = SENTENCE.findall(html.unescape(sentence))
    yield from (("interval", interval), (name, p))


def gathered(*found: Mapping[str, str] | Iterator[tuple[str, str]]) -> Printed:
    told = defaultdict[str, set[str]](set)
    for one in found:
        for name, text in dict(one).items():
            if P.fullmatch(name) or name == "interval":
                told[name].add(text)
    return dict(told)


def expected(row: Mapping[Any, Any], interval: str) -> Printed:
    assert row["p_holm"] >= row["p"]
    told = {"p": row["p"], "p Holm": row["p_holm"]}
    shown = {name: {p_value(p)} for name, p in told.items()}
    return {**shown, "interval": {interval}}


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
    [pytest.param(one, marks=[pytest.mark.slow] * one.startswith("chips,")) for one in KINDS],
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
    client = client_of(store)
    logged = {
        run.data.params.get("cell", run.info.run_name): {
            **table_of(client, run),
            **run.data.metrics,
        }
        for run in runs(store)
        if PARENT_TAG in run.data.tags
    }

    names, shown = short_names(summary), in_terminal(terminal, "cell ")
    paper = (folder / "paper" / "tables" / "summary.tex").read_text(encoding="utf-8")
    rows = zip(names, summary.to_dict("records"), shown, on_page(page, "cell"), strict=True)
    for name, row, line, fields in rows:
        of_run = logged[row["cell"]]
        assert {one for one in of_run if re.search(r"\b(p|z)_", one)} <= {"p", "p_holm"}
        mlflow = {"p": p_value(of_run["p"]), "p Holm": p_value(of_run["p_holm"])}
        scale = Scale.from_row(row)
        mlflow["interval"] = scale.reach(of_run["difference_low"], of_run["difference_high"])
        fields["interval"] = fields["interval of less random"]
        found = gathered(line, fields, in_sentence(page, name), mlflow)
        assert found == expected(row, mlflow["interval"])
        assert number(mlflow["p Holm"]) in paper
        assert number(mlflow["interval"]) in paper
        mean, low, high = read_estimate(row)
        assert row["difference"] == pytest.approx(mean - row["baseline"])
        assert scale.span(low, high) in terminal

    (pair,), (line,) = pairs.to_dict("records"), in_terminal(terminal, "paired on shared deals")
    (fields,) = on_page(page, "paired on shared deals")
    adjusted = pair["test"] == "adjusted"
    assert adjusted == kind.endswith("luck taken out")
    fields["interval"] = fields[f"interval of {'adjusted' if adjusted else 'A - B'}"]
    _, low, high = read_difference(pair)
    assert gathered(line, fields) == expected(pair, scale.reach(low, high))
    turned = gathered(in_sentence(page, "counterfactual instead of cloze"))
    assert turned == {"interval": {scale.reach(-high, -low)}, "p Holm": {p_value(pair["p_holm"])}}

    other = folder.parent / "other"
    assert sweep(*own, "agent=random", f"output_dir={other}") == 0
    capsys.readouterr()
    assert compare.main([str(folder), str(other), "--csv", str(folder.parent / "two.csv")]) == 0
    shown = in_terminal(capsys.readouterr().out, "paired on shared deals")
    two = pd.read_csv(folder.parent / "two.csv")
    assert len(two) == len(shown) == 2
    for name in {name for line in shown for name in line}:
        column = {"p": "p", "p Holm": "p_holm"}[name]
        assert sorted(line[name] for line in shown) == sorted(map(p_value, two[column]))
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
