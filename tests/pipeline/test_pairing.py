"""Which two cells are compared, and the tables and figures of many: small, and what is left out is
told; a new one is one file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gauntlet.common.errors import UserError
from gauntlet.common.terminal import WIDTH
from gauntlet.pipeline import compare, report
from gauntlet.pipeline import tables as package
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables import registry
from gauntlet.pipeline.tables.formatting import Scale
from gauntlet.pipeline.tables.media import plot_style
from gauntlet.pipeline.tables.registry import ROWS, TERMINAL, Results
from gauntlet.pipeline.tables.sweep import figures, terminal
from gauntlet.pipeline.tables.sweep.claims import (
    CELLS,
    PAIRS,
    check,
    choose_pairs,
    factors,
)
from gauntlet.pipeline.tables.sweep.conditions import MOST, conditions
from gauntlet.pipeline.tables.sweep.pairs import pairing
from gauntlet.pipeline.tracking.store import PARENT_TAG
from tests.pipeline.conftest import Capsys, Full, Refusal, Sweep
from tests.pipeline.made import (
    RANDOM,
    SCORE,
    about,
    drawn_of,
    made_of,
    pairs_table,
    won,
)
from tests.pipeline.stores import client_of, runs, table_of


def cell(model: str, prompt: str, game: str = "uno") -> CellResults:
    told = about(f"{game} {model} {prompt}", model=model)
    return won(replace(told, labels={**told.labels, "prompt": prompt, "game": game}), [0, 1])


def grid(models: int, prompts: int) -> list[CellResults]:
    crossed = product(range(models), range(prompts))
    return [cell(f"fake[seed={m}]", f"cloze[moves={p}]") for m, p in crossed]


def names(cells: list[CellResults], rule: str) -> set[tuple[str, str]]:
    found = choose_pairs(cells, rule).chosen
    return {(cells[a].about.name, cells[b].about.name) for a, b in found}


FOUR = [cell(*labels) for labels in product("ab", "xy")]


def test_a_label_tells_its_settings_apart() -> None:
    labels = {"game": "uno", "agent": "llm", "model": "fake[seed=3,texts=[A,B]]", "prompt": "cloze"}
    assert factors({**labels, "seats": "solo"}) == {
        **labels,
        "seats": "solo",
        "model": "fake",
        "model.seed": "3",
        "model.texts": "[A,B]",
    }


def test_every_rule_has_its_pairs() -> None:
    one_apart = {("a x", "a y"), ("a x", "b x"), ("a y", "b y"), ("b x", "b y")}
    uno = {(f"uno {a}", f"uno {b}") for a, b in one_apart}
    assert names(FOUR, "factor") == uno
    assert names(FOUR, "all") == uno | {("uno a x", "uno b y"), ("uno a y", "uno b x")}
    assert names(FOUR, "first") == {(b, a) for a, b in uno}
    assert names(FOUR, "uno a y") == {(f"uno {one}", "uno a y") for one in ("a x", "b x", "b y")}


def test_up_to_a_bound_every_two_are_paired_as_ever() -> None:
    cells = grid(1, CELLS)
    assert choose_pairs(cells).chosen == list(combinations(range(CELLS), 2))
    assert choose_pairs(cells).foot == ""
    assert choose_pairs([*cells, cell("fake[seed=1]", "cloze[moves=0]")]).rule == "factor"


@pytest.mark.parametrize("rule", ["all", "factor", "first", "uno b x"])
def test_cells_are_compared_in_the_same_seats_alone(rule: str) -> None:
    """As many results from each seat: a seat can be worth as much as a player."""

    def seated(name: str, *seats: tuple[int, ...]) -> CellResults:
        a = cell(name, "x")
        return replace(a, about=replace(a.about, seats=seats, players=("p", "q")))

    first, second = seated("a", (0,)), seated("b", (1,))
    both, twice = seated("c", (0,), (1,)), seated("d", (1,), (0,), (1,), (0,))
    apart = [first, second, both]
    assert names([first, replace(second, about=replace(second.about, seats=((0,),)))], rule)
    assert names(apart, rule) == set()
    assert choose_pairs(apart, rule).apart == 3
    assert choose_pairs([*apart, twice], "all").chosen == [(2, 3)]


def test_of_many_cells_those_within_a_factor_and_of_very_many_those_with_its_first_value() -> None:
    some = choose_pairs(grid(10, 10))
    assert (some.rule, len(some.chosen), some.possible) == ("factor", 900, 4950)
    assert "4,050 of 4,950 are left out (comparisons=factor" in some.foot
    many = choose_pairs(grid(100, 4))
    assert PAIRS < 4 * 100 * 99 / 2
    assert (many.rule, len(many.chosen)) == ("first", 4 * 99 + 100 * 3)


def test_cells_of_other_deals_or_measures_are_never_paired() -> None:
    other = won(replace(about("other", SCORE), labels=FOUR[0].about.labels), [0, 1])
    for rule in ("all", "factor", "first", "uno a x"):
        assert not any("other" in pair for pair in names([*FOUR, other], rule))
    about_others = replace(FOUR[0].about, deal_key="other cards")
    assert FOUR[0].about.paired_by != about_others.paired_by


def test_what_is_no_rule_and_no_cell_is_one_line() -> None:
    with pytest.raises(
        UserError, match=r"comparisons is 'fctor'; .* a cell; did you mean 'factor'"
    ):
        check("fctor", ["uno a x"])


def test_holm_counts_the_pairs_of_the_table() -> None:
    cells = [cell(name, "x") for name in "abc"]
    wins = zip(cells, (0, 6, 12), strict=True)
    mixed = [won(one.about, [1] * at + [0] * (12 - at)) for one, at in wins]
    against = pairs_table(mixed, "uno a x")
    assert len(against) == 2
    whole = pairs_table(mixed)
    same = whole[whole["cell_a"] == "uno a x"]
    assert against["p"].tolist() == same["p"].tolist()
    assert (against["p_holm"].to_numpy() <= same["p_holm"].to_numpy()).all()
    assert against["p_holm"].max() < same["p_holm"].max()


def test_the_report_has_the_pairs_of_the_run(
    sweep: Sweep, folder: Path, full: Full, refusal: Refusal
) -> None:
    swept = ("game=tic_tac_toe", "deals=4", "prompt=cloze,counterfactual", "model.seed=0,1")
    named = "tic_tac_toe-solo-llm.fake_seed_1_.cloze"
    assert f"comparisons is '{named}x'" in refusal(sweep(*swept, f"comparisons={named}x"))
    assert not folder.exists()
    assert sweep(*swept, f"comparisons={named}") == 0
    pairs = pd.read_csv(folder / "pairs.csv")
    assert set(pairs["cell_b"]) == {named}
    assert len(pairs) == 3
    assert "3 of 6 are left out" in " ".join(full().split())
    first = (folder / "pairs.csv").read_bytes()
    assert report.main([str(folder)]) == 0
    assert (folder / "pairs.csv").read_bytes() == first
    assert "3 of 6 are left out" in (folder / "report.html").read_text()


# --- two folders, two names of a game


def run(*arguments: object) -> int:
    return compare.main([str(argument) for argument in arguments])


def test_two_folders_pair_as_one_sweep_of_both_would(
    sweep: Sweep, folder: Path, tmp_path: Path, capsys: Capsys
) -> None:
    """Cells of two folders give the same row as in one folder."""
    sweep("game=tic_tac_toe", "measure=win", "deals=30")
    one, two = tmp_path / "one", tmp_path / "two"
    sweep("game=tic_tac_toe", "measure=win", "deals=30", "prompt=cloze", f"output_dir={one}")
    sweep(
        "game=tic_tac_toe", "measure=win", "deals=40", "prompt=counterfactual", f"output_dir={two}"
    )
    capsys.readouterr()
    assert run(one, two, "--csv", tmp_path / "pairs.csv") == 0
    said = capsys.readouterr().out
    assert "A only" in said
    assert "one fake cloze" in said
    assert max(len(line) for line in said.splitlines() if str(tmp_path) not in line) <= 100
    (across,) = pd.read_csv(tmp_path / "pairs.csv").to_dict("records")
    (within,) = pd.read_csv(folder / "pairs.csv").to_dict("records")
    for key in within.keys() - {"cell_a", "cell_b"}:
        assert across[key] == pytest.approx(within[key], nan_ok=True), key
    assert across["cell_a"].startswith("one: ")


@pytest.mark.parametrize(
    ("other", "line"),
    [
        ("game=tic_tac_toe seed=2", "has seed 1 and"),
        ("game=rock_paper_scissors", "no two different cells"),
        ("game=tic_tac_toe", "no two different cells"),
    ],
)
def test_cells_that_met_other_cards_or_are_one_cell_are_not_paired(
    sweep: Sweep, tmp_path: Path, refusal: Refusal, other: str, line: str
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    sweep("game=tic_tac_toe", "deals=1", "prompt=cloze", f"output_dir={one}")
    sweep(*other.split(), "deals=1", "prompt=cloze", f"output_dir={two}")
    assert line in refusal(run(one, two))


# --- obfuscation


GAMES = "game=tic_tac_toe,obfuscated_tic_tac_toe"


def test_both_games_make_a_row_on_the_deals_of_both(sweep: Sweep, folder: Path, full: Full) -> None:
    assert sweep(GAMES, "prompt=cloze", "deals=12") == 0
    (row,) = pd.read_csv(folder / "obfuscation.csv").to_dict("records")
    assert (row["game"], row["obfuscated_game"]) == ("tic_tac_toe", "obfuscated_tic_tac_toe")
    assert (row["deals"], row["names"]) == (12, 1)
    won = pd.read_csv(folder / "summary.csv").set_index("game")["raw"]
    assert row["plain"] == won["tic_tac_toe"]
    assert row["obfuscated"] == won["obfuscated_tic_tac_toe"]
    assert row["difference"] == pytest.approx(row["obfuscated"] - row["plain"])
    assert row["low"] <= row["difference"] <= row["high"]
    assert "Under other names" in full()
    assert "Under other names" in (folder / "report.html").read_text(encoding="utf-8")


DEALS = 20


def cells(number: int) -> list[CellResults]:
    """Won by a number of deals that goes up and down with the cell."""
    orders = (np.random.default_rng(seed).permutation(DEALS) for seed in range(number))
    return [
        won(about(f"m{at}", baseline=RANDOM, model=f"m[seed={at}]"), (order < at % 15).tolist())
        for at, order in enumerate(orders)
    ]


DRAWN = ("win_rates", "running_win_rates", "paired_differences")


def beside_first(found: list[CellResults]) -> Results:
    """Results in which each cell is compared with the first."""
    return made_of(found, {pairing: choose_pairs(found, "first")})


def svgs(number: int) -> dict[str, str]:
    """Every figure as the page has it."""
    drawn = drawn_of(beside_first(cells(number)), *DRAWN)
    return {name: plot_style.svg(figure) for name, figure in drawn.items()}


def test_figures_of_four_times_as_many_cells_are_no_larger() -> None:
    few, more = svgs(50), svgs(200)
    assert few.keys() == more.keys() == {"win_rates", "running_win_rates", "paired_differences"}
    for name in few:
        assert len(more[name]) < 1.5 * len(few[name]) < 500_000


def test_a_heat_map_has_every_pair_on_both_sides() -> None:
    found = cells(10)
    pairs = pairs_table(found)
    names = {one.about.name: one.about.name for one in found}
    assert figures.dense(pairs)
    figure = figures.paired_differences(pairs, names, Scale("win rate", True))
    shades = np.ma.filled(figure.axes[0].images[0].get_array(), np.nan)
    assert np.isnan(np.diag(shades)).all()
    wins = np.array([one.outcomes.won.mean() for one in found])
    apart = 100 * (wins[:, None] - wins)
    off = ~np.eye(10, dtype=bool)
    assert shades[off] == pytest.approx(apart[off])


def test_the_terminal_shows_some_rows_and_says_where_all_are(capsys: Capsys) -> None:
    made, rows = beside_first(cells(100)), ROWS[TERMINAL]
    made.cache["summary"] = made["summary"].assign(warning="odd")
    terminal.show_all(made)
    text = capsys.readouterr().out
    assert f"The first {rows} of 100; all: summary.csv." in text
    assert f"The clearest {rows} of 99; all: pairs.csv." in text
    assert "WARNING and 90 other cells: diagnostics.csv" in text
    assert max(map(len, text.splitlines())) <= WIDTH


def test_more_terms_than_a_regression_can_tell_apart_are_left_to_the_pairs() -> None:
    (some,), (more,) = (conditions(made_of(cells(MOST + more))) for more in (1, 2))
    assert len(some.effects) == MOST
    assert not more.effects
    assert f"{MOST + 2} models and 1 prompts are too many for one regression" in more.sentences()[1]


# --- a new table, a new figure


TABLE = """
from gauntlet.pipeline.tables.registry import table
from gauntlet.pipeline.tables.media.sheets import Column, View, cell_name, decimal

