"""From a YAML node to an object: `_target_` names a class, the other keys are its arguments.

The class's own dataclass fields are the schema. Only classes inside the project, and in packages
that the user lists, may be named, so a config can never run anything else.
"""

from __future__ import annotations

import dataclasses
import importlib
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any

from common.errors import UserError, nearest

OWN_PACKAGES = ("games", "agents", "models")


def build(node: Mapping[str, Any], where: str, packages: Sequence[str], **supplied: Any) -> Any:
    """The object that `node` describes; `where` is its key in the config, for messages.

    `supplied` arguments come from the pipeline and may not be given in the node. Raises UserError
    for an unknown target, a missing or unknown key, a wrong type, or a value the class refuses.
    """
    arguments = {str(key): value for key, value in node.items() if key != "_target_"}
    cls = _find(str(node.get("_target_")), where, packages)
    hints = typing.get_type_hints(cls)
    fields = {field.name: field for field in dataclasses.fields(cls) if field.init}
    open_fields = fields.keys() - supplied.keys()
    for key, value in arguments.items():
        if key not in open_fields:
            raise UserError(f"{where}.{key} is not a setting{nearest(key, open_fields)}")
        arguments[key] = _checked(value, hints[key], f"{where}.{key}")
    for name in open_fields - arguments.keys():
        if fields[name].default is dataclasses.MISSING:
            raise UserError(f"{where}.{name} must be given")
    try:
        return cls(**arguments, **{k: v for k, v in supplied.items() if k in fields})
    except ValueError as error:
        raise UserError(f"{where}: {error}") from error


def describe(thing: Any) -> dict[str, Any]:
    """What a built object is, as plain data: its class and every setting, nested ones too."""
    described: dict[str, Any] = {"class": f"{type(thing).__module__}.{type(thing).__qualname__}"}
    for field in dataclasses.fields(thing):
        value = getattr(thing, field.name)
        nested = dataclasses.is_dataclass(value) and not isinstance(value, type)
        described[field.name] = describe(value) if nested else value
    return described


def _find(target: str, where: str, packages: Sequence[str]) -> type[Any]:
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


def _checked(value: Any, hint: Any, where: str) -> Any:
    """`value` where it fits the annotation (a whole number passes for a float)."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if value == "???":
        raise UserError(f"{where} must be given")
    if origin is typing.Literal:
        if value in arguments:
            return value
        raise UserError(f"{where} is {value!r}; allowed: {', '.join(map(str, arguments))}")
    if origin in (typing.Union, types.UnionType):
        for option in arguments:
            try:
                return _checked(value, option, where)
            except UserError:
                continue
    elif origin is tuple and isinstance(value, (list, tuple)):
        return tuple(_checked(item, arguments[0], where) for item in value)
    elif hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    elif isinstance(value, bool):
        if hint is bool:
            return value
    elif isinstance(hint, type) and isinstance(value, hint):
        return value
    allowed = " or ".join(_word(option) for option in (arguments or (hint,)))
    raise UserError(f"{where} is {value!r}; it must be {allowed}")


def _word(hint: Any) -> str:
    words = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
    return "null" if hint is type(None) else words.get(hint, str(hint))
