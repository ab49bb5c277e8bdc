"""Fields in which a person chooses, for pages that start a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nicegui import ui

from gauntlet.pipeline.config.compose import CONF


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
