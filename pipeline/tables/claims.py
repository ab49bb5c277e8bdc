"""What a sweep's sentences claim, known before a match is played: the tests that Holm's correction
covers together.

Of an experiment these are one test a cell, and one a term: what a model or a prompt changes beside
the first one, in every group of cells that can be compared. The other pairs of pairs.csv are
corrected among themselves.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

import numpy as np

from gauntlet.games.capabilities import MATCH_SCORE
from gauntlet.pipeline.log.results import CellInfo

ALPHA = 0.05
MOST = 40
"""Terms of a regression: it grows with their square, and its errors need more deals than terms."""
BILLIONS = re.compile(r"(\d+(?:\.\d+)?)b\b", re.IGNORECASE)

Group = tuple[str, ...]
Term = tuple[str, str, dict[str, float]]
"""What a regressor is called, the label that it reads, and its value for each label."""


def group_of(about: CellInfo) -> Group:
    """The experiment and seating whose cells can be compared with each other."""
    measure = () if about.wins else (about.measure.name,)
    return about.experiment, about.labels["game"], about.labels["seats"], *measure


def null_value(about: CellInfo) -> float:
    """What the declared test holds the cell's mean against: the baseline less the margin. Without a
    baseline it is what two sides have of which neither is better: half of a match score, 0 of what
    lies evenly around it, as chips do; nan of all else."""
    if about.baseline is not None:
        return about.baseline.rate - about.test.margin * about.span
    if about.measure == MATCH_SCORE and about.even:
        return 0.5
    return 0.0 if about.measure.low == -about.measure.high else math.nan


def asked(abouts: Iterable[CellInfo]) -> list[CellInfo]:
    """The cells that ask a model."""
    return [about for about in abouts if about.labels["model"] != "-"]


def terms(abouts: Iterable[CellInfo]) -> list[Term]:
    """What models and prompts change beside the first ones: scale as the logarithm of the size,
    where the names of three or more models tell it; else a term a model."""
    own = asked(abouts)
    models, prompts = (values(own, label) for label in ("model", "prompt"))
    found: list[Term] = []
    told = {model: BILLIONS.search(model) for model in models}
    sizes = {model: float(match[1]) for model, match in told.items() if match}
    if len(sizes) == len(models) and len(set(sizes.values())) > 2:
        logs = {model: float(np.log10(size)) for model, size in sizes.items()}
        found.append(("Ten times the parameters", "model", logs))
    else:
        found += [(f"{m} instead of {models[0]}", "model", {m: 1.0}) for m in models[1:]]
    return found + [(f"{p} instead of {prompts[0]}", "prompt", {p: 1.0}) for p in prompts[1:]]


def values(abouts: Iterable[CellInfo], label: str) -> list[str]:
    """The different values of a label, in order."""
    return list(dict.fromkeys(about.labels[label] for about in abouts))


def planned_tests(abouts: Sequence[CellInfo]) -> int:
    """How many tests are corrected together where every cell is played; 1 at the least."""
    found = sum(not math.isnan(null_value(about)) for about in abouts)
    for group in dict.fromkeys(map(group_of, abouts)):
        several = len(terms(about for about in abouts if group_of(about) == group))
        found += several if several <= MOST else 0
    return max(1, found)
