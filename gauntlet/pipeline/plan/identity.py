"""A cell's identity as plain data: everything that can change its matches, nothing that cannot."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from functools import cache
from typing import Any

from gauntlet.common.errors import ModelError, UserError
from gauntlet.common.ids import LATER, class_id
from gauntlet.models.base import ModelSource
from gauntlet.pipeline.config.nodes import TARGET
from gauntlet.pipeline.plan.cells import SCHEMA, Cell, Player


def cell_identity(cell: Cell) -> dict[str, Any]:
    """The cell without labels, baseline and measure, which change no match. Raises UserError for a
    setting that is not plain data."""
    return {
        "schema": SCHEMA,
        "game": describe(cell.game),
        "players": [player_identity(player) for player in cell.players],
        "rotate": cell.rotate,
        "ask_forced": cell.ask_forced,
        **({"samples": cell.samples} if cell.samples > 1 else {}),
        **({"opening": cell.opening} if cell.opening else {}),
    }


def player_identity(player: Player) -> dict[str, Any]:
    """A player's class and settings, and the model it asks."""
    description: dict[str, Any] = {"agent": describe(player.agent), "helps": player.helps}
    if player.model is not None:
        description["model"] = model_identity(player.model)
    return description


@cache
def model_identity(source: ModelSource) -> dict[str, Any]:
    """The source's identity, cached per process. Raises ModelError."""
    return identity_now(source)


def identity_now(source: ModelSource) -> dict[str, Any]:
    """The source's current identity. Raises ModelError, also if JSON cannot hold it."""
    where = f"{type(source).__module__}.{type(source).__qualname__}.identity()"
    try:
        identity = source.identity()
    except TypeError as error:
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:
            raise  # from within
        raise ModelError(f"{where} cannot be called: {error}") from error
    if not isinstance(identity, Mapping):
        raise ModelError(f"{where} is a {type(identity).__name__}; it must be a mapping")
    try:
        return dict(plain_data(identity, where))
    except UserError as error:
        raise ModelError(str(error)) from error


def describe(thing: Any) -> dict[str, Any]:
    """A built object as plain data: its class id and every field that distinguishes objects,
    recursively. Fields with `compare=False` are left out, such as the path of a file whose hash is
    another field, and so is a field at its default if its metadata say `told: unless default` (it
    was added later). Raises UserError for a value that is not plain data, as it could not be
    compared."""
    description: dict[str, Any] = {"class": class_id(type(thing))}
    for field in dataclasses.fields(thing):
        value = getattr(thing, field.name, None)
        silent = LATER.items() <= field.metadata.items() and value == field.default
        if field.compare and not silent:
            description[field.name] = plain_data(value, f"{description['class']}.{field.name}")
    return description


def plain_data(value: Any, where: str) -> Any:
    """The value as JSON data, with nested objects described. Raises UserError, starting with
    `where`, for what JSON cannot hold."""
    try:
        return _plain(value, where)
    except RecursionError:
        raise UserError(f"{where} holds itself, or is nested too deeply") from None


def node_of(description: Any) -> Any:
    """The config node from which `build` makes the object that `describe` described."""
    if isinstance(description, list):
        return [node_of(item) for item in description]
    if not isinstance(description, Mapping):
        return description
    names = {"class": TARGET}
    return {names.get(key, key): node_of(value) for key, value in description.items()}


def _plain(value: Any, where: str) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return describe(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{where}.{number}") for number, item in enumerate(value)]
    if isinstance(value, Mapping):
        return {str(key): _plain(item, f"{where}.{key}") for key, item in value.items()}
    if not _is_plain(value):
        kind = repr(value) if isinstance(value, float) else f"of type {type(value).__name__}"
        raise UserError(
            f"{where} is {kind}; it must be plain data that JSON can hold (text, finite numbers of "
            "64 bits, lists, mappings) or a node"
        )
    return value


def _is_plain(value: Any) -> bool:
    """Whether JSON can hold the value and every JSON reader can read it."""
    if isinstance(value, str):
        return all(not "\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or (isinstance(value, int) and value.bit_length() < 64)
