"""What is compared and tested, known before a match is played: the tests that Holm's correction
covers, and the pairs of cells in pairs.csv.

For an experiment: one test per cell and one per term, which is what a model or prompt changes
compared with the first one, in every group of comparable cells. The other pairs of pairs.csv are
corrected among themselves.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import combinations
from math import comb
from pathlib import Path

import numpy as np

from gauntlet.common.disk import write_atomically
from gauntlet.common.errors import UserError, counted, suggest
from gauntlet.games.capabilities import MATCH_SCORE
from gauntlet.pipeline.config.read import GROUPS
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.metadata_files import to_bytes
from gauntlet.pipeline.log.results import CellInfo, CellResults

MOST = 40
"""Terms of a regression: its cost grows with their square, and it needs more deals than terms."""

Term = tuple[str, str, dict[str, float]]
"""A regressor's name, the label that it reads, and its value for each label."""


def comparison_group(about: CellInfo) -> tuple[str, ...]:
    """The experiment, game and seating whose cells can be compared with each other."""
    measure = () if about.wins else (about.measure.name,)
    return about.experiment, about.labels["game"], about.labels["seats"], *measure


def null_value(about: CellInfo) -> float:
    """The mean under the null hypothesis: the baseline less the margin; without a baseline, that of
    equal sides, if both took every seat, else nan."""
    if about.baseline is not None:
        return about.baseline.rate - about.test.margin * about.span
    return equal_value(about) if about.balanced() else math.nan


def equal_value(about: CellInfo) -> float:
    """The mean of equal sides: half a match score, 0 of a symmetric measure, else nan."""
    if about.measure == MATCH_SCORE and about.even:
        return 0.5
    return 0.0 if about.measure.low == -about.measure.high else math.nan


def terms(abouts: Iterable[CellInfo]) -> list[Term]:
    """What models and prompts change compared with the first ones. Models of three or more known
    sizes are one term, the logarithm of the size."""
    cells = [about for about in abouts if about.labels["model"] != "-"]
    models, prompts = (values(cells, label) for label in ("model", "prompt"))
    sizes = {about.labels["model"]: about.parameters for about in cells if about.parameters}
    if len(sizes) == len(models) and len(set(sizes.values())) > 2:
        logs = {model: float(np.log10(size)) for model, size in sizes.items()}
        by_model: list[Term] = [("Ten times the parameters", "model", logs)]
    else:
        by_model = [(f"{m} instead of {models[0]}", "model", {m: 1.0}) for m in models[1:]]
    return by_model + [(f"{p} instead of {prompts[0]}", "prompt", {p: 1.0}) for p in prompts[1:]]


def values(abouts: Iterable[CellInfo], label: str) -> list[str]:
    """The different values of a label, in order."""
    return list(dict.fromkeys(about.labels[label] for about in abouts))


def planned_tests(abouts: Sequence[CellInfo]) -> int:
    """The number of tests corrected together once every cell is played; at least 1."""
    tests = sum(not math.isnan(null_value(about)) for about in abouts)
    for group in dict.fromkeys(map(comparison_group, abouts)):
        count = len(terms(about for about in abouts if comparison_group(about) == group))
        tests += count if count <= MOST else 0
    return max(1, tests)


# --- pairs of cells

RULES = ("auto", "all", "factor", "first")
"""`all`: every pair. `factor`: pairs that differ in one factor only. `first`: of these the ones in
which B has the factor's first value. Any other word is a cell's name: every cell against it.
`auto`: all up to CELLS cells, else by factor up to PAIRS pairs, else first. A factor is a label, or
a setting swept in one: `fake[seed=3]` is the model `fake` with the factor model.seed at 3."""
CELLS, PAIRS = 40, 5_000
RULE_WORDS = {
    "all": "every two cells",
    "factor": "cells that differ in one factor alone",
    "first": "cells that differ in one factor alone from the one with its first value (B)",
}
NEXT_SETTING = re.compile(r",(?=[\w.@+~]+=)")
"""Where the next setting of a label begins; values may contain commas."""

Pair = tuple[int, int]
"""The positions of cells A and B."""


