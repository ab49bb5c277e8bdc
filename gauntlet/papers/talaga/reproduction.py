"""Reproduce TALAGA: its Tables 1 to 4, the chips of Figs. 1 and 4, and the cost of a move.

Every table is an experiment of conf/. Experiments that need a language model are played by each of
ours, in separate output_dirs; scripted players, which need none, are added.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from rich.console import Group, RenderableType
from rich.text import Text

from gauntlet.common.disk import write_atomically
from gauntlet.common.terminal import WrappedTable
from gauntlet.games.holdem.words import NAMES as ACTIONS
from gauntlet.papers.published import Row, frame, paper, view
from gauntlet.papers.reproductions import Reproduction, Settings, available
from gauntlet.papers.talaga import chips, rows
from gauntlet.papers.talaga.costs import COLUMNS as COSTS
from gauntlet.papers.talaga.costs import costs
from gauntlet.papers.talaga.ends import Ends, Met, results_by_pair, results_by_player
from gauntlet.papers.talaga.rows import our_name
from gauntlet.papers.verdicts import COMPARED
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.tables.media import plot_style
from gauntlet.pipeline.tables.media.plot_style import COLOURS, DASHES, MUTED

MODELS, DEALS = "pocket_duel", 10
"""Default model and deals: minutes with a small model on a laptop."""
SIZES = {"table1": 100, "table2": 50, "table3": 50, "table4": 5, "fig1": 5}
SIZES |= {"players": 100, "ablation": 100, "chips": 5}
"""Maximum deals per experiment, each played from both seats: the paper's numbers, and ours."""
HANDS = 200
"""Maximum hands of a hold'em match; with few deals, half as many hands as deals."""
HOLDEM = ("table4", "fig1", "chips")
FIG1 = ("direct", "cot", "cot_sc", "tot", "react")
FIGURES: Mapping[str, Pairs] = {
    "fig1a": [("random", other) for other in FIG1],
    "fig1b": [*(("direct", other) for other in FIG1[1:]), ("react", "tot")],
    "fig4": [("talaga", other) for other in ("direct", "react", "cot_sc", "tot")],
}
PANELS = {
    "random against": FIGURES["fig1a"],
    "direct against": FIGURES["fig1b"][:-1],
    "react against": FIGURES["fig1b"][-1:],
    "talaga against": FIGURES["fig4"],
}


@dataclass(frozen=True)
class TableResults:
    """Results of a model, or of the scripted players.

    met: in Tic-Tac-Toe. over: Table 1's players over all their opponents. hands: hands won. chips:
    by hand. settings: the settings played.
    """

    met: Met
    over: Mapping[str, Ends] = field(default_factory=dict)
    hands: Any = field(default_factory=dict)
    chips: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(chips.COLUMNS)))
    costs: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(COSTS)))
    settings: Mapping[str, float] = field(default_factory=dict)


def reproduce(settings: Settings) -> Reproduction:
    """Play and write everything, `deals` deals per table, at most the paper's. Raises UserError for
    an unknown model."""
    here, published = available(settings.models), paper("talaga")
    scripted = without_model(settings)
    by_model = {model: with_model(settings, model) for model in here}
    tables, figures_dir = settings.out / "tables", settings.out / "figures"
    tables.mkdir(exist_ok=True)
    with plot_style.drawing_for(plot_style.WIDE):
        plot_style.save_png(dict(figures(scripted, by_model)), figures_dir)
    for name, table in files(scripted, by_model):
        write_atomically(tables / f"talaga_{name}.csv", table.to_csv(index=False))
    found = frame([*lines(published, scripted, by_model, settings.models)])
    return Reproduction(found, [*views(published, found, by_model)], [tables, figures_dir])


