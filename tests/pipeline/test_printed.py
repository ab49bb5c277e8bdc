"""LaTeX tables and PDF figures of a folder: valid LaTeX only, as a file configures them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pandas as pd
import pytest

from gauntlet.pipeline import report as command
from gauntlet.pipeline.tables import registry
from gauntlet.pipeline.tables.media import latex
from gauntlet.pipeline.tables.media.paper_config import PaperConfig
from gauntlet.pipeline.tables.registry import PAPER, Results, Sheet, sheets
from gauntlet.pipeline.tables.sweep import report
from gauntlet.pipeline.tables.sweep.report import drawings
from tests.pipeline.conftest import Capsys, Once, Refusal, Sweep
from tests.pipeline.made import RANDOM, SCORE, KnownBaseline, about, made_of, results, won

HOSTILE = r"50% of $x_1^2 & #2 {~} \input{/etc/passwd} <b>|" "" + '"é中\x1b[1m'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a_b", r"a\_b"),
        ("50% & $1 #2", r"50\% \& \$1 \#2"),
        (r"\input{x}", r"\textbackslash{}input\{x\}"),
        ("~^", r"\textasciitilde{}\textasciicircum{}"),
        ("é 中", r"é \textbackslash{}u4e2d"),
        ("\x1b", r"\textbackslash{}x1b"),
        ("<|>", r"\textless{}\textbar{}\textgreater{}"),
    ],
)
def test_what_latex_would_obey_is_escaped(text: str, expected: str) -> None:
    assert latex.escape(text) == expected


def test_a_table_has_rules_a_caption_and_its_numbers_to_the_right() -> None:
    sheet = Sheet(
        "T", ("a_b", "n", "span", "what"), [(HOSTILE, "1,234", "1.0 to 2.0", "so & so")], "f"
    )
    told = latex.table(sheet, "t")
    assert re.search(r"\\begin\{tabular\}\{>.*p\{0.45\\linewidth\}rrl\}", told)
    for part in (r"\toprule", r"\midrule", r"\bottomrule", r"\caption{T. f}", r"\label{tab:t}"):
        assert part in told
    assert r"a\_b & n & span & what \\" in told
    assert r"1,234 & 1.0 to 2.0 & so \& so \\" in told
    assert balanced(told)


def balanced(text: str) -> bool:
    """Whether braces are balanced for LaTeX, and all special characters are escaped."""
    bare = re.sub(r"\\[a-zA-Z]+|\\.|\$[^$\n]*\$", "", re.sub(r"(?m)^%.*$", "", text))
    return bare.count("{") == bare.count("}") and not re.search(r"[$#^_~%]", bare)


def hostile_results(measure: bool) -> Results:
    """Two cells with names that LaTeX would choke on; judged by a score, or by wins."""
    names, figures = [f"{HOSTILE} {at}" for at in range(2)], [0, 3, 5, 7] * 5
    cells = [
        results(about(f"m{at}", SCORE, baseline=KnownBaseline(5.0), model=name), figures, [0] * 20)
        if measure
        else won(about(f"m{at}", baseline=RANDOM, model=name), [1, 0, at, 1] * 5)
        for at, name in enumerate(names)
    ]
    return made_of(cells)


def printed(results: Results) -> dict[str, Sheet]:
    """The parts of the two main tables that a paper prints."""
    every = {table.name: sheet for table, sheet in sheets(results, PAPER)}
    return {name: every[name] for name in ("summary", "pairs")}


def test_a_paper_of_hostile_names(tmp_path: Path) -> None:
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "of_yesterday_wide.pdf").touch()
    shown = hostile_results(measure=False)
    latex.write_paper(tmp_path, shown, dict(islice(drawings(shown).items(), 1)), PaperConfig())
    main = re.sub(r"(?m)^%.*\n", "", (tmp_path / "main.tex").read_text())
    for name in re.findall(r"\\input\{(.+?)\}", main):
        assert balanced((tmp_path / f"{name}.tex").read_text()), name
    assert balanced(re.sub(r"\\(input|label|includegraphics)\{.*?\}", "", main))
    pictures = {f"{name}.pdf" for name in re.findall(r"\\includegraphics\{figures/(.+?)\}", main)}
    assert pictures == {file.name for file in (tmp_path / "figures").iterdir()}
    assert {"win_rates_column.pdf", "win_rates_wide.pdf"} == pictures
    for name, width in (("column", 237.6), ("wide", 504.0)):
        data = (tmp_path / "figures" / f"win_rates_{name}.pdf").read_bytes()
        (box,) = re.findall(rb"/MediaBox \[ 0 0 ([\d.]+) ", data)
        assert float(box) == pytest.approx(width)
        assert b"/FontFile2" in data  # TrueType, embedded
        assert b"/Type3" not in data


def test_the_command_prints_a_paper(
    sweep: Sweep, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    assert sweep("game=tic_tac_toe", "measure=win", "prompt=cloze", "deals=2") == 0
    assert not (folder / "paper").exists()
    (folder / "figures" / "of_yesterday.png").touch()
    monkeypatch.setattr(report, "drawings", drawings)
    assert command.main([str(folder), "--paper"]) == 0
    assert f"paper:  {folder}/paper/main.tex" in capsys.readouterr().out
    assert {"summary.tex", "diagnostics.tex"} <= {
        file.name for file in (folder / "paper" / "tables").iterdir()
    }
    drawn = {file.stem for file in (folder / "figures").iterdir()}
    assert {"win_rates", "choices", "win_rates_and_cost"} <= drawn
    assert "of_yesterday" not in drawn
    page = (folder / "report.html").read_text()
    assert page.count("<svg") == 2 * len(drawn)
    assert ".drawing .column" in page


PLIES = """
from gauntlet.pipeline.tables.registry import table

