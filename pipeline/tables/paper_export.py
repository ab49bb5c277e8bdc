r"""What a paper prints of a folder, in DIR/paper:

main.tex              a document of all that follows: `pdflatex main.tex`
tables/NAME.tex       a table each, to be taken with \input
figures/NAME_*.pdf    every figure as wide as a column (3.3 in) and as a page (7 in)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from gauntlet.common.disk import write_atomically
from gauntlet.common.sanitize import one_line
from gauntlet.pipeline.tables import latex, plot_style
from gauntlet.pipeline.tables.figure_registry import Drawing
from gauntlet.pipeline.tables.plot_style import COLUMN, WIDE
from gauntlet.pipeline.tables.registry import PAPER, Results, Sheet, sheets

FLOATS = 8
"""Tables and figures after which a page ends, lest LaTeX have too many in hand."""
BEGIN = r"""% All that `python -m pipeline.report {folder} --paper` prints: pdflatex main.tex
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


def write(out: Path, results: Results, drawn: Mapping[str, Drawing]) -> None:
    """Writes DIR/paper; what an earlier call wrote and this one does not goes."""
    captions = {name: one.title for name, one in drawn.items()}  # no file has its title
    tables = {name: latex.table(sheet, name) for name, sheet in printed(results).items()}
    pictures = {
        f"{name}_{medium.name}.pdf": figure
        for name, one in drawn.items()
        for medium, figure in ((COLUMN, one.column), (WIDE, one.wide))
    }
    for folder, ending, names in (
        ("tables", "tex", {f"{name}.tex" for name in tables}),
        ("figures", "pdf", set(pictures)),
    ):
        (out / folder).mkdir(parents=True, exist_ok=True)
        for old in (out / folder).glob(f"*.{ending}"):
            if old.name not in names:
                old.unlink()
    for name, text in tables.items():
        write_atomically(out / "tables" / f"{name}.tex", text)
    for name, figure in pictures.items():
        plot_style.save_pdf(figure, out / "figures" / name)
    floats = [f"\\input{{tables/{name}}}\n" for name in tables]
    for medium, star in ((COLUMN, ""), (WIDE, "*")):
        floats += [_figure(*one, medium.name, star) for one in captions.items()]
    pages = ["".join(floats[at : at + FLOATS]) for at in range(0, len(floats), FLOATS)]
    begin = BEGIN.format(folder=latex.escaped(one_line(out.parent.name)))
    write_atomically(out / "main.tex", "\\clearpage\n".join(pages).join((begin, END)))


def _figure(name: str, caption: str, medium: str, star: str) -> str:
    return (
        f"\\begin{{figure{star}}}[tbp]\n\\centering\n"
        f"\\includegraphics{{figures/{name}_{medium}}}\n"
        f"\\caption{{{latex.number(caption)}}}\n\\label{{fig:{name}-{medium}}}\n"
        f"\\end{{figure{star}}}\n"
    )


def printed(results: Results) -> dict[str, Sheet]:
    """Every table by the name of its file: the table's own, for further ones with their title."""
    found: dict[str, Sheet] = {}
    for table, sheet in sheets(results, PAPER):
        if not sheet.headings:
            continue
        title = re.sub(r"\W+", "_", f"{table.name} {sheet.title}".lower()).strip("_")
        found[title if table.name in found else table.name] = sheet
    return found
