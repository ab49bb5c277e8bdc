"""Draws UNO Arena's table: UNO's, plus the decision to make."""

from __future__ import annotations

from markupsafe import Markup

from gauntlet.common.markup import tag
from gauntlet.games.base import Observation
from gauntlet.games.uno import drawing as uno
from gauntlet.games.uno.arena import game, rules
from gauntlet.games.uno.arena.game import UnoArena
from gauntlet.games.uno.arena.rules import View
from gauntlet.games.uno.rules import TO_MOVE, TOP, TOP_BY, WILD
from gauntlet.games.uno.state import State

STYLE = uno.STYLE


def draw_state(game: UnoArena, state: State) -> Markup:
    array = state.array
    phase, top, top_player = array.item(rules.PHASE), array.item(TOP) & 63, array.item(TOP_BY)
    colour, over = array.item(rules.IN_FORCE), bool(rules.over(array))
    table = uno.full_table(array, game.num_seats, top, _colour_to_match(phase, top, colour), over)
    if over:
        return uno.draw_table(table)
    before = array.item(rules.BEFORE)
    return uno.draw_table(
        table, _question(array.item(TO_MOVE), phase, top, before, colour, top_player)
    )


def draw_view(game: UnoArena, observation: Observation) -> Markup:
    view: View = observation.view
    table = view.table
    top = 15 * table.colour + table.trait
    actions = table.options if view.phase == rules.CARD else ()
    known = uno.seen_table(table, _colour_to_match(view.phase, top, table.colour), actions)
    asked = _question(table.seat, view.phase, top, view.before, table.colour, view.by)
    return uno.draw_table(known, asked)


def _colour_to_match(phase: int, top: int, colour: int) -> int:
    """Return the colour to match; -1 for a wild without one yet."""
    return -1 if phase == rules.COLOUR and top % 15 >= WILD else colour


def _question(seat: int, phase: int, top: int, before: int, colour: int, by: int) -> Markup:
    question = game.question(phase, top, before, colour, by)
    return tag("p", f"player {seat} decides {question}", class_="d-score")