@dataclass(frozen=True)
class Pairing:
    """The chosen pairs, the rule, and the number of possible pairs. apart: further pairs of one
    game, whose players sat in other seats."""

    rule: str
    chosen: Sequence[Pair]
    possible: int
    apart: int = 0

    @property
    def foot(self) -> str:
        """A note if pairs are left out, or ""."""
        notes, omitted = [], self.possible - len(self.chosen)
        if omitted:
            rule = RULE_WORDS.get(self.rule, f"every cell against {self.rule}")
            notes.append(
                f"Pairs: {rule}; {omitted:,} of {self.possible:,} are left out "
                f"(comparisons={self.rule}; or all, factor, first, or a cell's name)."
            )
        if self.apart:
            notes.append(
                f"{counted(self.apart, 'pair')} not compared: their players sat in other seats, "
                "and a seat can be worth as much as a player (rotate=true)."
            )
        return " ".join(notes)


def check(rule: str, names: Iterable[str]) -> None:
    """Raises UserError if this is neither a rule nor a cell's name."""
    cells = set(names)
    if rule not in RULES and rule not in cells:
        raise UserError(
            f"comparisons is {rule!r}; it must be {', '.join(RULES)} or the name of a cell"
            f"{suggest(rule, [*RULES, *get_close_matches(rule, cells)])}"
        )


def save_rule(folder: Path, rule: str) -> None:
    """Stores the rule, so that later tables of the folder have the same pairs."""
    log = Folder(folder)
    if rule != log.comparisons:
        write_atomically(log.tables_file, to_bytes({"comparisons": rule}))


def choose_pairs(results: Sequence[CellResults], rule: str = "auto") -> Pairing:
    """The pairs of comparable cells by a rule, in order. Raises UserError for an unknown rule."""
    abouts = [result.about for result in results]
    check(rule, (about.name for about in abouts))
    groups = list(_positions(about.paired_by for about in abouts).values())
    lines = list(_lines(abouts))
    if rule == "auto":
        many = sum(comb(len(line), 2) for line in lines) > PAIRS
        rule = "all" if len(abouts) <= CELLS else "first" if many else "factor"
    if rule == "all":
        pairs = [pair for group in groups for pair in combinations(group, 2)]
    elif rule == "factor":
        pairs = [pair for line in lines for pair in combinations(line, 2)]
    elif rule == "first":
        pairs = [(other, line[0]) for line in lines for other in line[1:]]
    else:
        named = {at for at, about in enumerate(abouts) if about.name == rule}
        pairs = [(a, b) for group in groups for b in named & {*group} for a in {*group} - named]
    seated = _positions((about.deal_key, about.measure) for about in abouts).values()
    every, possible = (sum(comb(len(cells), 2) for cells in each) for each in (seated, groups))
    return Pairing(rule, sorted(set(pairs)), possible, every - possible)


def _positions(keys: Iterable[object]) -> Mapping[object, list[int]]:
    """The positions of each key."""
    places: defaultdict[object, list[int]] = defaultdict(list)
    for place, key in enumerate(keys):
        places[key].append(place)
    return places


def _lines(abouts: Sequence[CellInfo]) -> Iterator[list[int]]:
    """Each set of two or more comparable cells that differ in one factor only."""
    cells = [factors(about.labels) for about in abouts]
    groups = [about.paired_by for about in abouts]
    for factor in dict.fromkeys(name for cell in cells for name in cell):
        rest = (
            (group, frozenset(cell.items() - {(factor, cell.get(factor))}))
            for group, cell in zip(groups, cells, strict=True)
        )
        yield from (line for line in _positions(rest).values() if len(line) > 1)


def factors(labels: Mapping[str, str]) -> dict[str, str]:
    """The value of each factor in a cell's labels."""
    values = {}
    for group in GROUPS:
        name, bracket, settings = labels[group].removesuffix("]").partition("[")
        values[group] = name
        for setting in NEXT_SETTING.split(settings) if bracket else ():
            key, _, value = setting.partition("=")
            values[f"{group}.{key}"] = value
    return values
