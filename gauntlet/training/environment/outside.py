"""Placeholder model source for players whose replies come from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gauntlet.common.errors import ModelError
from gauntlet.models.base import Model


@dataclass(frozen=True)
class Outside:
    """The model source of a player that is answered from outside.

    player: the player's number in its cell.
    """

    player: int

    def identity(self) -> Mapping[str, Any]:
        return {"outside": self.player}

    def check_choices(self, choices: Sequence[str]) -> None:
        """Accept any choices: replies are read as text."""

    def load(self) -> Model:
        raise ModelError("the prompt asks its model before the first match, and none is there yet")
