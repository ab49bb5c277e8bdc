"""What a game returns, checked against `games/base.py` where a match is played.

Games are written by anybody. A value that the interface does not allow would fail later and
elsewhere, or be recorded as something else; here it is the game's fault, in one line that names the
game, the method and the value. All functions raise UserError.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

from gauntlet.common.errors import UserError
from gauntlet.games.base import Action, Game, Observation, TextAction
from gauntlet.games.capabilities import WIN, HasMeasures

LONGEST = 10_000
"""Steps after which a game is endless, unless it declares `max_plies`."""
LARGEST = 1e15
"""Largest size of a figure, so that sums of many, and of their squares, stay finite."""
ACTIONS, TEXTS = frozenset({int, TextAction}), frozenset({str})
SHOWN = 80
"""Characters of a value in a message."""


def most_plies(game: Game[Any]) -> int:
    """Return the steps after which a match of the game is endless."""
    return int(getattr(game, "max_plies", LONGEST))


def check_length(game: Game[Any], steps: int) -> None:
    """Raise if a match that is not over has taken this many steps. In each, all seats to move make
    one move."""
    most = most_plies(game)
    if steps >= most:
        raise UserError(
            f"{type(game).__name__} is not over after {most:,} plies: every match must end, for "
            "instance without a winner after a number of plies; a longer game sets `max_plies`"
        )


def seats_to_move(game: Game[Any], state: Any) -> tuple[int, ...]:
    """Return the checked `to_move`."""
    seats, last = game.to_move(state), -1
    if isinstance(seats, tuple):
        for seat in seats:
            if type(seat) is not int or not last < seat < game.num_seats:
                break
            last = seat
        else:
            return seats
    most = game.num_seats - 1
    raise _fault(game, "to_move", seats, f"a tuple of different seats, from 0 to {most} in order")


def legal_actions(game: Game[Any], state: Any, seat: int) -> tuple[Action, ...]:
    """Return the checked `legal` of a seat to move."""
    actions = game.legal(state, seat)
    if not (isinstance(actions, tuple) and actions and {*map(type, actions)} <= ACTIONS):
        raise _fault(game, "legal", actions, "a tuple of Python ints, at least one")
    return actions


def observation(game: Game[Any], state: Any, seat: int, actions: tuple[Action, ...]) -> Observation:
    """Return the checked `observe` of a seat with these legal actions."""
    seen = game.observe(state, seat)
    if not isinstance(seen, Observation):
        raise _fault(game, "observe", seen, "an Observation")
    if seen.seat != seat:
        raise _fault(game, "observe", seen.seat, f"an Observation of seat {seat}", "seat")
    options = seen.options
    if not (isinstance(options, tuple) and {*map(type, options)} <= TEXTS):
        raise _fault(game, "observe", options, "a tuple of texts", "options")
    if len(options) != len(actions):
        allowed = f"{len(actions)} names, one per legal action"
        raise _fault(game, "observe", options, allowed, "options")
    names, different = len({*options}), len({*actions})
    if names < len(options) or different < len(options):
        pairs = len({*zip(options, actions, strict=True)})
        if not names == different == pairs:
            allowed = f"equal names for equal actions only, which are {actions}"
            raise _fault(game, "observe", options, allowed, "options")
    return seen


def final_returns(game: Game[Any], state: Any) -> tuple[float, ...]:
    """Return the checked `returns` as floats."""
    return _figures(game, "returns", game.returns(state))


def final_measures(
    game: Game[Any], state: Any, returns: tuple[float, ...]
) -> dict[str, tuple[float, ...]]:
    """Return the checked measures by name, as floats, with the wins that these returns imply."""
    wins = {WIN.name: tuple(float(worth > 0) for worth in returns)}
    if not isinstance(game, HasMeasures):
        return wins
    own, names = game.measure(state), {one.name for one in game.measures} - {WIN.name}
    if not isinstance(own, Mapping) or not names <= own.keys():
        raise _fault(game, "measure", own, f"a mapping with {', '.join(sorted(names))}")
    measures = {name: _figures(game, f"measure {name!r}", own[name]) for name in own}
    return {**measures, **wins}


def _figures(game: Game[Any], method: str, figures: Any) -> tuple[float, ...]:
    if isinstance(figures, Iterable) and not isinstance(figures, str):
        values = tuple(figures)
        if len(values) == game.num_seats and all(map(_is_figure, values)):
            return tuple(map(float, values))
    allowed = f"{game.num_seats} finite numbers, one per seat"
    raise _fault(game, method, figures, allowed)


def _is_figure(value: object) -> bool:
    """A bool is none: is False a draw or a loss?"""
    if type(value) is not float and (isinstance(value, bool) or not isinstance(value, Real)):
        return False
    return -LARGEST <= float(value) <= LARGEST  # not nan


def _fault(game: Game[Any], method: str, value: object, allowed: str, part: str = "") -> UserError:
    shown = " ".join(repr(value).split())
    shown = f"{shown[:SHOWN]} ..." if len(shown) > SHOWN else shown
    returned = f"{part} {shown}" if part else shown
    return UserError(f"{type(game).__name__}.{method} returned {returned}; it must be {allowed}")
