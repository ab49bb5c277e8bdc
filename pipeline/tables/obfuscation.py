"""What other names do to a player: a game under made-up names compared with the plain one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gauntlet.common.ids import class_id
from gauntlet.games.obfuscated import Obfuscated
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables.primary_test import best_of_pair, measured_by
from gauntlet.pipeline.tables.registry import Results, table
from gauntlet.pipeline.tables.sheets import Column, Row, View, change, count, mean, p, reach
from gauntlet.pipeline.tables.summary import paired

KIND = class_id(Obfuscated)
WHO = ("experiment", "agent", "model", "prompt", "seats")
COLUMNS = {
    "experiment": "as in the config",
    "game": "the plain game",
    "obfuscated_game": "the game under made-up names",
    "names": "the seed that made the names",
    "agent": "what plays in the subject's seat",
    "model": "its model",
    "prompt": "its prompting method",
    "seats": "who sits where",
    "deals": "deals that both cells finished",
    "plain": "the mean over these deals with the plain names, raw",
    "obfuscated": "the mean with made-up names, raw",
    "difference": "obfuscated less plain, paired: luck-adjusted where pairs.csv is",
    "low": "lower end of its 95% interval",
    "high": "upper end of its 95% interval",
    "p": "as in pairs.csv",
    "p_holm": "as in pairs.csv, or over the rows that are not there",
    "measure": "what both are judged by",
    "measure_low": "its lowest value",
    "measure_high": "its highest value",
}

Both = tuple[CellResults, CellResults, int]
"""A cell under other names, the plain one, and the seed of the names."""


def _player(row: Row) -> str:
    who = [row[key] for key in ("model", "prompt") if row[key] != "-"] or [row["agent"]]
    several = row.results["obfuscation"]["seats"].nunique() > 1
    return " ".join([*who, *[row["seats"]] * several])


def _game(row: Row) -> str:
    several = row.results["obfuscation"]["names"].nunique() > 1
    return f"{row['game']}, names {row['names']}" if several else str(row["game"])


SHOWN = View(
    "Under other names",
    (
        Column("player", _player),
        Column("game", _game),
        Column("deals", count("deals")),
        Column("plain", mean("plain")),
        Column("obfuscated", mean("obfuscated")),
        Column("difference", change("difference")),
        Column("95% interval", reach("low", "high")),
        Column("p Holm", p("p_holm")),
    ),
    "The same deals, the same rules and the same actions, under made-up names and with the "
    "options in\nanother order: what is lost was owed to names. Differences, intervals and p "
    "Holm are those of\npairs.csv.",
)


@table("obfuscation", COLUMNS, [SHOWN], place=30)
def obfuscation(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each agent, model, prompt and seating that played both games."""
    found = list(_both(results))
    tested = {(row["cell_a"], row["cell_b"]): row for row in results["pairs"].to_dict("records")}
    lacking = [both for both in found if not {_names(both), _names(both)[::-1]} & tested.keys()]
    more = paired((other, plain) for other, plain, _ in lacking).to_dict("records")
    tested |= {(row["cell_a"], row["cell_b"]): row for row in more}
    yield from (_row(*both, tested) for both in found)


def _names(both: Both) -> tuple[str, str]:
    return both[0].about.name, both[1].about.name


def _both(results: Results) -> Iterator[Both]:
    folder = Folder(results.folder)
    games = [folder.description(result.about)["identity"]["game"] for result in results.cells]
    for other, told in zip(results.cells, games, strict=True):
        if told["class"] != KIND:
            continue
        for plain, game in zip(results.cells, games, strict=True):
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
        "p": test["p"],
        "p_holm": test["p_holm"],
        **measured_by(plain.about),
    }
