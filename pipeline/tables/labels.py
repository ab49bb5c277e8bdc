"""What a study of letters shows: the model's prior, and how far cheaper debiasing agrees.

It reads the decisions of cells whose method notes what cheaper methods would have chosen
(`agents/prompting/label_study.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.agents.prompting.cloze import LETTERS
from gauntlet.games.capabilities import WIN
from gauntlet.models.exchanges import ScoreExchange
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.log.schema import DecisionRecord, MatchRecord
from gauntlet.pipeline.tables.numbers import percent
from gauntlet.pipeline.tables.primary_test import interval
from gauntlet.pipeline.tables.registry import Part, Results, Sheet, table
from gauntlet.pipeline.tables.sheets import Column, View, count, decimal, share, share_span, text

FULL = "full rotation"
ALL = "all"
SHOWN = 12
"""The largest number of options that has a row for people; the files hold every one."""

PRIOR = {
    "cell": "the cell's name",
    "options": "decisions with this many options",
    "letter": "the letter",
    "decisions": "how many decisions",
    "probability": "the letter's mean probability among the letters, over all rotations",
    "ci_low": "lower end of its 95% interval by deals",
    "ci_high": "upper end of it",
    "mass": "mean probability of all letters together among all tokens",
}
DEBIASING = {
    "cell": "the cell's name",
    "method": "the debiasing method",
    "options": "decisions with this many options, or `all`",
    "decisions": "how many decisions",
    "prompts": "prompts a decision",
    "preparation": "prompts of a worker before the first match",
    "prompts_with_preparation": "the same with the preparation spread over all decisions",
    "agreed": "decisions in which it chose as full rotation did",
    "agreement": "their share",
    "ci_low": "lower end of its 95% interval by deals",
    "ci_high": "upper end of it",
}


@dataclass(frozen=True)
class _Seen:
    """One decision by full rotation: its letters' shares, and what cheaper methods would do.

    shares: the probability of each letter among the letters, in the mean over the rotations.
    mass: the probability of all letters together among all tokens, likewise.
    """

    deal: int
    options: int
    chosen: int
    shares: tuple[float, ...]
    mass: float
    cheaper: Mapping[str, Mapping[str, Any]]


def studied(results: Results) -> dict[str, list[_Seen]]:
    """The decisions of each cell that was studied, on its gap-free deals."""
    found = {}
    for result in results.cells:
        if methods := _methods(results.folder, result):
            found[result.about.name] = list(_decisions(results.folder, result, methods))
    return found


def _methods(folder: Path, result: CellResults) -> Collection[str]:
    """The cheaper methods that the subject's first decision that no fallback took has notes of."""
    for record in Folder(folder).matches(result.about.stem):
        for decision in _own_choices(record):
            if not decision.fallback:
                return _cheaper(decision).keys()
    return ()


def _decisions(folder: Path, result: CellResults, methods: Collection[str]) -> Iterator[_Seen]:
    kept = {outcome.match for outcome in result.outcomes}
    for record in Folder(folder).matches(result.about.stem):
        if record.match in kept:
            kept.remove(record.match)
            for decision in _own_choices(record):
                if not decision.fallback and _studied(decision, methods):
                    yield _seen(record.deal, decision)


def _cheaper(decision: DecisionRecord) -> Mapping[str, Mapping[str, Any]]:
    noted: Mapping[str, Mapping[str, Any]] = decision.notes.get("cheaper", {})
    return noted


def _studied(decision: DecisionRecord, methods: Collection[str]) -> bool:
    """Whether a decision has what a study notes of each: others could not be compared."""
    rotations = [one for one in decision.asked if isinstance(one, ScoreExchange)]
    full = [len(one.choices) == len(decision.options) for one in rotations]
    return full == [True] and _cheaper(decision).keys() >= {*methods}


def _own_choices(record: MatchRecord) -> Iterator[DecisionRecord]:
    """The subject's decisions on turns with a choice."""
    for decision in record.decisions:
        if decision.seat in record.subjects and not decision.forced:
            yield decision


def _seen(deal: int, decision: DecisionRecord) -> _Seen:
    (asked,) = (one for one in decision.asked if isinstance(one, ScoreExchange))
    rows = np.array(asked.logprobs, float)  # null, a log of zero, becomes nan
    rows = np.exp(np.where(np.isnan(rows), -np.inf, rows))
    mass = rows.sum(axis=1, keepdims=True)
    shares = np.divide(rows, mass, out=np.full_like(rows, 1 / rows.shape[1]), where=mass > 0)
    return _Seen(
        deal=deal,
        options=len(decision.options),
        chosen=decision.chosen,
        shares=tuple(shares.mean(axis=0)),
        mass=float(mass.mean()),
        cheaper=_cheaper(decision),
    )


