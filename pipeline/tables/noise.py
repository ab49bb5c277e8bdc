"""What a change of the prompts that means nothing does to a result: the noise floor.

With `noise_floor=true` every cell whose subject asks a model has a noise cell beside it: the same
player on the same deals, a blank line more in its prompts and their facts in another order
(`agents.noise`). Two prompts that differ by no more than that have not been shown to differ.

DIR/noise.csv has a row a cell.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.plan.control_cells import NOISE
from gauntlet.pipeline.tables.controls import controls_of, of_pair
from gauntlet.pipeline.tables.numbers import percent
from gauntlet.pipeline.tables.scale import Scale
from gauntlet.pipeline.tables.table import Sheet

WARNINGS = logging.getLogger("gauntlet")

FILE = "noise.csv"
COLUMNS = [
    *("cell", "deals", "measure", "mean", "noise_mean", "difference", "ci_low", "ci_high"),
    *("floor", "decisions", "changed", "matches", "changed_matches", "set_aside"),
]
"""`mean`, `noise_mean` and their `difference`, the first minus the second with a 95% interval, are
paired over the `deals` that both have finished. floor: the end of the interval that lies further
from 0, which a change that means nothing may come to. decisions: of the model's, those that both
met in the same situation, in so many `matches`: up to the first that came out otherwise, after
which the two play different games. changed: the share of these decisions; changed_matches: of the
matches. set_aside: matches of the noise cell."""


def table(folder: Path, results: Sequence[CellResults]) -> pd.DataFrame:
    """noise.csv; without rows where no noise cell was played."""
    found = controls_of(folder, {result.about.controls.get(NOISE, "") for result in results})
    played = [
        (result, found[result.about.controls[NOISE]])
        for result in results
        if result.about.controls.get(NOISE) in found and result.outcomes
    ]
    rows = [_row(folder, *both) for both in played]
    return pd.DataFrame(rows, columns=COLUMNS)


def _row(folder: Path, cell: CellResults, noise: CellResults) -> dict[str, object]:
    told: dict[str, object] = {"cell": cell.about.name, "measure": cell.about.measure.name}
    told |= {"deals": 0, "set_aside": noise.set_aside}
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


def marked(pairs: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    """pairs.csv with `noise_floor`, the larger of both cells' floors, and `within_noise`, whether
    the difference lies within it (empty where a floor is not known); as it is without noise
    cells."""
    if found.empty or pairs.empty:
        return pairs
    floors = dict(zip(found["cell"], found["floor"].astype(float), strict=True))
    both = [
        [floors.get(row[side], np.nan) for side in ("cell_a", "cell_b")]
        for _, row in pairs.iterrows()
    ]
    floor = np.max(np.array(both, float).reshape(-1, 2), axis=1)
    sizes = np.abs(pairs["difference"].to_numpy(float))
    known = zip(sizes, floor, strict=True)
    within = [None if np.isnan(most) else bool(size <= most) for size, most in known]
    return pairs.assign(noise_floor=floor, within_noise=pd.Series(within, pairs.index, object))


def sheets(
    found: pd.DataFrame, names: Mapping[str, str], scales: Mapping[str, Scale]
) -> Iterator[Sheet]:
    """The table for a person; none where no noise cell was played. names, scales: by the cell."""
    if found.empty:
        return
    rows = []
    for _, row in found.iterrows():
        scale = scales[row["cell"]]
        rows.append(
            (
                names[row["cell"]],
                f"{row['deals']:,}",
                scale.mean(row["mean"]),
                scale.mean(row["noise_mean"]),
                scale.change(row["difference"]),
                scale.reach(row["ci_low"], row["ci_high"]),
                scale.change(row["floor"]).lstrip("+"),
                percent(row["changed"]),
                percent(row["changed_matches"]),
            )
        )
    foot = (
        "again: the same player on the same deals, a blank line more in its prompts and their "
        "facts in\nanother order. floor: what such a change may come to, by the end of the "
        "interval. decisions,\nmatches: how many came out otherwise; of decisions, those met in "
        "the same situation."
    )
    headings = (
        *("cell", "deals", "cell's", "again", "difference", "95% interval", "floor"),
        *("decisions", "matches"),
    )
    yield Sheet("The noise floor", headings, rows, foot, FILE)


def sentences(
    found: pd.DataFrame, pairs: pd.DataFrame, names: Mapping[str, str], scales: Mapping[str, Scale]
) -> Iterator[str]:
    """What it comes to in plain words: the largest floor, and what lies within."""
    known = found.dropna(subset=["floor"])
    if known.empty:
        return
    worst = known.iloc[int(np.argmax(known["floor"].to_numpy(float)))]
    scale, name = scales[worst["cell"]], names[worst["cell"]]
    unit = " points" * scale.share
    yield (
        "With a blank line more in its prompts and their facts in another order, which means "
        f"nothing, {name} decided otherwise in {percent(worst['changed'])} of the same situations, "
        f"and its {scale.words} may move by up to {scale.change(worst['floor']).lstrip('+')}{unit}."
    )
    if "within_noise" not in pairs:
        return
    told = pairs.dropna(subset=["within_noise"])
    for within, where in ((True, "Within"), (False, "Beyond")):
        rows = told[told["within_noise"].astype(bool) == within]
        if len(rows):
            listed = "; ".join(_named(row, names) for _, row in rows.head(FEW).iterrows())
            more = f"; and {len(rows) - FEW:,} more" if len(rows) > FEW else ""
            count = f"{len(rows):,} of {len(told):,} differences between cells"
            yield f"{where} that: {count}: {listed}{more}."


FEW = 5
"""Pairs that a sentence names."""


def _named(row: pd.Series[Any], names: Mapping[str, str]) -> str:
    scale = Scale.row(row)
    return f"{names[row['cell_a']]} - {names[row['cell_b']]} ({scale.change(row['difference'])})"
