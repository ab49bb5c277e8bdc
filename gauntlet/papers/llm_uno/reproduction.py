"""Reproduce LLM-UNO: every number of figures 1, 2, 5 and 6 and of the text, from our runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gauntlet.games.uno import Uno
from gauntlet.papers.published import (
    Row,
    exact_row,
    frame,
    mean_row,
    not_run,
    paper,
    share_row,
    view,
)
from gauntlet.papers.reproductions import Reproduction, Settings, available
from gauntlet.papers.verdicts import Estimate
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.plan.cells import digest
from gauntlet.pipeline.tables.media.plot_style import save_png
from gauntlet.pipeline.tables.registry import read_table
from gauntlet.pipeline.tables.sweep.primary_test import RAW
from gauntlet.stats.means import limits
from gauntlet.stats.proportions import binomial_test

FIGURES = {"solo": "fig5", "coop": "fig6"}
LOW, HIGH = 0.05, 0.001
"""The two significance levels that the paper's bars mark."""
PROMPTS = {"cloze": "#b3261e", "counterfactual": "#1f5fa8"}
BASELINES = {"solo": ("two_random", 1), "coop": ("rule_rule_random", 1)}
"""The seating and the seat whose printed win rate is each experiment's baseline."""
SEATINGS = {
    "fig1": ("three_random", "three_rule"),
    "fig2": ("two_random", "two_rule"),
}
SEATED = {
    "two_random": ("random", "random"),
    "two_rule": ("rule", "rule"),
    "three_random": ("random", "random", "random"),
    "three_rule": ("rule", "rule", "rule"),
    "rule_rule_random": ("rule", "rule", "random"),
}
"""The scripted player of each seat."""
GAMES = 100_000
"""Games of each seating; the paper counted 10,000."""
PRINT = 0.00005
"""Rounding error of a number printed with four decimals."""


def reproduce(settings: Settings) -> Reproduction:
    """Run the paper's experiments, `deals` per cell. Raises UserError for an unknown model."""
    model_names = available(settings.models)
    columns = ("experiment", "model", "prompt", "matches", "baseline", "ci_low", "ci_high", "moves")
    parts = [pd.DataFrame(columns=columns)]
    for experiment in FIGURES if model_names else ():
        name = f"llm_uno_{experiment}"
        sizes = (f"model={','.join(model_names)}", f"deals={settings.deals}")
        folder = settings.run(name, name, "paper_bugs=true", *sizes)
        own = win_rates(read_table(folder / "summary.csv")).assign(experiment=experiment)
        parts.append(own.assign(moves=own["cell"].map(recent_moves(folder))))
    seats, cells = seat_table(), pd.concat(parts[1:] or parts, ignore_index=True)
    figures_dir = settings.out / "figures"
    save_png(figures(seats, cells, settings.models), figures_dir)
    found = frame(rows(seats, cells, settings.models))
    return Reproduction(found, [view(found)], [figures_dir])


def seat_table(games: int = GAMES, seed: int = 1) -> pd.DataFrame:
    """Figs. 1 and 2: how often each seat wins among scripted players, with 95% intervals; counted
    by the compiled game, which keeps no matches."""
    stream = int(digest([seed, "simulated"]), 16) >> 1
    rows = []
    for name, players in SEATED.items():
        game = Uno(len(players), paper_bugs=True)
        won = game.simulate(players, games, stream)[: len(players)]
        low, high = limits((0.0, 1.0), (0.0, 1.0), counts=np.stack((games - won, won), -1))
        rows += [
            (name, seat, games, won[seat] / games, low[seat], high[seat])
            for seat in range(len(players))
        ]
    return pd.DataFrame(rows, columns=["seats", "seat", "games", "win_rate", "ci_low", "ci_high"])


