r"""What a paper prints of a folder, in DIR/paper:

main.tex              a document of all that follows: `pdflatex main.tex`
tables/NAME.tex       a table each, to be taken with \input
figures/NAME_*.pdf    every figure as wide as a column (3.3 in) and as a page (7 in)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd

from gauntlet.common.disk import write_atomically
from gauntlet.common.sanitize import one_line
from gauntlet.pipeline.tables import diagnostics, latex, metric_sheets, plot_style
from gauntlet.pipeline.tables.figure_registry import Drawing, Found
from gauntlet.pipeline.tables.figures import deals_of
from gauntlet.pipeline.tables.numbers import p_value
from gauntlet.pipeline.tables.plot_style import COLUMN, WIDE, shortened
from gauntlet.pipeline.tables.scale import Scale, heading, scales_of
from gauntlet.pipeline.tables.table import TESTS, Sheet, clearest, left_out

ROWS, SIDE = 30, 40
"""Rows of a table that is printed, and characters of either cell of two."""
FLOATS = 8
"""Tables and figures after which a page ends, lest LaTeX have too many in hand."""
OF_TWO = {
    "adjusted": "of the luck-adjusted differences by deal",
    "mcnemar": "McNemar's exact test",
    "permutation": "a paired permutation test over deals",
}
"""The tests of two cells, in a few words."""
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


def write(out: Path, found: Found, drawn: Mapping[str, Drawing]) -> None:
    """Writes DIR/paper; what an earlier call wrote and this one does not goes."""
    captions = {name: one.title for name, one in drawn.items()}  # no file has its title
    tables = {name: latex.table(sheet, name) for name, sheet in sheets(found)}
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


def sheets(found: Found) -> Iterator[tuple[str, Sheet]]:
    """Every table by the name of its file."""
    yield "summary", _summary(found)
    if len(found.pairs):
        yield "pairs", _pairs(found)
    told = diagnostics.sheets(found.diagnosis, found.summary)
    judged = metric_sheets.sheets(found.judged[0]) if found.judged else ()
    of_metrics = (replace(one, title=f"Decision metrics, {one.title}") for one in judged)
    for sheet in (*told, *of_metrics):
        yield re.sub(r"\W+", "_", sheet.title.lower()).strip("_"), sheet.first(ROWS)


def _summary(found: Found) -> Sheet:
    rows, scales = found.summary, scales_of(found.summary)
    best = ("luck-adjusted", "95% interval") if rows["adjusted"].notna().any() else ()
    lines = []
    for scale, (_, row) in list(zip(scales, rows.iterrows(), strict=True))[:ROWS]:
        adjusted = (scale.mean(row["adjusted"]), scale.span(row["adj_low"], row["adj_high"]))
        lines.append(
            (
                found.names[row["cell"]],
                f"{row['matches']:,}",
                scale.mean(row["mean"], heading(scales) != scale.title),
                scale.span(row["mean_low"], row["mean_high"]),
                *(adjusted if best else ()),
                scale.mean(row["baseline_mean"]),
                scale.change(row["change"]),
                scale.reach(row["change_low"], row["change_high"]),
                p_value(row["p_test_holm"]),
            )
        )
    headings = (
        *("cell", "matches", heading(scales), "95% interval", *best),
        *("baseline", "difference", "95% interval", "p Holm"),
    )
    return Sheet(f"{heading(scales).capitalize()} of every cell", headings, lines, _of_cells(rows))


def _of_cells(rows: pd.DataFrame) -> str:
    """The caption under the cells: n, deals, baseline, intervals, test."""
    tests = " or ".join(TESTS[name] for name in sorted(set(rows["test"])))
    games = sorted({f"{n:,}" for n in rows["baseline_n"] if n})
    points = ", in points" * any(scale.share for scale in scales_of(rows))
    lead = "luck-adjusted estimate" if rows["adjusted"].notna().any() else "mean"
    exact = "" if rows["adjusted"].notna().all() else ", of single wins Fisher's exact test"
    both = " or the least beaten control, the larger p" * bool(rows["p_control"].notna().any())
    told = [
        left_out(ROWS, len(rows), "summary.csv"),
        f"Experiment {', '.join(sorted(set(rows['experiment'])))}; n: {rows['matches'].sum():,} "
        f"matches, {deals_of(rows['deals'])} a cell.",
        _intervals(rows),
        f"The baseline was measured in {' or '.join(games)} games." if games else "",
        f"The difference is that of the {lead} from the baseline{points}; p: {tests} the baseline, "
        f"the interval turned round{exact}{both}, corrected by Holm over all that is claimed of "
        "the experiment.",
    ]
    return " ".join(filter(None, told))


def _intervals(rows: pd.DataFrame) -> str:
    """What kind the intervals are (docs/statistics.md)."""
    if rows["measure_low"].isna().all():
        return "Intervals: Student's over deals, or further by Hall's skewness, from 100 deals on."
    single = ", of single wins Clopper and Pearson's" if (rows["measure"] == "win").any() else ""
    other = rows["measure_low"].isna().any()
    free = "; of measures without a range Student's, or further by Hall's skewness" if other else ""
    return f"Intervals: Gaffke's over deals{single}{free}."


def _pairs(found: Found) -> Sheet:
    rows = clearest(found.pairs, ROWS)
    best = ("luck-adjusted", "95% interval") if rows["adj_difference"].notna().any() else ()
    lines = []
    for scale, (_, row) in zip(scales_of(rows), rows.iterrows(), strict=True):
        adjusted = scale.change(row["adj_difference"]), scale.reach(row["adj_low"], row["adj_high"])
        lines.append(
            (
                " - ".join(
                    shortened(found.names[row[side]], SIDE) for side in ("cell_a", "cell_b")
                ),
                f"{row['deals']:,}",
                f"{row['a_only']:,}",
                f"{row['b_only']:,}",
                scale.change(row["difference"]),
                scale.reach(row["ci_low"], row["ci_high"]),
                *(adjusted if best else ()),
                p_value(row["p_test_holm"]),
            )
        )
    headings = (
        *("A - B", "deals", "A ahead", "B ahead", "A less B", "95% interval", *best, "p Holm"),
    )
    return Sheet("Every two cells on the deals that both played", headings, lines, _of_pairs(found))


def _of_pairs(found: Found) -> str:
    """The caption under the pairs."""
    rows = found.pairs
    points = any(Scale.row(row).share for _, row in rows.head(1).iterrows())
    used = set(rows["test"])
    told = [
        left_out(ROWS, len(rows), "pairs.csv", "clearest"),
        f"n: {deals_of(rows['deals'])} a pair, on which both met the same cards.",
        "Differences in percentage points." if points else "",
        "A ahead, B ahead: deals that went better for one.",
        _intervals(rows),
        f"p: {', or '.join(told for test, told in OF_TWO.items() if test in used)}; corrected by "
        "Holm: a pair that tells a model or a prompt from the first with the cells, others among "
        "themselves.",
    ]
    return " ".join(filter(None, told))