COLUMNS = (Column("cell", cell_name), Column("plies", decimal("plies", ".1f")))
SHOWN = View("How long matches were", COLUMNS)

@table("plies", {"cell": "the cell's name", "plies": "mean moves of a match"}, [SHOWN])
def plies(results):
    for cell in results.cells:
        yield {"cell": cell.about.name, "plies": cell.outcomes.column("plies").mean()}
"""
FIGURE = """
from gauntlet.pipeline.tables.media import plot_style
from gauntlet.pipeline.tables.registry import figure

@figure("plies_drawn")
def plies_drawn(results):
    drawn, axes = plot_style.canvas(2.0)
    axes.plot(results["plies"]["plies"], "o")
    plot_style.set_title(drawn, "Moves of a match, drawn")
    return drawn
"""


@pytest.fixture
def extended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package of tables with two additional files."""
    added = tmp_path / "added"
    added.mkdir()
    for name, text in (("own_table", TABLE), ("own_figure", FIGURE)):
        (added / f"{name}.py").write_text(text, encoding="utf-8")
    registry.tables()  # contents of the package itself
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(added)])
    monkeypatch.setattr(registry, "_TABLES", dict(registry._TABLES))
    monkeypatch.setattr(registry, "_FIGURES", dict(registry._FIGURES))
    registry._load.cache_clear()
    yield
    for name in ("own_table", "own_figure"):
        sys.modules.pop(f"{package.__name__}.{name}", None)
        vars(package).pop(name, None)


