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
from rich.console import RenderableType

from gauntlet.common.disk import write_atomically
from gauntlet.games.holdem.words import NAMES as ACTIONS
from gauntlet.papers.published import Row, frame, paper, view
from gauntlet.papers.reproductions import Reproduction, Settings, available
from gauntlet.papers.talaga import chips, rows
from gauntlet.papers.talaga.costs import COLUMNS as COSTS
from gauntlet.papers.talaga.costs import costs
from gauntlet.papers.talaga.ends import Ends, Met, results_by_pair, results_by_player
from gauntlet.papers.talaga.figures import Pairs, chip_curves
from gauntlet.papers.talaga.views import cost_view, table1_view
from gauntlet.papers.verdicts import COMPARED
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.tables.media import plot_style

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
