"""Reproduce Observer, Not Player: its Tables 1 and 2 and Figs. 1, 3, 4 and 5.

All observers watch the same throws, ten matches of each match-up by default. Observers without a
model are always included; every model adds its own. Beyond the paper: other windows, reactive
players drawn from their mixes, and every variant of the loss.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from rich.console import Group, RenderableType
from rich.text import Text

from gauntlet.agents.prompting.observe import REASON, Observe
from gauntlet.common.disk import write_atomically
from gauntlet.common.terminal import WrappedTable
from gauntlet.games.rock_paper_scissors import strategies
from gauntlet.games.rock_paper_scissors.strategies import CODES, UNIFORM, grid
from gauntlet.games.watch import observation
from gauntlet.papers.observer import rows
from gauntlet.papers.observer.runs import (
    WatchedMatch,
    implied_outcomes,
    same_outcomes,
    watched_matches,
)
from gauntlet.papers.observer.totals import by_round, totals, unions
from gauntlet.papers.published import Row, frame, paper
from gauntlet.papers.reproductions import Reproduction, Settings, available
from gauntlet.pipeline.tables.media import plot_style
from gauntlet.pipeline.tables.media.plot_style import ACCENT, COLOURS, CONTRAST, DASHES, MUTED

MODELS, DEALS = "pocket_observer", 10
"""Default model, in addition to the observers without one: minutes on a laptop."""
LAST = 210
"""A window of all rounds."""
ALL, ABLE = "random,constant,nearest,likeliest,bayes", "nearest,likeliest,bayes"
"""Observers without a model, and those of them that use their observations."""


@dataclass(frozen=True)
class Extra:
    """An observation setting that the paper does not have."""

    name: str
    title: str
    words: tuple[str, ...]
    react: str = "lag1"
    window: int = 50


EXTRAS = (
    Extra("window20", "Told the last 20 rounds", ("game.window=20",), window=20),
    Extra("window_all", "Told all rounds", ("game.window=null",), window=LAST),
    Extra(
        "iid",
        "D against Y where Y is drawn from its mix, and the catalogue tells its rule",
        ("game.players=[D,Y]", "game.of.react=iid"),
        react="iid",
    ),
)


def reproduce(settings: Settings) -> Reproduction:
    """Play and write everything, `deals` matches of each match-up. Raises UserError for an unknown
    model."""
    model_names, published = available(settings.models), paper("observer")
    base = watch_all(settings, model_names)
    extras = {one: watch_all(settings, model_names, one) for one in EXTRAS}
    tables, figures_dir = settings.out / "tables", settings.out / "figures"
    tables.mkdir(exist_ok=True)
    for name, table in files(base, extras):
        write_atomically(tables / f"observer_{name}.csv", table.to_csv(index=False))
    with plot_style.drawing_for(plot_style.WIDE):
        plot_style.save_png(dict(drawings(base)), figures_dir)
    found = frame([*lines(published, base, extras, model_names)])
    return Reproduction(found, [*views_of(base, extras, model_names)], [tables, figures_dir])


def watch_all(
    settings: Settings, models: Sequence[str], extra: Extra | None = None
) -> list[WatchedMatch]:
    """Return all matches watched: by the observers without a model, then by each model, in separate
    folders."""
    name, words = (f"_{extra.name}", extra.words) if extra else ("", ())
    agents: dict[str, tuple[str, ...]] = {"": (f"agent={ABLE if extra else ALL}",)}
    agents |= {model: ("agent=llm", f"model={model}") for model in models}
    matches: list[WatchedMatch] = []
    for model, who in agents.items():
        folder = f"observer{name}{'_' * bool(model)}{model}"
        sizes = (f"deals={settings.deals}", *who, *words)
        matches += watched_matches(settings.run("observer_table1", folder, *sizes), model)
    return matches


def files(
    base: Sequence[WatchedMatch], extras: Mapping[Extra, Sequence[WatchedMatch]]
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the tables, including the data of the figures, with their names."""
    yield "table1", totals(base)
    yield "curves", by_round(base)
    yield "unions", unions(base)
    yield "reasoning", reasons(base)
    for extra, matches in extras.items():
        yield extra.name, totals(matches)


