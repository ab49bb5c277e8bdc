"""What a cell is, in plain data: all that can change its matches, and nothing that cannot."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from gauntlet.common.errors import ModelError, UserError
from gauntlet.models.base import ModelSource
from gauntlet.pipeline.config.nodes import describe, plain_data
from gauntlet.pipeline.plan.cells import SCHEMA, Cell, Player


def cell_identity(cell: Cell) -> dict[str, Any]:
    """The cell without its labels, its baseline and its measure: those change no match. Raises
    UserError for a setting that is no plain data."""
    return {
        "schema": SCHEMA,
        "game": describe(cell.game),
        "players": [player_identity(player) for player in cell.players],
        "rotate": cell.rotate,
        "ask_forced": cell.ask_forced,
        **({"samples": cell.samples} if cell.samples > 1 else {}),
    }


def player_identity(player: Player) -> dict[str, Any]:
    """A player's class and settings, and what model it asks."""
    described: dict[str, Any] = {"agent": describe(player.agent), "helps": player.helps}
    if player.model is not None:
        described["model"] = model_identity(player.model)
    return described


@cache
def model_identity(source: ModelSource) -> dict[str, Any]:
    """What the source says it is, asked once a process. Raises ModelError."""
    return identity_now(source)


def identity_now(source: ModelSource) -> dict[str, Any]:
    """What the source says it is, asked anew. Raises ModelError, also for what JSON cannot hold."""
    where = f"{type(source).__module__}.{type(source).__qualname__}.identity()"
    try:
        found = source.identity()
    except TypeError as error:
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:
            raise  # from within
        raise ModelError(f"{where} cannot be called: {error}") from error
    if not isinstance(found, Mapping):
        raise ModelError(f"{where} is a {type(found).__name__}; it must be a mapping")
    try:
        return dict(plain_data(found, where))
    except UserError as error:
        raise ModelError(str(error)) from error
