"""Draw games in HTML and SVG.

A game's drawing is the module `drawing.py` in its folder, or `NAME_drawing.py` next to a game
`NAME.py`. It has the two functions of `Drawing` and optionally `STYLE`, the path of a style sheet,
and `POLICY_NAMES`, names of policies for people, where the game's own are codes.
Games without such a module are shown as text.

Nothing that plays a match imports a drawing, so changing one changes no code fingerprint.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from markupsafe import Markup

from gauntlet.common.errors import raised
from gauntlet.common.markup import tag
from gauntlet.games.base import Game, Observation

STYLE = Path(__file__).with_suffix(".css")
"""The style sheet of the parts below, shared by all drawings."""

Place = TypeVar("Place", bound=Hashable)


class Drawing(Protocol):
    """The functions of a drawing module."""

    def draw_state(self, game: Any, state: Any) -> Markup:
        """Draw a state, final ones included, with all cards face up."""
        ...

    def draw_view(self, game: Any, observation: Observation) -> Markup:
        """Draw only what the observing seat knows; hidden cards lie face down. Elements that stand
        for legal moves have `marks`."""
        ...


def has_drawing(game: Game[Any]) -> bool:
    """Return whether the game has a drawing; others are shown as text."""
    return bool(_drawing_name(type(game)))


def state_text(game: Game[Any], state: Any) -> str:
    """Return `Game.show`, or if it fails a line that says so."""
    return _attempt(game, "show", str, lambda: game.show(state))


def draw_state(game: Game[Any], state: Any) -> Markup:
    """Draw a state with all cards face up. Where the drawing fails, a line says so."""
    if has_drawing(game):
        return _drawn(game, "draw_state", lambda: _drawing(game).draw_state(game, state))
    return picture("the whole state", tag("pre", state_text(game, state), tabindex=0))


def _drawn(game: Game[Any], function: str, draw: Callable[[], Markup]) -> Markup:
    made = _attempt(game, function, Markup, draw)
    return made if isinstance(made, Markup) else tag("p", made, class_="note")


def _attempt(game: Game[Any], function: str, kind: type[str], call: Callable[[], str]) -> str:
    """What the game's function returns, or a line that says why that is nothing to show. A match
    can be read without its drawing, so whatever the game's author did, the rest is shown."""
    name = f"{type(game).__name__}.{function}"
    try:
        made = call()
    except Exception as error:
        return f"{name} raised {raised(error)}"
    return (
        made if isinstance(made, kind) else f"{name} returned {made!r}; it must be {kind.__name__}"
    )


def draw_view(game: Game[Any], observation: Observation) -> Markup:
    """Draw what the observing seat knows. Where the drawing fails, a line says so."""
    if has_drawing(game):
        return _drawn(game, "draw_view", lambda: _drawing(game).draw_view(game, observation))
    label = f"what player {observation.seat} knows of {observation.game}"
    return picture(label, draw_facts(observation))


def draw_facts(observation: Observation) -> Markup:
    """Draw the facts as text, as every player gets them."""
    facts = (
        tag("div", tag("dt", fact.name), tag("dd", fact.text, class_="text"))
        for fact in observation.facts
    )
    return tag("dl", *facts, class_="d-facts")


def style_of(game: Game[Any]) -> str:
    """Return the style sheet of the game's own drawing; "" if it has none."""
    sheet = getattr(_drawing(game), "STYLE", None) if has_drawing(game) else None
    return sheet.read_text(encoding="utf-8") if sheet else ""


def policy_name(game: Game[Any], policy: str) -> str:
    """Return the name of a policy for people."""
    names: Mapping[str, str] = (
        getattr(_drawing(game), "POLICY_NAMES", {}) if has_drawing(game) else {}
    )
    return names.get(policy, policy)


def _drawing(game: Game[Any]) -> Drawing:
    return cast(Drawing, import_module(_drawing_name(type(game))))


@cache
def _drawing_name(kind: type[Game[Any]]) -> str:
    """Return the dotted name of the drawing module of this kind of game; "" if there is none."""
    module = kind.__module__
    package = sys.modules[module].__package__
    names = [f"{module}_drawing", *([f"{package}.drawing"] if package else [])]
    return next((name for name in names if name != __name__ and find_spec(name)), "")


def picture(label: str, *inside: object, kind: str = "") -> Markup:
    """Return a whole drawing. label: the text for screen readers. kind: further CSS classes."""
    return tag("div", *inside, class_=f"d-picture {kind}".strip(), role="group", aria_label=label)


def sign(label: str, *inside: object, kind: str, **attributes: object) -> Markup:
    """Return a small picture such as a card."""
    about = {"class_": kind, "role": "img", "aria_label": label, "title": label}
    return tag("span", *inside, **about, **attributes)


def marks(moves: Sequence[int] = (), then: Sequence[int] = ()) -> dict[str, str]:
    """Return the attributes of an element that stands for legal moves, given by their index in
    `Observation.options`. A page on which a person plays makes such elements buttons.

    moves: the moves that have this as their only or first place. then: those that have it as their
    second place.
    """
    named = {"data_move": moves, "data_then": then}
    return {name: " ".join(map(str, those)) for name, those in named.items() if those}


def place(shape: str, name: str, data: Mapping[str, str], **attributes: object) -> Markup:
    """Return an unfilled shape of an SVG that lies over a place with these marks; nothing without.

    name: of the place, for a button of several moves.
    """
    about = {"class_": "d-place", "data_place": name, **data}
    return tag(shape, **about, **attributes) if data else Markup()


def by_place(places: Iterable[Place]) -> Mapping[Place, Sequence[int]]:
    """Return the moves of each place, () for others. places: of each move, in order."""
    found: defaultdict[Place, list[int]] = defaultdict(list)
    for move, place in enumerate(places):
        found[place].append(move)
    return found


def seat(number: int, you: int | None, *inside: object, note: str = "", turn: bool) -> Markup:
    """Return a player's row. you: the viewer's seat, None for a spectator. turn: whether this
    player is to move."""
    kind = "d-seat d-turn" if turn else "d-seat"
    return tag("div", _seat_name(number, number == you, note, turn), *inside, class_=kind)


@lru_cache(maxsize=1000)
def _seat_name(number: int, you: bool, note: str, turn: bool) -> Markup:
    name = f"player {number}{' (you)' if you else ''}"
    words = ", ".join(part for part in (name, note, "to move" if turn else "") if part)
    return tag("div", words, class_="d-name")


@lru_cache(maxsize=1000, typed=True)  # typed: Markup is not the text that it equals
def entry(name: str, *value: object) -> Markup:
    """Return a name with its value, next to the cards on a table."""
    return tag("span", tag("span", name, class_="d-label"), " ", *value, class_="d-entry")