def _priors(part: Part) -> Iterator[Sheet]:
    """A sheet a cell, a row a number of options."""
    for cell, labels in part.rows[part.rows["options"] <= SHOWN].groupby("cell", sort=False):
        yield _prior_sheet(part.results.names[str(cell)], labels)


def _prior_sheet(name: str, labels: pd.DataFrame) -> Sheet:
    letters = LETTERS[: labels["options"].max()]
    rows = []
    for options, some in labels.groupby("options"):
        reach = (some["ci_high"] - some["ci_low"]).max() / 2
        told = [percent(value)[:-1] for value in some["probability"]]
        told += [""] * (len(letters) - len(told))
        count, mass = some["decisions"].iloc[0], some["mass"].iloc[0]
        rows.append([f"{options}", f"{count:,}", *told, percent(reach)[:-1], percent(mass)])
    foot = (
        "Mean probability (%) of each letter among the letters over all rotations of the options, "
        "so whatever stands beside it; without a prior all in a row are 100 / options. "
        "+-: widest half of a row's 95% intervals (by deal). mass: all letters among all tokens."
    )
    headings = ["options", "decisions", *letters, "+-", "mass"]
    return Sheet(f"Letter prior of {name}", headings, rows, foot)


@table("labels", PRIOR, [_priors], place=40)
def labels(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each cell, number of options and letter."""
    for cell, seen in results.once(studied).items():
        yield from ({"cell": cell, **row} for row in _label_rows(seen))


def _label_rows(seen: Sequence[_Seen]) -> Iterator[dict[str, Any]]:
    """The mean share of each letter, whatever stood beside it; the interval clusters by deal."""
    for options, some in _by_options(seen):
        deals = np.array([one.deal for one in some])
        for place in range(min(options, len(LETTERS))):
            shares = np.array([one.shares[place] for one in some])
            mean, low, high = interval(shares, deals, WIN)
            yield {
                "options": options,
                "letter": LETTERS[place],
                "decisions": len(some),
                "probability": mean,
                "ci_low": low,
                "ci_high": high,
                "mass": float(np.mean([one.mass for one in some])),
            }


COSTS = View(
    lambda part: f"Debiasing of {part.results.names[part.rows['cell'].iloc[0]]}",
    (
        Column("method", text("method")),
        Column("options", text("options")),
        Column("prompts/decision", decimal("prompts", ".2f")),
        Column("preparation", count("preparation")),
        Column("with it", decimal("prompts_with_preparation", ".2f")),
        Column("decisions", count("decisions")),
        Column("agrees", share("agreement")),
        Column("95%", share_span("ci_low", "ci_high")),
    ),
    "preparation: prompts that each worker asks once, before the first match; the next column "
    "spreads them over the decisions here. agrees: chooses as full rotation does.",
    lambda rows: rows[(rows["options"] == ALL) | (rows["method"] != FULL)],
    by=("cell",),
)


@table("debiasing", DEBIASING, [COSTS], place=41)
def debiasing(results: Results) -> pd.DataFrame:
    """A row for each cell, method and number of options, and one for all of them."""
    found = results.once(studied).items()
    rows = [{"cell": cell, **row} for cell, seen in found for row in _method_rows(seen)]
    return pd.DataFrame(rows, columns=[*DEBIASING]).astype({"agreed": "Int64"})


def _method_rows(seen: Sequence[_Seen]) -> Iterator[dict[str, Any]]:
    """What each method costs and how often it chooses as full rotation does; intervals by deal.

    prompts: a decision; preparation: prompts of a worker before the first match, which
    prompts_with_preparation spreads over all decisions of the cell.
    """
    if not seen:
        return
    groups = [(ALL, seen), *((str(options), some) for options, some in _by_options(seen))]
    for method in (FULL, *seen[0].cheaper):
        preparation = 0 if method == FULL else seen[0].cheaper[method]["prompts"]
        for options, some in groups:
            prompts = np.mean([one.options for one in some]) if method == FULL else 1.0
            yield {
                "method": method,
                "options": options,
                "decisions": len(some),
                "prompts": prompts,
                "preparation": preparation,
                "prompts_with_preparation": prompts + preparation / len(seen),
                **({} if method == FULL else _agreement(method, some)),
            }


def _agreement(method: str, seen: Sequence[_Seen]) -> dict[str, Any]:
    agreed = np.array([float(one.cheaper[method]["chosen"] == one.chosen) for one in seen])
    share, low, high = interval(agreed, np.array([one.deal for one in seen]), WIN)
    return {"agreed": int(agreed.sum()), "agreement": share, "ci_low": low, "ci_high": high}


def _by_options(seen: Sequence[_Seen]) -> Iterator[tuple[int, list[_Seen]]]:
    for options in sorted({one.options for one in seen}):
        yield options, [one for one in seen if one.options == options]
