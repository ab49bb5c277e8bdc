"""HTML and SVG through one helper: only tags written here stay unescaped."""

from __future__ import annotations

from functools import cache

from markupsafe import Markup, escape

from gauntlet.common.sanitize import visible


def tag(name: str, *inside: object, **attributes: object) -> Markup:
    """One element.

    Anything but Markup is escaped, in attributes too, with control characters shown by number.
    Attributes that are None are omitted; `class_` becomes class, `aria_label` aria-label.
    """
    attribute_text = "".join(
        f' {_attribute(key)}="{text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )  # joined as plain strings: Markup.format takes twenty times as long
    return Markup(f"<{name}{attribute_text}>{join_markup(*inside)}</{name}>")


@cache
def _attribute(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def join_markup(*parts: object) -> Markup:
    return Markup("".join(map(text, parts)))


def text(part: object) -> Markup:
    """Any text from a game or a player, escaped for a page; Markup is returned unchanged."""
    return part if isinstance(part, Markup) else escape(visible(str(part)))
