"""What a cell is, in plain data: all that can change its matches, and nothing that cannot."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from common.errors import ModelError, UserError
from models.base import ModelSource
from pipeline.config.nodes import describe, plain_data
from pipeline.plan.cells import SCHEMA, Cell
from pipeline.plan.probe import Role, probe

Asked = dict[str, str]
"""What players asked in probes, by what settles it: cells of one sweep share most."""


def cell_identity(cell: Cell, known: Asked | None = None) -> dict[str, Any]:
    """The cell without its labels, its baseline and its measure: those change no match. Raises
    UserError for a setting that is no plain data.

    known: probes of cells built by the same code, which is added to.
    """
    known = {} if known is None else known
    return {
        "schema": SCHEMA,
        "game": describe(cell.game),
        "players": [player_identity(cell, number, known) for number in range(len(cell.players))],
        "rotate": cell.rotate,
        "ask_forced": cell.ask_forced,
        **({"samples": cell.samples} if cell.samples > 1 else {}),
    }


def player_identity(cell: Cell, number: int, known: Asked) -> dict[str, Any]:
    """A player's class and settings; of one that asks a model also that, and a hash of all that it
    asks in a few deals: whoever changes a word of a method or of a game's facts gets new match
    ids, without a version number that could be forgotten."""
    player = cell.players[number]
    described: dict[str, Any] = {"agent": describe(player.agent), "helps": player.helps}
    if player.model is not None:
        described["model"] = model_identity(player.model)
        own = roles(cell, number)
        settles = repr((describe(cell.game), described["agent"], own, cell.ask_forced))
        if settles not in known:
            known[settles] = probe(cell.game, player.agent, own, cell.ask_forced)
        described["asked"] = known[settles]
    return described


def roles(cell: Cell, number: int) -> tuple[Role, ...]:
    """Where a player sits and what it plays for, in every rotation; each once, the first first."""
    seated = (
        Role(cell.seats_of([number], rotation)[0], cell.goal(number, rotation))
        for rotation in cell.rotations
    )
    return tuple(dict.fromkeys(seated))


@cache
def model_identity(source: ModelSource) -> dict[str, Any]:
    """What the source says it is, asked once a process. Raises ModelError."""
    return identity_now(source)


def identity_now(source: ModelSource) -> dict[str, Any]:
    """What the source says it is, asked anew. Raises ModelError, also for what JSON cannot hold."""
    where = f"{type(source).__module__}.{type(source).__qualname__}.identity()"
    found = source.identity()
    if not isinstance(found, Mapping):
        raise ModelError(f"{where} is a {type(found).__name__}; it must be a mapping")
    try:
        return dict(plain_data(found, where))
    except UserError as error:
        raise ModelError(str(error)) from error
