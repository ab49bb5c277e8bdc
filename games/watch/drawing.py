"""Draws a watched match: the last steps, the probability of each strategy, and the loss of every
guess."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from markupsafe import Markup

from gauntlet.common.markup import join_markup, tag
from gauntlet.games.base import Observation
from gauntlet.games.drawing import draw_facts, entry, picture, policy_name
from gauntlet.games.watch.game import State, View, Watch
from gauntlet.games.watch.transcript import Step

STYLE = Path(__file__).with_suffix(".css")

SIDE, MARGIN = 14, 112
"""In SVG units: the side of a heat map cell, and the room for the names of its rows and columns."""
STEPS = 14
"""Number of last steps to list."""

Acts = Sequence[tuple[int, str]]
"""The seats that acted in a step, and what each took."""


def draw_state(game: Watch, state: State) -> Markup:
    """Includes the strategies of the players, and the last guess."""
    view: View = game.observe(state, 0).view
    names = list(catalogue(game))
    real, guess = (
        " and ".join(names[one] for one in guessed)
        for guessed in (game.truth(state), state.guesses[-1] if state.guesses else ())
    )
    middle = tag(
        "div",
        entry("step", tag("b", f"{view.shown} of {view.steps}")),
        entry("played by", tag("b", real)),
        entry("last guess", tag("b", guess or "none")) if state.guesses else "",
        class_="d-middle",
    )
    return picture(f"watching, step {view.shown}", middle, _last_steps(game, view))


def draw_view(game: Watch, observation: Observation) -> Markup:
    """Draw the shown steps, also as text, which includes what the players knew, and the
    strategies."""
    steps, strategies = _last_steps(game, observation.view), draw_catalogue(catalogue(game))
    return picture(f"what {observation.role} knows", steps, strategies, draw_facts(observation))


def catalogue(game: Watch) -> dict[str, str]:
    """Return the name of each strategy, in order, with what it does; "" if that is not said."""
    told: Mapping[str, str] = getattr(game.of, "told_policies", {})
    return {policy_name(game.of, one): told.get(one, "") for one in game.policies}


def draw_catalogue(strategies: Mapping[str, str]) -> Markup:
    rows = (tag("div", tag("dt", name), tag("dd", line)) for name, line in strategies.items())
    return tag("dl", *rows, class_="d-facts")


def acts(step: Step) -> Acts:
    return [(one.seat, one.observation.options[one.taken]) for one in step.acted]


def _last_steps(game: Watch, view: View) -> Markup:
    first = view.shown - len(view.told) + 1
    return draw_steps(game.watched, list(enumerate(map(acts, view.told), first)))


def draw_steps(players: Sequence[str], done: Sequence[tuple[int, Acts]]) -> Markup:
    """Draw the last steps, the newest first: their numbers, and what each player took."""
    rows = []
    for number, acted in list(done)[: -STEPS - 1 : -1]:
        took = dict(acted)
        cells = [tag("td", took.get(seat, "")) for seat in range(len(players))]
        rows.append(tag("tr", tag("td", number), *cells))
    names = (f"player {name}" for name in players)
    head = tag("tr", *(tag("th", word, scope="col") for word in ("step", *names)))
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="d-rounds")
    return picture("what was done in the last steps", table)


def draw_beliefs(
    name: str, strategies: Sequence[str], chances: np.ndarray, truth: int, guess: int | None
) -> Markup:
    """Draw how likely each strategy is for one player as bars, marking the true and the guessed
    one."""
    rows = (
        _belief(strategy, float(chance), at == truth, at == guess)
        for at, (strategy, chance) in enumerate(zip(strategies, chances, strict=True))
    )
    table = tag("table", tag("tbody", *rows), class_="d-beliefs")
    return picture(f"how likely each strategy is for player {name}", table)


def _belief(strategy: str, chance: float, true: bool, guessed: bool) -> Markup:
    notes = [word for word, holds in (("truth", true), ("guess", guessed)) if holds]
    return tag(
        "tr",
        tag("th", strategy, scope="row"),
        tag("td", tag("i", style=f"width:{100 * chance:.1f}%"), class_="d-bar"),
        tag("td", f"{100 * chance:.1f}%", class_="d-share"),
        tag("td", ", ".join(notes)),
        class_="d-true" if true else None,
    )


def draw_losses(
    players: Sequence[str],
    strategies: Sequence[str],
    losses: np.ndarray,
    truth: Sequence[int],
    guess: Sequence[int],
) -> Markup:
    """Draw a heat map of the loss of every guess about two players, float64 (guesses,): more ink is
    a higher loss; a ring marks the truth, a square the guess."""
    count, high = len(strategies), float(losses.max()) or 1.0
    names = [_axis_names(name, MARGIN + SIDE * (at + 0.7)) for at, name in enumerate(strategies)]
    row, column = truth
    x, y, radius = (*(MARGIN + SIDE * (at + 0.46) for at in (column, row)), SIDE * 0.36)
    marks = [tag("circle", cx=x, cy=y, r=radius, class_="d-truth")]
    if guess:
        marks.append(_square(*guess, class_="d-guess"))
    order = f"player {players[0]} downwards, player {players[1]} across"
    label = f"losses of all guesses from 0 to {high:.2f}; {order}"
    box = f"0 0 {MARGIN + SIDE * count} {MARGIN + SIDE * count}"
    cells = _cells(strategies, losses.reshape(count, count), high)
    inside = (tag("title", label), *cells, *names, *marks)
    key = f"{order}; ring: truth, square: guess; full ink: {high:.2f}"
    drawing = tag("svg", *inside, viewBox=box, role="img")
    return picture(label, drawing, tag("p", key, class_="d-label"), kind="d-heatmap")


def _cells(strategies: Sequence[str], grid: np.ndarray, high: float) -> Iterator[Markup]:
    for (row, column), loss in np.ndenumerate(grid):
        title = tag("title", f"{strategies[row]}, {strategies[column]}: {loss:.3f}")
        ink = f"{0.04 + 0.96 * loss / high:.3f}"
        yield _square(row, column, title, class_="d-heat", fill_opacity=ink)


def _square(row: int, column: int, *inside: object, **attributes: object) -> Markup:
    x, y = MARGIN + SIDE * column, MARGIN + SIDE * row
    return tag("rect", *inside, x=x, y=y, width=SIDE - 1, height=SIDE - 1, **attributes)


def _axis_names(name: str, at: float) -> Markup:
    """Write the name before its row and, turned, above its column."""
    row = tag("text", name, x=MARGIN - 4, y=at, text_anchor="end", class_="d-word")
    turned = f"translate({at} {MARGIN - 4}) rotate(-90)"
    return join_markup(row, tag("text", name, transform=turned, class_="d-word"))
