"""Compare a paper's numbers with ours, as Markdown: `python docs/sheet.py PAPER ...`.

Further arguments are those of `python -m gauntlet.papers.reproduce`, which runs into a temporary
folder, or with --out into a permanent one, where only what is missing is played. A missing model or
file is an error: a sheet is complete or not made. Prints how many results agree, the verdicts by
kind of line, then by section every line that has both a published number and ours, those that are
ours only, and counts of the rest. An audit has claims instead. The output is deterministic.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import yaml

from gauntlet.papers.reproduce import papers
from gauntlet.papers.verdicts import headline, tally
from gauntlet.pipeline.tables.formatting import amount
from gauntlet.pipeline.tables.registry import read_table

HEADS = (
    *("line", "kind", "published", "n", "ours", "95% interval", "n", "deals"),
    *("difference", "95% interval", "matters", "p", "verdict"),
)
"""Published, ours, and the comparison; docs/papers.md explains the columns."""
ALONE = ("line", "ours", "95% interval", "n", "deals")
CLAIMS = ("id", "claim", "recomputed", "verdict")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python docs/sheet.py", description="Compare a paper's numbers with ours."
    )
    parser.add_argument(
        "paper", help="as of python -m gauntlet.papers.reproduce, with all its options"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="where played matches are kept")
    parser.add_argument("--matches", type=Path, metavar="FILE", help="as there")
    given, words = parser.parse_known_args(arguments)
    read = ("--matches", str(given.matches)) if given.matches else ()
    with TemporaryDirectory() as thrown_away:
        out = given.out or Path(thrown_away)
        own = ("--complete", "--out", str(out), "tracking=none", "launch=inline")
        module = "gauntlet.papers.reproduce"
        command = [sys.executable, "-m", module, given.paper, *words, *read, *own]
        status = subprocess.run(command, stdout=sys.stderr).returncode
        if not status:
            folder = Path(import_module(papers()[given.paper]).__file__ or "").parent
            table = read_table(out / f"{given.paper}.csv")
            print("\n".join(page_lines(table, folder, given.matches)))
    return status


def page_lines(table: pd.DataFrame, folder: Path, matches: Path | None) -> Iterator[str]:
    """The lines of a page, of a reproduction or an audit. folder: the paper's, whose `titles.yaml`
    has the headings by section. matches: the file that was read."""
    if matches:
        digest = sha256(matches.read_bytes()).hexdigest()
        yield from (f"Of `{matches.name}` with SHA-256 `{digest}`.", "")
    if "claim" in table:
        counts = table["verdict"].value_counts()
        yield ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) + "."
        yield from ("", *rows(CLAIMS, table[list(CLAIMS)].itertuples(index=False)))
        return
    yield from (f"{len(table)} lines. {headline(table)}", "")
    counted = tally(table)
    yield from rows(("kind", *counted), ((kind, *row) for kind, *row in counted.itertuples()))
    names = table["id"].str.split(".", n=2, expand=True)
    titles = yaml.safe_load((folder / "titles.yaml").read_text(encoding="utf-8"))
    for section in names[1].unique():
        yield from ("", f"## {titles[section]}", "", *of_section(table[names[1] == section]))


def of_section(lines: pd.DataFrame) -> Iterator[str]:
    """Lines with both numbers; ours only, if it has an interval; and counts of the rest."""
    both = lines["published"].notna() & lines["ours"].notna()
    alone = lines["published"].isna() & lines["ci_low"].notna()
    rest = lines[~both & ~alone]["verdict"].value_counts()
    parts = []
    if both.any():
        parts.append([*rows(HEADS, (compared(row) for _, row in lines[both].iterrows()))])
    if alone.any():
        parts.append([*rows(ALONE, (fields(row) for _, row in lines[alone].iterrows()))])
    if len(rest):
        named = ", ".join(f"{count} {verdict}" for verdict, count in rest.items())
        parts.append([f"Not shown: {named}."])
    for at, part in enumerate(parts):
        yield from ("", *part) if at else part


def fields(row: pd.Series) -> tuple[str, ...]:
    """A line with our number only; missing values are blank."""
    name = f"`{row['id'].split('.', 2)[-1]}`"
    return (
        name,
        figure(row["ours"]),
        interval(row["ci_low"], row["ci_high"]),
        number(row["n"]),
        number(row["deals"]),
    )


def compared(row: pd.Series) -> tuple[str, ...]:
    name, *ours = fields(row)
    unknown = row["verdict"] == "not_computable"
    return (
        name,
        row["kind"],
        figure(row["published"]),
        "unknown" if unknown else number(row["published_n"]),
        *ours,
        figure(row["gap"]),
        interval(row["gap_low"], row["gap_high"]),
        figure(row["matters"]),
        "" if pd.isna(row["p_value"]) else f"{row['p_value']:.2g}",
        row["verdict"],
    )


def interval(low: float, high: float) -> str:
    if pd.isna(low):
        return ""
    return "exact" if low == high else f"{amount(low)} to {amount(high)}"


def number(count: float) -> str:
    return "" if pd.isna(count) else f"{int(count):,}"


def figure(value: float) -> str:
    if pd.isna(value):
        return ""
    return f"{value:,.0f}" if value == int(value) else amount(value)


def rows(heads: Sequence[str], cells: Iterable[Sequence[object]]) -> Iterator[str]:
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "---|" * len(heads)
    for row in cells:
        yield "| " + " | ".join(str(one).replace("|", "\\|") for one in row) + " |"


if __name__ == "__main__":
    sys.exit(main())
