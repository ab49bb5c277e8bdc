"""Hive rule by rule, its players and its words; the referee's lockstep is in test_hive_lockstep.py.

Positions are told as hexes (across, down): (1, 0) lies E of (0, 0), (0, 1) SE of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gauntlet.common.errors import IllegalAction
from gauntlet.games.hive import Hive, State, rules
from gauntlet.games.hive.hexes import CELLS, CENTRE
from gauntlet.games.hive.words import NAMES, described, drawing
from gauntlet.games.playouts import RANDOM, play_on, probabilities, results, simulate
from tests.games.duels import scores
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


def goes(state: State, name: str, **settings: Any) -> set[Hex]:
    """Where a piece may go or be placed, as hexes near the middle."""
    game = Hive(**settings)
    near = {cell((x, y)): (x, y) for x in range(-9, 10) for y in range(-9, 10)}
    moves = game.legal(state, game.to_move(state)[0])
    return {near[move % CELLS] for move in moves if move // CELLS == NAMES.index(name)}


ROW = {"wQ": (0, 0), "bQ": (1, 0), "bS1": (2, 0)}
"""Three in a row; white's pieces are laid around it."""


def test_the_first_piece_has_one_place_and_the_second_six() -> None:
    game = Hive()
    first = game.deal(np.random.default_rng(0))
    assert [game.observe(first, 0).options] == [("place wQ", "place wS1", "place wG1", "place wA1")]
    second = game.play(first, game.legal(first, 0)[:1])
    assert goes(second, "bA1") == {(1, 0), (1, -1), (0, -1), (-1, 0), (-1, 1), (0, 1)}


def test_a_new_piece_touches_its_own_side_alone() -> None:
    assert goes(laid(ROW), "wA1") == {(-1, 0), (-1, 1), (0, -1)}
    assert goes(laid(ROW, ply=21), "bA1") == {
        *((3, 0), (3, -1), (2, -1)),
        *((1, 1), (2, 1)),
    }


def test_a_queen_is_placed_in_the_fourth_turn_at_the_latest() -> None:
    pieces = {"wA1": (0, 0), "wA2": (-1, 0), "wA3": (-2, 0), "bQ": (1, 0)}
    third, fourth = laid(pieces, ply=4), laid(pieces, ply=6)
    assert goes(third, "wG1")
    assert goes(fourth, "wQ")
    assert not goes(fourth, "wG1")


def test_nothing_moves_before_the_own_queen_lies() -> None:
    pieces = {"wA1": (0, 0), "wA2": (-1, 0), "bS1": (1, 0), "bQ": (2, 0)}
    assert not goes(laid(pieces, ply=4), "wA2")
    assert goes(laid({**pieces, "wQ": (-1, 1)}, ply=4), "wA2")


def test_a_queen_steps_once_and_keeps_touch() -> None:
    assert goes(laid({"wQ": (0, 0), "bQ": (1, 0), "bA1": (2, 0)}), "wQ") == {(0, 1), (1, -1)}


def test_a_gate_is_too_narrow() -> None:
    """Pieces W and NE of the cell NW of the queen, and a bridge between them behind it."""
    ring = {"bQ": (1, -1), "bA1": (1, -2), "bA2": (0, -2), "bA3": (-1, -1), "bG1": (-1, 0)}
    assert (0, -1) not in goes(laid({"wQ": (0, 0), **ring}), "wQ")
    assert (0, -1) not in goes(laid({"wA1": (0, 0), "wQ": (2, -2), **ring}), "wA1")


def test_a_spider_makes_three_steps() -> None:
    row = {"wQ": (0, 0), "bQ": (1, 0), "bA1": (2, 0), "wS1": (-1, 0)}
    assert goes(laid(row), "wS1") == {(2, -1), (1, 1)}


def test_an_ant_goes_all_around() -> None:
    row = {"wQ": (0, 0), "bQ": (1, 0), "wA1": (-1, 0)}
    around = {(0, -1), (1, -1), (2, -1), (2, 0), (1, 1), (0, 1), (-1, 1)}
    assert goes(laid(row), "wA1") == around


def test_a_grasshopper_jumps_over_a_row() -> None:
    row = {"wQ": (0, 0), "bQ": (1, 0), "bA1": (2, 0), "wG1": (-1, 0), "wA1": (-1, 1)}
    assert goes(laid(row), "wG1") == {(3, 0), (-1, 2)}


def test_the_hive_stays_together() -> None:
    """In a row only the ends may leave; in a ring every piece may."""
    row = {"wQ": (0, 0), "wG1": (-1, 0), "wA1": (1, 0), "bQ": (2, 0)}
    assert not goes(laid(row), "wA1")
    assert not goes(laid(row), "wQ")
    ring = {"wQ": (1, 0), "wG1": (1, -1), "bQ": (0, -1), "bA1": (-1, 0), "bA2": (-1, 1)}
    assert goes(laid({**ring, "wA1": (0, 1)}), "wA1")
    assert goes(laid({**ring, "wA1": (0, 1)}), "wG1")


def test_who_can_do_nothing_passes() -> None:
    """Black's queen holds white's pieces together, and every cell beside her touches white."""
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


def ended(state: State, move: str, **settings: Any) -> tuple[float, ...]:
    """The returns after a move by its name; the game is over."""
    game = Hive(**settings)
    (seat,) = game.to_move(state)
    at = game.observe(state, seat).options.index(move)
    after = game.play(state, (game.legal(state, seat)[at],))
    assert game.to_move(after) == ()
    assert game.legal(after, seat) == ()
    return game.returns(after)


