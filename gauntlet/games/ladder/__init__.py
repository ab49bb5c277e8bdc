"""The ladders: graded players of a fixed definition, and what they scored against each other.

A rung is UCT (`agents/uct.py`) by its number of playouts; one is random play. `ladders.yaml`
lists the games, GAME.csv their matches, which `python -m benchmarks.ladder GAME` plays
(docs/ladder.md). Both seats of an opening are played, and their two results are added up.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, fields
from functools import cache
from io import StringIO
from pathlib import Path

import yaml
from msgspec import convert

VERSION = 1
"""Of the rungs, the openings and the seed. Placements on ladders of different versions differ."""
RUNGS = (1, 4, 16, 64, 256, 1024)
OPENING = 2
"""Plies at the start of a match that are drawn at random."""
SEED = 1
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Ladder:
    """title: the game's name in sentences. game: the words that choose it."""

    name: str
    title: str
    game: tuple[str, ...]

    @property
    def file(self) -> Path:
        return FOLDER / f"{self.name}.csv"


@dataclass(frozen=True)
class Row:
    """The matches of two rungs. code: fingerprint of what played them. lost, ..., won: pairs of
    matches in which `second` scored 0, 1/2, 1, 3/2 and 2."""

    version: int
    code: str
    first: int
    second: int
    lost: int = 0
    quarter: int = 0
    even: int = 0
    three_quarters: int = 0
    won: int = 0

    @property
    def pairs(self) -> tuple[int, ...]:
        """By the score of `second`, from 0 to 2 by halves."""
        return self.lost, self.quarter, self.even, self.three_quarters, self.won


@cache
def ladders() -> Mapping[str, Ladder]:
    """Every ladder, by name."""
    read = yaml.safe_load((FOLDER / "ladders.yaml").read_text(encoding="utf-8"))
    return {name: Ladder(name, **{**one, "game": tuple(one["game"])}) for name, one in read.items()}


def rows(ladder: Ladder) -> list[Row]:
    """The matches of a ladder; none before it is first played. Rows of other versions are left
    out."""
    if not ladder.file.exists():
        return []
    with ladder.file.open(encoding="utf-8", newline="") as file:
        read = [convert(line, Row, strict=False) for line in csv.DictReader(file)]
    return [row for row in read if row.version == VERSION]


def as_text(matches: Iterable[Row]) -> str:
    """The file that `rows` reads."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(field.name for field in fields(Row))
    writer.writerows(map(astuple, matches))
    return out.getvalue()


def player(rung: int) -> str:
    """The rung's name in conf/player."""
    return "random" if rung == 1 else f"uct_{rung}"
