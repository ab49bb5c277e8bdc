"""Whether a value fits the annotation of the field that it is for."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any

from common.errors import UserError


def checked(value: Any, hint: Any, where: str) -> Any:
    """`value` as the annotation has it: a whole number passes for a float, a list for a tuple.
    Raises UserError where it does not fit."""
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
                return checked(value, option, where)
            except UserError:
                continue
    elif origin is tuple and isinstance(value, (list, tuple)):
        return _items(value, arguments, where)
    elif _is_mapping(origin or hint) and isinstance(value, Mapping):
        of = arguments[1] if arguments else Any
        return {key: checked(item, of, f"{where}.{key}") for key, item in value.items()}
    elif _fits(value, origin or hint):
        return float(value) if hint is float else value
    allowed = " or ".join(_word(option) for option in (_options(hint) or (hint,)))
    raise UserError(f"{where} is {_shown(value)}; it must be {allowed}")


def _items(value: Any, hints: tuple[Any, ...], where: str) -> tuple[Any, ...]:
    """A tuple of any length (`tuple[X, ...]`), or of one annotation an item."""
    if hints[-1] is Ellipsis:
        hints = hints[:1] * len(value)
    if len(value) != len(hints):
        raise UserError(f"{where} has {len(value)} items; it must have {len(hints)}")
    numbered = enumerate(zip(value, hints, strict=True))
    return tuple(checked(item, hint, f"{where}.{n}") for n, (item, hint) in numbered)


def _fits(value: Any, hint: Any) -> bool:
    if hint is Any:
        return True
    if isinstance(value, bool):
        return hint is bool
    if hint is float:
        return isinstance(value, (int, float))
    if getattr(hint, "_is_protocol", False):
        return _is_object(value) and all(hasattr(value, name) for name in _members(hint))
    return isinstance(hint, type) and isinstance(value, hint)


def _members(protocol: type[Any]) -> set[str]:
    """What a class must have to keep the protocol."""
    named: set[str] = set()
    for part in protocol.__mro__:
        if getattr(part, "_is_protocol", False) and part is not typing.Protocol:
            named |= vars(part).keys() | getattr(part, "__annotations__", {}).keys()
    return {name for name in named if not name.startswith("_")}


def _is_object(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _is_mapping(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Mapping)


def _options(hint: Any) -> tuple[Any, ...]:
    """The annotations of which a value may fit any; () where there is one alone."""
    union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    return typing.get_args(hint) if union else ()


def _shown(value: Any) -> str:
    return type(value).__name__ if _is_object(value) else repr(value)


def _word(hint: Any) -> str:
    words = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
    if hint is type(None):
        return "null"
    if typing.get_origin(hint) is tuple:
        (*_, last) = typing.get_args(hint)
        every = typing.get_args(hint)[0] if last is Ellipsis else None
        return f"a list of {_word(every)}" if every else "a list"
    cls = typing.get_origin(hint) or hint
    return words.get(hint) or f"a node of class {getattr(cls, '__name__', cls)}"
