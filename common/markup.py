"""HTML and SVG by one helper: only tags written here stay unescaped."""

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
    """The parts one after the other."""
    return Markup().join(text(part) for part in parts)


def text(part: object) -> Markup:
    """Any text from a game or a player, safe on a page; Markup stays as it is."""
    return part if isinstance(part, Markup) else escape(visible(str(part)))
