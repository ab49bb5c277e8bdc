"""A new table and a new figure are one file each: every medium has them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from gauntlet.pipeline import report
from gauntlet.pipeline import tables as package
from gauntlet.pipeline.tables import registry
from gauntlet.pipeline.tracking.store import PARENT_TAG
from tests.pipeline.conftest import Capsys, Sweep
from tests.pipeline.made import about, made_of, won
from tests.pipeline.stores import client_of, runs, table_of

TABLE = """
from gauntlet.pipeline.tables.registry import table
from gauntlet.pipeline.tables.sheets import Column, View, cell_name, decimal

COLUMNS = (Column("cell", cell_name), Column("plies", decimal("plies", ".1f")))
SHOWN = View("How long matches were", COLUMNS)

@table("plies", {"cell": "the cell's name", "plies": "mean moves of a match"}, [SHOWN])
def plies(results):
    for cell in results.cells:
        yield {"cell": cell.about.name, "plies": cell.outcomes.column("plies").mean()}
"""
FIGURE = """
from gauntlet.pipeline.tables import plot_style
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


@pytest.mark.usefixtures("extended")
def test_a_new_table_is_one_of_the_results() -> None:
    assert made_of([won(about("a"), [1, 0, 1])])["plies"]["plies"].tolist() == [9.0]
    assert made_of([])["plies"].empty


def test_a_column_that_is_not_declared_is_refused() -> None:
    made = registry.Table("odd", lambda _: [{"cell": "a", "more": 1}], {"cell": "the cell's name"})
    with pytest.raises(TypeError, match="table odd does not declare its columns \\['more'\\]"):
        made.frame(made_of([]))


def test_every_column_has_a_meaning_and_the_main_tables_are_small() -> None:
    every = registry.tables()
    assert all(meaning for one in every.values() for meaning in one.columns.values())
    assert len(every["summary"].columns) <= 32
    assert len(every["pairs"].columns) <= 16
