"""Draw the figures of the neighbouring pages from a finished sweep.

`python docs/concepts/drawn.py DIR`: DIR is an output folder with two cells of pocket in UNO, the
first with `cloze`, as left by `python -m pipeline.run prompt=cloze,counterfactual deals=400
output_dir=DIR`. Prints what it drew.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from transformers import AutoTokenizer

from gauntlet.common.disk import write_atomically
from gauntlet.common.errors import UserError
from gauntlet.models.engine.tokens import grow, shared_length
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables.media import plot_style
from gauntlet.pipeline.tables.registry import load_cells
from gauntlet.stats.means import limits, reaching

HERE = Path(__file__).parent
POCKET = HERE.parent.parent / "gauntlet" / "models" / "pocket" / "weights"
LEAST = 25
"""Running values start at this many deals: with fewer an interval says little."""
STEP = 5
"""Deals between the points of a line."""
SHARE, DIFFERENCE = (0.0, 1.0), (-1.0, 1.0)
"""The ranges of a win rate and of a difference of two."""
OPTIONS = 7
"""Number of options of the decision whose prompts are drawn."""

Floats = NDArray[np.float64]

DARK = {"ink": "#e4e8ec", "muted": "#a1acb8", "line": "#343e49", "accent": "#62bce0"}
DARK |= {"ground": "#14181d"} | {
    f"series-{at}": tone for at, tone in enumerate(plot_style.ON_BLACK, 2)
}
STYLE = (
    "<style>svg { font-family: system-ui, sans-serif; } @media (prefers-color-scheme: dark) { svg {"
    + " ".join(f"--{name}: {colour};" for name, colour in DARK.items())
    + "} }</style>"
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python docs/concepts/drawn.py", description="The figures of the concepts."
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="an output folder")
    folder = parser.parse_args(arguments).folder
    try:
        cells = played(folder)
        drawn = {"pairing": pairing(*cells), "luck": lucky(cells[0]), "scoring": tree(folder)}
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    for name, figure in drawn.items():
        text = plot_style.svg(figure, name)
        opening = text.index(">") + 1
        file = HERE / f"{name}.svg"
        write_atomically(file, text[:opening] + STYLE + text[opening:] + "\n")
        print(f"{file}: {file.stat().st_size / 1024:.0f} kB")
    return 0


def played(folder: Path) -> list[CellResults]:
    """The folder's two cells, cloze first, luck-adjusted. Raises UserError for other folders."""
    found = [result for result in load_cells(folder) if result.about.labels["model"] == "pocket"]
    found.sort(key=lambda result: result.about.labels["prompt"])
    if len(found) < 2 or any(result.adjusted is None for result in found[:2]):
        raise UserError(f"{folder} has no two cells of pocket whose luck was taken out")
    return found[:2]


def pairing(first: CellResults, second: CellResults) -> Figure:
    """The interval width of their difference against deals, for three estimators."""
    raw, clean = differences(first, second)
    apart = np.hypot(*(half(result.by_deal()[1], SHARE) for result in (first, second)))
    lines = {
        "wins, each cell on deals of its own": apart,
        "wins, both on the same deals": half(raw, DIFFERENCE),
        "the same, luck taken out": half(clean, DIFFERENCE, estimated=True),
    }
    with plot_style.drawing_for(plot_style.WIDE):
        figure, axes = plot_style.canvas(2.9)
        for (name, widths), colour, dash in zip(
            lines.items(), plot_style.COLOURS, plot_style.DASHES, strict=False
        ):
            axes.plot(points(len(raw)), 100 * widths, color=colour, ls=dash, lw=1.4, label=name)
        axes.set_xlabel("deals")
        axes.set_ylabel("half of the 95% interval, points")
        axes.set_ylim(bottom=0)
        plot_style.add_legend(figure)
        plot_style.set_title(
            figure, "What two prompts differ by: how exactly it is known by number of deals"
        )
    return figure


def differences(first: CellResults, second: CellResults) -> tuple[Floats, Floats]:
    """Differences by deal, for the deals both have: of wins, and luck-adjusted."""
    deals = min(first.complete_deals, second.complete_deals)
    won = first.by_deal()[1][:deals] - second.by_deal()[1][:deals]
    assert first.adjusted is not None
    assert second.adjusted is not None
    return won, first.adjusted.values[:deals] - second.adjusted.values[:deals]


