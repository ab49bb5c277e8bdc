"""Shared page elements: the header with links, themes, texts, and form fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from markupsafe import Markup
from nicegui import html, ui
from nicegui.elements.mixins.text_element import TextElement

from gauntlet.common.conf_folders import conf_folders
from gauntlet.common.sanitize import visible

STYLE = Path(__file__).parent / "pages.css"
PLACES = {"Runs": "/", "Matches": "/matches", "Play": "/play"}
THEMES: dict[str, bool | None] = {"system": None, "light": False, "dark": True}
COOKIE = "gauntlet_theme"
"""The browser cookie that stores the theme; nothing is stored on the server."""


@contextmanager
def page_frame(title: str, within: str = "") -> Iterator[ui.element]:
    """A page with this title; elements created inside go to its main part, which is yielded.

    within: the entry of PLACES it belongs to, if that is not its title.
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
    """An HTML element with text, whose control characters are shown by number."""
    return TextElement(tag=tag, text=visible(text))


def note(text: str, warning: bool = False) -> TextElement:
    """A line of text. warning: in the warning colour."""
    return words("div", text).classes("warning" if warning else "note")


def section_heading(title: str) -> None:
    words("h2", title).classes("part")


def text_block(text: str) -> None:
    words("pre", text).props("tabindex=0")


def drawing(markup: Markup) -> None:
    """HTML and SVG made by `common.markup`."""
    ui.html(str(markup))


def _theme() -> None:
    kept = ui.context.client.request.cookies.get(COOKIE, "system")
    chosen = kept if kept in THEMES else "system"
    mode = ui.dark_mode(THEMES[chosen])

    def choose(theme: str) -> None:
        mode.value = THEMES[theme]
        ui.run_javascript(f"document.cookie = '{COOKIE}={theme}; path=/; samesite=strict'")

    switch = ui.select([*THEMES], value=chosen, on_change=lambda event: choose(event.value))
    switch.props('dense borderless options-dense aria-label="look: system, light or dark"')
    switch.classes("theme")


def choices(group: str, configs: Sequence[Path]) -> list[str]:
    """Of conf/, installed packages and further folders of configs."""
    files = (
        file for folder in (*conf_folders(), *configs) for file in (folder / group).glob("*.yaml")
    )
    return sorted({file.stem for file in files})


def select(
    label: str, names: Sequence[str] | Mapping[str, str], wish: object, key: str
) -> ui.select:
    """A choice among the names, or values with their names, bound to the attribute `key`."""
    options = dict(names) if isinstance(names, Mapping) else [*names]
    return ui.select(options, label=label).bind_value(wish, key)


def number(
    label: str,
    wish: object,
    key: str,
    low: int,
    high: int | None = None,
    then: Callable[[], object] | None = None,
) -> None:
    """An integer field, bound to the attribute `key`; an empty field keeps the previous value."""
    field = ui.number(label, min=low, max=high, precision=0, value=getattr(wish, key))

    def changed() -> None:
        if field.value is not None:
            setattr(wish, key, int(field.value))
            if then:
                then()

    field.on_value_change(changed)


def button(label: str, act: Callable[[], object]) -> ui.button:
    made = ui.button(label, on_click=act, color=None)  # coloured by the style sheet, light and dark
    return made.props("no-caps unelevated").classes("p-go")