@table("{name}", {{"cell": "the cell", "plies": "mean moves per match"}})
def plies(results):
    for cell in results.cells:
        yield {{"cell": cell.about.name, "plies": cell.outcomes.column("plies").mean()}}
"""


def test_a_table_lies_beside_the_users_games(
    sweep: Sweep, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "tables.py").write_text(PLIES.format(name="lengths"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(registry, "_TABLES", {**registry.tables()})
    assert sweep("game=tic_tac_toe", "agent=first", "deals=2", "packages=[ours]") == 0
    written = pd.read_csv(folder / "lengths.csv")
    assert list(written.columns) == ["cell", "plies"]
    assert written["plies"].between(5, 9).all()
    (folder / "lengths.csv").unlink()

    def report(packages: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "gauntlet.pipeline.report", str(folder)],
            env={**os.environ, "GAUNTLET_PACKAGES": packages},
            capture_output=True,
            text=True,
            timeout=300,
        )

    assert report("").returncode == 0
    assert not (folder / "lengths.csv").exists(), "code of an untrusted package was run"
    assert report("absent,ours").returncode == 0
    assert pd.read_csv(folder / "lengths.csv").equals(written)
    (tmp_path / "ours" / "tables.py").write_text(PLIES.format(name="summary"))
    taken = report("ours")
    assert taken.returncode == 2
    assert "ours/tables.py line 4: ValueError" in taken.stderr
    assert taken.stderr.count("\n") == 1


def test_what_cannot_be_written_is_shown_all_the_same(
    sweep: Sweep, folder: Path, capsys: Capsys
) -> None:
    assert sweep("game=tic_tac_toe", "prompt=cloze", "deals=1") == 0
    assert command.main([str(folder)]) == 0
    printed = capsys.readouterr().out.rpartition("\n\nreport: ")[0]
    (folder / "summary.csv").unlink()
    (folder / "summary.csv").mkdir()
    assert command.main([str(folder)]) == 2
    shown = capsys.readouterr()
    assert shown.err == f"gauntlet: {folder}/summary.csv: Is a directory\n"
    assert shown.out.strip()
    assert shown.out.strip() in printed


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("pdflatex"), reason="needs pdflatex")
def test_latex_takes_it(tmp_path: Path) -> None:
    shown = hostile_results(measure=False)
    latex.write_paper(tmp_path, shown, drawings(shown), PaperConfig())
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "main.tex"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-2000:]
    assert "Overfull" not in ran.stdout


# --- as configured


CONFIG = """
names: {fake: Fake & co., cloze: Cloze}
tables:
  summary:
    title: Two prompts
    columns: {cell: Player, "95% interval": "CI", matches: n}
    rows: [fake counterfactual, fake cloze]
"""


@pytest.fixture
def played(once: Once) -> Path:
    return once("prompt=cloze,counterfactual", "deals=5")


def written(folder: Path, tmp_path: Path, config: str) -> int:
    file = tmp_path / "paper.yaml"
    file.write_text(config)
    return command.main([str(folder), "--paper", str(file)])


def test_a_table_is_written_as_configured(played: Path, tmp_path: Path) -> None:
    assert written(played, tmp_path, CONFIG) == 0
    text = (played / "paper" / "tables" / "summary.tex").read_text()
    rows = [line.rstrip("\\ ").split(" & ") for line in text.splitlines() if " & " in line]
    assert rows[0] == ["Player", "CI", "n"]
    assert [row[0].replace(r"\allowbreak{}", "") for row in rows[1:]] == [
        r"Fake \& co. counterfactual",
        r"Fake \& co. Cloze",
    ]
    assert "caption{Two prompts. " in text
    assert command.main([str(played), "--paper"]) == 0
    assert "Two prompts. " not in (played / "paper" / "tables" / "summary.tex").read_text()


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ("tables: {sumary: {}}", "no table 'sumary'; did you mean 'summary'?"),
        ("tables: {summary: {columns: [maches]}}", "no column 'maches'; did you mean 'matches'?"),
        ("tables: {summary: {rows: [fake]}}", "no row 'fake'"),
        ("tables: {summary: {colums: []}}", "unknown field `colums`"),
        ("names: [", "paper.yaml"),
        ("names: 3", "paper.yaml"),
    ],
)
def test_a_config_that_does_not_fit_is_refused(
    config: str, why: str, played: Path, tmp_path: Path, refusal: Refusal, capsys: Capsys
) -> None:
    capsys.readouterr()
    assert why in refusal(written(played, tmp_path, config))
