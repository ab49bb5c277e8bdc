"""Any game without a drawing of its own: its state and its facts in their own lines."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from gauntlet.games.base import Game, Observation
from gauntlet.pipeline.pages.drawn.markup import picture, tag


def whole(game: Game[Any], state: Any) -> Markup:
    return picture("the whole state", tag("pre", game.show(state), tabindex=0))


def seen(game: Game[Any], observation: Observation) -> Markup:
    return picture(f"what player {observation.seat} knows of {observation.game}", told(observation))


def told(observation: Observation) -> Markup:
    """The facts in words, as every player is told them."""
    facts = (
        tag("div", tag("dt", fact.name), tag("dd", fact.text, class_="text"))
        for fact in observation.facts
    )
    return tag("dl", *facts, class_="d-facts")