def drawings(base: Sequence[WatchedMatch]) -> Iterator[tuple[str, Figure]]:
    """Yield every figure with its file name."""
    table = by_round(base)
    match_ups = list(dict.fromkeys("-".join(one.pair) for one in base))
    deals = len({one.deal for one in base})
    caption = f"mean of {deals} matches and of {SMOOTH} guesses"
    yield (
        "observer_fig4",
        curves(table, [(m, "union", "Union") for m in match_ups], f"Union loss, {caption}"),
    )
    fig5 = [("N-G", "brier", "Brier"), ("N-G", "ce_norm", "cross-entropy, scaled")]
    yield "observer_fig5", curves(table, fig5, f"The losses of N against G, {caption}")
    for mode in ("fixed", "paper"):
        yield f"observer_fig3_{mode}", heat_map("AB", mode)
    yield "observer_fig3_blind", heat_map("DY", "fixed")
    for observer in dict.fromkeys(one.observer for one in base):
        first = [one for one in base if one.observer == observer and one.deal == 0]
        yield f"observer_fig1_{observer}", timeline(first)


def lines(
    reported: Mapping[str, Any],
    base: Sequence[WatchedMatch],
    extras: Mapping[Extra, Sequence[WatchedMatch]],
    models: Sequence[str],
) -> Iterator[Row]:
    """Yield every row of observer.csv."""
    yield from rows.setting_rows(reported, played_settings(base, models))
    yield from rows.table1_rows(reported, totals(base))
    for extra, matches in extras.items():
        yield from rows.extra_rows(reported, extra.name, totals(matches), extra.react, extra.window)
    yield from rows.ideal_rows(reported)
    yield from rows.table2_rows(reported)
    yield from rows.table3_rows(reported)
    yield from rows.outcome_rows(reported)
    yield from rows.figure_rows(reported)


def played_settings(base: Sequence[WatchedMatch], models: Sequence[str]) -> dict[str, float]:
    """Return the paper's settings by name, as played; model settings only if a model was played."""
    game, deals = base[0].game, len({one.deal for one in base})
    span = max(observation.WORTH) - min(observation.WORTH)
    every = strategies.grid().reshape(-1, 3)
    our_settings = {
        "rounds": len(base[0].guesses),
        "warmup_rounds": game.warmup,
        "history_limit": game.window or LAST,
        "convergence_l1": strategies.TOLERANCE,
        "initial_mix": UNIFORM[0],
        "damping_alpha": strategies.DAMPING,
        "epsilon": observation.EPS,
        "ev_norm_divisor": span**2,
        "brier_range_claimed": float(observation.brier(every[:, None], every).max()),
        "union_weights": 1 / 3,
        "ce_norm_if_flat": 0.5,
        "strategies": len(game.policies),
        "runs_per_condition": deals,
    }
    if models:
        method = Observe()
        our_settings |= {"temperature": method.temperature, "reasoning_interval": method.reasons}
        our_settings |= {"reasoning_phrases": 5 if "three to five" in REASON else 0}
        our_settings |= {"n_conditions": len(models) * len({one.pair for one in base})}
    return our_settings


def views_of(
    base: Sequence[WatchedMatch],
    extras: Mapping[Extra, Sequence[WatchedMatch]],
    models: Sequence[str],
) -> Iterator[RenderableType]:
    deals = len({one.deal for one in base})
    yield table1_view(totals(base), f"Table 1, told the last 50 rounds, {deals} matches each")
    yield NOTE
    for extra, matches in extras.items():
        yield table1_view(totals(matches), extra.title)
    yield reasons_view(reasons(base), models)


