"""Golden playthroughs: nothing that a game does or says changes unnoticed."""

from __future__ import annotations

import pytest

from tests.golden import FOLDER, golden
from tests.nodes import nodes

TEXTS = golden()


def test_every_game_has_a_golden_file() -> None:
    assert TEXTS.keys() == nodes("game").keys() == {file.stem for file in FOLDER.glob("*.txt")}


@pytest.mark.parametrize("name", TEXTS)
def test_a_game_plays_as_written_down(name: str) -> None:
    """After a change that is meant: `python -m tests.golden`, then read the difference."""
    assert TEXTS[name] == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
