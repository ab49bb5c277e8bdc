"""What a change of the prompts that means nothing does to a result: the noise floor.

With `noise_floor=true` every cell whose subject asks a model has a noise cell beside it: the same
player on the same deals, a blank line more in its prompts and their facts in another order
(`agents.noise`). Two prompts that differ by no more than that have not been shown to differ.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.plan.control_cells import NOISE
from gauntlet.pipeline.tables.controls import controls_and_noise, of_pair
from gauntlet.pipeline.tables.numbers import percent
from gauntlet.pipeline.tables.registry import Results, table
from gauntlet.pipeline.tables.sheets import (
    Column,
    View,
    cell_name,
    change,
    count,
    mean,
    reach,
    share,
)

COLUMNS = {
    "cell": "the cell's name",
    "deals": "deals that the cell and its noise cell both finished",
    "measure": "what the cell is judged by",
    "mean": "the cell's mean over these deals, raw",
    "noise_mean": "the noise cell's mean",
    "difference": "the first less the second, paired by deal",
    "ci_low": "lower end of its 95% interval",
    "ci_high": "upper end of its 95% interval",
    "floor": "the end of the interval farther from 0: what a meaningless change may do",
    "decisions": "decisions that both met in the same situation, up to the first that differs",
    "changed": "share of them that came out otherwise",
    "matches": "matches that both played",
    "changed_matches": "share of them that came out otherwise",
    "failed": "matches of the noise cell that failed",
}
FOOT = (
    "again: the same player on the same deals, a blank line more in its prompts and their "
    "facts in\nanother order. floor: what such a change may come to, by the end of the "
    "interval. decisions,\nmatches: how many came out otherwise; of decisions, those met in "
    "the same situation."
)
SHOWN = View(
    "The noise floor",
    (
        Column("cell", cell_name),
        Column("deals", count("deals")),
        Column("cell's", mean("mean")),
        Column("again", mean("noise_mean")),
        Column("difference", change("difference")),
        Column("95% interval", reach("ci_low", "ci_high")),
        Column("floor", lambda row: change("floor")(row).lstrip("+")),
        Column("decisions", share("changed")),
        Column("matches", share("changed_matches")),
    ),
    FOOT,
)


@table("noise", COLUMNS, [SHOWN], metrics=("difference", "floor", "changed"), place=21)
def noise(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each cell with a noise cell."""
    found = results.once(controls_and_noise)
    for result in results.cells:
        key = result.about.controls.get(NOISE, "")
        if key in found and result.outcomes:
            yield _row(results.folder, result, found[key])


def _row(folder: Path, cell: CellResults, noise: CellResults) -> dict[str, Any]:
    told: dict[str, Any] = {"cell": cell.about.name, "measure": cell.about.measure.name}
    told |= {"deals": 0, "failed": noise.failed}
    if not noise.outcomes:
        return told
    found = of_pair(cell, noise)
    told |= {name: found[name] for name in ("deals", "difference", "ci_low", "ci_high", "mean")}
    told["noise_mean"] = found["other_mean"]
    told["floor"] = max(abs(found["ci_low"]), abs(found["ci_high"]))
    return told | _changed(_moves(folder, cell), _moves(folder, noise))


Moves = tuple[Sequence[int], Sequence[int]]
"""Of a match each move, as a number, and which of them a subject's model was asked for."""


def _moves(folder: Path, cell: CellResults) -> dict[tuple[int, int], Moves]:
    kept: Collection[bytes] = set(cell.outcomes.column("match").tolist())
    return {
        (record.deal, record.rotation): _told(record)
        for record in Folder(folder).matches(cell.about.stem)
        if record.match.encode() in kept
    }


def _told(record: MatchRecord) -> Moves:
    made = [hash((one.seat, one.move, one.text)) for one in record.decisions]
    asked = [bool(one.asked) and one.seat in record.subjects for one in record.decisions]
    return array("q", made), array("b", asked)


def _changed(
    own: Mapping[tuple[int, int], Moves], others: Mapping[tuple[int, int], Moves]
) -> dict[str, float]:
    """Of the decisions that both met in the same situation, how many came out otherwise."""
    decisions = changed = matches = 0
    for place in own.keys() & others.keys():
        (moves, asked), (other, _) = own[place], others[place]
        pairs = enumerate(zip(moves, other, strict=False))
        first = next((at for at, (a, b) in pairs if a != b), None)
        decisions += sum(asked if first is None else asked[: first + 1])
        changed += first is not None and bool(asked[first])
        matches += 1
    return {
        "decisions": decisions,
        "changed": changed / decisions if decisions else np.nan,
        "matches": matches,
        "changed_matches": changed / matches if matches else np.nan,
    }


def floors(results: Results) -> dict[str, float]:
    """The noise floor of each cell that has one."""
    found = results["noise"].dropna(subset=["floor"])
    return dict(zip(found["cell"], found["floor"].astype(float), strict=True))


def within(results: Results, pair: Mapping[Any, Any]) -> bool | None:
    """Whether the raw difference of a row of pairs.csv lies within the larger floor of its cells;
    None where one of these is not known."""
    known = results.once(floors)
    if not {pair["cell_a"], pair["cell_b"]} <= known.keys():
        return None
    return bool(abs(pair["raw"]) <= max(known[pair["cell_a"]], known[pair["cell_b"]]))


def sentences(results: Results) -> Iterator[str]:
    """What it comes to in plain words: the largest floor, and what lies within."""
    known = results["noise"].dropna(subset=["floor"])
    if known.empty:
        return
    worst = known.iloc[int(np.argmax(known["floor"].to_numpy(float)))]
    scale, name = results.scales[worst["cell"]], results.names[worst["cell"]]
    unit = " points" * scale.share
    yield (
        "With a blank line more in its prompts and their facts in another order, which means "
        f"nothing, {name} decided otherwise in {percent(worst['changed'])} of the same situations, "
        f"and its {scale.words} may move by up to {scale.change(worst['floor']).lstrip('+')}{unit}."
    )
    pairs = results["pairs"].to_dict("records")
    told = [(row, inside) for row in pairs if (inside := within(results, row)) is not None]
    for inside, where in ((True, "Within"), (False, "Beyond")):
        rows = [row for row, found in told if found == inside]
        if rows:
            listed = "; ".join(_named(results, row) for row in rows[:FEW])
            more = f"; and {len(rows) - FEW:,} more" if len(rows) > FEW else ""
            count = f"{len(rows):,} of {len(told):,} differences between cells"
            yield f"{where} that: {count}: {listed}{more}."


FEW = 5
"""Pairs that a sentence names."""


def _named(results: Results, row: Mapping[Any, Any]) -> str:
    a, b = (results.names[row[side]] for side in ("cell_a", "cell_b"))
    return f"{a} - {b} ({results.scale(row).change(row['raw'])})"
