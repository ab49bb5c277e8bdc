"""The code that settles a cell's matches, and where two such codes differ.

It starts from the classes of the cell's game, players, methods and models and from what plays a
match, and goes on to every definition that these name, and those name in turn (`reach.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, cached_property
from typing import Any

from pipeline.plan.cells import Cell, digest
from pipeline.plan.reach import Key, reach

Change = tuple[str, str, str, str]
"""A file, a definition in it, and its hashes then and now; "" where there is none."""

FEW = 4
"""How many files a message names, and definitions of each."""


@dataclass(frozen=True, eq=False)
class Code:
    """The hash of each definition, 12 hex digits, by file and name."""

    definitions: Mapping[str, Mapping[str, str]]

    @cached_property
    def fingerprint(self) -> str:
        return digest(self.definitions)


def code_of(cell: Cell) -> Code:
    """The code that settles a cell's matches; cells of the same classes share it. Raises UserError
    where a source cannot be read."""
    asked = [part for player in cell.players for part in (player.agent, player.model)]
    return _code(frozenset(map(_key, kinds(cell.game))), frozenset(map(_key, kinds(asked))))


def code_of_game(game: Any) -> Code:
    """The code that settles how a game goes, whoever plays it. Raises UserError."""
    return _code(frozenset(map(_key, kinds(game))), frozenset())


@cache
def _code(games: frozenset[Key], asked: frozenset[Key]) -> Code:
    return Code(reach(games, asked))


def kinds(thing: Any) -> Iterator[type]:
    """The classes of an object and of all that its settings hold."""
    if isinstance(thing, Mapping):
        thing = tuple(thing.values())
    elif is_dataclass(thing) and not isinstance(thing, type):
        yield type(thing)
        thing = tuple(getattr(thing, each.name, None) for each in fields(thing))
    for part in thing if isinstance(thing, (tuple, list)) else ():
        yield from kinds(part)


def _key(kind: type) -> Key:
    return kind.__module__, kind.__qualname__.partition(".")[0]


def differences(then: Code, now: Code, shared: bool = False) -> set[Change]:
    """Where they differ; `shared`: of what both have."""
    old, new = _flat(then), _flat(now)
    places = old.keys() & new.keys() if shared else old.keys() | new.keys()
    found = {(*place, old.get(place, ""), new.get(place, "")) for place in places}
    return {change for change in found if change[2] != change[3]}


def _flat(code: Code) -> dict[tuple[str, str], str]:
    listed = code.definitions.items()
    return {(file, name): made for file, some in listed for name, made in some.items()}


def named(changes: Iterable[Change]) -> str:
    """Where the changes are: games/uno/rules.py: draw, step; games/uno/words.py: clause."""
    files: defaultdict[str, set[str]] = defaultdict(set)
    for file, name, *_ in changes:
        files[file].add(name)
    some = [f"{file}: {_few(sorted(names))}" for file, names in sorted(files.items())]
    more = f"; and {len(some) - FEW:,} more files" if len(some) > FEW else ""
    return "; ".join(some[:FEW]) + more


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - FEW:,} more" if len(names) > FEW else ""
    return ", ".join(names[:FEW]) + more