def run(settings: Settings, experiment: str, folder: str, *words: str) -> Path:
    """Play what is missing of an experiment, at the requested size. Hold'em matches of different
    lengths go to different folders: they are different matches of the same players."""
    sizes = [f"deals={min(SIZES[experiment], settings.deals)}"]
    if experiment in HOLDEM:
        hands = min(HANDS, max(1, settings.deals // 2))
        folder = f"{folder}_{hands}_hands"
        sizes.append(f"game.hands={hands}")
    return settings.run(f"talaga_{experiment}", f"talaga_{folder}", *sizes, *words)


def without_model(settings: Settings) -> TableResults:
    """Play the scripted players, and the scripted actors of the ablation."""
    players, ablation, matches = (
        run(settings, name, name) for name in ("players", "ablation", "chips")
    )
    return TableResults(
        {**results_by_pair(players), **results_by_pair(ablation)},
        hands=chips.hands_won(matches),
        chips=chips.curves(matches),
    )


def with_model(settings: Settings, model: str) -> TableResults:
    """Play all experiments of one model."""

    def go(experiment: str, *words: str) -> Path:
        return run(settings, experiment, f"{experiment}_{model}", f"model={model}", *words)

    table1, table2 = go("table1"), go("table2")
    table3, table4, fig1 = go("table3"), go("table4"), go("fig1")
    go("fig1", "seats.0.player=tot", "prompt=react")
    every = (table1, table2, table3, table4, fig1)
    return TableResults(
        {**results_by_pair(table1), **results_by_pair(table2), **results_by_pair(table3)},
        results_by_player(table1),
        chips.hands_won(table4),
        pd.concat([chips.curves(table4), chips.curves(fig1)], ignore_index=True),
        costs(every),
        played_settings(table1, table2, table4),
    )


def played_settings(table1: Path, table2: Path, table4: Path) -> dict[str, float]:
    """Return the paper's settings by name, as played."""
    values: dict[str, float] = {"poker_actions": len(ACTIONS)}
    sizes = {"benchmark_matches_per_pair": table1, "talaga_matches_per_pair": table2,
             "poker_trials": table4}  # fmt: skip
    for name, folder in sizes.items():
        stems = [about.stem for about in Folder(folder).sweep_cells()]
        values[name] = min(sum(1 for _ in Folder(folder).matches(stem)) for stem in stems)
    method = _method(table2, "talaga")
    keys = {"k": "k", "n_first": "n1", "n_next": "n2", "votes": "votes",
            "perturbed_questions": "perturbations", "generations_per_perturbed": "samples",
            "temperature": "temperature"}  # fmt: skip
    values |= {name: method[key] for name, key in keys.items()}
    values["cot_sc_trajectories"] = _method(table2, "cot_sc")["samples"]
    values["tot_generations"], values["tot_votes"] = (
        _method(table2, "tot")[key] for key in ("samples", "votes")
    )
    place = Folder(table4)
    game = place.description(place.sweep_cells()[0])["identity"]["game"]
    return {**values, "stack": game["stack"]}


def _method(folder: Path, player: str) -> Mapping[str, Any]:
    """Return the settings of a player's method, from the identity of a cell with that player."""
    place = Folder(folder)
    for about in place.sweep_cells():
        players = place.description(about)["identity"]["players"]
        for name, told in zip(about.players, players, strict=True):
            if rows.our_name(player) in name.replace("[", ".").split("."):
                found: Mapping[str, Any] = told["agent"]["method"]
                return found
    raise KeyError(player)


def lines(
    reported: Mapping[str, Any],
    scripted: TableResults,
    by_model: Mapping[str, TableResults],
    models: Sequence[str],
) -> Iterator[Row]:
    """Yield every row of talaga.csv. models: those requested, available or not."""
    first = next(iter(by_model.values()), TableResults({}))
    yield from rows.setting_rows(reported, first.settings)
    yield from rows.table1_rows(reported, scripted.met)
    yield from rows.stand_in_rows(reported, scripted.met)
    yield from rows.actor_rows(scripted.met)
    yield from rows.chip_rows({"scripted": chips.finals(scripted.chips)})
    for model in models:
        results = by_model.get(model, TableResults({}))
        yield from rows.table1_rows(reported, results.met, model)
        yield from rows.mean_rows(reported, results.over, model)
        yield from rows.table2_rows(reported, results.met, model)
        yield from rows.table3_rows(reported, results.met, model)
        yield from rows.table4_rows(reported, results.hands, model)
        final = chips.finals(results.chips)
        of_figure = {name: {pair: final[pair] for pair in pairs if pair in final}
                     for name, pairs in FIGURES.items()}  # fmt: skip
        yield from rows.figure_rows(reported, of_figure, model)
        yield from rows.chip_rows(of_figure, model)
        yield from rows.cost_rows(results.costs, model)


def figures(
    scripted: TableResults, by_model: Mapping[str, TableResults]
) -> Iterator[tuple[str, Any]]:
    """Draw the chips of the scripted players, and of every model in the layout of the paper."""
    names = list(dict.fromkeys(scripted.chips["player"]))
    own = {f"{name} against": [(name, other) for other in names if other != name] for name in names}
    yield "talaga_chips", chip_curves(chips.chip_quantiles(scripted.chips), own, chips.STACK)
    for model, results in by_model.items():
        yield (
            f"talaga_chips_{model}",
            chip_curves(chips.chip_quantiles(results.chips), PANELS, chips.STACK),
        )


def files(
    scripted: TableResults, by_model: Mapping[str, TableResults]
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the figures' data, and the costs of moves."""
    for name, results in {"": scripted, **by_model}.items():
        yield f"chips{'_' * bool(name)}{name}", chips.chip_quantiles(results.chips)
        if name:
            yield f"costs_{name}", results.costs


def views(
    reported: Mapping[str, Any], frame: pd.DataFrame, by_model: Mapping[str, TableResults]
) -> Iterator[RenderableType]:
    judged = frame["verdict"].isin(COMPARED)
    in_square = frame["id"].str.contains(r"\.table1\..*\.vs\..*\.win_rate\.")
    yield view(frame[judged & ~in_square])
    for model, one in by_model.items():
        yield table1_view(reported, one.met, model)
        yield cost_view(one.costs, model)


# --- tables for the terminal


def table1_view(reported: Mapping[str, Any], ends_by_pair: Met, model: str) -> RenderableType:
    """Win rates of row against column, in percent: ours, and the paper's in brackets."""
    grid = _table()
    for heading in ("", *reported["players"]):
        grid.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for name, line in reported["table1"]["rows"].items():
        cells = []
        for other, value in zip(reported["players"], line, strict=True):
            ends = ends_by_pair.get((our_name(name), our_name(other)))
            mine = f"{ends['all'].win.value:.0f}" if ends else "-"
            cells.append("" if value is None else f"{mine} ({value:g})")
        grid.add_row(name, *cells)
    return Group(Text(f"Table 1, {model}: wins in %, in brackets the paper's", "bold"), grid)


def cost_view(costs: pd.DataFrame, model: str) -> RenderableType:
    """Calls and tokens per move, by game and method."""
    grid = _table()
    headings = ("game", "method", "moves", "calls", "tokens in", "tokens out", "fallbacks")
    for at, heading in enumerate(headings):
        grid.add_column(heading, justify="right" if at > 1 else "left", no_wrap=True)
    for _, cost in costs.iterrows():
        each = (f"{cost[name]:,.1f}" for name in ("calls", "tokens_in", "tokens_out"))
        shares = f"{100 * cost['fallbacks']:.1f}%"
        grid.add_row(cost["game"], cost["method"], f"{cost['decisions']:,}", *each, shares)
    return Group(Text(f"What a move cost, {model}", "bold"), grid)


def _table() -> WrappedTable:
    return WrappedTable(header_style="dim")


# --- figures: chips by hand, with their spread over matches

Pairs = Sequence[tuple[str, str]]
"""Players whose chips are drawn, with their opponents."""


def chip_curves(table: pd.DataFrame, panels: Mapping[str, Pairs], stack: int) -> Figure:
    """Draw one panel per title, with one line per pair: the median of the first player's chips
    after each hand, and the middle half of the matches.

    table: from `chips.chip_quantiles`. Pairs that were not played are left out.
    """
    count = len(panels)
    across = 1 if plot_style.narrow() else min(2, count)
    down = -(-count // across)
    figure, axes = plot_style.panels(down, across, 0.7 + 2.2 * down, sharey=True)
    opponents = dict.fromkeys(other for pairs in panels.values() for _, other in pairs)
    looks = {name: (COLOURS[at % len(COLOURS)], DASHES[at % len(DASHES)])
             for at, name in enumerate(opponents)}  # fmt: skip
    for axis, (title, pairs) in zip(axes, panels.items(), strict=False):
        for own, other in pairs:
            rows = table[(table["player"] == own) & (table["opponent"] == other)]
            _curve(axis, rows, other, *looks[other])
        axis.axhline(stack, color=MUTED, lw=0.6)
        axis.set_title(title)
        axis.set_xlabel("hands")
        axis.set_ylim(-0.02 * stack, 2.02 * stack)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
    for place in range(0, count, across):
        axes[place].set_ylabel("chips")
    for unused in axes[count:]:
        unused.set_axis_off()
    plot_style.add_legend(figure, 5)
    drawn = [pair for pairs in panels.values() for pair in pairs]
    counts = zip(table["player"], table["opponent"], table["matches"], strict=True)
    most = max((int(matches) for *pair, matches in counts if tuple(pair) in drawn), default=0)
    plot_style.set_title(figure, f"{TITLE} of up to {most:,} matches against each; grey: the stack")
    return figure


TITLE = "Chips by hand, the median and the middle half"


def _curve(axes: Axes, rows: pd.DataFrame, name: str, colour: str, dash: object) -> None:
    if rows.empty:
        return
    hands = rows["hand"]
    axes.fill_between(
        hands, rows["lower_quarter"], rows["upper_quarter"], color=colour, alpha=0.12, lw=0
    )
    axes.plot(hands, rows["median"], color=colour, ls=dash, lw=1.2, label=name)
