"""A paper's numbers beside our own, as Markdown: `python docs/papers/sheet.py PAPER ...`.

The words after it are those of `python -m papers.reproduce`, which is run into a folder that is
thrown away, or with --out into one that stays, where only what is missing is played. Prints every
printed line that has one of ours beside it, section by section, then what is ours alone, and counts
what was not run. An audit has claims instead. Prints the same whenever it is run again.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from papers.reproductions import read_csv
from pipeline.tables.numbers import amount

HEADS = ("line", "published", "ours", "95% interval", "n", "verdict")
VERDICTS = ("agrees", "differs", "uninformative", "not_computable", "not_run", "no_reference")
"""In this order; what they mean stands in docs/llm_uno.md."""
CLAIMS = ("id", "claim", "recomputed", "verdict")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python docs/papers/sheet.py", description="A paper's numbers beside our own."
    )
    parser.add_argument("paper", help="as of python -m papers.reproduce, with all its options")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where what is played stays")
    given, words = parser.parse_known_args(arguments)
    with TemporaryDirectory() as thrown_away:
        out = given.out or Path(thrown_away)
        own = ("--out", str(out), "tracking=none", "launch=inline")
        command = [sys.executable, "-m", "papers.reproduce", given.paper, *words, *own]
        status = subprocess.run(command, stdout=sys.stderr).returncode
        if not status:
            print("\n".join(told(read_csv(out / f"{given.paper}.csv"))))
    return status


def told(table: pd.DataFrame) -> Iterator[str]:
    """The lines of a page, of a reproduction or of an audit."""
    if "claim" in table:
        counts = table["verdict"].value_counts()
        yield ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) + "."
        yield from ("", *rows(CLAIMS, table[list(CLAIMS)].itertuples(index=False)))
        return
    found = table["verdict"].value_counts()
    counted = [f"{found[verdict]} {verdict}" for verdict in VERDICTS if verdict in found]
    yield f"{len(table)} lines: {', '.join(counted)}."
    names = table["id"].str.split(".", n=2, expand=True)
    for section in names[1].unique():
        yield from ("", f"## {section}", "", *of_section(table[names[1] == section]))


def of_section(lines: pd.DataFrame) -> Iterator[str]:
    """Both sides where both are; ours alone where it has an interval; the rest by its number."""
    both = lines["published"].notna() & lines["ours"].notna()
    alone = lines["published"].isna() & lines["ci_low"].notna()
    rest = lines[~both & ~alone]
    shown = lines[both | alone]
    if len(shown):
        yield from rows(HEADS, (fields(row) for _, row in shown.iterrows()))
    if len(rest):
        counts = rest["verdict"].value_counts()
        named = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        yield from ("", f"Not shown: {named}.")


def fields(row: pd.Series) -> tuple[str, ...]:
    """A line of the table; nothing where there is nothing."""
    interval = f"{amount(row['ci_low'])} to {amount(row['ci_high'])}"
    return (
        f"`{row['id'].split('.', 2)[-1]}`",
        figure(row["published"]),
        figure(row["ours"]),
        "" if pd.isna(row["ci_low"]) else interval,
        "" if pd.isna(row["n"]) else f"{int(row['n']):,}",
        row["verdict"],
    )


def figure(value: float) -> str:
    if pd.isna(value):
        return ""
    return f"{value:,.0f}" if value == int(value) else amount(value)


def rows(heads: Sequence[str], cells: Iterator[Sequence[str]]) -> Iterator[str]:
    """A table in Markdown."""
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "---|" * len(heads)
    for row in cells:
        yield "| " + " | ".join(str(one).replace("|", "\\|") for one in row) + " |"


if __name__ == "__main__":
    sys.exit(main())