def win_rates(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of summary.csv with raw wins, which the paper counts: `wins`, `win_rate`, and
    `ci_low` and `ci_high` as the interval of that rate."""
    rate, low, high = (summary[name] for name in RAW)
    wins = (rate * summary["matches"]).round()
    return summary.assign(wins=wins, win_rate=rate, ci_low=low, ci_high=high)


def rows(seats: pd.DataFrame, cells: pd.DataFrame, models: Sequence[str]) -> list[Row]:
    """Return a row per published entry, then one per cell of a model that the paper does not have.

    seats: of `seat_table`. cells: the `win_rates` of the other two experiments, with
    `experiment` solo or coop, and `moves`, the number of recent moves in the prompt. models: the
    requested models.
    """
    published = without_effects(paper("llm_uno"))
    comparison = [_seat_row(entry, seats) for entry in published["seats"]]
    comparison += [_cell_row(entry, cells) for entry in published["cells"]]
    comparison += [_gain_row(published["gain"], cells), _significant_row(published, cells)]
    comparison += [not_run(published["learned"])]
    comparison += setting_rows(published, cells, LOW) + example_rows(published["example"])
    theirs = {entry["model"] for entry in published["cells"]}
    for experiment, figure in FIGURES.items():
        for model in models:
            for prompt in PROMPTS:
                measure = "win_rate" if experiment == "solo" else "teammate_win_rate"
                base = {"id": f"llm_uno.{figure}.{model}.{prompt}.{measure}"}
                if model not in theirs:
                    comparison.append(
                        _cell_row(
                            {**base, "experiment": experiment, "model": model, "prompt": prompt},
                            cells,
                        )
                    )
    return comparison


def without_effects(reported: dict[str, Any]) -> dict[str, Any]:
    """Add to the paper's numbers the value expected without an effect: equal shares for seats, the
    printed baseline in the same seat for models, 0 for the gain."""
    seats = {(entry["seats"], entry["seat"]): entry for entry in reported["seats"]}
    share = {seating: 1 / (1 + seat) for seating, seat in sorted(seats)}
    for entry in reported["seats"]:
        entry["without"] = share[entry["seats"]]
    for entry in reported["cells"]:
        entry["without"] = seats[BASELINES[entry["experiment"]]]["value"]
    reported["gain"]["without"] = 0.0
    return reported


def _seat_row(entry: dict[str, Any], seats: pd.DataFrame) -> Row:
    row = seats[(seats["seats"] == entry["seats"]) & (seats["seat"] == entry["seat"])].iloc[0]
    share = Estimate(row["win_rate"], row["ci_low"], row["ci_high"])
    return share_row(entry, share, row["games"], row["games"])


def _cell(entry: dict[str, Any], cells: pd.DataFrame) -> pd.Series[Any] | None:
    keys = ("experiment", "model", "prompt")
    same = np.logical_and.reduce([cells[key] == entry[key] for key in keys])
    found = cells[same & (cells["matches"] > 0)]
    return None if found.empty else found.iloc[0]


def _cell_row(entry: dict[str, Any], cells: pd.DataFrame) -> Row:
    row = _cell(entry, cells)
    if row is None:
        return not_run(entry)
    share = Estimate(row["win_rate"], row["ci_low"], row["ci_high"])
    return share_row(entry, share, row["matches"], row["deals"])


def _gain_row(entry: dict[str, Any], cells: pd.DataFrame) -> Row:
    row = _cell(entry, cells)
    if row is None:
        return not_run(entry)
    ends = (row[name] - row["baseline"] for name in ("win_rate", "ci_low", "ci_high"))
    return mean_row(entry, Estimate(*ends), row["matches"], row["deals"])


def _significant_row(reported: dict[str, Any], cells: pd.DataFrame) -> Row:
    """Count the published solo cells above the baseline; not_run unless all were played."""
    entry = reported["significant"]
    published = [cell for cell in reported["cells"] if cell["experiment"] == entry["experiment"]]
    there = [_cell(cell, cells) for cell in published]
    if any(row is None for row in there):
        return not_run(entry)
    return exact_row(entry, sum(_p(row) < LOW for row in there if row is not None))


def _p(row: pd.Series[Any]) -> float:
    """The paper's test: one-sided, taking the baseline as exact."""
    return float(binomial_test(row["wins"], row["matches"], row["baseline"]))


def example_rows(example: dict[str, Any]) -> list[Row]:
    """Recompute the sums of Fig. 3 from its printed letters, to within their rounding errors."""
    count = len(example["options"])
    sums = [0.0] * count
    for shift, received in enumerate(example["received"]):
        for place, share in enumerate(received):
            sums[(shift + place) % count] += share
    within = (len(example["received"]) + 1) * PRINT
    pairs = zip(example["sums"], sums, strict=True)
    return [
        exact_row({**entry, "kind": "recount"}, round(total, 4), within) for entry, total in pairs
    ]


def figures(seats: pd.DataFrame, cells: pd.DataFrame, models: Sequence[str]) -> dict[str, Figure]:
    """Draw the paper's figures from our runs: 1, 2 from scripted seatings, 5, 6 from the models."""
    plots = {name: seat_bars(seats, seatings) for name, seatings in SEATINGS.items()}
    for experiment, name in FIGURES.items():
        plots[name] = model_bars(cells[cells["experiment"] == experiment], experiment, models)
    return {f"llm_uno_{name}": figure for name, figure in plots.items()}


def seat_bars(seats: pd.DataFrame, seatings: Sequence[str]) -> Figure:
    """Figs. 1 and 2: win rates by seat, one group per seating, published values as diamonds."""
    figure, axes = _canvas()
    printed = {
        (e["seats"], e["seat"]): e["value"] for e in paper("llm_uno")["seats"] if "value" in e
    }
    shades = ("#1f5fa8", "#7fa6d6", "#c9daf0")
    for group, seating in enumerate(seatings):
        rows = seats[seats["seats"] == seating]
        for place, (_, row) in enumerate(rows.iterrows()):
            at = group + (place - (len(rows) - 1) / 2) * 0.26
            axes.bar(at, 100 * row["win_rate"], 0.24, color=shades[place])
            _whisker(axes, at, row)
            _label(axes, at, row, f"seat {row['seat']}\n{100 * row['win_rate']:.2f}")
            _published(axes, at, printed.get((seating, row["seat"])))
        axes.plot([group - 0.45, group + 0.45], [100 / len(rows)] * 2, color="#52606d", ls="--")
    axes.set_xticks(range(len(seatings)), [name.replace("_", " ") for name in seatings])
    _scale(axes, [seats[seats["seats"].isin(seatings)]])
    axes.set_ylabel("wins, % (dashed: equal shares)")
    return figure


def model_bars(cells: pd.DataFrame, experiment: str, models: Sequence[str]) -> Figure:
    """Figs. 5 and 6: win rates by model and prompt against the dashed baseline; a bar is solid
    where the rate is above it by the paper's one-sided test (p < .05), else hatched."""
    figure, axes = _canvas()
    entries = [entry for entry in paper("llm_uno")["cells"] if entry["experiment"] == experiment]
    printed = {(e["model"], e["prompt"]): e["value"] for e in entries if "value" in e}
    names = list(dict.fromkeys([*(entry["model"] for entry in entries), *models]))
    for group, model in enumerate(names):
        for place, (prompt, colour) in enumerate(PROMPTS.items()):
            at = group + (place - 0.5) * 0.38
            wanted = {"experiment": experiment, "model": model, "prompt": prompt}
            row = _cell(wanted, cells)
            if row is None:
                axes.annotate(
                    "not run",
                    (at, 0.02),
                    xycoords=("data", "axes fraction"),
                    rotation=90,
                    ha="center",
                    color="#7b8794",
                    fontsize=8,
                )
            else:
                _bar(axes, at, row, colour)
            _published(axes, at, printed.get((model, prompt)))
    if not cells.empty:
        axes.axhline(100 * cells["baseline"].iloc[0], color="#1f2933", ls="--", lw=1.2)
    axes.set_xticks(range(len(names)), names)
    _scale(axes, [cells], [entry["value"] for entry in entries if "value" in entry])
    axes.set_ylabel(f"wins of seat 1, %{' (helped by the model)' if experiment == 'coop' else ''}")
    _legend(axes)
    return figure


def _bar(axes: Axes, at: float, row: pd.Series[Any], colour: str) -> None:
    p = _p(row)
    significant = p < LOW
    height = 100 * row["win_rate"]
    if significant:
        axes.bar(at, height, 0.36, color=colour)
    else:
        axes.bar(at, height, 0.36, color="white", edgecolor=colour, hatch="///")
    _whisker(axes, at, row)
    mark = "**" if p < HIGH else "*" if significant else ""
    _label(axes, at, row, f"{height:.2f}{mark}")


def _label(axes: Axes, at: float, row: pd.Series[Any], text: str) -> None:
    axes.annotate(
        text,
        (at, 100 * row["ci_high"]),
        (0, 4),
        textcoords="offset points",
        ha="center",
        fontsize=8,
        bbox={"color": "white", "pad": 0.6},
        zorder=4,
    )


def _whisker(axes: Axes, at: float, row: pd.Series[Any]) -> None:
    axes.plot([at, at], [100 * row["ci_low"], 100 * row["ci_high"]], color="#1f2933", lw=1.2)


def _published(axes: Axes, at: float, value: float | None) -> None:
    if value is not None:
        axes.plot(at, 100 * value, "D", ms=6, mfc="white", mec="#1f2933", zorder=3)


def _scale(axes: Axes, tables: Sequence[pd.DataFrame], further: Sequence[float] = ()) -> None:
    """Limit the axis to the range of the values: bars from 0 would hide the differences."""
    values = [*further]
    for rows in tables:
        values += [*rows["ci_low"], *rows["ci_high"]]
    if values:
        low, high = 100 * min(values), 100 * max(values)
        axes.set_ylim(low - 0.35 * (high - low) - 0.5, high + 0.3 * (high - low) + 0.5)


def _legend(axes: Axes) -> None:
    for prompt, colour in PROMPTS.items():
        axes.bar(np.nan, np.nan, color=colour, label=prompt)
    axes.bar(np.nan, np.nan, color="white", edgecolor="#52606d", hatch="///", label="p >= .05")
    axes.plot(np.nan, np.nan, "D", ms=6, mfc="white", mec="#1f2933", ls="", label="published")
    axes.plot(np.nan, np.nan, color="#1f2933", ls="--", label="baseline")
    axes.legend(frameon=False, fontsize=8, ncols=5, loc="upper center", bbox_to_anchor=(0.5, 1.12))


def _canvas() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(8.5, 4.2))
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=9)
    return figure, axes


