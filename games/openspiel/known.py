"""What people know of OpenSpiel's games and its description does not say: `games.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).with_name("games.yaml")


@dataclass(frozen=True)
class Known:
    """One game.

    rules: in sentences; "" where nobody wrote them. reading: how the situation is to be read.
    label: the name of the fact that tells the situation.
    sides: what each seat is called. public: whether every move is seen by all, in a game that hides
    something. resamples: whether OpenSpiel can draw what a seat cannot see, so that the actions
    lead to what was drawn. tells: which of OpenSpiel's texts is told, "information" or
    "observation"; "" for what the game's kind suggests. slip: what OpenSpiel has wrong.
    """

    rules: str = ""
    reading: str = ""
    label: str = "The situation"
    sides: tuple[str, ...] = ()
    public: bool = False
    resamples: bool = False
    tells: str = ""
    slip: str = ""


def known(name: str) -> Known:
    """What is known of a game; nothing where it is not in the file."""
    return entries().get(name, Known())


@cache
def entries() -> Mapping[str, Known]:
    """All that the file has, by name."""
    read: Mapping[str, Mapping[str, Any]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return {name: Known(**_tuples(entry)) for name, entry in read.items()}


def _tuples(entry: Mapping[str, Any]) -> dict[str, Any]:
    plain = {key: one.strip() if isinstance(one, str) else one for key, one in entry.items()}
    return {key: tuple(one) if isinstance(one, list) else one for key, one in plain.items()}
