r"""Tables and figures for a paper, in DIR/paper:

main.tex              a document of all that follows: `pdflatex main.tex`
tables/NAME.tex       one booktabs table each, for \input
figures/NAME_*.pdf    every figure as wide as a column (3.3 in) and as a page (7 in)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import pandas as pd
import yaml

from gauntlet.common.disk import write_atomically
from gauntlet.common.errors import UserError, suggest
from gauntlet.common.process import invocation
from gauntlet.common.sanitize import one_line, visible
from gauntlet.pipeline.tables.media import plot_style
from gauntlet.pipeline.tables.media.plot_style import COLUMN, WIDE, Drawing
from gauntlet.pipeline.tables.registry import PAPER, Results, Sheet, sheets

FLOATS = 8
"""Tables and figures after which a page ends: LaTeX can hold only so many."""
BEGIN = r"""% All that `{report} {folder} --paper` prints: pdflatex main.tex
% Take tables with \input{{tables/NAME}} and figures with \includegraphics{{figures/NAME_column}}
% (3.3 in) or NAME_wide (7 in) into a document of your own; it needs these packages.
\documentclass[10pt,twocolumn]{{article}}
\usepackage[T1]{{fontenc}}
\IfFileExists{{lmodern.sty}}{{\usepackage{{lmodern}}}}{{}}
\usepackage{{textcomp,array,booktabs,graphicx}}
\usepackage[letterpaper,margin=0.75in]{{geometry}}
\setlength{{\belowcaptionskip}}{{4pt}}
\begin{{document}}
"""
END = "\\end{document}\n"
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
BREAKS = re.compile(r"([/=.:,@])(?=\S)|(\\_)(?=\S)|(?<=\w)-(?=\w)")


def write_paper(
    out: Path, results: Results, figures: Mapping[str, Drawing], config: PaperConfig
) -> None:
    """Writes DIR/paper, and removes tables and figures of an earlier call. Raises UserError for a
    config that does not fit."""
    captions = {name: drawing.title for name, drawing in figures.items()}  # save_pdf removes them
    shown = config.applied(paper_sheets(results))
    tables = {f"{name}.tex": table(sheet, name) for name, sheet in shown.items()}
    pictures = {
        f"{name}_{medium.name}.pdf": figure
        for name, drawing in figures.items()
        for medium, figure in ((COLUMN, drawing.column), (WIDE, drawing.wide))
    }
    for folder, files in (("tables", tables), ("figures", pictures)):
        (out / folder).mkdir(parents=True, exist_ok=True)
        for old in (out / folder).glob("*.tex" if folder == "tables" else "*.pdf"):
            if old.name not in files:
                old.unlink()
    for name, text in tables.items():
        write_atomically(out / "tables" / name, text)
    for name, figure in pictures.items():
        plot_style.save_pdf(figure, out / "figures" / name)
    floats = [f"\\input{{tables/{name.removesuffix('.tex')}}}\n" for name in tables]
    for medium, star in ((COLUMN, ""), (WIDE, "*")):
        for name, caption in captions.items():
            floats.append(
                f"\\begin{{figure{star}}}[tbp]\n\\centering\n"
                f"\\includegraphics{{figures/{name}_{medium.name}}}\n"
                f"\\caption{{{number(caption)}}}\n\\label{{fig:{name}-{medium.name}}}\n"
                f"\\end{{figure{star}}}\n"
            )
    pages = ["".join(floats[at : at + FLOATS]) for at in range(0, len(floats), FLOATS)]
    begin = BEGIN.format(
        report=invocation("pipeline.report"), folder=escape(one_line(out.parent.name))
    )
    write_atomically(out / "main.tex", "\\clearpage\n".join(pages).join((begin, END)))


def paper_sheets(results: Results) -> dict[str, Sheet]:
    """Every sheet by its file's name: the table's, for further sheets with their title."""
    sheets_by_name: dict[str, Sheet] = {}
    for entry, sheet in sheets(results, PAPER):
        if sheet.headings:
            title = re.sub(r"\W+", "_", f"{entry.name} {sheet.title}".lower()).strip("_")
            sheets_by_name[title if entry.name in sheets_by_name else entry.name] = sheet
    return sheets_by_name


def escape(text: str) -> str:
    """The text for LaTeX; characters beyond Latin-1 as numbers, since they need other fonts."""
    plain = visible(text).encode("latin-1", "backslashreplace").decode("latin-1")
    return "".join(SPECIAL.get(sign, sign) for sign in plain)


def number(text: str) -> str:
    """Text with numbers: typeset minus signs, dashes between ends, small p as powers of ten."""
    text = re.sub(r"\b(\d)e-0?(\d+)\b", r"$\1\\times10^{-\2}$", escape(text))
    text = re.sub(r"(?<=\d)-(?=\d)", "--", text)
    return re.sub(r"(?<![\w.{-])-(?=[\d.])", "$-$", text)


def name(text: str) -> str:
    """A name that may be broken after punctuation."""
    return BREAKS.sub(lambda match: match[0] + r"\allowbreak{}", escape(text))


def table(sheet: Sheet, label: str) -> str:
    """A sheet over both columns; its title and foot are the caption.

    The first column is text and may wrap; others are right-aligned if they hold only numbers.
    """
    columns = [[row[at] for row in sheet.rows] for at in range(len(sheet.headings))]
    numeric = sheet.numeric
    kinds = "".join("r" if numbers else "l" for numbers in numeric[1:])
    first = min(0.45, max(0.16, 0.96 - 0.08 * len(columns)))
    rows = pd.DataFrame(
        {
            at: [(number if numbers else name)(field) for field in column]
            for at, (column, numbers) in enumerate(zip(columns, numeric, strict=True))
        }
    )
    rows.columns = pd.Index([escape(heading) for heading in sheet.headings])
    text = rows.style.hide(axis="index").to_latex(
        hrules=True,
        column_format=rf">{{\raggedright\arraybackslash}}p{{{first:.2f}\linewidth}}{kinds}",
        environment="table*",
        position="tbp",
        position_float="centering",
        caption=f"{number(sheet.title)}. {number(' '.join(sheet.foot.split()))}",
        label=f"tab:{label}",
    )
    setting = "\\centering\n\\footnotesize\n\\setlength{\\tabcolsep}{3pt}\n"
    return str(text).replace("\\centering\n", setting, 1)


# --- which columns and rows are shown, in which order and by which names


class TableConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """columns: their headings' new names, or a list of headings."""

    title: str = ""
    columns: dict[str, str] | list[str] = msgspec.field(default_factory=dict)
    rows: list[str] = msgspec.field(default_factory=list)


class PaperConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is not named stays as it is; of a table with `columns` or `rows` only these are shown.

    names: {uno: UNO, pocket: Pocket, cloze: Cloze}    # words in all tables
    tables:
      summary:                                         # as paper/tables/summary.tex
        title: Two prompts of one model
        columns: {cell: Player, matches: n, "95% interval": "95% CI"}
        rows: [pocket cloze, pocket counterfactual]    # by their first column
    """

    names: dict[str, str] = msgspec.field(default_factory=dict)
    tables: dict[str, TableConfig] = msgspec.field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> PaperConfig:
        """Raises UserError."""
        try:
            return msgspec.convert(yaml.safe_load(file.read_text(encoding="utf-8")) or {}, cls)
        except OSError as error:
            raise UserError(f"{file}: {error.strerror}") from error
        except (msgspec.ValidationError, yaml.YAMLError, UnicodeDecodeError) as error:
            raise UserError(f"{file}: {' '.join(str(error).split())}") from error

    def applied(self, sheets: Mapping[str, Sheet]) -> dict[str, Sheet]:
        """The sheets as configured. Raises UserError for a table, column or row that is not
        there."""
        for table in self.tables:
            _check(table, "table", sheets)
        return {
            name: self._named(_chosen(sheet, self.tables.get(name, TableConfig())))
            for name, sheet in sheets.items()
        }

    def _named(self, sheet: Sheet) -> Sheet:
        """With the display names in every row, longer words first."""
        if not self.names:
            return sheet
        longest = sorted(map(re.escape, self.names), key=len, reverse=True)
        words = re.compile(rf"(?<![\w.]){'|'.join(longest).join(('(?:', ')'))}(?![\w.])")

        def renamed(text: str) -> str:
            return words.sub(lambda match: self.names[match[0]], text)

        return replace(sheet, rows=[[*map(renamed, row)] for row in sheet.rows])


def _chosen(sheet: Sheet, config: TableConfig) -> Sheet:
    headings = [  # of equal ones the second is "NAME 2"
        heading if (times := sheet.headings[: at + 1].count(heading)) == 1 else f"{heading} {times}"
        for at, heading in enumerate(sheet.headings)
    ]
    rows = list(sheet.rows)
    if config.rows:
        by_name = {row[0]: row for row in rows}
        rows = [by_name[_check(row, "row", by_name)] for row in config.rows]
    shown = list(config.columns) or headings
    places = [headings.index(_check(column, "column", headings)) for column in shown]
    renamed = config.columns if isinstance(config.columns, dict) else {}
    return replace(
        sheet,
        title=config.title or sheet.title,
        headings=[renamed.get(headings[at], sheet.headings[at]) for at in places],
        rows=[[row[at] for at in places] for row in rows],
    )


def _check(name: str, kind: str, known: Mapping[str, object] | Sequence[str]) -> str:
    if name not in known:
        raise UserError(f"the paper has no {kind} {name!r}{suggest(name, [*known])}")
    return name