# --- settings: as played, against as printed


def recent_moves(folder: Path) -> dict[str, int]:
    """Return the number of recent moves in the prompt, by name of cell; of cells with the same
    name, the newest's. Read from the identity of the cells as played."""
    place = Folder(folder)
    moves = {}
    for about in place.sweep_cells():
        for player in place.description(about)["identity"]["players"]:
            method = player["agent"].get("method", {})
            if "moves" in method:
                moves[about.name] = method["moves"]
    return moves


def setting_rows(reported: dict[str, Any], cells: pd.DataFrame, alpha: float) -> list[Row]:
    """Compare the paper's settings with those of the cells played: if there are several, the one
    furthest off. not_run where no cell was played, and for the models if none of the paper's was.

    cells: with columns model, matches and moves. alpha: the level of their p-values.
    """
    played_cells = cells[cells["matches"] > 0]
    theirs = {cell["model"] for cell in reported["cells"]}.intersection(played_cells["model"])
    ours = {
        "games_default": list(played_cells["matches"]),
        "alpha": [alpha] if len(played_cells) else [],
        "recent_moves_in_prompt": list(played_cells["moves"].dropna()),
        "models": [len(theirs)] if theirs else [],
    }
    return [
        _row({**entry, "kind": "setting"}, ours[entry["id"].rpartition(".")[2]])
        for entry in reported["settings"]
    ]


def _row(entry: dict[str, Any], ours: Sequence[float]) -> Row:
    if not ours:
        return not_run(entry)
    return exact_row(entry, max(ours, key=lambda value: abs(value - entry["value"])))
