"""Every model that conf/model names can be composed and built, without a network."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml

from gauntlet.models.api.openai import OpenAI
from gauntlet.pipeline.config.yaml_files import CONF
from gauntlet.pipeline.plan.build import build_model
from gauntlet.pipeline.plan.cells import Plan
from tests.pipeline.composing import cells_of, composed

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


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_model_of_a_file_is_built(file: Path) -> None:
    assert file.read_text().startswith("# "), "its help"
    source = source_of(f"model={file.stem}", *LACKING.get(file.stem, ()))
    assert hash(source) is not None


@pytest.mark.parametrize("model", NAMED)
def test_a_vendors_model_is_ready_to_be_asked(model: str) -> None:
    (source,) = Plan(cells_of(*PLAYED, f"model={model}"), 1, 1).sources
    assert isinstance(source, OpenAI)
    assert source.name == yaml.safe_load(Path(CONF, "model", f"{model}.yaml").read_text())["name"]
    assert source_of("agent=random", f"seats.0.model={model}", *SEATED) == source
    local = "127.0.0.1" in source.address
    assert local or source.price(10**6, 0) > 0, "a price by the table or by the file"
    assert local or source.price(0, 10**6) > 0
