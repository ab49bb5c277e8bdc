"""The report as a page, and as LaTeX tables and PDF figures: valid alone, linked, as a file
configures them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from itertools import islice
from pathlib import Path

import pandas as pd
import pytest

from gauntlet.models.exchanges import TextExchange
from gauntlet.pipeline import replay
from gauntlet.pipeline import report as command
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.lines import line
from gauntlet.pipeline.tables import registry
from gauntlet.pipeline.tables.media import latex
from gauntlet.pipeline.tables.media.latex import PaperConfig
from gauntlet.pipeline.tables.media.page import LONGEST, clip, match_page
from gauntlet.pipeline.tables.media.run_metadata import facts
from gauntlet.pipeline.tables.registry import PAPER, Results, Sheet, load_cells, sheets
from gauntlet.pipeline.tables.sweep import report
from gauntlet.pipeline.tables.sweep.report import drawings
from gauntlet.pipeline.viewer.match import decision_view
from tests.pipeline.conftest import Capsys, Once, Refusal, Sweep
from tests.pipeline.logs import matches
from tests.pipeline.made import RANDOM, SCORE, KnownBaseline, about, made_of, results, won
from tests.pipeline.packed import html_of, unpacked
from tests.pipeline.records import STATIC, decided

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


TEXTS = '+model.texts=[\'{"thoughts": "So.", "action": "1"}\',\'{"action": "99"}\',\'Hm.\']'


class Page(HTMLParser):
    """Ids, links, resources loaded from elsewhere, and every text by its enclosing tag."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if "id" in given and tag in ("h2", "h3"):
            self.ids.append(given["id"] or "")
        self.loaded += [given[name] or "" for name in ("src", "data") if name in given]
        self.loaded += [tag] * (tag in ("link", "script", "iframe"))


def test_the_report_says_what_was_played_and_shows_prompts_folded(
    sweep: Sweep, folder: Path
) -> None:
    assert sweep("game=tic_tac_toe", "prompt=vanilla,tutri", TEXTS, "deals=3") == 0
    text = (folder / "report.html").read_text()
    page = Page(text)
    assert page.loaded == []
    assert len(page.ids) == len(set(page.ids))
    assert {"cells", "decisions-looked-at", "where-this-came-from"} <= set(page.ids)
    told = {one.term: one.values for one in facts(folder, load_cells(folder), ["v", "t"])}
    assert told["game"] == [
        "tic_tac_toe (games.tic_tac_toe.TicTacToe): 2 seats, size 3, win_length 3"
    ]
    model = Folder(folder).sweep_cells()[0].labels["model"]
    subject = f"llm.{model}.vanilla or llm.{model}.tutri"
    assert told["players by seat"] == [f"0 random; 1 {subject} (measured)"]
    assert (told["seed"], told["deals"]) == (["1"], ["3 a cell, 6 matches in all"])
    assert told["seating"] == ["as above in every match"]
    assert told["command"][0].startswith("python -m pipeline.run launch=inline ")
    del told["cells' keys"]  # under the page's names
    assert [fact[0] for fact in told.values() if fact[0] not in unescape(text)] == []
    prompts = re.findall(r"<details><summary>.*?</summary>\s*<pre>(.*?)</pre>", text, re.S)
    whole = [x for x in map(unescape, prompts) if x.startswith("You are player") and "Goal:" in x]
    assert len(whole) == 2 * 3 + (1 + 3), "samples, and of one decision each question"


def test_a_replay_shows_what_was_written_and_what_was_made_of_it(
    sweep: Sweep, folder: Path, capsys: Capsys
) -> None:
    assert sweep("game=tic_tac_toe", "prompt=tutri", TEXTS, "deals=2") == 0
    capsys.readouterr()
    said = page = ""
    for match in matches(folder):
        assert replay.main([match, "--in", str(folder), "--prompts"]) == 0
        said += capsys.readouterr().out
        data = unpacked(match_page(replay.replay(match, [folder])))
        page += unescape("".join(html_of(data, match)))
    for wanted in ("-> malformed", "-> illegal"):
        assert wanted in said
    assert "-> <b>malformed</b>" in page
    assert re.search(r"reply \d -> C\dR\d\n", said)
    assert '{"thoughts": "So.", "action": "1"}' in said
    assert said.count("(all of the above)\nLook back on the last moves.") > 2
    assert said.count("\nHm.\n") == page.count("<pre>Hm.</pre>") > 0


