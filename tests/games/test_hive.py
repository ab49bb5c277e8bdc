"""Hive rule by rule, its players and its text; lockstep with a referee is in test_hive_lockstep.py.

Positions are hexes (across, down): (1, 0) lies E of (0, 0), (0, 1) SE of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gauntlet.games.hive import Hive, State, rules
from gauntlet.games.hive.hexes import CELLS, CENTRE
from gauntlet.games.hive.words import NAMES, describe_moves, drawing
from gauntlet.games.playouts import RANDOM, play_on, probabilities, results
from tests.games.cases import after
from tests.games.slips import slipped

Hex = tuple[int, int]


def cell(at: Hex) -> int:
    return (CENTRE + at[0] + 32 * at[1]) % CELLS


def laid(pieces: dict[str, Hex], ply: int = 20, **settings: Any) -> State:
    """A state with these pieces on the table, and the others in hand."""
    array = Hive(**settings).start.copy()
    for name, at in pieces.items():
        array[NAMES.index(name)] = cell(at)
    array[rules.PLY] = ply
    return State(array)


ROW = {"wQ": (0, 0), "bQ": (1, 0), "bS1": (2, 0)}
"""Three in a row; white's pieces are laid around it."""


def test_who_can_do_nothing_passes() -> None:
    """Black's queen holds white's pieces together, and every cell next to her touches white."""
    game = Hive()
    pieces = {"bQ": (0, 0), "wQ": (1, 0), "wA1": (-1, 0)}
    state = laid(pieces, ply=21)
    (passing,) = game.legal(state, 1)
    assert game.observe(state, 1).options == ("pass",)
    after = game.play(state, (passing,))
    assert after.history == ("black: pass",)
    assert game.to_move(after) == (0,)
    assert np.array_equal(after.array[: rules.PIECES], state.array[: rules.PIECES])


AROUND_WHITE = {"bA1": (1, -1), "bA2": (0, -1), "bA3": (-1, 0), "bG1": (-1, 1), "bG2": (1, 0)}


@pytest.mark.parametrize(("paper_bugs", "returns"), [(False, (0, 0)), (True, (-1, -1))])
def test_both_queens_surrounded_at_once(paper_bugs: bool, returns: tuple[float, float]) -> None:
    """The hopper lands in the one cell that is missing around each."""
    white = {"wQ": (0, 0), "bA1": (1, -1), "bA2": (0, -1), "bA3": (-1, 0), "bG1": (-1, 1)}
    black = {"bQ": (1, 0), "wA1": (2, -1), "wA2": (2, 0), "wA3": (1, 1), "bG2": (0, 2)}
    state = laid({**white, **black, "bG3": (0, -2)}, ply=21, paper_bugs=paper_bugs)
    game = Hive(paper_bugs=paper_bugs)
    last = after(game, state, "move bG3 SE of wQ")
    assert (game.to_move(last), game.returns(last)) == ((), returns)


@pytest.mark.parametrize(("paper_bugs", "plies"), [(False, 14), (True, 13)])
def test_a_game_without_a_winner_ends_after_its_turns(paper_bugs: bool, plies: int) -> None:
    game = Hive(max_turns=7, paper_bugs=paper_bugs)
    rng = np.random.default_rng(2)
    last, count = play_on(game, game.deal(rng), [RANDOM] * 2, rng)
    assert count == plies
    assert game.returns(last) == (0.0, 0.0)
    assert game.show(last).endswith("over: nobody wins")


def test_a_move_is_told_by_the_other_queen_before_all_others() -> None:
    state = laid({**ROW, "wA1": (-1, 0), "wS1": (-1, 1)}).array
    moves = [NAMES.index("wA1") * CELLS + cell(at) for at in ((1, -1), (0, -1))]
    assert describe_moves(state, moves) == ("move wA1 NW of bQ", "move wA1 NW of wQ")


def test_the_hive_is_drawn_wherever_it_lies() -> None:
    here = laid(ROW).array
    there = here.copy()
    for piece in range(rules.PIECES):
        if here[piece] != rules.HAND:
            there[piece] = (here[piece] + 500) % CELLS
    assert drawing(here) == drawing(there)
    assert drawing(here).splitlines() == [
        "  .   .   .   .",
        ".   wQ  bQ  bS1 .",
        "  .   .   .   .",
    ]


def table_stays_right(engine: Any, seed: int, plies: int) -> bool:
    """Whether a state maintained through a random game gives the same at every ply as one built
    from scratch."""
    rng = np.random.default_rng(seed)
    state, table = engine.blank(500, False), engine.make_table()
    for _ in range(plies):
        count = engine.legal(table, state)
        fresh = engine.make_table()
        engine.lay_out(fresh, state)
        same = all(
            np.array_equal(getattr(table, name), getattr(fresh, name))
            for name in ("near", "owned", "links")
        )
        if not same or count != engine.legal(fresh, state):
            return False
        if state[rules.RESULT] != rules.GOING_ON:
            break
        engine.act(table, state, int(table.moves[rng.integers(count)]))
    return True


def test_a_table_is_kept_up_to_date() -> None:
    assert all(table_stays_right(rules, seed, 500) for seed in range(10))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("&= ~(1 << piece)", "&= -1"),
        ("    table.links[piece] = 0\n\n\n@compiled\ndef lay", "\n\n@compiled\ndef lay"),
    ],
)
def test_a_table_that_is_not_kept_up_to_date_is_noticed(old: str, new: str) -> None:
    assert not table_stays_right(slipped(rules, old, new), 1, 60)


def test_greedy_takes_what_brings_its_lead_most() -> None:
    """The ant of white can step to black's queen from its own; nothing else gains two."""
    game = Hive()
    state = laid({"wQ": (0, 0), "wS1": (1, 0), "bA1": (2, 0), "bQ": (3, 0), "wA1": (-1, 0)})
    seen = game.observe(state, 0)
    chances = dict(zip(seen.options, probabilities(game, "greedy", seen), strict=True))
    likely = {option for option, chance in chances.items() if chance > 0}
    assert likely == {f"move wA1 {at} of bQ" for at in ("NE", "E", "SE", "NW", "SW")}
    assert len({chances[option] for option in likely}) == 1


def test_worth_is_high_where_the_side_to_move_can_win() -> None:
    game = Hive()
    state = laid({"wQ": (0, 0), **AROUND_WHITE, "bQ": (2, 0), "bG3": (0, -2)}, ply=21)
    assert game.worth(state, 1) > 0.97
    assert game.worth(state, 0) < 0.03
    facts = {fact.name: fact.text for fact in game.observe(state, 1).facts}
    assert "move bG3 SE of wQ" in facts["Options that win at once"].split("; ")
    quiet = laid({**ROW, "wA1": (-1, 0)})
    assert game.worth(quiet, 0) + game.worth(quiet, 1) == pytest.approx(1)
    assert game.worth(quiet, 0) > 0.5


def test_playouts_tell_who_won_after_each_option() -> None:
    game = Hive(max_turns=40)
    state = laid({"wQ": (0, 0), **AROUND_WHITE, "bQ": (2, 0), "bG3": (0, -2)}, ply=21)
    found = results(game, state, 1, ["random", "random"], 30, 3, hidden=False)
    options = game.observe(state, 1).options
    assert found.shape == (len(options), 30, 2)
    assert found[options.index("move bG3 SE of wQ")].tolist() == [[0, 1]] * 30
    assert (found.sum(axis=2) <= 1).all()
