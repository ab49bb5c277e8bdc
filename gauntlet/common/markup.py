"""HTML and SVG through one helper: only tags written here stay unescaped."""

from __future__ import annotations

from functools import cache, lru_cache

from markupsafe import Markup, escape

from gauntlet.common.sanitize import visible

SHORT = 60
"""Characters of a text that is remembered escaped: drawings repeat a few words all the time."""


def tag(name: str, *inside: object, **attributes: object) -> Markup:
    """One element.

    Anything but Markup is escaped, in attributes too, with control characters shown by number.
    Attributes that are None are omitted; `class_` becomes class, `aria_label` aria-label.
    """
    head = ""
    for key, value in attributes.items():
        if value is not None:
            head += _attribute(key, value)
    inner = "".join([one if isinstance(one, Markup) else text(one) for one in inside])
    return _markup(f"<{name}{head}>{inner}</{name}>")


def _attribute(key: str, value: object) -> str:
    if isinstance(value, str) and len(value) <= SHORT:
        return _short_attribute(key, value)
    return f' {_dashed(key)}="{text(value)}"'


@lru_cache(maxsize=10_000, typed=True)  # typed: Markup is not the text that it equals
def _short_attribute(key: str, value: str) -> str:
    return f' {_dashed(key)}="{text(value)}"'


@cache
def _dashed(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _markup(html: str) -> Markup:
    """What Markup(html) returns, several times as fast: a site has millions of elements."""
    return str.__new__(Markup, html)


def join_markup(*parts: object) -> Markup:
    return _markup("".join(map(text, parts)))


def text(part: object) -> Markup:
    """Any text from a game or a player, escaped for a page; Markup is returned unchanged."""
    if isinstance(part, Markup):
        return part
    words = str(part)
    return _short(words) if len(words) <= SHORT else escape(visible(words))


@lru_cache(maxsize=10_000)
def _short(words: str) -> Markup:
    return escape(visible(words))
