"""A match of watching: what is believed of each player, what guesses cost, and how that went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup

from gauntlet.pipeline.pages.drawn.markup import picture, tag, text, together

SIDE = 14
"""A cell of the heat map, in its own units."""
WIDTH, HEIGHT, LEFT, BELOW = 420, 180, 36, 20
"""A chart, in its own units, and the room of its two axes."""
LEAST = 0.1
"""Where the axis of a chart ends at the least."""
MOST = 14
"""Steps that are told; the last ones."""


def beliefs(
    name: str, codes: Sequence[str], chances: np.ndarray, truth: int, guess: int | None
) -> Markup:
    """How likely each code is for one player, a bar each; the true and the guessed one are said."""
    rows = [
        _belief(code, float(chance), at == truth, at == guess)
        for at, (code, chance) in enumerate(zip(codes, chances, strict=True))
    ]
    table = tag("table", tag("tbody", *rows), class_="d-beliefs")
    return picture(f"how likely each strategy is for player {name}", table)


def _belief(code: str, chance: float, true: bool, guessed: bool) -> Markup:
    notes = [word for word, holds in (("truth", true), ("guess", guessed)) if holds]
    bar = tag("i", style=f"width:{100 * chance:.1f}%")
    return tag(
        "tr",
        tag("th", code, scope="row"),
        tag("td", bar, class_="d-bar"),
        tag("td", f"{100 * chance:.1f}%", class_="d-share"),
        tag("td", ", ".join(notes)),
        class_="d-true" if true else None,
    )


def heat(
    players: Sequence[str],
    codes: Sequence[str],
    losses: np.ndarray,
    truth: Sequence[int],
    guess: Sequence[int],
) -> Markup:
    """What every guess about two players costs, float64 (guesses,): the more ink the dearer; a
    ring is the truth, a square the guess."""
    count, high = len(codes), float(losses.max()) or 1.0
    grid = losses.reshape(count, count)
    cells = [
        tag(
            "rect",
            tag("title", f"{codes[row]} {codes[column]}: {grid[row, column]:.3f}"),
            x=SIDE * (column + 2),
            y=SIDE * (row + 2),
            width=SIDE - 1,
            height=SIDE - 1,
            class_="d-heat",
            fill_opacity=f"{0.04 + 0.96 * grid[row, column] / high:.3f}",
        )
        for row in range(count)
        for column in range(count)
    ]
    names = [
        together(_word(code, SIDE * (at + 2.5), SIDE * 1.7), _word(code, SIDE, SIDE * (at + 2.75)))
        for at, code in enumerate(codes)
    ]
    marks = [_ring(truth), _square(guess)] if guess else [_ring(truth)]
    side = SIDE * (count + 2)
    told = f"player {players[0]} downwards, player {players[1]} across"
    label = f"losses of all guesses from 0 to {high:.2f}; {told}"
    box = f"0 0 {side} {side}"
    drawing = tag("svg", tag("title", label), *cells, *names, *marks, viewBox=box, role="img")
    key = tag("p", f"{told}; ring: truth, square: guess; full ink: {high:.2f}", class_="d-label")
    return picture(label, drawing, key, kind="d-heatmap")


def _ring(at: Sequence[int]) -> Markup:
    row, column = at
    x, y = SIDE * (column + 2.46), SIDE * (row + 2.46)
    return tag("circle", cx=x, cy=y, r=SIDE * 0.36, class_="d-truth")


def _square(at: Sequence[int]) -> Markup:
    row, column = at
    x, y, side = SIDE * (column + 2), SIDE * (row + 2), SIDE - 1
    return tag("rect", x=x, y=y, width=side, height=side, class_="d-guess")


def course(title: str, lines: Mapping[str, Sequence[float]], most: int) -> Markup:
    """Figures from 0 on, guess by guess, NaN where there is none; most: how many guesses there
    will be."""
    high = max([LEAST, *(value for line in lines.values() for value in line if value == value)])
    drawn = [_line(line, at, most, high) for at, line in enumerate(lines.values(), 1) if len(line)]
    ticks = [
        together(
            tag("line", x1=LEFT, x2=WIDTH - 8, y1=_up(v, high), y2=_up(v, high), class_="grid"),
            _word(f"{v:.2g}", LEFT - 6, _up(v, high) + 4, "end"),
        )
        for v in np.linspace(0, high, 3).tolist()
    ]
    ends = [_word("1", LEFT, HEIGHT - 5), _word(str(most), WIDTH - 16, HEIGHT - 5)]
    last = ", ".join(f"{name} {line[-1]:.2f}" for name, line in lines.items() if len(line))
    label = f"{title} after each guess; last: {last}"
    box = f"0 0 {WIDTH} {HEIGHT}"
    chart = tag("svg", tag("title", label), *ticks, *drawn, *ends, viewBox=box, class_="chart")
    key = [tag("span", name, class_=f"series-{at}") for at, name in enumerate(lines, 1)]
    return picture(label, chart, tag("div", *key, class_="key"))


def _line(line: Sequence[float], at: int, most: int, high: float) -> Markup:
    """A curve, broken where there is no figure."""
    path, down = "", False
    for number, value in enumerate(line):
        if np.isnan(value):
            down = False
            continue
        x = LEFT + (WIDTH - 8 - LEFT) * number / max(1, most - 1)
        path += f"{'L' if down else 'M'}{x:.1f} {_up(value, high):.1f}"
        down = True
    return tag("path", d=path, class_=f"line series-{at}")


def _up(value: float, high: float) -> float:
    return round(8 + (HEIGHT - BELOW - 8) * (1 - value / high), 1)


def steps(players: Sequence[str], done: Sequence[tuple[int, Sequence[tuple[int, str]]]]) -> Markup:
    """The last steps, the newest first: their numbers, and what each player took."""
    rows = []
    for number, acted in list(done)[: -MOST - 1 : -1]:
        took = dict(acted)
        cells = [tag("td", took.get(seat, "")) for seat in range(len(players))]
        rows.append(tag("tr", tag("td", number), *cells))
    names = (f"player {name}" for name in players)
    head = tag("tr", *(tag("th", word, scope="col") for word in ("step", *names)))
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="d-rounds")
    return picture("what was done in the last steps", table)


def _word(word: str, x: float, y: float, anchor: str = "middle") -> Markup:
    return tag("text", text(word), x=x, y=y, text_anchor=anchor, class_="d-word")
