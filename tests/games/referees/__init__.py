"""Referees of the games that come from other libraries, written from the rules as they are told.

A referee shares no code with the library. It is a generator: at each turn it yields the options of
every seat to move, by name, and is sent the name that each of them chose; it returns what each seat
won. It reads nothing but observations, from which it learns what chance has done.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from gauntlet.games.base import Game, Observation, TextAction, TextMove
from gauntlet.games.contract import values_with_score

Look = Callable[[int], Observation]
"""What a seat observes now."""
Options = Mapping[int, Collection[str]]
Result = Sequence[float] | set[tuple[float, ...]]
"""What each seat gets; several possible ones where chance decides at the end."""
Referee = Generator[Options, list[str], Result]
Rules = Callable[[int, Look], Referee]
"""The referee of a match, by the number of seats."""


def plays_alike(
    game: Game[Any], rules: Rules, seed: int, measure: str = "returns", within: float = 1e-6
) -> None:
    """Assert that a match of random moves runs as the referee says: whose turn it is, the options,
    and the end with its result, which is the returns, or a measure of that name. within: how far
    the result may be off, for odd chips that go by chance."""
    rng = np.random.default_rng(seed)
    state = game.deal(rng)
    referee = rules(game.num_seats, lambda seat: game.observe(state, seat))
    chosen: list[str] | None = None
    while True:
        try:
            options = next(referee) if chosen is None else referee.send(chosen)
        except StopIteration as over:
            result: Result = over.value
            break
        assert game.to_move(state) == tuple(sorted(options)), game.show(state)
        picks = [_pick(game, state, seat, options[seat], rng) for seat in sorted(options)]
        chosen = [name for name, _ in picks]
        state = game.play(state, [move for _, move in picks])
    assert game.to_move(state) == (), f"goes on after the end:\n{game.show(state)}"
    got = dict(values_with_score(game, state), returns=game.returns(state))[measure]
    possible = result if isinstance(result, set) else [result]
    alike = [list(got) == pytest.approx(list(one), abs=within) for one in possible]
    assert any(alike), f"{got}, not {possible} in\n{game.show(state)}"


def _pick(
    game: Game[Any], state: Any, seat: int, options: Collection[str], rng: np.random.Generator
) -> tuple[str, int]:
    """Return a random option of a seat after comparing all of them with the referee's. Of moves
    that are typed, which nobody lists, some are tried."""
    legal = game.legal(state, seat)
    names = game.observe(state, seat).options
    if not isinstance(legal[0], TextAction):
        differ = f"not told: {set(names) - set(options)}, not legal: {set(options) - set(names)}"
        assert sorted(names) == sorted(options), f"{differ} in\n{game.show(state)}"
        at = int(rng.integers(len(legal)))
        return names[at], legal[at]
    texts = sorted(options)
    tried = {*legal[0].text.examples, *(texts[at] for at in rng.permutation(len(texts))[:TRIED])}
    for text in sorted(tried):
        fault = legal[0].text.fault(text)
        assert (not fault) == (text in options), f"{text!r} {fault}\n{game.show(state)}"
    text = texts[int(rng.integers(len(texts)))]
    return text, TextMove(legal[0], text)


TRIED = 4
"""Of the texts that a referee takes for legal, how many are tried at a turn."""


def fact(seen: Observation, name: str) -> str:
    """Return the text of the fact of that name."""
    return next(fact.text for fact in seen.facts if fact.name == name)


Point = tuple[int, int]
STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))
DIAGONALS = ((1, 1), (1, -1), (-1, -1), (-1, 1))


def around(point: Point, steps: Iterable[Point] = STEPS) -> list[Point]:
    return [(point[0] + dx, point[1] + dy) for dx, dy in steps]


def grid(rows: int, columns: int) -> list[Point]:
    return list(product(range(rows), range(columns)))


def in_line(points: Collection[Point], last: Point, count: int) -> bool:
    """Return whether at least `count` of the points, with `last`, lie in a straight line."""
    for dx, dy in ((0, 1), (1, 0), (1, 1), (1, -1)):
        length = 1
        for sign in (1, -1):
            x, y = last[0] + sign * dx, last[1] + sign * dy
            while (x, y) in points:
                length, x, y = length + 1, x + sign * dx, y + sign * dy
        if length >= count:
            return True
    return False


def group(point: Point, points: Collection[Point], steps: Iterable[Point] = STEPS) -> set[Point]:
    """Return the points that are joined to a point by steps."""
    joined, new = {point}, [point]
    while new:
        near = [one for one in around(new.pop(), steps) if one in points and one not in joined]
        joined.update(near)
        new += near
    return joined


def won_by(seat: int, seats: int = 2) -> tuple[float, ...]:
    return tuple(1.0 if one == seat else -1.0 for one in range(seats))


def tied(seats: int = 2) -> tuple[float, ...]:
    return (0.0,) * seats
