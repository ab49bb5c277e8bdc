"""A class keeps its id when its file moves: the same deals, the same cell, the same log."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from gauntlet.common import ids
from gauntlet.pipeline import verify
from tests.pipeline import scored
from tests.pipeline.conftest import Sweep
from tests.pipeline.logs import matches

Said = pytest.CaptureFixture[str]


@pytest.fixture
def homes(tmp_path: Path) -> Iterator[Path]:
    """A user's package with a game and its player, in which files can move."""
    package = tmp_path / "homes"
    package.mkdir()
    source = Path(scored.__file__).read_text(encoding="utf-8")
    (package / "first.py").write_text(source, encoding="utf-8")
    yield package
    for name in [name for name in sys.modules if name.partition(".")[0] == "homes"]:
        del sys.modules[name]


def test_a_class_that_moves_keeps_its_deals_and_its_key(
    homes: Path, sweep: Sweep, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    game = ("game=tic_tac_toe", "~game.size", "~game.win_length", "packages=[homes]")
    words = (*game, "agent=llm", "prompt=vanilla", "deals=8")
    assert sweep(*words, "game._target_=homes.first.Race") == 0
    before = matches(folder)
    (homes / "first.py").rename(homes / "second.py")
    del sys.modules["homes.first"]

    monkeypatch.setattr(ids, "MOVED", {"homes.second.Race": "homes.first.Race"})
    assert sweep(*words, "game._target_=homes.second.Race", "allow_code_change=true") == 0
    assert "8 of them already in the log" in capsys.readouterr().out
    assert matches(folder) == before
    again = folder.with_name("again")
    assert sweep(*words, "game._target_=homes.first.Race", f"output_dir={again}") == 0
    assert matches(again) == before
    capsys.readouterr()
    assert verify.main([str(folder), "--replay", "all", "--packages", "homes"]) == 0
    assert "8 match(es) played again" in capsys.readouterr().out

    monkeypatch.setattr(ids, "MOVED", {})
    other = folder.with_name("other")
    assert sweep(*words, "game._target_=homes.second.Race", f"output_dir={other}") == 0
    assert [one.returns for one in matches(other).values()] != [
        one.returns for one in before.values()
    ]


def test_every_moved_class_is_where_the_table_says() -> None:
    assert len({*ids.MOVED.values()}) == len(ids.MOVED)
    for name in ids.MOVED:
        module, _, cls = name.rpartition(".")
        assert isinstance(getattr(import_module(module), cls), type)
