"""Studies of option letters: the model's prior, and how well cheaper debiasing agrees.

They read decisions of cells whose method notes what cheaper methods would have chosen
(`agents/prompting/label_study.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from gauntlet.agents.prompting.cloze import LETTERS
from gauntlet.games.capabilities import WIN
from gauntlet.models.exchanges import ScoreExchange
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.log.schema import DecisionRecord, MatchRecord
from gauntlet.pipeline.tables.formatting import percent
from gauntlet.pipeline.tables.media import plot_style, sheets
from gauntlet.pipeline.tables.media.sheets import Column, View
from gauntlet.pipeline.tables.registry import Part, Results, Sheet, columns, figure, table
from gauntlet.pipeline.tables.sweep.primary_test import interval
from gauntlet.pipeline.tables.sweep.tallies import LEAST

FULL = "full rotation"
ALL = "all"
MOST_OPTIONS = 12
"""More options are not shown; the files have every number."""


@dataclass(frozen=True)
class Study:
    """One decision by full rotation.

    shares: each letter's probability among the letters, averaged over the rotations. mass: of all
    letters among all tokens, likewise. cheaper: what cheaper methods would have chosen.
    """

    deal: int
    options: int
    chosen: int
    shares: tuple[float, ...]
    mass: float
    cheaper: Mapping[str, Mapping[str, Any]]


def studies(results: Results) -> dict[str, list[Study]]:
    """The decisions of each cell with a study, on its gap-free deals."""
    log, by_cell = Folder(results.folder), {}
    for result in results.cells:
        records = log.matches(result.about.stem)
        first = next((one for record in records for one in _choices(record)), None)
        if first and (methods := _cheaper(first).keys()):
            by_cell[result.about.name] = _studies(log, result, methods)
    return by_cell


def _studies(log: Folder, result: CellResults, methods: Collection[str]) -> list[Study]:
    """In the order of the matches, not in that of their completion, on which sums would depend."""
    pending = {outcome.match for outcome in result.outcomes}
    studies: dict[tuple[int, int], list[Study]] = {}
    for record in log.matches(result.about.stem):
        if record.match in pending:
            pending.remove(record.match)
            match = studies.setdefault((record.deal, record.rotation), [])
            for decision in _choices(record):
                scored = [one for one in decision.asked if isinstance(one, ScoreExchange)]
                full = [len(one.choices) == len(decision.options) for one in scored]
                if full == [True] and _cheaper(decision).keys() >= {*methods}:
                    match.append(_study(record.deal, decision, scored[0]))
    return [study for place in sorted(studies) for study in studies[place]]


def _choices(record: MatchRecord) -> Iterator[DecisionRecord]:
    """The subject's own decisions with a choice."""
    for decision in record.decisions:
        if decision.seat in record.subjects and not decision.forced and not decision.fallback:
            yield decision


def _cheaper(decision: DecisionRecord) -> Mapping[str, Mapping[str, Any]]:
    notes: Mapping[str, Mapping[str, Any]] = decision.notes.get("cheaper", {})
    return notes


def _study(deal: int, decision: DecisionRecord, exchange: ScoreExchange) -> Study:
    rows = np.array(exchange.logprobs, float)  # null, a log of zero, becomes nan
    rows = np.exp(np.where(np.isnan(rows), -np.inf, rows))
    mass = rows.sum(axis=1, keepdims=True)
    shares = np.divide(rows, mass, out=np.full_like(rows, 1 / rows.shape[1]), where=mass > 0)
    return Study(
        deal=deal,
        options=len(decision.options),
        chosen=decision.chosen,
        shares=tuple(shares.mean(axis=0)),
        mass=float(mass.mean()),
        cheaper=_cheaper(decision),
    )


def _by_options(studies: Sequence[Study]) -> Iterator[tuple[int, list[Study]]]:
    for options in sorted({one.options for one in studies}):
        yield options, [one for one in studies if one.options == options]


# --- the prior of letters

PRIOR = {
    **columns("cell"),
    "options": "decisions with this many options",
    "letter": "the letter",
    "decisions": "how many decisions",
    "probability": "the letter's mean probability among the letters, over all rotations",
    **columns("ci_low", "ci_high"),
    "mass": "mean probability of all letters together among all tokens",
}
PRIOR_FOOT = (
    "Mean probability (%) of each letter among the letters over all rotations of the options, "
    "so whatever stands beside it; without a prior all in a row are 100 / options. "
    "+-: widest half of a row's 95% intervals (by deal). mass: all letters among all tokens."
)