def test_words_of_an_open_option_are_told_after_what_was_wrong_with_others() -> None:
    def wrote(text: str) -> TextExchange:
        told = {"static": STATIC, "cue": "", "logical_tokens": 2, "tokens": (1, 1)}
        return TextExchange(**told, shared="?", settings=(9, 0.0, (), 0), text=text)

    notes = {"answers": [1], "faults": ["is too long"]}
    made = decided(1, asked=tuple(map(wrote, "xyz")), notes=notes, text="Good day")
    shown = decision_view(made, {STATIC: ""}).prompts
    assert [one.reading for one in shown] == ["b", "is too long", "Good day"]
    bare = decided(1, asked=tuple(map(wrote, "xy")), text="Good day")
    assert [one.reading for one in decision_view(bare, {STATIC: ""}).prompts] == ["", "Good day"]


def test_the_report_links_to_the_matches_that_it_shows(sweep: Sweep, folder: Path) -> None:
    assert sweep("game=tic_tac_toe", "prompt=vanilla,tutri", TEXTS, "deals=3") == 0
    text = (folder / "report.html").read_text()
    linked = dict.fromkeys(re.findall(r'href="(matches/[^"]+)"', text))
    log = matches(folder)
    assert {Path(one).stem for one in linked} == log.keys()
    assert "pipeline.replay" not in text
    for address in linked:
        page = (folder / address).read_text()
        drawn = html_of(unpacked(page), Path(address).stem)
        assert len(drawn) == log[Path(address).stem].plies + 1
    assert sweep("game=tic_tac_toe", "prompt=vanilla", TEXTS, "deals=3") == 0
    left = {one.stem for one in (folder / "matches").iterdir()}
    assert left == {
        *re.findall(r'href="matches/([^"]+).html"', (folder / "report.html").read_text())
    }


# --- several runs


def test_the_report_says_when_a_log_is_of_several_versions(
    sweep: Sweep, folder: Path, capsys: Capsys
) -> None:
    given = ("game=tic_tac_toe", "prompt=cloze")
    assert sweep(*given, "deals=1") == 0
    assert "runs that differ" not in capsys.readouterr().out
    (run,) = map(json.loads, (folder / "runs.jsonl").read_text().splitlines())
    del run["crc32"]
    mine, run["versions"]["torch"] = run["versions"]["torch"], "1.0"
    with (folder / "runs.jsonl").open("ab") as runs:
        runs.write(line(run))
    assert command.main([str(folder)]) == 0
    told = f"The records are of runs that differ: torch {mine} and 1.0."
    assert told in capsys.readouterr().out
    assert told in (folder / "report.html").read_text()


def test_a_long_prompt_is_cut_in_the_middle_and_says_where_it_is_whole() -> None:
    assert clip("x" * LONGEST, "") == "x" * LONGEST
    cut = clip("a" * LONGEST + "z" * 1000, "look")
    assert cut.startswith("aaa")
    assert cut.endswith("zzz")
    assert len(cut) < LONGEST + 50
    assert "1,000 characters; all: look" in cut


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-1.5 to +2.0", "$-$1.5 to +2.0"),
        ("48.0-54.4%", r"48.0--54.4\%"),
        ("3e-06", r"$3\times10^{-6}$"),
        ("0.0123", "0.0123"),
        ("-", "-"),
    ],
)
def test_numbers_are_set_as_numbers(text: str, expected: str) -> None:
    assert latex.number(text) == expected
