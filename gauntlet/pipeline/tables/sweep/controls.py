"""Cells played again on the same deals: by controls that always pick one option, and with prompts
changed in a meaningless way (the noise floor).

With `noise_floor=true` every cell whose subject asks a model has a noise cell: the same player on
the same deals, with one more blank line in its prompts and their facts in another order
(`agents.noise`). Prompts that differ by less than that are not shown to differ.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.plan.control_cells import NOISE
from gauntlet.pipeline.tables.formatting import percent
from gauntlet.pipeline.tables.media import sheets
from gauntlet.pipeline.tables.media.sheets import Column, View
from gauntlet.pipeline.tables.registry import Results, beside, columns, table
from gauntlet.pipeline.tables.sweep.primary_test import Rival, raw_pair, strongest_controls


def other_cells(results: Results) -> Mapping[str, CellResults]:
    """The cells' controls and noise cells, by key."""
    return beside(Folder(results.folder), results.cells)


def _pair_columns(name: str, other: str) -> dict[str, str]:
    """The columns of `_pair`."""
    return {
        **columns("deals", "measure"),
        "mean": "the cell's mean over these deals, raw",
        f"{name}_mean": f"the {other}'s mean",
        "difference": f"the cell's mean less the {other}'s, paired by deal",
        **columns("ci_low", "ci_high"),
    }


def _pair_view(name: str, heading: str) -> tuple[Column, ...]:
    """How the columns of `_pair` are shown."""
    return (
        Column("deals", sheets.count("deals")),
        Column("result", sheets.mean("mean")),
        Column(heading, sheets.mean(f"{name}_mean")),
        Column("difference", sheets.change("difference")),
        Column("95% interval", sheets.change_span("ci_low", "ci_high")),
    )


def _pair(cell: CellResults, other: CellResults, name: str) -> dict[str, Any]:
    """Both raw results and their difference on shared deals; NAME_mean is the other's."""
    (deals, means), (other_deals, other_means) = cell.by_deal(), other.by_deal()
    pair = raw_pair(cell, other)
    return {
        "cell": cell.about.name,
        **{key: pair[key] for key in ("deals", "measure", "difference", "ci_low", "ci_high")},
        "mean": means[np.isin(deals, other_deals)].mean(),
        f"{name}_mean": other_means[np.isin(other_deals, deals)].mean(),
        "p": pair["p"],
    }


CONTROLS = {
    **columns("cell"),
    "control": "the option that the control always takes: `first` or `last`",
    **_pair_columns("control", "control"),
    "p": "two-sided p-value, not corrected for other tests",
}
CONTROLS_VIEW = View(
    "A fixed option in the subject's seat",
    (
        Column("cell", sheets.cell_name),
        Column("always", sheets.text("control")),
        *_pair_view("control", "control"),
        Column("p", sheets.p("p")),
    ),
    "control: a player in the subject's seat on the same deals that always takes this option of "
    "the list. difference: paired by deal. p: two-sided, not corrected for other tests.",
)


