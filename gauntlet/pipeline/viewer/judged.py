"""What a decision gave away, from the values that `python -m pipeline.metrics` estimated.

Without them nothing is marked. A value is the chance to be among the winners with what the deciding
seat could know, from playouts by random players.
"""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from msgspec import DecodeError, Struct
from msgspec.json import Decoder

from gauntlet.common.errors import UserError
from gauntlet.common.process import invocation

DUBIOUS, MISTAKE = 0.1, 0.2
"""A decision that gave away as much is marked ?! or ??."""
ERRORS = 2.0
"""A mark also needs a loss of as many standard errors of the difference of two values."""


class Values(Struct):
    values: list[float]


class Line(Struct):
    """What is needed of a line of decisions.jsonl."""

    match: str
    ply: int
    chosen: int
    seen: Values


@dataclass(frozen=True, slots=True)
class Judgement:
    """The value of the option taken and of the best one."""

    value: float
    best: float

    @property
    def lost(self) -> float:
        return self.best - self.value


Judgements = Mapping[int, Judgement]
"""Of a match, by the number of the decision."""


@dataclass(frozen=True)
class Judged:
    """The judged decisions of a folder by match. playouts: of each option; 0 if nothing is
    judged."""

    playouts: int = 0
    matches: Mapping[str, Judgements] = field(default_factory=dict)

    def mark(self, judgement: Judgement) -> str:
        """ "??", "?!" or ""."""
        noise = ERRORS / math.sqrt(2 * self.playouts)
        lost = judgement.lost + 1e-9
        return "" if lost < max(DUBIOUS, noise) else "??" if lost >= MISTAKE else "?!"

    def note(self, match: str) -> str:
        """How the marks of a match are to be read, or why it has none."""
        if not self.playouts:
            judge = invocation("pipeline.metrics")
            return f"No marks: this run's decisions are not judged (`{judge}`)."
        if not self.matches.get(match):
            return "No marks: the decisions of this match are not judged."
        return (
            f"?! gave away {DUBIOUS:g} of the chance to win or more, ?? {MISTAKE:g} or more, "
            f"against the best option: estimates from {self.playouts:,} playouts an option by "
            "random players, with what the player could know. Smaller losses are not marked, nor "
            "those within two standard errors."
        )


def read_judged(folder: Path) -> Judged:
    """The judgements in a run's folder; none if it has none. Raises UserError if damaged."""
    lines, table = folder / "metrics" / "decisions.jsonl", folder / "metrics" / "metrics.csv"
    if not (lines.exists() and table.exists()):
        return Judged()
    found: defaultdict[str, dict[int, Judgement]] = defaultdict(dict)
    decoder = Decoder(Line)
    try:
        with table.open(encoding="utf-8") as rows, lines.open("rb") as each:
            playouts = [int(row["playouts"]) for row in islice(csv.DictReader(rows), 1)]
            for line in map(decoder.decode, each):
                values = line.seen.values
                found[line.match][line.ply] = Judgement(values[line.chosen], max(values))
    except (DecodeError, ValueError, LookupError) as error:
        raise UserError(
            f"{folder / 'metrics'} is damaged ({error}); "
            f"`{invocation('pipeline.metrics', folder)}` writes it again"
        ) from error
    return Judged(playouts[0], found) if playouts else Judged()
