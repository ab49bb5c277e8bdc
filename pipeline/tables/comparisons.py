"""Which two cells are set beside each other, by rule: a thousand cells are half a million pairs.

A factor is what a cell's labels tell apart: game, agent, model, prompt, seats, and each setting
that is swept in one of them. `fake[seed=3]` is the model `fake` with the factor model.seed at 3.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import combinations
from math import comb
from pathlib import Path

from gauntlet.common.disk import write_atomically
from gauntlet.common.errors import UserError, suggest
from gauntlet.pipeline.config.read import GROUPS
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.metadata_files import to_bytes
from gauntlet.pipeline.log.results import CellInfo, CellResults

RULES = ("auto", "all", "factor", "first")
"""`all`: every two. `factor`: those that differ in one factor alone. `first`: of these the ones in
which that factor has its first value, as B. Any other word is a cell's name: every cell against
it. `auto`: all up to CELLS cells, else by factor up to PAIRS pairs, else first."""

CELLS, PAIRS = 40, 5_000
TOLD = {
    "all": "every two cells",
    "factor": "cells that differ in one factor alone",
    "first": "cells that differ in one factor alone from the one with its first value (B)",
}
NEXT_SETTING = re.compile(r",(?=[\w.@+~]+=)")
"""Where the next setting of a label begins; a value may have commas of its own."""

Pair = tuple[int, int]
"""Places of cells A and B."""


@dataclass(frozen=True)
class Pairing:
    """The pairs of a table: those chosen, by which rule, and how many could have been."""

    rule: str
    chosen: Sequence[Pair]
    possible: int

    @property
    def foot(self) -> str:
        """What a reader of the table should know; "" where no pair is left out."""
        left_out = self.possible - len(self.chosen)
        if not left_out:
            return ""
        told = TOLD.get(self.rule, f"every cell against {self.rule}")
        return (
            f"Pairs: {told}; {left_out:,} of {self.possible:,} are left out "
            f"(comparisons={self.rule}; or all, factor, first, or a cell's name)."
        )


def check(rule: str, names: Iterable[str]) -> None:
    """Raises UserError for a rule that is none, and no cell's name either."""
    cells = set(names)
    if rule not in RULES and rule not in cells:
        raise UserError(
            f"comparisons is {rule!r}; it must be {', '.join(RULES)} or the name of a cell"
            f"{suggest(rule, [*RULES, *get_close_matches(rule, cells)])}"
        )


def keep(folder: Path, rule: str) -> None:
    """Remembers the rule, so that other views of the folder have the same pairs."""
    place = Folder(folder)
    if rule != place.comparisons:
        write_atomically(place.tables_file, to_bytes({"comparisons": rule}))


def paired_off(results: Sequence[CellResults], rule: str = "auto") -> Pairing:
    """The pairs among cells that can be compared, in their order. Raises UserError for a rule that
    is none."""
    abouts = [result.about for result in results]
    check(rule, (about.name for about in abouts))
    sorts = list(_alike((about.deal_key, about.measure) for about in abouts).values())
    lines = list(_lines(abouts))
    if rule == "auto":
        many = sum(comb(len(own), 2) for own in lines) > PAIRS
        rule = "all" if len(abouts) <= CELLS else "first" if many else "factor"
    if rule == "all":
        found = [pair for own in sorts for pair in combinations(own, 2)]
    elif rule == "factor":
        found = [pair for own in lines for pair in combinations(own, 2)]
    elif rule == "first":
        found = [(other, own[0]) for own in lines for other in own[1:]]
    else:
        named = {at for at, about in enumerate(abouts) if about.name == rule}
        found = [(a, b) for own in sorts for b in own if b in named for a in own if a not in named]
    return Pairing(rule, sorted(set(found)), sum(comb(len(own), 2) for own in sorts))


def _alike(keys: Iterable[object]) -> Mapping[object, list[int]]:
    """The places at which each key stands."""
    found: defaultdict[object, list[int]] = defaultdict(list)
    for place, key in enumerate(keys):
        found[key].append(place)
    return found


def _lines(abouts: Sequence[CellInfo]) -> Iterator[list[int]]:
    """Two or more comparable cells that differ in one factor alone; each such set once."""
    cells = [factors(about.labels) for about in abouts]
    sort = [(about.deal_key, about.measure) for about in abouts]
    for factor in dict.fromkeys(name for cell in cells for name in cell):
        rest = (
            (own, *sorted((name, value) for name, value in cell.items() if name != factor))
            for own, cell in zip(sort, cells, strict=True)
        )
        yield from (own for own in _alike(rest).values() if len(own) > 1)


def factors(labels: Mapping[str, str]) -> dict[str, str]:
    """What a cell's labels tell apart, by factor."""
    found = {}
    for group in GROUPS:
        name, bracket, settings = labels[group].removesuffix("]").partition("[")
        found[group] = name
        for setting in NEXT_SETTING.split(settings) if bracket else ():
            key, _, value = setting.partition("=")
            found[f"{group}.{key}"] = value
    return found
