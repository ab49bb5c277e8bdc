"""The table of pairs: two cells compared on their shared deals."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables.media import sheets
from gauntlet.pipeline.tables.media.sheets import Column, Row, View
from gauntlet.pipeline.tables.registry import PAGE, ROWS, TERMINAL, Part, Results, columns, table
from gauntlet.pipeline.tables.sweep.claims import Pairing, choose_pairs
from gauntlet.pipeline.tables.sweep.conditions import claimed_pairs, tested
from gauntlet.pipeline.tables.sweep.controls import within_floor
from gauntlet.pipeline.tables.sweep.primary_test import DealMeans, pair_columns
from gauntlet.pipeline.tables.sweep.standings import round_robins
from gauntlet.pipeline.tables.sweep.summary import deal_range, intervals_note
from gauntlet.stats.multiple import holm

WITHIN_NOISE = " ~"
"""Marks a difference within the noise floor."""
ADJUSTED = ("test", "adjusted")
"""The column and value that mark a luck-adjusted difference."""
TESTS = {
    "adjusted": "of the luck-adjusted differences by deal",
    "mcnemar": "McNemar's exact test",
    "permutation": "a paired permutation test over deals",
}
"""The tests of two cells, in words."""
COLUMNS = {
    "cell_a": "the first cell",
    "cell_b": "the second cell",
    "measure": "what both are judged by",
    **columns("deals"),
    "a_only": "deals that went better for A (that A alone won)",
    "b_only": "deals that went better for B",
    "difference": "A less B: luck-adjusted where that interval is narrower, else raw",
    **columns("ci_low", "ci_high"),
    "test": "the test: `adjusted` (of luck-adjusted differences), `mcnemar` or `permutation`",
    "p": "its two-sided p-value; empty where a rule stopped the sweep",
    "p_holm": "after Holm: with the cells if it answers the experiment's aim, else over the others",
    "raw": "A less B as they were played",
    **columns("raw_low", "raw_high"),
    "correlation": "of both cells' results over deals (phi for wins)",
}


def pairing(results: Results) -> Pairing:
    """Which cells are compared with each other; none of an adaptive sweep, whose cells differ in
    deals, and unless the user wants them, none of one round robin, whose players the cells' own
    tests and `shared_opponents` compare."""
    rule, cells = Folder(results.folder).comparisons, results.cells
    if Folder(results.folder).rounds:
        return Pairing("all", (), 0)
    every = choose_pairs(cells, rule)
    if rule != "auto":
        return every
    robins = [robin.cells for robin in results.cached(round_robins)]
    pairs = [{cells[a].about.key, cells[b].about.key} for a, b in every.chosen]
    apart = [not any(pair <= robin for robin in robins) for pair in pairs]
    return replace(
        every,
        chosen=[pair for pair, compared in zip(every.chosen, apart, strict=True) if compared],
        possible=every.possible - apart.count(False),
    )


def by_p_value(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.sort_values(["p_holm", "p"], kind="stable")


def _raw_difference(row: Row) -> str:
    within = within_floor(row.results, row.values)
    return row.scale.change(row["raw"]) + (WITHIN_NOISE if within else "")


def _adjusted(part: Part) -> bool:
    return bool((part.rows["test"] == "adjusted").any())


def _only_raw(part: Part) -> bool:
    return not _adjusted(part)


def _side(name: str) -> Callable[[Part], str]:
    def heading(part: Part) -> str:
        wins = all(part.results.scale(row).wins for row in _visible_rows(part))
        return f"{name} {'only' if wins else 'ahead'}"

    return heading


def _visible_rows(part: Part) -> list[dict[Hashable, Any]]:
    return part.rows.head(ROWS[part.medium]).to_dict("records")


def _title(part: Part) -> str:
    if part.medium == TERMINAL:
        return ""
    selected = part.medium == PAGE and part.results.cached(pairing).foot
    return f"{'Cells two by two' if selected else 'Every two cells'} on their shared deals"


def _foot(part: Part) -> str:
    notes = [] if part.medium == TERMINAL else [_caption(part)]
    notes.append(part.results.cached(pairing).foot)
    if any(within_floor(part.results, row) for row in _visible_rows(part)):
        notes.append(
            "~ within the noise floor: an effect as large may come from a meaningless change."
        )
    return "\n".join(filter(None, notes))


def _caption(part: Part) -> str:
    rows, used = part.rows, set(part.rows["test"])
    points = any(part.results.scale(row).share for row in _visible_rows(part)[:1])
    sentences = [
        f"n: {deal_range(rows['deals'])} a pair, on which both met the same cards.",
        "Differences in percentage points." if points else "",
        "A ahead, B ahead: deals that went better for one.",
        intervals_note(part),
        f"p: {', or '.join(words for test, words in TESTS.items() if test in used)}; corrected by "
        "Holm: a pair that tells a model or a prompt from the first with the cells, others among "
        "themselves.",
    ]
    return " ".join(filter(None, sentences))


VIEW = View(
    _title,
    (
        Column(
            "paired on shared deals", lambda row: f"{row.name('cell_a')} - {row.name('cell_b')}"
        ),
        Column("deals", sheets.count("deals")),
        Column(_side("A"), sheets.count("a_only")),
        Column(_side("B"), sheets.count("b_only")),
        Column("A - B", _raw_difference),
        Column("95% interval", sheets.change_span("raw_low", "raw_high")),
        Column(
            "adjusted", sheets.only_where(*ADJUSTED, sheets.change("difference")), where=_adjusted
        ),
        Column(
            "95% interval",
            sheets.only_where(*ADJUSTED, sheets.change_span("ci_low", "ci_high")),
            where=_adjusted,
        ),
        Column("corr", sheets.decimal("correlation", ".2f"), (TERMINAL, PAGE), _only_raw),
        Column("p", sheets.p("p"), (PAGE,)),
        Column("p", sheets.p("p"), (TERMINAL,), _only_raw),
        Column("p Holm", sheets.p("p_holm")),
    ),
    _foot,
    by_p_value,
    which_rows="clearest",
)


@table("pairs", COLUMNS, [VIEW], place=1)
def pairs(results: Results) -> pd.DataFrame:
    """A row for each pair of `pairing`, on the deals that both cells finished."""
    cells, chosen = results.cells, results.cached(pairing).chosen
    claimed = claimed_pairs(results.cached(tested))
    return compare_pairs(((cells[a], cells[b]) for a, b in chosen), claimed)


def compare_pairs(
    pairs: Iterable[tuple[CellResults, CellResults]],
    claimed: Mapping[frozenset[str], float] = MappingProxyType({}),
) -> pd.DataFrame:
    """A row for each pair of cells, which must share their deals.

    claimed: Holm's p-values from `conditions.claimed_pairs`; the other pairs are corrected among
    themselves.
    """
    means, pairs = DealMeans(), list(pairs)
    frame = pd.DataFrame([pair_columns(a, b, means) for a, b in pairs], columns=[*COLUMNS])
    holms = [claimed.get(frozenset((a.about.key, b.about.key))) for a, b in pairs]
    rest = np.array([p is None for p in holms], bool)
    frame["p_holm"] = pd.Series(holms, frame.index, float)
    frame.loc[rest, "p_holm"] = holm(frame["p"].to_numpy(float)[rest])
    return frame
