"""A drawing of `rude.Rude` that fails for some states."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from gauntlet.games.base import Observation
from gauntlet.games.drawing import picture


def draw_state(game: Any, state: tuple[int, ...]) -> Any:
    if game.method == "draw_state" and len(state) == 2:
        return None if game.value == "none" else state[7]
    return picture(f"{len(state)} steps drawn")


def draw_view(game: Any, observation: Observation) -> Markup:
    return picture(f"{observation.view[7]}")
