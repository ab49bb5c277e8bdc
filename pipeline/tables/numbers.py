"""Numbers as a person reads them; one that is nan is a dash."""

from __future__ import annotations

import numpy as np


def whole(number: float) -> float:
    """An int where it is one: `wins` has parts of a win where several players are measured."""
    return int(number) if number == int(number) else number


def percent(value: float, digits: int = 1) -> str:
    return "-" if np.isnan(value) else f"{100 * value:.{digits}f}%"


def points(value: float) -> str:
    return "-" if np.isnan(value) else f"{100 * value:+.1f}"


def amount(value: float, sign: str = "") -> str:
    """A number of any size in four digits or so; `sign` "+" shows it of positive ones too."""
    if np.isnan(value):
        return "-"
    size = int(f"{value:.3e}".partition("e")[2])
    return f"{value:{sign},.{min(max(3 - size, 0), 6)}f}"


def number(value: float, form: str) -> str:
    return "-" if np.isnan(value) else format(value, form)


def p_value(p: float) -> str:
    if np.isnan(p):
        return "-"
    return f"{p:.4f}" if p >= 0.0001 else f"{p:.0e}"


def short(count: float) -> str:
    """A count in four or five characters: 812, 13.2k, 4.51M, 1.20G."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.3g}{unit}"
    return f"{count:.0f}"


def duration(seconds: float) -> str:
    """In the two largest units: 3 d 4 h, 2 h 05 min, 40 s."""
    whole = max(0, round(seconds))
    days, hours, minutes = whole // 86400, whole // 3600 % 24, whole // 60 % 60
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {whole % 60:02d} s" if minutes else f"{whole} s"
