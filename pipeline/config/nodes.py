"""From a YAML node to an object: `_target_` names a class, the other keys are its arguments.

The class's own dataclass fields are the schema. An argument may be a node itself, or a list or a
mapping of nodes: a game that wraps a game, an agent of several. Only classes inside the project,
and in packages that the user lists, may be named, so a config can never run anything else.
"""

from __future__ import annotations

import dataclasses
import importlib
import typing
from collections.abc import Mapping, Sequence
from typing import Any

from common.errors import UserError, nearest
from pipeline.config.types import checked

OWN_PACKAGES = ("games", "agents", "models")
TARGET = "_target_"
DEEPEST = 12
"""How many levels a node may have."""


def build(node: Mapping[str, Any], where: str, packages: Sequence[str], **supplied: Any) -> Any:
    """The object that `node` describes; `where` is its key in the config, for messages.

    `supplied` arguments come from the pipeline and may not be given in the node. They reach the
    nodes within it too, where those do not give them themselves. Raises UserError for an unknown
    target, a missing or unknown key, a wrong type, or a value the class refuses.
    """
    given = sorted(supplied.keys() & node.keys())
    if given and given[0] in _settings(_find(node, where, packages)):
        raise UserError(f"{where}.{given[0]} is not a setting: the pipeline gives it")
    return _built(node, where, packages, supplied, DEEPEST)


def takes(node: Any, setting: str, where: str, packages: Sequence[str]) -> bool:
    """Whether the class that `node` names, or that of a node within it, has this setting. Raises
    UserError for an unknown target."""
    if isinstance(node, (list, tuple)):
        return any(takes(item, setting, where, packages) for item in node)
    if not isinstance(node, Mapping):
        return False
    own = TARGET in node and setting in _settings(_find(node, where, packages))
    return own or any(takes(value, setting, where, packages) for value in node.values())


def describe(thing: Any) -> dict[str, Any]:
    """What a built object is, as plain data: its class and every field that makes objects differ,
    nested ones too. Left out are fields with `compare=False`, such as the path of a file whose hash
    is a field of its own, and a field whose metadata say `told: unless default` (it is younger than
    the others) at its default. Raises UserError for a value that is not plain data: it could not be
    told from another."""
    described: dict[str, Any] = {"class": f"{type(thing).__module__}.{type(thing).__qualname__}"}
    for field in dataclasses.fields(thing):
        value = getattr(thing, field.name, None)
        silent = field.metadata.get("told") == "unless default" and value == field.default
        if field.compare and not silent:
            described[field.name] = _described(value, f"{described['class']}.{field.name}")
    return described


def node_of(described: Any) -> Any:
    """The node that `build` makes the object of which `describe` told this."""
    if isinstance(described, list):
        return [node_of(item) for item in described]
    if not isinstance(described, Mapping):
        return described
    names = {"class": TARGET}
    return {names.get(key, key): node_of(value) for key, value in described.items()}


def _described(value: Any, where: str) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return describe(value)
    if isinstance(value, (list, tuple)):
        return [_described(item, where) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _described(item, where) for key, item in value.items()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise UserError(f"{where} is a {type(value).__name__}; a setting must be plain data or a node")


def _built(
    value: Any, where: str, packages: Sequence[str], supplied: Mapping[str, Any], depth: int
) -> Any:
    """The value, with an object in the place of every node in it."""
    if depth < 0:
        raise UserError(f"{where} lies too deep: a node has at most {DEEPEST} levels")
    if isinstance(value, (list, tuple)):
        items = enumerate(value)
        return [_built(v, f"{where}.{k}", packages, supplied, depth - 1) for k, v in items]
    if not isinstance(value, Mapping):
        return value
    arguments = {str(key): item for key, item in value.items() if key != TARGET}
    if TARGET in value:
        return _made(_find(value, where, packages), arguments, where, packages, supplied, depth)
    return {
        k: _built(v, f"{where}.{k}", packages, supplied, depth - 1) for k, v in arguments.items()
    }


def _made(
    cls: type[Any],
    arguments: dict[str, Any],
    where: str,
    packages: Sequence[str],
    supplied: Mapping[str, Any],
    depth: int,
) -> Any:
    fields, hints = _settings(cls), typing.get_type_hints(cls)
    own = {key: value for key, value in supplied.items() if key in fields and key not in arguments}
    for key, value in arguments.items():
        if key not in fields:
            known = fields.keys() - own.keys()
            raise UserError(f"{where}.{key} is not a setting{nearest(key, known)}")
        built = _built(value, f"{where}.{key}", packages, supplied, depth - 1)
        arguments[key] = checked(built, hints[key], f"{where}.{key}")
    for name, field in fields.items():
        required = field.default is field.default_factory is dataclasses.MISSING
        if required and name not in arguments and name not in own:
            raise UserError(f"{where}.{name} must be given")
    try:
        return cls(**arguments, **own)
    except ValueError as error:
        raise UserError(f"{where}: {error}") from error


def _settings(cls: type[Any]) -> dict[str, dataclasses.Field[Any]]:
    return {field.name: field for field in dataclasses.fields(cls) if field.init}


def _find(node: Mapping[str, Any], where: str, packages: Sequence[str]) -> type[Any]:
    target = str(node.get(TARGET))
    module, _, name = target.rpartition(".")
    allowed = (*OWN_PACKAGES, *packages)
    if module.partition(".")[0] not in allowed:
        raise UserError(
            f"{where}._target_ is {target!r}; it must lie in {', '.join(allowed)} "
            "(packages=[...] allows more)"
        )
    try:
        cls = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise UserError(f"{where}._target_ {target!r} cannot be loaded: {error}") from error
    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
        raise UserError(f"{where}._target_ {target!r} is not a dataclass")
    if cls.__module__.partition(".")[0] not in allowed:
        raise UserError(f"{where}._target_ {target!r} is only imported there; name it where it is")
    return cls
