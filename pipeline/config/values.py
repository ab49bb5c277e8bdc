"""Single values of a config, checked. Each function raises UserError, in one line, with what was
given and what is allowed."""

from __future__ import annotations

from typing import Any

from common.errors import UserError


def whole(key: str, value: Any, least: int, most: int | None = None, further: str = "") -> int:
    """A whole number from `least` to `most`. further: what the key may be instead, in words."""
    number = isinstance(value, int) and not isinstance(value, bool)
    if number and value >= least and (most is None or value <= most):
        return int(value)
    reach = "up" if most is None else f"to {most:,}"
    allowed = f"a whole number from {least} {reach} {further}".strip()
    raise UserError(f"{key} is {shown(value)}; it must be {allowed}")


def share(key: str, value: Any) -> float:
    """A number above 0 and below 1."""
    if isinstance(value, (int, float)) and 0 < value < 1:
        return float(value)
    raise UserError(f"{key} is {shown(value)}; it must lie between 0 and 1")


def one_of(key: str, value: Any, allowed: tuple[Any, ...]) -> Any:
    """One of these values; 1 is not true."""
    if any(type(value) is type(item) and value == item for item in allowed):
        return value
    words = " or ".join(str(item).lower() for item in allowed)
    raise UserError(f"{key} is {shown(value)}; it must be {words}")


def text(key: str, value: Any) -> str:
    """A text of at least one character."""
    if isinstance(value, str) and value.strip():
        return value
    raise UserError(f"{key} is {shown(value)}; it must be text")


def texts(key: str, value: Any) -> tuple[str, ...]:
    """A list of texts."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise UserError(f"{key} is {shown(value)}; it must be a list of names, as in [one,two]")


def shown(value: Any) -> str:
    """As it is written in a config."""
    words = {None: "null", True: "true", False: "false"}
    return words[value] if value is None or isinstance(value, bool) else repr(value)
