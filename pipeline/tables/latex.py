r"""Tables as LaTeX sets them: booktabs, every word escaped, numbers to the right."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pandas as pd

from gauntlet.common.sanitize import visible
from gauntlet.pipeline.tables.registry import Sheet

SPECIAL = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
}
NUMBER = re.compile(r"[-+]?[\d.,]+(e[-+]?\d+)?%?")
BREAKS = re.compile(r"([/=.:,@])(?=\S)|(\\_)(?=\S)|(?<=\w)-(?=\w)")


def escaped(text: str) -> str:
    """The text as LaTeX prints it. Characters beyond Latin-1, which need a font of their own, stand
    by their numbers."""
    plain = visible(text).encode("latin-1", "backslashreplace").decode("latin-1")
    return "".join(SPECIAL.get(sign, sign) for sign in plain)


def number(text: str) -> str:
    """What holds numbers: a minus as long as a plus, a span with a dash, a small p as a power of
    ten."""
    told = re.sub(r"\b(\d)e-0?(\d+)\b", r"$\1\\times10^{-\2}$", escaped(text))
    told = re.sub(r"(?<=\d)-(?=\d)", "--", told)
    return re.sub(r"(?<![\w.{-])-(?=[\d.])", "$-$", told)


def name(text: str) -> str:
    """A name, which may be broken after its marks."""
    return BREAKS.sub(lambda found: found[0] + r"\allowbreak{}", escaped(text))


def table(sheet: Sheet, label: str) -> str:
    """A sheet over the whole width; its title and foot are the caption.

    The first column is text and may take lines; of the others those are numbers that hold nothing
    else.
    """
    columns = [[row[at] for row in sheet.rows] for at in range(len(sheet.headings))]
    numeric = [_numeric(column) for column in columns]
    kinds = "".join("r" if numbers else "l" for numbers in numeric[1:])
    wide = f"{_first(len(sheet.headings)):.2f}"
    words = [[name(field) for field in columns[0]]]
    for column, numbers in zip(columns[1:], numeric[1:], strict=True):
        words.append([(number if numbers else name)(field) for field in column])
    rows = pd.DataFrame(dict(enumerate(words)))
    rows.columns = pd.Index([escaped(heading) for heading in sheet.headings])
    told = rows.style.hide(axis="index").to_latex(
        hrules=True,
        column_format=rf">{{\raggedright\arraybackslash}}p{{{wide}\linewidth}}{kinds}",
        environment="table*",
        position="tbp",
        position_float="centering",
        caption=f"{number(sheet.title)}. {number(' '.join(sheet.foot.split()))}",
        label=f"tab:{label}",
    )
    setting = "\\centering\n\\footnotesize\n\\setlength{\\tabcolsep}{3pt}\n"
    return str(told).replace("\\centering\n", setting, 1)


def _first(columns: int) -> float:
    """The part of the width that the first column may take."""
    return min(0.45, max(0.16, 0.96 - 0.08 * columns))


def _numeric(fields: Sequence[str]) -> bool:
    parts = [part for field in fields for part in re.split(r" to |[ ()]|(?<=\d)-", str(field))]
    return all(part in ("", "-") or NUMBER.fullmatch(part) for part in parts)
