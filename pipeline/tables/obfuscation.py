"""What other names do to a player: a game under made-up ones beside the plain one.

obfuscation.csv   a row for each agent, model, prompt and seating that played both
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.common.ids import class_id
from gauntlet.games.capabilities import Measure
from gauntlet.games.obfuscated import Obfuscated
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables.numbers import p_value
from gauntlet.pipeline.tables.primary_test import best_of_pair
from gauntlet.pipeline.tables.scale import Scale
from gauntlet.pipeline.tables.summary import paired
from gauntlet.pipeline.tables.table import Sheet

FILE = "obfuscation.csv"
KIND = class_id(Obfuscated)
WHO = ("experiment", "agent", "model", "prompt", "seats")
COLUMNS = [
    *("experiment", "game", "obfuscated_game", "names", "agent", "model", "prompt", "seats"),
    *("deals", "plain", "obfuscated", "difference", "low", "high", "p", "p_holm"),
    *("measure", "measure_low", "measure_high"),
]
"""names: the seed that made the names. plain, obfuscated: means over the deals that both have.
difference: obfuscated less plain, with its paired 95% interval, luck-adjusted where pairs.csv has
that; p and p_holm are those of pairs.csv, which has both cells, or of the rows that it lacks."""

Both = tuple[CellResults, CellResults, int]
"""A cell under other names, the plain one, and the seed of the names."""


def obfuscation_table(
    folder: Folder, results: Sequence[CellResults], pairs: pd.DataFrame
) -> pd.DataFrame:
    """obfuscation.csv; without a row where no game was played under other names and plain too.
    pairs: pairs.csv."""
    found = list(_both(folder, results))
    tested = {(row["cell_a"], row["cell_b"]): row for row in pairs.to_dict("records")}
    lacking = [both for both in found if not {_names(both), _names(both)[::-1]} & tested.keys()]
    more = paired((other, plain) for other, plain, _ in lacking).to_dict("records")
    tested |= {(row["cell_a"], row["cell_b"]): row for row in more}
    rows = [_row(*both, tested) for both in found]
    return pd.DataFrame(rows, columns=COLUMNS)


def _names(both: Both) -> tuple[str, str]:
    return both[0].about.name, both[1].about.name


def _both(folder: Folder, results: Sequence[CellResults]) -> Iterator[Both]:
    games = [folder.description(result.about)["identity"]["game"] for result in results]
    for other, told in zip(results, games, strict=True):
        if told["class"] != KIND:
            continue
        for plain, game in zip(results, games, strict=True):
            if game == told["of"] and _alike(other, plain):
                yield other, plain, int(told["seed"])


def _alike(one: CellResults, other: CellResults) -> bool:
    """Whether the game is all that tells the cells apart."""
    labels, others = ({**r.about.labels, "experiment": r.about.experiment} for r in (one, other))
    return one.about.comparable(other.about) and all(labels[key] == others[key] for key in WHO)


def _row(
    other: CellResults,
    plain: CellResults,
    names: int,
    tested: Mapping[tuple[str, str], Mapping[Any, Any]],
) -> dict[str, Any]:
    labels, both = plain.about.labels, (other.about.name, plain.about.name)
    test, sign = (tested[both], 1) if both in tested else (tested[both[::-1]], -1)
    difference, *ends = (sign * value for value in best_of_pair(test))
    (own, here), (others, there) = other.by_deal(), plain.by_deal()
    return {
        "experiment": plain.about.experiment,
        "game": labels["game"],
        "obfuscated_game": other.about.labels["game"],
        "names": names,
        **{key: labels[key] for key in WHO[1:]},
        "deals": test["deals"],
        "plain": there[np.isin(others, own)].mean() if test["deals"] else np.nan,
        "obfuscated": here[np.isin(own, others)].mean() if test["deals"] else np.nan,
        "difference": difference,
        **dict(zip(("low", "high"), sorted(ends), strict=True)),
        "p": test["p_test"],
        "p_holm": test["p_test_holm"],
        **{key: test[key] for key in ("measure", "measure_low", "measure_high")},
    }


def sheets(found: pd.DataFrame) -> Iterator[Sheet]:
    """The table as a person reads it; none of no rows."""
    if found.empty:
        return
    rows = [_told(row, found) for row in found.to_dict("records")]
    foot = (
        "The same deals, the same rules and the same actions, under made-up names and with the "
        "options in\nanother order: what is lost was owed to names. Differences, intervals and p "
        "Holm are those of\npairs.csv."
    )
    headings = (
        *("player", "game", "deals", "plain", "obfuscated", "difference", "95% interval", "p Holm"),
    )
    yield Sheet("Under other names", headings, rows, foot, FILE)


def _told(row: Mapping[Any, Any], found: pd.DataFrame) -> tuple[str, ...]:
    measure = Measure(row["measure"], row["measure_low"], row["measure_high"])
    scale, several = Scale.of(measure), found["names"].nunique() > 1
    who = [row[key] for key in ("model", "prompt") if row[key] != "-"] or [row["agent"]]
    who += [row["seats"]] if found["seats"].nunique() > 1 else []
    names = f", names {row['names']}" if several else ""
    return (
        " ".join(who),
        f"{row['game']}{names}",
        f"{row['deals']:,}",
        scale.mean(row["plain"]),
        scale.mean(row["obfuscated"]),
        scale.change(row["difference"]),
        scale.reach(row["low"], row["high"]),
        p_value(row["p_holm"]),
    )
