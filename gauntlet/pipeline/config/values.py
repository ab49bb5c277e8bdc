"""Check config values against type annotations. A mismatch raises a one-line error with the value,
its place, and what is allowed."""

from __future__ import annotations

import argparse
import dataclasses
import math
import types
import typing
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal

import msgspec

from gauntlet.common.errors import UserError, suggest

MOST_PLAYED = 10**8
"""Most deals that a sweep may play and record, over all seeds."""
UNIONS = (typing.Union, types.UnionType)


def check_value(value: Any, hint: Any, where: str) -> Any:
    """Convert `value` to its annotation: an integer may stand for a float, a list for a tuple.
    Objects built from nodes are checked here, plain values by msgspec. Raises UserError."""
    kind, arguments = typing.get_origin(hint) or hint, typing.get_args(hint)
    if value == "???":
        raise UserError(f"{where} must be given")
    if hint is Any:
        return value
    if kind in UNIONS:
        for option in arguments:
            with suppress(UserError):
                return check_value(value, option, where)
    elif kind is tuple and isinstance(value, (list, tuple)):
        return _items(value, arguments, where)
    elif isinstance(kind, type) and issubclass(kind, Mapping) and isinstance(value, Mapping):
        of = arguments[1] if arguments else Any
        return {key: check_value(item, of, f"{where}.{key}") for key, item in value.items()}
    elif _is_dataclass(kind) and not _is_object(value):
        hints = typing.get_type_hints(kind, include_extras=True)
        return kind(**settings(value, hints, f"{where}."))
    elif _is_object(value) or _is_protocol(kind):
        if _is_object(value) and _fits(value, kind):
            return value
    else:
        with suppress(msgspec.ValidationError):
            return msgspec.convert(value, hint)
    example = f", as in {where}=[{value}]" if kind is tuple and isinstance(value, str) else ""
    raise UserError(f"{where} is {format_value(value)}; it must be {_words(hint)}{example}")


def takes_list(hint: Any) -> bool:
    """Whether a value of this annotation may be a list."""
    origin = typing.get_origin(hint) or hint
    nested = origin in UNIONS or origin is typing.Annotated
    return origin is tuple or (nested and any(map(takes_list, typing.get_args(hint))))


def settings(
    node: Any, hints: Mapping[str, Any], where: str = "", optional: bool = False
) -> dict[str, Any]:
    """The checked values of a node with exactly these keys, or if `optional` some of them. `where`
    ends in a dot. Raises UserError."""
    if not isinstance(node, Mapping):
        raise UserError(
            f"{where[:-1]} is {format_value(node)}; it must have the keys {', '.join(hints)}"
        )
    for key in node:
        if key not in hints:
            raise UserError(f"{where}{key} is not a key of the config{suggest(str(key), hints)}")
    for key in hints:
        if key not in node and not optional:
            raise UserError(f"{where}{key} is missing; a run needs it: {where}{key}=VALUE")
    return {
        key: check_value(node[key], hint, f"{where}{key}")
        for key, hint in hints.items()
        if key in node
    }


def format_value(value: Any) -> str:
    """The value as it is written in a config."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return type(value).__name__ if _is_object(value) else repr(value)


def _items(value: Any, hints: tuple[Any, ...], where: str) -> tuple[Any, ...]:
    """A tuple of any length (`tuple[X, ...]`), or with one annotation per item."""
    if hints[-1] is Ellipsis:
        hints = hints[:1] * len(value)
    if len(value) != len(hints):
        raise UserError(f"{where} has {len(value)} items; it must have {len(hints)}")
    numbered = enumerate(zip(value, hints, strict=True))
    return tuple(check_value(item, hint, f"{where}.{n}") for n, (item, hint) in numbered)


def _fits(thing: Any, kind: Any) -> bool:
    """Whether an object is an instance of a class, or has all members of a protocol."""
    if not _is_protocol(kind):
        return isinstance(thing, kind)
    parts = [part for part in kind.__mro__ if _is_protocol(part) and part is not typing.Protocol]
    names = {
        name for part in parts for name in (*vars(part), *vars(part).get("__annotations__", ()))
    }
    return all(hasattr(thing, name) for name in names if not name.startswith("_"))


def _is_protocol(kind: Any) -> bool:
    return bool(getattr(kind, "_is_protocol", False))


def _is_object(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _is_dataclass(kind: Any) -> bool:
    return dataclasses.is_dataclass(kind) and not _is_protocol(kind)


def _words(hint: Any) -> str:
    """A readable form of the annotation."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        meta = arguments[1]
        return meta.description or f"{_words(arguments[0])}{_range(meta)}"
    if origin in UNIONS:
        return " or ".join(map(_words, arguments))
    if origin is Literal:
        return " or ".join(str(item).lower() for item in arguments)
    if origin is tuple:
        return f"a list of {_words(arguments[0])}" if arguments[-1] is Ellipsis else "a list"
    words = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
    if hint in (None, types.NoneType):
        return "null"
    name = getattr(origin or hint, "__name__", hint)
    return words.get(hint) or f"a node of class {name}"


def _range(meta: msgspec.Meta) -> str:
    if meta.max_length is not None:
        return f", at most {meta.max_length}"
    if meta.gt is not None:
        return f" above {meta.gt}" if meta.lt is None else f" between {meta.gt} and {meta.lt}"
    if meta.ge is None:
        return ""
    return f" from {meta.ge} up" if meta.le is None else f" from {meta.ge} to {meta.le:,}"


def positive_number(text: str) -> float:
    """A command's argument as a finite number above 0. Raises argparse.ArgumentTypeError."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return number
