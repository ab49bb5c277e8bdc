"""Every model that conf/model names is built without a network, and says how large it is."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml

from gauntlet.common.conf_folders import CONF, conf_folders
from gauntlet.models.api.openai import OpenAI
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.plan.build import build_model
from gauntlet.pipeline.plan.cells import Plan
from gauntlet.pipeline.sizing.planner import shape_of
from gauntlet.pipeline.tables.registry import figures
from tests.pipeline.composing import cells_of, composed
from tests.pipeline.conftest import Sweep
from tests.pipeline.made import RANDOM, about, drawn_of, made_of, won

FILES = sorted(Path(CONF, "model").glob("*.yaml"))
LACKING = {
    "openai": ("model.name=m",),
    "hf": ("model.path=a/b",),
    "gguf": ("model.path=a.gguf",),
    "llama_server": ("model.base_url=http://127.0.0.1:1",),
}
PLAYED = ("game=tic_tac_toe", "prompt=vanilla")
SEATED = ("seats.0.agent=llm", "seats.0.prompt=cloze", "seats=play")
NAMED = [
    file.stem for file in FILES if yaml.safe_load(file.read_text()).get("defaults") == ["openai"]
]


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> NoReturn:
        raise AssertionError("a source was built with the help of a network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def source_of(*words: str) -> Any:
    """The model of the first seat that has one of its own, or of the subject."""
    (cell,) = composed(*PLAYED, *words)[0]
    named = any(word.startswith("seats.0") for word in words)
    seat = cell.seats[0] if named else next(one for one in cell.seats if one.subject)
    return build_model(seat.model, "model", cell.packages)


@pytest.mark.parametrize("model", [file.stem for file in FILES if file.stem not in NAMED])
def test_a_model_of_a_file_is_built(model: str) -> None:
    source = source_of(f"model={model}", *LACKING.get(model, ()))
    assert hash(source) is not None


@pytest.mark.parametrize("model", NAMED)
def test_a_vendors_model_is_ready_to_be_asked(model: str) -> None:
    (source,) = Plan(cells_of(*PLAYED, f"model={model}"), 1, 1).sources
    assert isinstance(source, OpenAI)
    assert source.name == yaml.safe_load(Path(CONF, "model", f"{model}.yaml").read_text())["name"]
    if model == NAMED[0]:
        assert source_of("agent=random", f"seats.0.model={model}", *SEATED) == source
    local = "127.0.0.1" in source.address
    assert local or source.price(10**6, 0) > 0, "a price by the table or by the file"
    assert local or source.price(0, 10**6) > 0


# --- sizes


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
    (file,) = (file for folder in conf_folders() for file in folder.glob(f"model/{name}.yaml"))
    node = yaml.safe_load(file.read_text())
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
