"""How the figures of a measure are named and written: a win rate in percent, a score plainly."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from gauntlet.games.capabilities import MATCH_SCORE, WIN, Measure
from gauntlet.pipeline.tables.numbers import amount, percent, points

WIN_RATE, SCORE = "win rate", "match score"
TITLES = {WIN.name: WIN_RATE, MATCH_SCORE.name: SCORE}
A_DRAW = "a draw is half"
"""What a score is that a win rate is not."""


@dataclass(frozen=True)
class Scale:
    """How one measure is written.

    title: what its mean is called. share: whether it lies between 0 and 1, and so is told in
    percent, and differences of it in points.
    """

    title: str
    share: bool

    @classmethod
    def of(cls, measure: Measure) -> Scale:
        share = (measure.low, measure.high) == (WIN.low, WIN.high)
        return cls(TITLES.get(measure.name, measure.name), share)

    @classmethod
    def row(cls, row: Mapping[Any, Any] | pd.Series[Any]) -> Scale:
        """That of a row of summary.csv or pairs.csv."""
        return cls.of(Measure(row["measure"], row["measure_low"], row["measure_high"]))

    @property
    def wins(self) -> bool:
        return self.title == WIN_RATE

    @property
    def words(self) -> str:
        """The title as sentences and axes have it: with its meaning, where that is not plain."""
        return f"{SCORE} ({A_DRAW})" if self.title == SCORE else self.title

    @property
    def factor(self) -> float:
        """What a figure is multiplied by where it is drawn."""
        return 100.0 if self.share else 1.0

    @property
    def slug(self) -> str:
        """The title, fit for the name of a file."""
        return re.sub(r"\W+", "_", self.title)

    def mean(self, value: float, named: bool = False) -> str:
        told = percent(value) if self.share else amount(value)
        return f"{self.title} {told}" if named else told

    def change(self, value: float) -> str:
        return points(value) if self.share else amount(value, "+")

    def span(self, low: float, high: float) -> str:
        """An interval in little room; "-" where there is none."""
        if math.isnan(low):
            return "-"
        if self.share:
            return f"{percent(low)[:-1]}-{percent(high)}"
        return f"{amount(low)} to {amount(high)}"

    def reach(self, low: float, high: float) -> str:
        """An interval of a difference; "-" where there is none."""
        return "-" if math.isnan(low) else f"{self.change(low)} to {self.change(high)}"


def heading(scales: Sequence[Scale]) -> str:
    """What a column of means is called: by its measure, where that is one."""
    titles = {scale.title for scale in scales}
    return titles.pop() if len(titles) == 1 else "mean"


def scales_of(table: pd.DataFrame) -> list[Scale]:
    """Of every row of summary.csv or pairs.csv."""
    columns = ["measure", "measure_low", "measure_high"]
    told = list(table[columns].itertuples(index=False, name=None))
    known = {one: Scale.of(Measure(*one)) for one in dict.fromkeys(told)}
    return [known[one] for one in told]


def by_scale(table: pd.DataFrame) -> Iterator[tuple[Scale, list[int]]]:
    """Each measure of a table's rows, and the places of its rows; wins first."""
    scales = scales_of(table)
    for scale in sorted(dict.fromkeys(scales), key=lambda scale: not scale.wins):
        yield scale, [place for place, one in enumerate(scales) if one == scale]
