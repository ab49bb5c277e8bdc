"""Elements of a drawing as buttons: each stands for the moves that `games.drawing.marks` gives it.

A move has one place or two. A place of one move plays it. A place of several, or the first of two,
is chosen, and then only the moves that fit it are offered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import partial

from markupsafe import Markup
from nicegui import html

from gauntlet.common.markup import text
from gauntlet.pipeline.pages.frame import drawing

Moves = tuple[int, ...]
MARKED = re.compile(r'<(\w+)([^>]*? data-(?:move|then)="[^>]*)>')
"""An opening tag with marks. Markup escapes ">" in attributes."""
REPLACED = re.compile(r' (?:role|aria-label)="[^"]*"')
PRESSED = """(event) => {
    const place = event.target.closest("[data-moves]");
    if (!place || (event.type === "keydown" && !["Enter", " "].includes(event.key))) return;
    event.preventDefault();
    event.stopPropagation();
    emit(place.dataset.moves);
}"""


def place_moves(markup: str, kind: str = "move") -> set[int]:
    """The moves of all places. kind: "then" for those with a second place."""
    return {
        move for found in re.findall(f' data-{kind}="([0-9 ]+)"', markup) for move in _moves(found)
    }


def clickable(
    markup: Markup, names: Sequence[str], chosen: Moves, press: Callable[[Moves], object]
) -> None:
    """Show a drawing whose places call `press` with their moves, by mouse and by keys.

    names: of all moves. chosen: the moves of the chosen place; () if none is.
    """
    with html.div() as whole:
        drawing(with_buttons(markup, names, chosen))
    for event in ("click", "keydown"):
        whole.on(event, lambda event: press(_moves(str(event.args))), js_handler=PRESSED)


def with_buttons(markup: Markup, names: Sequence[str], chosen: Moves = ()) -> Markup:
    """The drawing with a button for each place that is offered."""
    made = MARKED.sub(partial(_button, names, chosen), markup)
    if made != markup:  # an image has no buttons inside
        made = re.sub(r'(<svg[^>]*) role="img"', r'\1 role="group"', made)
    return Markup(made)


def _button(names: Sequence[str], chosen: Moves, opening: re.Match[str]) -> str:
    element, attributes = opening[1], opening[2]
    first, then = (_moves(_value(attributes, f"data-{kind}")) for kind in ("move", "then"))
    moves = tuple(move for move in then if move in chosen) if chosen else first
    pressed = bool(chosen) and first == chosen
    if not moves and not pressed:
        return opening[0]
    place = _value(attributes, "data-place") or _value(attributes, "aria-label")
    label = _label(place, [names[move] for move in moves or first])
    listed = " ".join(map(str, moves or first))
    more = ' aria-pressed="true"' if pressed else ""
    return (
        f'<{element}{REPLACED.sub("", attributes)} role="button" tabindex="0" '
        f'aria-label="{label}" data-moves="{listed}"{more}>'
    )


def _label(place: str, moves: Collection[str]) -> str:
    """The move in words; the place and how many moves it has, if there are several. Escaped."""
    several = len(set(moves)) > 1
    return f"{place}: {len(moves)} moves" if several else str(text(next(iter(moves))))


def _value(attributes: str, name: str) -> str:
    found = re.search(f' {name}="([^"]*)"', attributes)
    return found[1] if found else ""


def _moves(listed: str) -> Moves:
    return tuple(int(move) for move in listed.split())
