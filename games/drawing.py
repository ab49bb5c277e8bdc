"""Games drawn for a person, in HTML and SVG.

A game brings its drawing in a module beside it: `drawing.py` in its folder, or `NAME_drawing.py`
beside a game `NAME.py`. The module has the two functions of `Drawing`, and as `STYLE` the path of a
style sheet where it needs one. A game without such a module is shown in its own words.

Nothing that plays a match imports a drawing, so a change to it changes no code fingerprint.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, cast

from markupsafe import Markup

from gauntlet.common.markup import tag
from gauntlet.games.base import Game, Observation

STYLE = Path(__file__).with_suffix(".css")
"""The style sheet of the parts below, which all drawings share."""


class Drawing(Protocol):
    """What a drawing's module has."""

    def draw_state(self, game: Any, state: Any) -> Markup:
        """A state with all cards open, final ones too."""
        ...

    def draw_view(self, game: Any, observation: Observation) -> Markup:
        """What the observing seat may know and nothing else: hidden cards lie face down."""
        ...


def has_drawing(game: Game[Any]) -> bool:
    """Whether the game brings a drawing; any other is drawn in words."""
    return bool(_drawing_name(game))


def draw_state(game: Game[Any], state: Any) -> Markup:
    """A state with all cards open."""
    if has_drawing(game):
        return _drawing(game).draw_state(game, state)
    return picture("the whole state", tag("pre", game.show(state), tabindex=0))


def draw_view(game: Game[Any], observation: Observation) -> Markup:
    """What the observing seat may know."""
    if has_drawing(game):
        return _drawing(game).draw_view(game, observation)
    label = f"what player {observation.seat} knows of {observation.game}"
    return picture(label, draw_facts(observation))


def draw_facts(observation: Observation) -> Markup:
    """The facts in words, as every player gets them."""
    facts = (
        tag("div", tag("dt", fact.name), tag("dd", fact.text, class_="text"))
        for fact in observation.facts
    )
    return tag("dl", *facts, class_="d-facts")


def style_of(game: Game[Any]) -> str:
    """The style sheet of the game's own drawing; "" where it has none."""
    sheet = getattr(_drawing(game), "STYLE", None) if has_drawing(game) else None
    return sheet.read_text(encoding="utf-8") if sheet else ""


def _drawing(game: Game[Any]) -> Drawing:
    return cast(Drawing, import_module(_drawing_name(game)))


def _drawing_name(game: Game[Any]) -> str:
    """The dotted name of the module beside the game's; "" where there is none."""
    module = type(game).__module__
    package = sys.modules[module].__package__
    names = [f"{module}_drawing", *([f"{package}.drawing"] if package else [])]
    return next((name for name in names if name != __name__ and find_spec(name)), "")


def picture(label: str, *inside: object, kind: str = "") -> Markup:
    """A whole drawing; a screen reader says `label`. kind: further classes."""
    return tag("div", *inside, class_=f"d-picture {kind}".strip(), role="group", aria_label=label)


def sign(label: str, *inside: object, kind: str) -> Markup:
    """A small picture such as a card."""
    return tag("span", *inside, class_=kind, role="img", aria_label=label, title=label)


def seat(number: int, you: int | None, *inside: object, note: str = "", turn: bool) -> Markup:
    """A player's row. you: the seat of the person who looks, None for nobody's. turn: whether this
    player is to move."""
    name = f"player {number}{' (you)' if number == you else ''}"
    words = ", ".join(part for part in (name, note, "to move" if turn else "") if part)
    kind = "d-seat d-turn" if turn else "d-seat"
    return tag("div", tag("div", words, class_="d-name"), *inside, class_=kind)


def entry(name: str, *value: object) -> Markup:
    """A name with its value, beside the cards on a table."""
    return tag("span", tag("span", name, class_="d-label"), " ", *value, class_="d-entry")
