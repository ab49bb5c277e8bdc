"""HTML and SVG through one helper: only tags written here stay unescaped."""

from __future__ import annotations

from markupsafe import Markup, escape

from gauntlet.common.sanitize import visible


def tag(name: str, *inside: object, **attributes: object) -> Markup:
    """One element.

    Anything but Markup is escaped, in attributes too, with control characters shown by number.
    Attributes that are None are omitted; `class_` becomes class, `aria_label` aria-label.
    """
    attribute_text = Markup().join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), text(value))
        for key, value in attributes.items()
        if value is not None
    )
    return Markup("<{0}{1}>{2}</{0}>").format(name, attribute_text, join_markup(*inside))


def join_markup(*parts: object) -> Markup:
    return Markup().join(text(part) for part in parts)


def text(part: object) -> Markup:
    """Any text from a game or a player, escaped for a page; Markup is returned unchanged."""
    return part if isinstance(part, Markup) else escape(visible(str(part)))
