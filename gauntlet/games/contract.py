"""What a game returns, checked against `games/base.py` wherever a game is played.

Games are written by anybody. A value that the interface does not allow would fail later and
elsewhere, or be recorded as something else; here it is the game's fault, in one line that names the
game, the method and the value. All functions raise UserError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np

from gauntlet.common.errors import UserError
from gauntlet.games.base import Action, Fact, Game, Observation, TextAction
from gauntlet.games.capabilities import (
    WIN,
    HasMeasures,
    Measure,
    Scripted,
    Valued,
    add_match_score,
    has_draws,
    seatings_of,
)

LONGEST = 10_000
"""Steps after which a game is endless, unless it declares `max_plies`."""
LARGEST = 1e15
"""Largest size of a figure, so that sums of many, and of their squares, stay finite."""
ROUNDING = 1e-6
"""Largest error of a sum of probabilities."""
ACTIONS, TEXTS = frozenset({int, TextAction}), frozenset({str})
DECLARED = {
    "max_plies": (int, "an int"),
    "draws": (bool, "True or False"),
    "perfect_information": (bool, "True or False"),
    "deal_key": (str, "a text"),
}
"""Attributes of a game, and what they may be."""
SHOWN = 80
"""Characters of a value in a message."""


def check_declarations(game: Game[Any]) -> None:
    """Raise if an attribute by which the game declares something is not of its kind."""
    for name, (kind, allowed) in DECLARED.items():
        if hasattr(game, name) and type(getattr(game, name)) is not kind:
            raise _misdeclared(game, name, getattr(game, name), allowed)
    if most_plies(game) < 1:
        raise _misdeclared(game, "max_plies", most_plies(game), "1 or more")
    seats = list(range(game.num_seats))
    if not _are_seatings(seatings_of(game), seats):
        allowed = f"an attribute or a property that lists who sits where, first {tuple(seats)}"
        raise _misdeclared(game, "seatings", seatings_of(game), allowed)
    if isinstance(game, HasMeasures):
        measures = game.measures
        if not _are(Measure, measures) or len({one.name for one in measures}) < len(measures):
            raise _misdeclared(game, "measures", measures, "Measures with different names")
    if isinstance(game, Scripted) and not _are(str, game.policies):
        raise _misdeclared(game, "policies", game.policies, "a sequence of names")


def _are(kind: type, values: Any) -> bool:
    listed = isinstance(values, Sequence) and not isinstance(values, str)
    return listed and all(isinstance(value, kind) for value in values)


def _are_seatings(seatings: Any, seats: Sequence[int]) -> bool:
    if not (_are(Sequence, seatings) and seatings):
        return False
    orders = [[*seating] for seating in seatings]
    return orders[0] == seats and all(_are(int, one) and sorted(one) == seats for one in orders)


def _misdeclared(game: Game[Any], name: str, value: object, allowed: str) -> UserError:
    named = f"{type(game).__module__}.{type(game).__qualname__}.{name}"
    return UserError(f"game: {named} is {_shown(value)}; it must be {allowed}")


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
    raise fault(game, "to_move", seats, f"a tuple of different seats, from 0 to {most} in order")


def legal_actions(game: Game[Any], state: Any, seat: int) -> tuple[Action, ...]:
    """Return the checked `legal` of a seat to move."""
    actions = game.legal(state, seat)
    if not (isinstance(actions, tuple) and actions and ACTIONS.issuperset(map(type, actions))):
        raise fault(game, "legal", actions, "a tuple of Python ints, at least one")
    return actions


def observation(
    game: Game[Any], state: Any, seat: int, actions: tuple[Action, ...] | None = None
) -> Observation:
    """Return the checked `observe` of a seat to move. actions: its legal actions, if known."""
    actions = legal_actions(game, state, seat) if actions is None else actions
    seen = game.observe(state, seat)
    if not isinstance(seen, Observation):
        raise fault(game, "observe", seen, "an Observation")
    if seen.seat != seat:
        raise fault(game, "observe", seen.seat, f"an Observation of seat {seat}", "seat")
    facts = seen.facts
    if not (isinstance(facts, tuple) and {*map(type, facts)} == {Fact}):
        raise fault(game, "observe", facts, "a tuple of Facts, at least one", "facts")
    named = tuple(fact.name for fact in facts)
    lines = {
        "options": seen.options,
        "history": seen.history,
        "facts named": named,
        "game, rules and role": (seen.game, seen.rules, seen.role or "-"),
    }
    together = all(isinstance(texts, tuple) for texts in lines.values())
    if not (together and _are_lines([*chain.from_iterable(lines.values())])):
        part, texts = next(
            (part, texts)
            for part, texts in lines.items()
            if not (isinstance(texts, tuple) and _are_lines(texts))
        )
        allowed = "a tuple of texts, each a single line without space around it"
        raise fault(game, "observe", texts, allowed, part)
    if len({*named}) < len(named):
        raise fault(game, "observe", named, "different names", "facts named")
    for fact in facts:
        if not (isinstance(fact.text, str) and fact.text.strip()):
            raise fault(game, "observe", fact.text, "a text", f"the fact {fact.name!r}")
    team = seen.team
    if not (isinstance(team, tuple) and {*team} <= {*range(game.num_seats)}):
        raise fault(game, "observe", team, "a tuple of seats", "team")
    _check_options(game, seen.options, actions)
    return seen


def _are_lines(texts: Sequence[Any]) -> bool:
    """Whether these are texts, each a single line without space around it."""
    if not (TEXTS.issuperset(map(type, texts)) and all(texts)):
        return False
    return [*map(str.strip, texts)] == [*texts] == "\n".join(texts).splitlines()


def _check_options(game: Game[Any], options: Sequence[str], actions: Sequence[Action]) -> None:
    if len(options) != len(actions):
        allowed = f"{len(actions)} names, one per legal action"
        raise fault(game, "observe", options, allowed, "options")
    names, different = len({*options}), len({*actions})
    if names < len(options) or different < len(options):
        pairs = len({*zip(options, actions, strict=True)})
        if not names == different == pairs:
            allowed = f"equal names for equal actions only, which are {actions}"
            raise fault(game, "observe", options, allowed, "options")


def final_returns(game: Game[Any], state: Any) -> tuple[float, ...]:
    """Return the checked `returns` as floats."""
    returns = figures(game, "returns", game.returns(state))
    if not all(-1 <= worth <= 1 for worth in returns):
        raise fault(game, "returns", returns, "from -1 to 1; larger scores are for `measure`")
    if max(returns) <= 0 and any(returns) and has_draws(game):
        raise fault(game, "returns", returns, "0 for every seat if nobody wins (`draws = True`)")
    if 0 in returns and (any(returns) or not hasattr(game, "draws")):
        allowed = "above 0 for a win, below 0 for a loss"
        if not any(returns):
            allowed += "; a game with draws sets `draws = True`, or False if all have lost then"
        if not isinstance(game, HasMeasures):
            raise fault(game, "returns", returns, allowed)
    return returns


def final_measures(
    game: Game[Any], state: Any, returns: Sequence[float]
) -> dict[str, tuple[float, ...]]:
    """Return the checked measures by name, as floats, with the wins that these returns imply."""
    wins = {WIN.name: tuple(float(worth > 0) for worth in returns)}
    if not isinstance(game, HasMeasures):
        return wins
    own, declared = game.measure(state), {one.name: one for one in game.measures}
    if not isinstance(own, Mapping) or not declared.keys() - wins.keys() <= own.keys():
        raise fault(game, "measure", own, f"a mapping with {', '.join(sorted(declared))}")
    measures = {name: figures(game, f"measure {name!r}", own[name]) for name in own}
    for name, one in declared.items():
        for value in measures.get(name, ()):
            if not one.low <= value <= one.high:
                allowed = f"from {one.low:g} to {one.high:g}, as `measures` declares"
                raise fault(game, f"measure {name!r}", measures[name], allowed)
    return {**measures, **wins}


def values_with_score(game: Game[Any], state: Any) -> dict[str, Sequence[float]]:
    """Return every measure of a final state by name, MATCH_SCORE too, one value per seat."""
    returns = final_returns(game, state)
    return add_match_score(final_measures(game, state, returns), returns)


def shown(game: Game[Any], state: Any) -> str:
    """Return the checked `show`."""
    text = game.show(state)
    if not isinstance(text, str):
        raise fault(game, "show", text, "a text")
    return text


def chances(game: Scripted, policy: str, observation: Observation) -> tuple[float, ...]:
    """Return the checked `probabilities`."""
    law, count = game.probabilities(policy, observation), len(observation.options)
    if not are_chances(law, count):
        allowed = f"{count} probabilities, one per option, of sum 1"
        raise fault(game, f"probabilities of {policy!r}", law, allowed)
    return law


def worth(game: Valued[Any], state: Any, seat: int) -> float:
    """Return the checked `worth`."""
    value = game.worth(state, seat)
    if not (_is_number(value) and 0 <= value <= 1):
        raise fault(game, "worth", value, "a number from 0 to 1")
    return value


def array(game: object, method: str, result: Any, shape: tuple[int | None, ...]) -> np.ndarray:
    """Return the checked result of a method that plays many games by itself. shape: None where any
    length is right."""
    is_array = isinstance(result, np.ndarray)
    if is_array and result.ndim == len(shape) and result.dtype.kind in "iuf":
        fits = all(size in (None, length) for size, length in zip(shape, result.shape, strict=True))
        if fits and (result.dtype.kind != "f" or np.isfinite(result).all()):
            return np.asarray(result)
    sizes = " x ".join("any" if size is None else str(size) for size in shape)
    about = f"{' x '.join(map(str, result.shape))} values" if is_array else ""
    raise fault(game, method, result, f"an array of {sizes} finite numbers", about)


def figures(game: Game[Any], method: str, values: Any) -> tuple[float, ...]:
    """Return a checked figure per seat, as floats."""
    if are_numbers(values, game.num_seats) and all(-LARGEST <= one <= LARGEST for one in values):
        return tuple(map(float, values))
    raise fault(game, method, values, f"{game.num_seats} finite numbers, one per seat")


def are_chances(values: Any, count: int) -> bool:
    """Whether these are `count` probabilities that sum to 1."""
    return are_numbers(values, count) and min(values) >= 0 and abs(sum(values) - 1) <= ROUNDING


def are_numbers(values: Any, count: int) -> bool:
    """Whether these are `count` numbers. Bools are refused: False could be a draw or a loss."""
    if isinstance(values, np.ndarray):
        return values.shape == (count,) and values.dtype.kind in "iuf"
    listed = isinstance(values, Sequence) and len(values) == count
    return listed and all(map(_is_number, values))


def _is_number(value: object) -> bool:
    return type(value) is float or (isinstance(value, Real) and not isinstance(value, bool))


def fault(
    part: object,
    method: str,
    value: object,
    allowed: str,
    about: str = "",
    verb: str = "returned",
) -> UserError:
    """The error of a part of the user's, a game or an agent, whose method returned this value.
    about: what of the result the value is."""
    shown = f"{about} {_shown(value)}" if about else _shown(value)
    return UserError(f"{type(part).__name__}.{method} {verb} {shown}; it must be {allowed}")


def _shown(value: object) -> str:
    text = " ".join(repr(value).split())
    return f"{text[:SHOWN]} ..." if len(text) > SHOWN else text
