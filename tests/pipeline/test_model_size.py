"""How many parameters a model has: from its config, in no key, for trends over size."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.sizing.hardware import shape_of
from gauntlet.pipeline.tables.registry import figures
from tests.nodes import ROOT
from tests.pipeline.composing import cells_of
from tests.pipeline.conftest import Sweep
from tests.pipeline.made import RANDOM, about, drawn_of, made_of, won

MODELS = ROOT / "conf" / "model"


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        *("pocket", "pocket_duel", "pocket_gamebench", "pocket_observer"),
        *("llama1b", "llama8b", "llama70b", "llama70b_raw", "mistral24b", "mistral24b_raw"),
    ],
)
def test_named_models_say_how_large_they_are(name: str) -> None:
    node = yaml.safe_load((MODELS / f"{name}.yaml").read_text())
    assert float(node["parameters"]) == pytest.approx(shape_of(node["path"]).parameters, rel=0.01)


def test_the_size_is_in_the_log_but_in_no_key_and_no_name(sweep: Sweep, folder: Path) -> None:
    plain, sized = cells_of("model=fake"), cells_of("model=fake", "+model.parameters=7e9")
    assert plain[0].key == sized[0].key
    assert plain[0].name == sized[0].name
    assert sweep("model=fake", "+model.parameters=7e9") == 0
    (cell, *_) = Folder(folder).sweep_cells()
    assert cell.parameters == 7e9


def test_three_sizes_make_a_figure() -> None:
    cells = [
        won(
            replace(about(f"{model} {prompt}", baseline=RANDOM, model=model), parameters=size),
            [1, 0, at % 2, 1] * 5,
        )
        for at, (model, size) in enumerate((("a", 1e9), ("b", 8e9), ("c", 7e10)))
        for prompt in ("cloze", "letter")
    ]
    figure = drawn_of(made_of(cells), "model_size")["model_size"]
    (axes,) = figure.axes
    assert axes.get_xscale() == "log"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1G", "8G", "70G"]
    assert figures()["model_size"](made_of(cells[:4])) == {}