def test_a_surrounded_queen_is_lost() -> None:
    pieces = {"wQ": (0, 0), **AROUND_WHITE, "bQ": (2, 0), "bS1": (3, 0)}
    assert ended(laid({**pieces, "bG3": (0, -2)}, ply=21), "move bG3 SE of wQ") == (-1, 1)


@pytest.mark.parametrize(("quirks", "returns"), [(False, (0, 0)), (True, (-1, -1))])
def test_both_queens_surrounded_at_once(quirks: bool, returns: tuple[float, float]) -> None:
    """The hopper lands in the one cell that is missing around each."""
    white = {"wQ": (0, 0), "bA1": (1, -1), "bA2": (0, -1), "bA3": (-1, 0), "bG1": (-1, 1)}
    black = {"bQ": (1, 0), "wA1": (2, -1), "wA2": (2, 0), "wA3": (1, 1), "bG2": (0, 2)}
    state = laid({**white, **black, "bG3": (0, -2)}, ply=21, quirks=quirks)
    assert ended(state, "move bG3 SE of wQ", quirks=quirks) == returns


@pytest.mark.parametrize(("quirks", "plies"), [(False, 14), (True, 13)])
def test_a_game_without_a_winner_ends_after_its_turns(quirks: bool, plies: int) -> None:
    game = Hive(max_turns=7, quirks=quirks)
    rng = np.random.default_rng(2)
    last, count = play_on(game, game.deal(rng), [RANDOM] * 2, rng)
    assert count == plies
    assert game.returns(last) == (0.0, 0.0)
    assert game.show(last).endswith("over: nobody wins")


def test_the_published_code_knows_no_gate() -> None:
    """An ant within a ring that has one opening, a gate: by these rules it gets out."""
    ring = {"wQ": (-1, 0), "bA1": (-2, 1), "bA2": (-2, 2), "bA3": (-1, 2), "bG1": (0, 2)}
    ring |= {"bG2": (1, 1), "bG3": (2, 0), "bS1": (2, -1), "bQ": (1, -1), "wA1": (0, 0)}
    assert goes(laid(ring), "wA1") == {(1, 0), (0, 1), (-1, 1)}
    assert (0, -1) in goes(laid(ring, quirks=True), "wA1", quirks=True)


def test_the_published_code_lets_go_of_the_hive_for_a_step() -> None:
    """The queen goes from one arm of a V to the other; no piece touches both cells."""
    arms = {"wA1": (-1, 0), "bQ": (-2, 1), "bA1": (-2, 2), "bA2": (-1, 2), "bA3": (0, 2)}
    arms |= {"bG1": (1, 1), "wQ": (0, 0)}
    assert (1, 0) not in goes(laid(arms), "wQ")
    assert (1, 0) in goes(laid(arms, quirks=True), "wQ", quirks=True)


def test_the_published_code_keeps_pieces_in_crowded_cells() -> None:
    """Five neighbours are filled: the way out to the sixth is a gate by the rules, and too crowded
    by the published code; with four it is free by both."""
    five = {"wQ": (0, 0), "bQ": (1, 0), "bA1": (1, -1), "bA2": (0, -1), "bA3": (-1, 0)}
    assert goes(laid(five), "wQ") == {(0, 1), (-1, 1)}
    assert goes(laid(five, quirks=True), "wQ", quirks=True) == {(0, 1), (-1, 1)}
    full = {**five, "bG1": (-1, 1)}
    assert not goes(laid(full), "wQ")
    assert not goes(laid(full, quirks=True), "wQ", quirks=True)


def test_an_illegal_move_is_refused() -> None:
    game = Hive()
    with pytest.raises(IllegalAction, match="move 7 is not legal"):
        game.play(laid(ROW), (7,))


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="max_turns is 3; a side has 4 to 2,500 turns"):
        Hive(max_turns=3)


def test_a_move_is_told_by_the_other_queen_before_all_others() -> None:
    state = laid({**ROW, "wA1": (-1, 0), "wS1": (-1, 1)}).array
    moves = [NAMES.index("wA1") * CELLS + cell(at) for at in ((1, -1), (0, -1))]
    assert described(state, moves) == ("move wA1 NW of bQ", "move wA1 NW of wQ")


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
    """Whether a table that is kept through a random game tells at every ply what one tells on which
    the state is laid out afresh."""
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
def test_a_table_that_is_not_is_found_out(old: str, new: str) -> None:
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


def test_simulated_games_go_as_played_ones_do() -> None:
    """Greedy beats random in both seats, compiled and by the rules; games of greedy end."""
    game = Hive()
    assert simulate(game, ["greedy", "random"], 200, 1)[0] > 180
    assert simulate(game, ["random", "greedy"], 200, 1)[1] > 180
    rng = np.random.default_rng(5)
    last = [play_on(game, game.deal(rng), ["greedy", "random"], rng)[0] for _ in range(8)]
    assert sum(game.returns(state)[0] for state in last) >= 6


def test_playouts_tell_who_won_after_each_option() -> None:
    game = Hive(max_turns=40)
    state = laid({"wQ": (0, 0), **AROUND_WHITE, "bQ": (2, 0), "bG3": (0, -2)}, ply=21)
    found = results(game, state, 1, ["random", "random"], 30, 3, hidden=False)
    options = game.observe(state, 1).options
    assert found.shape == (len(options), 30, 2)
    assert found[options.index("move bG3 SE of wQ")].tolist() == [[0, 1]] * 30
    assert (found.sum(axis=2) <= 1).all()


def test_looking_one_ply_ahead_beats_greedy() -> None:
    """Twelve games; in the long run it gets nine tenths of the score."""
    assert scores(Hive(max_turns=100), "one_ply", "greedy", 6).mean() > 7 / 12
