"""HTML and SVG by one helper, in which nothing but tags written here stays unescaped."""

from __future__ import annotations

from markupsafe import Markup, escape

from gauntlet.common.sanitize import visible


def tag(name: str, *inside: object, **attributes: object) -> Markup:
    """One element. What is no Markup is escaped, in attributes too, its control characters shown
    by number. An attribute that is None is left out; `class_` is class, `aria_label` aria-label."""
    given = Markup().join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), text(value))
        for key, value in attributes.items()
        if value is not None
    )
    return Markup("<{0}{1}>{2}</{0}>").format(name, given, together(*inside))


def together(*parts: object) -> Markup:
    """The parts one behind the other."""
    return Markup().join(text(part) for part in parts)


def text(part: object) -> Markup:
    """Any text from a game or a player, fit for a page; Markup as it is."""
    return part if isinstance(part, Markup) else escape(visible(str(part)))


def picture(label: str, *inside: object, kind: str = "") -> Markup:
    """A drawing, which whoever cannot see it hears as `label`. kind: further classes."""
    return tag("div", *inside, class_=f"d-picture {kind}".strip(), role="group", aria_label=label)


def sign(label: str, *inside: object, kind: str) -> Markup:
    """A small thing that is one picture, such as a card."""
    return tag("span", *inside, class_=kind, role="img", aria_label=label, title=label)


def seat(number: int, you: int | None, *inside: object, note: str = "", turn: bool) -> Markup:
    """A player's row: who it is, what it has. you: the seat of whoever looks, None for nobody's.
    turn: whether it is to move."""
    told = f"player {number}{' (you)' if number == you else ''}"
    words = ", ".join(part for part in (told, note, "to move" if turn else "") if part)
    kind = "d-seat d-turn" if turn else "d-seat"
    return tag("div", tag("div", words, class_="d-name"), *inside, class_=kind)


def entry(name: str, *value: object) -> Markup:
    """A name, and what belongs to it, beside the cards on a table."""
    return tag("span", tag("span", name, class_="d-label"), " ", *value, class_="d-entry")