@table("controls", CONTROLS, [CONTROLS_VIEW], metrics=("difference",), key="control", place=71)
def controls(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each cell and control."""
    other_results = results.cached(other_cells)
    for result in results.cells:
        for name, key in result.about.controls.items():
            other = other_results.get(key)
            if name != NOISE and other and result.outcomes and other.outcomes:
                yield {**_pair(result, other, "control"), "control": name}


def rivals(results: Results) -> dict[str, Rival]:
    """Each cell's strongest control."""
    return strongest_controls(results["controls"])


# --- the noise floor

NOISE_COLUMNS = {
    **columns("cell"),
    **_pair_columns("noise", "noise cell"),
    "floor": "the end of the interval farther from 0: what a meaningless change may do",
    "decisions": "decisions that both met in the same situation, up to the first that differs",
    "changed": "share of them that came out differently",
    "matches": "matches that both played",
    "changed_matches": "share of them that came out differently",
    "failed": "matches of the noise cell that failed",
}
NOISE_VIEW = View(
    "The noise floor",
    (
        Column("cell", sheets.cell_name),
        *_pair_view("noise", "again"),
        Column("floor", lambda row: sheets.change("floor")(row).lstrip("+")),
        Column("decisions", sheets.share("changed")),
        Column("matches", sheets.share("changed_matches")),
    ),
    "again: the same player on the same deals, with one more blank line in its prompts and "
    "their facts in another order. floor: how large the effect of such a change may be, by "
    "the interval. decisions, matches: the share that differed; of decisions, those met in "
    "the same situation.",
)
FEW = 5
"""Pairs that a sentence names."""


@table("noise", NOISE_COLUMNS, [NOISE_VIEW], metrics=("difference", "floor", "changed"), place=21)
def noise(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each cell with a noise cell."""
    others, log = results.cached(other_cells), Folder(results.folder)
    for cell in results.cells:
        other = others.get(cell.about.controls.get(NOISE, ""))
        if other is None or not cell.outcomes:
            continue
        row: dict[str, Any] = {"cell": cell.about.name, "measure": cell.about.measure.name}
        row["deals"] = 0
        if other.outcomes:
            row = _pair(cell, other, "noise")
            del row["p"]
            row["floor"] = max(abs(row["ci_low"]), abs(row["ci_high"]))
            row |= _changes(_moves(log, cell), _moves(log, other))
        yield {**row, "failed": other.failed}


Moves = tuple[Sequence[int], Sequence[int]]
"""Each move of a match, as a number, and whether a subject's model decided it."""


def _moves(log: Folder, cell: CellResults) -> dict[tuple[int, int], Moves]:
    match_ids = set(cell.outcomes.column("match").tolist())
    by_place: dict[tuple[int, int], Moves] = {}
    for record in log.matches(cell.about.stem):
        if record.match.encode() in match_ids:
            moves = [hash((one.seat, one.move, one.text)) for one in record.decisions]
            by_model = [bool(one.asked) and one.seat in record.subjects for one in record.decisions]
            by_place[record.deal, record.rotation] = array("q", moves), array("b", by_model)
    return by_place


def _changes(
    cell: Mapping[tuple[int, int], Moves], other: Mapping[tuple[int, int], Moves]
) -> dict[str, float]:
    """The share of decisions in the same situation, and of matches, that came out differently."""
    decisions = changed = matches = 0
    for place in cell.keys() & other.keys():
        (moves, by_model), (other_moves, _) = cell[place], other[place]
        pairs = enumerate(zip(moves, other_moves, strict=False))
        first = next((at for at, (a, b) in pairs if a != b), None)
        decisions += sum(by_model if first is None else by_model[: first + 1])
        changed += first is not None and bool(by_model[first])
        matches += 1
    return {
        "decisions": decisions,
        "changed": changed / decisions if decisions else np.nan,
        "matches": matches,
        "changed_matches": changed / matches if matches else np.nan,
    }


def floors(results: Results) -> dict[str, float]:
    """The noise floor of each cell that has one."""
    rows = results["noise"].dropna(subset=["floor"])
    return dict(zip(rows["cell"], rows["floor"].astype(float), strict=True))


def within_floor(results: Results, pair: Mapping[Any, Any]) -> bool | None:
    """Whether the raw difference of a row of pairs.csv is within the larger floor of its cells;
    None if one is unknown."""
    by_cell = results.cached(floors)
    if not {pair["cell_a"], pair["cell_b"]} <= by_cell.keys():
        return None
    return bool(abs(pair["raw"]) <= max(by_cell[pair["cell_a"]], by_cell[pair["cell_b"]]))


def noise_sentences(results: Results) -> Iterator[str]:
    """The largest floor, and the pairs within and beyond their floors."""
    with_floor = results["noise"].dropna(subset=["floor"])
    if with_floor.empty:
        return
    worst = with_floor.iloc[int(np.argmax(with_floor["floor"].to_numpy(float)))]
    scale, name = results.scales[worst["cell"]], results.names[worst["cell"]]
    floor = scale.difference(worst["floor"], sign=False)
    yield (
        "With one more blank line in its prompts and their facts in another order, a meaningless "
        f"change, {name} decided differently in {percent(worst['changed'])} of the same "
        f"situations, and its {scale.words} may move by up to {floor}."
    )
    pairs = [(row, within_floor(results, row)) for row in results["pairs"].to_dict("records")]
    total = sum(within is not None for _, within in pairs)
    for inside, word in ((True, "Within"), (False, "Beyond")):
        rows = [row for row, within in pairs if within is inside]
        if rows:
            names = results.names
            listing = "; ".join(
                f"{names[row['cell_a']]} - {names[row['cell_b']]} "
                f"({results.scale(row).change(row['raw'])})"
                for row in rows[:FEW]
            )
            more = f"; and {len(rows) - FEW:,} more" if len(rows) > FEW else ""
            yield (
                f"{word} that: {len(rows):,} of {total:,} differences between cells: "
                f"{listing}{more}."
            )
