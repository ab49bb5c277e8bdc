"""What all pages share: the header with its links, light and dark, texts, and form fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from markupsafe import Markup
from nicegui import html, ui
from nicegui.elements.mixins.text_element import TextElement

from gauntlet.common.sanitize import visible
from gauntlet.pipeline.config.compose import CONF

STYLE = Path(__file__).parent / "pages.css"
PLACES = {"Runs": "/", "Matches": "/matches", "Play": "/play", "Observe": "/observe"}
THEMES: dict[str, bool | None] = {"system": None, "light": False, "dark": True}
COOKIE = "gauntlet_theme"
"""In which a browser keeps the theme that was chosen; nothing is kept on this side."""


@contextmanager
def framed(title: str, within: str = "") -> Iterator[ui.element]:
    """A page with this title; what is made meanwhile stands in its main part, which this gives.

    within: the one of PLACES that it belongs to, where its title does not say it.
    """
    ui.page_title(f"{title} - Gauntlet")
    with ui.header(elevated=False).classes("top"):
        ui.link("Gauntlet", "/").classes("brand")
        with html.nav().props('aria-label="pages"'):
            for name, place in PLACES.items():
                link = ui.link(name, place)
                if name in (title, within):
                    link.props('aria-current="page"')
        _theme()
    with html.div().classes("main") as main:
        ui.skip_link("Skip to the page", target=main)
        yield main


def words(tag: str, text: str) -> TextElement:
    """An element of HTML with a text in it, whose control characters are spelt out."""
    return TextElement(tag=tag, text=visible(text))


def note(text: str, warning: bool = False) -> TextElement:
    """A line of words. warning: in the colour of what a reader should not miss."""
    return words("div", text).classes("warning" if warning else "note")


def part(title: str) -> None:
    """The heading of a part of a page."""
    words("h2", title).classes("part")


def text_block(text: str) -> None:
    """A text as it is, in its own lines."""
    words("pre", text).props("tabindex=0")


def drawing(markup: Markup) -> None:
    """HTML and SVG that `common.markup` made."""
    ui.html(str(markup))


def _theme() -> None:
    """The switch between the system's look, light and dark."""
    kept = ui.context.client.request.cookies.get(COOKIE, "system")
    chosen = kept if kept in THEMES else "system"
    mode = ui.dark_mode(THEMES[chosen])

    def choose(theme: str) -> None:
        mode.value = THEMES[theme]
        ui.run_javascript(f"document.cookie = '{COOKIE}={theme}; path=/; samesite=strict'")

    switch = ui.select([*THEMES], value=chosen, on_change=lambda event: choose(event.value))
    switch.props('dense borderless options-dense aria-label="look: system, light or dark"')
    switch.classes("theme")


def choices(group: str) -> list[str]:
    """The names of a group of the config."""
    return sorted(file.stem for file in (CONF / group).glob("*.yaml"))


def select(label: str, names: Sequence[str], wish: object, key: str) -> ui.select:
    """One of the names, kept in the attribute of that name."""
    return ui.select([*names], label=label).bind_value(wish, key)


def number(
    label: str,
    wish: object,
    key: str,
    low: int,
    high: int | None = None,
    then: Callable[[], object] | None = None,
) -> None:
    """A whole number, kept in the attribute of that name; an empty field keeps the one before."""
    field = ui.number(label, min=low, max=high, precision=0, value=getattr(wish, key))

    def changed() -> None:
        if field.value is not None:
            setattr(wish, key, int(field.value))
            if then:
                then()

    field.on_value_change(changed)


def button(label: str, act: Callable[[], object]) -> ui.button:
    """What a person may do, in words."""
    made = ui.button(label, on_click=act, color=None)  # the sheet colours it, light and dark
    return made.props("no-caps unelevated").classes("p-go")
