"""How numbers are written: win rates in percent, scores as they are; nan is a dash."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gauntlet.games.capabilities import MATCH_SCORE, WIN, Measure

if TYPE_CHECKING:
    import pandas as pd


UNBOUNDED = "no limit"
"""The end of an interval that the data do not bound."""
LEAST_P = 1e-15
"""Smaller p print as <1e-15: a test's distribution is not known that far out."""


def as_integer(number: float) -> float:
    """An int if the number is integral: `wins` counts shares of a win with several players."""
    return int(number) if number == int(number) else number


def percent(value: float, digits: int = 1) -> str:
    return "-" if np.isnan(value) else f"{100 * value:.{digits}f}%"


def points(value: float) -> str:
    return "-" if np.isnan(value) else f"{100 * value:+.1f}"


def amount(value: float, sign: str = "") -> str:
    """A number of any size in about four digits; `sign` "+" marks positive numbers too."""
    if np.isnan(value):
        return "-"
    if np.isinf(value):
        return UNBOUNDED
    size = int(f"{value:.3e}".partition("e")[2])
    return f"{value:{sign},.{min(max(3 - size, 0), 6)}f}"


def number(value: float, form: str) -> str:
    return "-" if np.isnan(value) else format(value, form)


def p_value(p: float) -> str:
    if np.isnan(p):
        return "-"
    if p < LEAST_P:
        return f"<{LEAST_P:.0e}"
    return f"{p:.4f}" if p >= 0.0001 else f"{p:.0e}"


def capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


# --- values of a measure

WIN_RATE, SCORE = "win rate", "match score"
TITLES = {WIN.name: WIN_RATE, MATCH_SCORE.name: SCORE}
DRAW_RULE = "a draw is half"
"""How a match score differs from a win rate."""


@dataclass(frozen=True)
class Scale:
    """How values of a measure are written.

    title: the name of its mean. share: it lies between 0 and 1, so it is written in percent, and
    differences in points.
    """

    title: str
    share: bool

    @classmethod
    def from_measure(cls, measure: Measure) -> Scale:
        share = (measure.low, measure.high) == (WIN.low, WIN.high)
        return cls(TITLES.get(measure.name, measure.name), share)

    @classmethod
    def from_row(cls, row: Mapping[Any, Any] | pd.Series[Any]) -> Scale:
        """The scale of a row of summary.csv or pairs.csv."""
        return cls.from_measure(Measure(row["measure"], row["measure_low"], row["measure_high"]))

    @property
    def wins(self) -> bool:
        return self.title == WIN_RATE

    @property
    def words(self) -> str:
        """The title for sentences and axes, explained where needed."""
        return f"{SCORE} ({DRAW_RULE})" if self.title == SCORE else self.title

    @property
    def factor(self) -> float:
        """Multiplies values in figures."""
        return 100.0 if self.share else 1.0

    @property
    def slug(self) -> str:
        """The title as part of a file name."""
        return re.sub(r"\W+", "_", self.title)

    def mean(self, value: float, with_title: bool = False) -> str:
        text = percent(value) if self.share else amount(value)
        return f"{self.title} {text}" if with_title else text

    def change(self, value: float) -> str:
        return points(value) if self.share else amount(value, "+")

    def difference(self, value: float, sign: bool = True) -> str:
        """A difference in a sentence: "+3.8 points"."""
        words = self.change(value) + (" points" if self.share else "")
        return words if sign else words.lstrip("+-")

    def span(self, low: float, high: float) -> str:
        """An interval of a mean, or "-"."""
        if np.isnan(low):
            return "-"
        if self.share:
            return f"{percent(low)[:-1]}-{percent(high)}"
        return f"{amount(low)} to {amount(high)}"

    def reach(self, low: float, high: float) -> str:
        """An interval of a difference, or "-"."""
        return "-" if np.isnan(low) else f"{self.change(low)} to {self.change(high)}"


def heading(scales: Sequence[Scale]) -> str:
    """The heading of a column of means: the measure's title if all rows share it."""
    titles = {scale.title for scale in scales}
    return titles.pop() if len(titles) == 1 else "mean"


def row_scales(table: pd.DataFrame) -> list[Scale]:
    """The scale of each row of summary.csv or pairs.csv."""
    rows = list(
        table[["measure", "measure_low", "measure_high"]].itertuples(index=False, name=None)
    )
    known = {row: Scale.from_measure(Measure(*row)) for row in dict.fromkeys(rows)}
    return [known[row] for row in rows]


def by_scale(table: pd.DataFrame) -> Iterator[tuple[Scale, list[int]]]:
    """Each scale of a table with the positions of its rows; wins first."""
    scales = row_scales(table)
    for scale in sorted(dict.fromkeys(scales), key=lambda scale: not scale.wins):
        yield scale, [place for place, other in enumerate(scales) if other == scale]
