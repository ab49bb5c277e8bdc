"""From a YAML node to an object: `_target_` names a class, the other keys are its arguments.

The class's own dataclass fields are the schema. An argument may be a node itself, or a list or a
mapping of nodes: a game that wraps a game, an agent of several. Only classes inside the project,
and in packages that the user lists, may be named, so a config can never run anything else.
"""

from __future__ import annotations

import dataclasses
import importlib
import math
import os
import sys
import typing
from collections.abc import Mapping, Sequence
from typing import Any

from gauntlet.common.errors import UserError, nearest, raised, raised_at
from gauntlet.common.ids import PACKAGE, ROOMS, class_id, dotted_name
from gauntlet.pipeline.config.values import checked

OWN_PACKAGES = tuple(PACKAGE + room for room in ROOMS)
TARGET = "_target_"
DEEPEST = 12
"""How many levels a node may have."""


def build(node: Mapping[str, Any], where: str, packages: Sequence[str], **supplied: Any) -> Any:
    """The object that `node` describes; `where` is its key in the config, for messages.

    `supplied` arguments come from the pipeline and may not be given in the node. They reach the
    nodes within it too, where those do not give them themselves. Raises UserError for an unknown
    target, a missing or unknown key, a wrong type, or a value the class refuses.
    """
    if TARGET not in node:
        raise UserError(f"{where}.{TARGET} must be given: the class to be built")
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
    """What a built object is, as plain data: its class's id and every field that makes objects
    differ, nested ones too. Left out are fields with `compare=False`, such as the path of a file
    whose hash is a field of its own, and a field whose metadata say `told: unless default` (it is
    younger than the others) at its default. Raises UserError for a value that is not plain data: it
    could not be told from another."""
    described: dict[str, Any] = {"class": class_id(type(thing))}
    for field in dataclasses.fields(thing):
        value = getattr(thing, field.name, None)
        silent = field.metadata.get("told") == "unless default" and value == field.default
        if field.compare and not silent:
            described[field.name] = plain_data(value, f"{described['class']}.{field.name}")
    return described


def plain_data(value: Any, where: str) -> Any:
    """The value as JSON holds it, objects within it described. Raises UserError, which begins with
    `where`, for what JSON cannot hold."""
    try:
        return _described(value, where)
    except RecursionError:
        raise UserError(f"{where} holds itself, or is nested too deeply") from None


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
        return [_described(item, f"{where}.{number}") for number, item in enumerate(value)]
    if isinstance(value, Mapping):
        return {str(key): _described(item, f"{where}.{key}") for key, item in value.items()}
    if not _is_plain(value):
        kind = repr(value) if isinstance(value, float) else f"of type {type(value).__name__}"
        raise UserError(
            f"{where} is {kind}; it must be plain data that JSON can hold (text, finite numbers of "
            "64 bits, lists, mappings) or a node"
        )
    return value


def _is_plain(value: Any) -> bool:
    """Whether JSON can hold the value, and every reader of JSON read it."""
    if isinstance(value, str):
        return all(not "\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or (isinstance(value, int) and value.bit_length() < 64)


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
    fields, hints = _settings(cls), _hints(cls, where)
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
        made = cls(**arguments, **own)
        if not isinstance(made, cls):
            raise TypeError(f"{cls.__module__}.{cls.__qualname__}() gave a {type(made).__name__}")
        return made
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        at = raised_at(error, packages)
        if isinstance(error, ValueError):
            raise UserError(f"{where}: {error}" + f" ({at})" * bool(at)) from error
        if _lies_in(cls.__module__, OWN_PACKAGES):
            raise
        raise UserError(f"{where}: {at or cls.__qualname__}: {raised(error)}") from error


def _hints(cls: type[Any], where: str) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls)
    except (
        Exception,
        SystemExit,
    ) as error:  # the annotation is a user's code
        named = f"{cls.__module__}.{cls.__qualname__}"
        raise UserError(f"{where}: an annotation of {named}: {raised(error)}") from error


def _settings(cls: type[Any]) -> dict[str, dataclasses.Field[Any]]:
    return {field.name: field for field in dataclasses.fields(cls) if field.init}


def _lies_in(module: str, packages: Sequence[str]) -> bool:
    return any(f"{module}.".startswith(f"{package}.") for package in packages)


def _find(node: Mapping[str, Any], where: str, packages: Sequence[str]) -> type[Any]:
    target = str(node.get(TARGET))
    module, _, name = dotted_name(target).rpartition(".")
    allowed = (*OWN_PACKAGES, *packages)
    if not _lies_in(module, allowed):
        raise UserError(
            f"{where}._target_ is {target!r}; it must lie in {', '.join(allowed)} "
            "(packages=[...] allows more)"
        )
    if not _lies_in(module, OWN_PACKAGES) and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        cls = getattr(importlib.import_module(module), name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also SystemExit: a module must not end a run in silence
        at = raised_at(error, allowed)
        why = f"{at}: {raised(error)}" if at else error
        raise UserError(f"{where}._target_ {target!r} cannot be loaded: {why}") from error
    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
        raise UserError(f"{where}._target_ {target!r} is not a dataclass")
    if not _lies_in(cls.__module__, allowed):
        raise UserError(f"{where}._target_ {target!r} is only imported there; name it where it is")
    return cls
