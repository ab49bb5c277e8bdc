"""The drawing of Hive: every piece, the cells around, both hands."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gauntlet.games import drawing
from gauntlet.games.hive import Hive, rules, words
from tests.games.cases import final


@pytest.mark.parametrize("seed", [1, 2])
def test_every_piece_is_drawn_once(seed: int) -> None:
    game = Hive(max_turns=12)
    state = final(game, seed)
    html = str(drawing.draw_state(game, state))
    assert html.count("<polygon") == len(words.lying(words.pieces_by_cell(state.array)))
    named = re.findall(r"<text[^>]*>(\w+)</text>", html)
    placed = [words.NAMES[piece] for piece in words.pieces_by_cell(state.array).values()]
    assert sorted(named) == sorted(placed)
    assert html.count("d-hex d-light") == sum(name[0] == "w" for name in placed)
    held = re.findall(r'class="d-piece [^>]*>(\w+)<', html)
    assert sorted(held + placed) == sorted(words.NAMES)


def test_neighbours_lie_side_by_side() -> None:
    """A hex's neighbours are its six nearest, all at one distance."""
    game = Hive()
    state = game.deal(np.random.default_rng(0))
    for _ in range(6):
        state = game.play(state, game.legal(state, state.array.item(rules.PLY) % 2)[-1:])
    html = str(drawing.draw_view(game, game.observe(state, 0)))
    found = re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>(\w+)<', html)
    at = {name: complex(float(x), float(y)) for x, y, name in found}
    cells = {words.NAMES[piece]: cell for cell, piece in words.pieces_by_cell(state.array).items()}
    for one in at:
        beside = words.neighbours(words.pieces_by_cell(state.array), cells[one])
        near = {name for name in at if name != one and abs(at[name] - at[one]) < 50}
        assert near == {words.NAMES[piece] for piece in beside}


def test_a_table_without_pieces_says_so() -> None:
    game = Hive()
    html = str(drawing.draw_state(game, game.deal(np.random.default_rng(0))))
    assert "nothing lies on the table yet" in html
    assert "player 0, white, to move" in html