def _prior_sheets(part: Part) -> Iterator[Sheet]:
    """A sheet per cell, a row per number of options."""
    shown = part.rows[part.rows["options"] <= MOST_OPTIONS]
    for cell, labels in shown.groupby("cell", sort=False):
        letters, rows = LETTERS[: labels["options"].max()], []
        for options, group in labels.groupby("options"):
            half_width = (group["ci_high"] - group["ci_low"]).max() / 2
            shares = [percent(value)[:-1] for value in group["probability"]]
            shares += [""] * (len(letters) - len(shares))
            count, mass = group["decisions"].iloc[0], group["mass"].iloc[0]
            rows.append(
                [f"{options}", f"{count:,}", *shares, percent(half_width)[:-1], percent(mass)]
            )
        title = f"Letter prior of {part.results.names[str(cell)]}"
        yield Sheet(title, ["options", "decisions", *letters, "+-", "mass"], rows, PRIOR_FOOT)


@table("labels", PRIOR, [_prior_sheets], place=40)
def labels(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each cell, number of options and letter."""
    for cell, cell_studies in results.cached(studies).items():
        for options, group in _by_options(cell_studies):
            deals = np.array([one.deal for one in group])
            for place in range(min(options, len(LETTERS))):
                shares = np.array([one.shares[place] for one in group])
                mean, low, high = interval(shares, deals, WIN)
                yield {
                    "cell": cell,
                    "options": options,
                    "letter": LETTERS[place],
                    "decisions": len(group),
                    "probability": mean,
                    "ci_low": low,
                    "ci_high": high,
                    "mass": float(np.mean([one.mass for one in group])),
                }


# --- the cost and agreement of debiasing

DEBIASING = {
    **columns("cell"),
    "method": "the debiasing method",
    "options": "decisions with this many options, or `all`",
    "decisions": "how many decisions",
    "prompts": "prompts a decision",
    "preparation": "prompts of a worker before the first match",
    "prompts_with_preparation": "the same with the preparation spread over all decisions",
    "agreed": "decisions in which it chose as full rotation did",
    "agreement": "their share",
    **columns("ci_low", "ci_high"),
}
COSTS = View(
    lambda part: f"Debiasing of {part.results.names[part.rows['cell'].iloc[0]]}",
    (
        Column("method", sheets.text("method")),
        Column("options", sheets.text("options")),
        Column("prompts/decision", sheets.decimal("prompts", ".2f")),
        Column("preparation", sheets.count("preparation")),
        Column("with it", sheets.decimal("prompts_with_preparation", ".2f")),
        Column("decisions", sheets.count("decisions")),
        Column("agrees", sheets.share("agreement")),
        Column("95%", sheets.share_span("ci_low", "ci_high")),
    ),
    "preparation: prompts that each worker asks once, before the first match; the next column "
    "spreads them over the decisions here. agrees: chooses as full rotation does.",
    lambda rows: rows[(rows["options"] == ALL) | (rows["method"] != FULL)],
    split_by=("cell",),
)


@table("debiasing", DEBIASING, [COSTS], place=41)
def debiasing(results: Results) -> pd.DataFrame:
    """A row for each cell, method and number of options, and one for all of them."""
    by_cell = results.cached(studies).items()
    rows = [
        {"cell": cell, **row} for cell, group in by_cell if group for row in _method_rows(group)
    ]
    return pd.DataFrame(rows, columns=[*DEBIASING]).astype({"agreed": "Int64"})


def _method_rows(studies: Sequence[Study]) -> Iterator[dict[str, Any]]:
    groups = [(ALL, studies), *((str(options), own) for options, own in _by_options(studies))]
    for method in (FULL, *studies[0].cheaper):
        preparation = 0 if method == FULL else studies[0].cheaper[method]["prompts"]
        for options, group in groups:
            prompts = np.mean([one.options for one in group]) if method == FULL else 1.0
            row = {
                "method": method,
                "options": options,
                "decisions": len(group),
                "prompts": prompts,
                "preparation": preparation,
                "prompts_with_preparation": prompts + preparation / len(studies),
            }
            if method != FULL:
                agreed = np.array([float(s.cheaper[method]["chosen"] == s.chosen) for s in group])
                ends = interval(agreed, np.array([study.deal for study in group]), WIN)
                row |= zip(("agreement", "ci_low", "ci_high"), ends, strict=True)
                row["agreed"] = int(agreed.sum())
            yield row


# --- the prior as heat maps

PANELS = 3
"""Cells up to which each has a map of its own, a row per number of options."""


@figure("letter_prior", place=5)
def letter_figure(results: Results) -> Figure | None:
    """If cells study letters."""
    return None if results["labels"].empty else letter_prior(results["labels"], results.names)


def letter_prior(labels: pd.DataFrame, names: Mapping[str, str]) -> Figure:
    """labels: labels.csv. names: of the cells."""
    plotted = labels[labels["options"] <= MOST_OPTIONS]
    cells = list(dict.fromkeys(plotted["cell"]))
    title = "Mean probability of each letter among the letters, %, whatever stands beside it"
    if len(cells) <= PANELS:
        figure = _maps_by_options({names[cell]: plotted[plotted["cell"] == cell] for cell in cells})
        title += " (±: widest half of a row's 95% intervals, by deal)"
    elif len(cells) <= plot_style.max_rows():
        figure, options = _map_by_cell(plotted, cells, names)
        title += f" (decisions between {options} options)"
    else:
        middle = plotted.groupby(["options", "letter"], as_index=False).median(numeric_only=True)
        name = f"median of {len(cells):,} cells"
        figure = _maps_by_options({name: middle.assign(ci_low=np.nan)})
    return plot_style.set_title(figure, title)


def _maps_by_options(cells: Mapping[str, pd.DataFrame]) -> Figure:
    """A map per cell, a row per number of options."""
    across = 1 if plot_style.narrow() else min(2, len(cells))
    down = -(-len(cells) // across)
    rows = max(own["options"].nunique() for own in cells.values())
    figure, panels = plot_style.panels(down, across, 1.2 + down * (0.5 + 0.17 * rows))
    most = max(_largest_excess(_pivot(own[own["decisions"] >= LEAST])) for own in cells.values())
    for axes, (name, group) in zip(panels, cells.items(), strict=False):
        table = _pivot(group)
        image = _map(axes, table, table.index.to_numpy(float)[:, None], most)
        axes.set_yticks(range(len(table)), [_row_label(group, options) for options in table.index])
        axes.set_ylabel("options")
        title = plot_style.shorten(name, plot_style.room(0.85 / across))
        axes.set_title(title, fontsize=plot_style.SIZE)
    for axes in panels[len(cells) :]:
        axes.set_axis_off()
    return _with_key(figure, panels, image)


def _map_by_cell(
    labels: pd.DataFrame, cells: list[str], names: Mapping[str, str]
) -> tuple[Figure, int]:
    """A row per cell, for the most frequent number of options; that number."""
    times = labels.drop_duplicates(["cell", "options"]).groupby("options")["decisions"].sum()
    options = int(times.index[int(times.argmax())])
    table = _pivot(labels[labels["options"] == options], "cell").reindex(cells)
    figure, axes = plot_style.canvas(1.2 + (0.17 + 0.14 * plot_style.narrow()) * len(cells))
    image = _map(axes, table, options, _largest_excess(table.set_axis([options] * len(table))))
    plot_style.label_heat_map(figure, axes, [names[cell] for cell in cells])
    return _with_key(figure, axes, image), options


def _with_key(figure: Figure, axes: Axes | Sequence[Axes], image: AxesImage) -> Figure:
    plot_style.add_colour_bar(figure, axes, image, "more than an even share, points")
    return figure


def _pivot(labels: pd.DataFrame, index: str = "options") -> pd.DataFrame:
    """Probabilities, a column per letter."""
    return labels.pivot_table(index=index, columns="letter", values="probability")


def _largest_excess(table: pd.DataFrame) -> float:
    """The largest difference, in points, of a letter from its even share."""
    even = 1 / table.index.to_numpy(float)[:, None]
    return float(np.nanmax(np.abs(100 * (table.to_numpy(float) - even)), initial=0)) or 1.0


def _map(axes: Axes, table: pd.DataFrame, options: np.ndarray | int, most: float) -> AxesImage:
    """The table in percent, shaded by the excess over an even share."""
    values = table.to_numpy(float)
    texts = [[f"{100 * x:.0f}" if np.isfinite(x) else "" for x in row] for row in values]
    image = plot_style.heat_map(axes, 100 * (values - 1 / options), most, texts)
    axes.set_xticks(range(table.shape[1]), list(table.columns))
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    return image


def _row_label(labels: pd.DataFrame, options: int) -> str:
    rows = labels[labels["options"] == options]
    reach = 100 * (rows["ci_high"] - rows["ci_low"]).max() / 2
    end = "" if np.isnan(reach) else f", ±{reach:.1f}"
    return f"{options}: n = {rows['decisions'].iloc[0]:,.0f}{end}"