# --- tables for the terminal

NOTE = (
    "SIR: guesses that name both players, in %, with the 95% interval of the mean over deals, and "
    "in brackets Clopper and Pearson's of guesses. p1, p2: guesses that name that player. class: "
    "that name a pair of the truth's outcomes. alike: how many of the 361 pairs have these, so "
    "that no loss tells them apart; * whatever one of the two players is taken for."
)
SNIPPETS = 3
"""Reasons shown per model."""


def table1_view(frame: pd.DataFrame, title: str) -> RenderableType:
    """frame: from `totals.totals`."""
    grid = WrappedTable(header_style="dim")
    headings = ("truth", "observer", "SIR", "by deal", "by guess", "p1", "p2", "class", "null",
                "Union", "late", "alike")  # fmt: skip
    for at, heading in enumerate(headings):
        grid.add_column(heading, justify="right" if at > 1 else "left", no_wrap=True)
    for row in frame.to_dict("records"):
        grid.add_row(
            row["match_up"] + "*" * row["blind"],
            row["observer"],
            f"{row['sir']:.1f}",
            f"{row['deal_low']:.0f}-{row['deal_high']:.0f}",
            f"({row['exact_low']:.0f}-{row['exact_high']:.0f})",
            *(f"{row[name]:.0f}" for name in ("player1", "player2", "same_outcome", "null_rate")),
            *(f"{row[name]:.4f}" for name in ("union", "late")),
            f"{row['alike']:.0f}",
        )
    return Group(Text(title, "bold"), grid)


def reasons(matches: Iterable[WatchedMatch]) -> pd.DataFrame:
    """Return the reasons that observers gave, with the round, their guess and the truth."""
    columns = ["match_up", "observer", "deal", "round", "guess", "right", "reasoning"]
    rows = []
    for match in matches:
        for number, (guess, decision) in enumerate(
            zip(match.guesses, match.decisions, strict=True), 1
        ):
            if reasoning := decision.notes.get("reasoning"):
                said = "-" if guess is None else "-".join(guess)
                rows.append(("-".join(match.pair), match.observer, match.deal, number, said,
                             guess == match.pair, reasoning))  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def reasons_view(frame: pd.DataFrame, models: Sequence[str]) -> RenderableType:
    """Table 2: the first reasons of each model in the match-up that the paper shows."""
    if frame.empty:
        return Text("Table 2: no model gave reasons; observers without one give none")
    grid = WrappedTable(header_style="dim")
    for heading in ("model", "guess", "said", "right", "reasoning"):
        grid.add_column(heading, overflow="fold")
    for model in models:
        own = frame[(frame["observer"] == model) & (frame["match_up"] == "N-G")].head(SNIPPETS)
        for row in own.to_dict("records"):
            right = "yes" if row["right"] else "no"
            grid.add_row(model, str(row["round"]), row["guess"], right, row["reasoning"])
    return Group(Text("Table 2: reasons in N against G", "bold"), grid)


# --- figures

SMOOTH = 10
"""Window of the running mean of a curve, in guesses."""
SMALL = 1e-3
"""The axis of losses is linear below this, and logarithmic above."""
BESIDE = 0.15
"""Vertical offset of the marks from a strategy's row: player 2 below, player 1 above."""


def match_up_label(match_up: str, note: str = "pairs") -> str:
    """Label a match-up with the number of pairs of the grid that no loss tells from it."""
    return f"{match_up} ({int(same_outcomes(match_up.split('-')).sum())} {note} alike)"


