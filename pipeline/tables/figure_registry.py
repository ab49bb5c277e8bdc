"""Every figure that a folder can fill, for a page and for a column: as the report shows them, as
files, and for a paper."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables import figures, metric_figures, plot_style
from gauntlet.pipeline.tables.choice_figures import choice_distribution
from gauntlet.pipeline.tables.cost_figures import costs
from gauntlet.pipeline.tables.diagnostics import Diagnosis
from gauntlet.pipeline.tables.labels import Study
from gauntlet.pipeline.tables.letter_figures import letter_prior
from gauntlet.pipeline.tables.plot_style import COLUMN, WIDE, Medium
from gauntlet.pipeline.tables.scale import by_scale
from gauntlet.pipeline.tables.table import short_names


@dataclass(frozen=True)
class Found:
    """What there is to be drawn. study: None where no cell studies letters. judged: what
    `metric_figures.read` gave."""

    results: Sequence[CellResults]
    summary: pd.DataFrame
    pairs: pd.DataFrame
    diagnosis: Diagnosis
    study: Study | None
    judged: tuple[pd.DataFrame, pd.DataFrame] | None

    @cached_property
    def names(self) -> dict[str, str]:
        """How each cell is called."""
        return dict(zip(self.summary["cell"], short_names(self.summary), strict=True))


@dataclass(frozen=True)
class Drawing:
    """One figure in both widths."""

    wide: Figure
    column: Figure

    @property
    def title(self) -> str:
        return " ".join(self.wide.get_suptitle().split())

    def html(self, name: str) -> str:
        """Both as <svg>; the page shows the one that fits (`plot_style.PAGE_STYLE`)."""
        shown = {WIDE.name: self.wide, COLUMN.name: self.column}
        drawn = (
            f'<div class="{medium}">{plot_style.svg(figure, f"{name} {medium}")}</div>'
            for medium, figure in shown.items()
        )
        return f'<div class="drawing">{"".join(drawn)}</div>'


def drawings(found: Found) -> dict[str, Drawing]:
    """By name, in the order in which they are shown."""
    wide, column = (_drawn(found, medium) for medium in (WIDE, COLUMN))
    return {name: Drawing(figure, column[name]) for name, figure in wide.items()}


def _drawn(found: Found, medium: Medium) -> dict[str, Figure]:
    with plot_style.drawn_for(medium):
        own = figures.all_figures(found.summary, found.pairs, found.results)
        return {**own, **_costs(found), **_choices(found), **_letters(found), **_metrics(found)}


def _costs(found: Found) -> dict[str, Figure]:
    names, drawn = short_names(found.summary), {}
    for scale, places in by_scale(found.summary):
        rows = found.summary.iloc[places]
        if figure := costs(rows, [names[at] for at in places], scale):
            drawn[figures.called(scale, "win_rates") + "_and_cost"] = figure
    return drawn


def _choices(found: Found) -> dict[str, Figure]:
    """A figure a game: its moves are its own."""
    games = found.diagnosis.choices["cell"].map(found.summary.set_index("cell")["game"])
    cells = found.diagnosis.cells
    decisions = dict(zip(cells["cell"], cells["decisions"], strict=True))
    several = games.nunique() > 1
    drawn = {}
    for game, own in found.diagnosis.choices.groupby(games, sort=False):
        ending = "_" + re.sub(r"\W+", "_", str(game)) if several else ""
        drawn[f"choices{ending}"] = choice_distribution(own, found.names, decisions)
    return drawn


def _letters(found: Found) -> dict[str, Figure]:
    study = found.study
    return {"letter_prior": letter_prior(study.labels, found.names)} if study else {}


def _metrics(found: Found) -> dict[str, Figure]:
    return metric_figures.metric_figures(*found.judged) if found.judged else {}


def save_png(drawn: Mapping[str, Drawing], folder: Path) -> None:
    """Writes NAME.png of each; a picture of an earlier time that is none of these goes."""
    plot_style.save_png({name: one.wide for name, one in drawn.items()}, folder)
    for old in folder.glob("*.png"):
        if old.stem not in drawn:
            old.unlink()