def points(deals: int) -> range:
    """The numbers of deals at which a line has points; the last is all of them."""
    return range(deals, LEAST - 1, -STEP)[::-1]


def running(values: Floats, span: tuple[float, float], estimated: bool = False) -> Floats:
    """The 95% limits, low and high, of the running mean at every point.

    estimated: the values are luck-adjusted, and may lie outside the range.
    """
    parts = (values[:deals] for deals in points(len(values)))
    return np.array([limits(part, reaching(part, span) if estimated else span) for part in parts]).T


def half(values: Floats, span: tuple[float, float], estimated: bool = False) -> Floats:
    low, high = running(values, span, estimated)
    found: Floats = (high - low) / 2
    return found


def lucky(result: CellResults) -> Figure:
    """One cell's running mean, raw and luck-adjusted."""
    assert result.adjusted is not None
    lines = {
        "wins": (result.by_deal()[1], False),
        "luck taken out": (result.adjusted.values, True),
    }
    with plot_style.drawing_for(plot_style.WIDE):
        figure, axes = plot_style.canvas(2.9)
        for (name, (values, estimated)), colour, dash in zip(
            lines.items(), plot_style.COLOURS, plot_style.DASHES, strict=False
        ):
            low, high = 100 * running(values, SHARE, estimated)
            deals = points(len(values))
            means = [100 * values[:count].mean() for count in deals]
            axes.plot(deals, means, color=colour, ls=dash, lw=1.4, label=name)
            axes.fill_between(deals, low, high, color=colour, alpha=0.15, lw=0)
        assert result.about.baseline
        axes.axhline(
            100 * result.about.baseline.rate,
            color=plot_style.MUTED,
            ls="--",
            lw=1,
            label="baseline",
        )
        axes.set_xlabel("deals")
        axes.set_ylabel("win rate so far, %")
        plot_style.add_legend(figure, 3)
        plot_style.set_title(
            figure, "The same matches, counted by wins and by what decisions were worth"
        )
    return figure


def tree(folder: Path) -> Figure:
    """The prompts of one decision, split into shared and separate parts."""
    prompts, static = first_prompts(folder)
    tokenizer = AutoTokenizer.from_pretrained(POCKET)
    read = [tokenizer.encode(prompt, add_special_tokens=False) for prompt in prompts]
    opening = tokenizer.encode(static, add_special_tokens=False)
    first = shared_length(opening, read[0])
    common = min(shared_length(read[0], other) for other in read[1:])
    nodes, whole = len(grow(read).tokens), sum(map(len, read))
    print(f"{len(read)} prompts, {whole} tokens; static {first}, shared {common}, tree {nodes}")
    parts = {
        "goal and rules: kept from decision to decision": (0, first, plot_style.PALE),
        "the situation: computed once a decision": (first, common, plot_style.ACCENT),
        "its own order of the options": (common, None, plot_style.CONTRAST),
    }
    with plot_style.drawing_for(plot_style.WIDE):
        figure, axes = plot_style.canvas(2.6)
        for name, (start, end, colour) in parts.items():
            ends = np.array([end or len(one) for one in read])
            places = np.arange(len(read))
            axes.barh(places, ends - start, left=start, height=0.7, color=colour, label=name)
        plot_style.label_rows(
            axes, range(len(read)), [f"prompt {at + 1}" for at in range(len(read))], False
        )
        axes.set_xlabel(f"tokens; {whole:,} in {len(read)} prompts, {nodes:,} in their tree")
        plot_style.add_legend(figure, 1)
        plot_style.set_title(
            figure, "One decision asked by cloze: every option once under every letter"
        )
    return figure


def first_prompts(folder: Path) -> tuple[list[str], str]:
    """The prompts of the log's first decision of seven options, and their static part."""
    statics: dict[str, str] = {}
    for record in Folder(folder).records():
        statics |= getattr(record, "statics", None) or {}
        for decision in getattr(record, "decisions", ()):
            for one in decision.asked:
                if len(getattr(one, "branches", ())) == OPTIONS and len(one.choices) == OPTIONS:
                    static = statics[one.static]
                    return [static + one.shared + rest + one.cue for rest in one.branches], static
    raise UserError(f"{folder} has no decision of {OPTIONS} options")


if __name__ == "__main__":
    sys.exit(main())