def curves(table: pd.DataFrame, panels: Sequence[tuple[str, str, str]], title: str) -> Figure:
    """Draw one panel per (match-up, column of `totals.by_round`, its name), with one line per
    observer."""
    across = 1 if plot_style.narrow() else len(panels)
    down = -(-len(panels) // across)
    figure, axes = plot_style.panels(down, across, 0.9 + 2.0 * down, sharex=True)
    observers = list(dict.fromkeys(table["observer"]))
    for axis, (match_up, column, name) in zip(axes, panels, strict=True):
        for at, observer in enumerate(observers):
            rows = table[(table["match_up"] == match_up) & (table["observer"] == observer)]
            if not rows.empty:
                drawn = rows[column].rolling(SMOOTH, min_periods=1).mean()
                look = {"color": COLOURS[at % len(COLOURS)], "ls": DASHES[at % len(DASHES)]}
                axis.plot(rows["guess"], drawn, lw=1.1, label=observer, **look)
        axis.set_title(match_up_label(match_up))
        axis.set_xlabel("guess")
        axis.set_ylabel(name)
        axis.set_yscale("symlog", linthresh=SMALL)
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_ylim(bottom=0)
    plot_style.add_legend(figure, 5)
    plot_style.set_title(figure, f"{title}; linear below {SMALL:g}")
    return figure


def heat_map(pair: Sequence[str], mode: observation.Mode) -> Figure:
    """Draw the Union loss of every guess about one truth (ringed); dots mark the same outcomes."""
    table = observation.union(implied_outcomes(*pair), grid(), grid().reshape(-1, 3), mode)
    figure, axes = plot_style.canvas(min(4.6, 1.0 + plot_style.width()))
    image = axes.imshow(table, "viridis_r", aspect="equal", vmin=0)
    axes.set_xticks(range(len(CODES)), CODES)
    axes.set_yticks(range(len(CODES)), CODES)
    axes.set_xlabel("guess for player 2")
    axes.set_ylabel("guess for player 1")
    same, (row, column) = same_outcomes(pair), map(CODES.index, pair)
    for one, other in np.argwhere(same):
        if (one, other) != (row, column):
            axes.plot(other, one, ".", color="white", ms=2.5)
    axes.plot(column, row, "s", mfc="none", mec=CONTRAST, mew=1.5, ms=7)
    plot_style.add_colour_bar(figure, axes, image, "Union loss")
    plot_style.set_title(
        figure,
        f"Union ({mode}) of every guess about {pair[0]} against {pair[1]}, ringed; the dots are "
        f"{int(same.sum()) - 1} other pairs of the same outcomes",
    )
    return figure


def timeline(matches: Sequence[WatchedMatch]) -> Figure:
    """Draw what one observer guessed after each round, one panel per match: a mark for each player,
    and lines for the truth."""
    across = 1 if plot_style.narrow() else len(matches)
    down = -(-len(matches) // across)
    figure, axes = plot_style.panels(down, across, 0.9 + 2.9 * down, sharey=True)
    for axis, match in zip(axes, matches, strict=True):
        for seat, colour in enumerate((ACCENT, CONTRAST)):
            _guessed(axis, match, seat, colour)
        axis.set_yticks(range(len(CODES)), CODES)
        axis.set_ylim(len(CODES) - 0.5, -0.5)
        axis.set_xlabel("guess")
        axis.set_title(match_up_label("-".join(match.pair)))
    plot_style.add_legend(figure, 2)
    plot_style.set_title(
        figure,
        f"What {matches[0].observer} guesses over a match; the lines are the strategies played",
    )
    return figure


def _guessed(axes: Axes, match: WatchedMatch, seat: int, colour: str) -> None:
    points = [(at, guess[seat]) for at, guess in enumerate(match.guesses, 1) if guess]
    offset = BESIDE * (2 * seat - 1)
    axes.axhline(CODES.index(match.pair[seat]) + offset, color=colour, lw=0.6, alpha=0.6)
    if not points:
        axes.text(0.5, 0.5, "no guess", color=MUTED, transform=axes.transAxes, ha="center")
        return
    rounds, codes = zip(*points, strict=True)
    places = [CODES.index(code) + offset for code in codes]
    axes.plot(rounds, places, "|", color=colour, ms=3.5, mew=0.8, label=f"player {seat + 1}")
