"""A new game with its drawing is one folder: every viewer shows it, and no other file changes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from nicegui import ElementFilter, ui
from nicegui.testing import User

from gauntlet import games
from gauntlet.pipeline import replay
from tests.pipeline.conftest import Capsys, Sweep
from tests.pipeline.logs import matches
from tests.pipeline.packed import html_of, unpacked
from tests.pipeline.paged import visit

RULES = '''
"""Two take one or two pebbles in turn; the last one wins."""

from dataclasses import dataclass
from typing import ClassVar

from gauntlet.games.base import Fact, Observation


@dataclass(frozen=True)
class Pebbles:
    num_seats: int = 2
    perfect_information: ClassVar[bool] = True

    def deal(self, rng):
        return 5, 0

    def to_move(self, state):
        return (state[1],) if state[0] else ()

    def legal(self, state, seat):
        return tuple(range(1, min(2, state[0]) + 1)) if self.to_move(state) == (seat,) else ()

    def play(self, state, moves):
        return state[0] - moves[0], 1 - state[1]

    def observe(self, state, seat):
        options = tuple(f"take {count}" for count in self.legal(state, seat))
        facts = (Fact("Pebbles", str(state[0])),)
        return Observation("Pebbles", seat, "The last one wins.", facts, (), options, state)

    def returns(self, state):
        return (1.0, -1.0) if state[1] else (-1.0, 1.0)

    def show(self, state):
        return f"{state[0]} pebbles are left"
'''
DRAWING = '''
"""Pebbles drawn as dots."""

from pathlib import Path

from gauntlet.common.markup import tag
from gauntlet.games.drawing import picture

STYLE = Path(__file__).with_suffix(".css")


def draw_state(game, state):
    dots = (tag("i", class_="d-pebble") for _ in range(state[0]))
    return picture(f"{state[0]} drawn pebbles", *dots)


def draw_view(game, observation):
    return draw_state(game, observation.view)
'''
SHEET = ".d-pebble { color: rebeccapurple; }"


@pytest.fixture
def pebbles(tmp_path: Path) -> Iterator[None]:
    """The folder of the game, as if it lay in games/."""
    folder = tmp_path / "further" / "pebbles"
    folder.mkdir(parents=True)
    for name, text in {"__init__.py": RULES, "drawing.py": DRAWING, "drawing.css": SHEET}.items():
        (folder / name).write_text(text)
    games.__path__.append(str(folder.parent))
    yield
    games.__path__.remove(str(folder.parent))
    for name in [name for name in sys.modules if name.startswith("gauntlet.games.pebbles")]:
        del sys.modules[name]


@pytest.mark.usefixtures("pebbles")
def test_a_new_game_in_one_folder_is_drawn_by_every_viewer(
    sweep: Sweep, folder: Path, capsys: Capsys
) -> None:
    game = ("game=tic_tac_toe", "game._target_=games.pebbles.Pebbles", "~game.size")
    assert sweep(*game, "~game.win_length", "prompt=cloze", "deals=1") == 0
    (match,) = matches(folder)
    capsys.readouterr()
    page = folder / "match.html"
    assert replay.main([match, "--in", str(folder), "--page", str(page)]) == 0
    assert "5 pebbles are left" in capsys.readouterr().out
    shown(page.read_text(), match, folder)

    async def act(user: User) -> None:
        await user.open(f"/match?run={folder.name}&id={match}")
        await user.should_see("data-packed", retries=40)
        assert user.client
        with user.client:
            (viewer,) = [one for one in ElementFilter(kind=ui.html) if "packed" in one.content]
        shown(viewer.content, match, folder)

    visit(folder.parent, act)


def shown(page: str, match: str, folder: Path) -> None:
    """Check that the viewer in this page draws the match."""
    data = unpacked(page)
    drawn = html_of(data, match)
    assert data["styles"] == [SHEET]
    for ply in range(2):
        left = 5 - sum(1 + made.chosen for made in matches(folder)[match].decisions[:ply])
        assert f'aria-label="{left} drawn pebbles"' in drawn[ply]
        assert f"{left} pebbles are left" in drawn[ply]
        assert drawn[ply].count('<i class="d-pebble">') == left
    assert "0 drawn pebbles" in drawn[-1]
