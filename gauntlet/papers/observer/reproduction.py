"""Reproduce Observer, Not Player: its Tables 1 and 2 and Figs. 1, 3, 4 and 5.

All observers watch the same throws, ten matches of each match-up by default. Observers without a
model are always included; every model adds its own. Beyond the paper: other windows, reactive
players drawn from their mixes, and every variant of the loss.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from rich.console import RenderableType

from gauntlet.agents.prompting.observe import REASON, Observe
from gauntlet.common.disk import write_atomically
from gauntlet.games.rock_paper_scissors import strategies
from gauntlet.games.rock_paper_scissors.strategies import UNIFORM
from gauntlet.games.watch import observation
from gauntlet.papers.observer import figures, rows, views
from gauntlet.papers.observer.runs import WatchedMatch, watched_matches
from gauntlet.papers.observer.totals import by_round, totals, unions
from gauntlet.papers.published import Row, frame, paper
from gauntlet.papers.reproductions import Reproduction, Settings, available
from gauntlet.pipeline.tables.media import plot_style

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
    yield "reasoning", views.reasons(base)
    for extra, matches in extras.items():
        yield extra.name, totals(matches)


def drawings(base: Sequence[WatchedMatch]) -> Iterator[tuple[str, Figure]]:
    """Yield every figure with its file name."""
    table = by_round(base)
    match_ups = list(dict.fromkeys("-".join(one.pair) for one in base))
    deals = len({one.deal for one in base})
    caption = f"mean of {deals} matches and of {figures.SMOOTH} guesses"
    yield (
        "observer_fig4",
        figures.curves(table, [(m, "union", "Union") for m in match_ups], f"Union loss, {caption}"),
    )
    fig5 = [("N-G", "brier", "Brier"), ("N-G", "ce_norm", "cross-entropy, scaled")]
    yield "observer_fig5", figures.curves(table, fig5, f"The losses of N against G, {caption}")
    for mode in ("fixed", "paper"):
        yield f"observer_fig3_{mode}", figures.heat_map("AB", mode)
    yield "observer_fig3_blind", figures.heat_map("DY", "fixed")
    for observer in dict.fromkeys(one.observer for one in base):
        first = [one for one in base if one.observer == observer and one.deal == 0]
        yield f"observer_fig1_{observer}", figures.timeline(first)


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
    yield views.table1_view(totals(base), f"Table 1, told the last 50 rounds, {deals} matches each")
    yield views.NOTE
    for extra, matches in extras.items():
        yield views.table1_view(totals(matches), extra.title)
    yield views.reasons_view(views.reasons(base), models)