@pytest.mark.drawn
@pytest.mark.usefixtures("extended")
@pytest.mark.filterwarnings("ignore")  # mlflow's own
def test_a_new_table_and_a_new_figure_are_everywhere(
    sweep: Sweep, folder: Path, store: Path, capsys: Capsys
) -> None:
    given = ("game=tic_tac_toe", "prompt=cloze", "deals=4", "tracking=mlflow")
    assert sweep(*given, f"tracking.store={store}") == 0
    assert report.main([str(folder), "--paper", "--full"]) == 0
    (row,) = pd.read_csv(folder / "plies.csv").to_dict("records")
    assert 5 <= row["plies"] <= 9
    shown = capsys.readouterr().out
    assert "How long matches were" in shown
    assert f"{row['plies']:.1f}" in shown[shown.index("How long matches were") :]
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "How long matches were" in page
    assert "Moves of a match, drawn" in page
    assert (folder / "figures" / "plies_drawn.png").exists()
    assert (folder / "paper" / "figures" / "plies_drawn_wide.pdf").exists()
    assert (folder / "paper" / "tables" / "plies.tex").exists()
    (child,) = (run for run in runs(store) if PARENT_TAG in run.data.tags)
    assert table_of(client_of(store), child)["plies/plies"] == row["plies"]


def test_a_column_that_is_not_declared_is_refused() -> None:
    made = registry.Table("odd", lambda _: [{"cell": "a", "more": 1}], {"cell": "the cell's name"})
    with pytest.raises(TypeError, match="table odd does not declare its columns \\['more'\\]"):
        made.frame(made_of([]))


def test_every_column_has_a_meaning_and_the_main_tables_are_small() -> None:
    every = registry.tables()
    assert all(meaning for one in every.values() for meaning in one.columns.values())
    assert len(every["summary"].columns) <= 36
    assert len(every["pairs"].columns) <= 16
