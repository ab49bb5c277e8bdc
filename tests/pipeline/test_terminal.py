"""Texts as a person reads them: the findings, the end of a run at 80 and 100 columns, the help. And
what they must not say of cells without skill.

`python -m tests.pipeline.test_terminal` writes the texts anew; read what changed before you commit.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from gauntlet.common import terminal as width
from gauntlet.common.conf_folders import conf_folders
from gauntlet.games.capabilities import WIN, Measure
from gauntlet.pipeline import compare, matches, replay, run, verify
from gauntlet.pipeline.config.read import DeclaredTest
from gauntlet.pipeline.config.yaml_files import first_sentence
from gauntlet.pipeline.log import progress
from gauntlet.pipeline.log.outcomes import Outcome, Outcomes
from gauntlet.pipeline.log.results import Adjusted, CellInfo, CellResults
from gauntlet.pipeline.plan.baseline import Baseline
from gauntlet.pipeline.tables.registry import Results
from gauntlet.pipeline.tables.sweep import conditions, findings, report, stopped, terminal
from gauntlet.pipeline.tables.sweep.controls import CONTROLS
from gauntlet.pipeline.tables.sweep.findings import answers
from gauntlet.pipeline.tables.sweep.verdict import GROUPS, first_paragraphs, verdict
from gauntlet.stats.proportions import clopper_pearson
from tests.pipeline.conftest import FAST
from tests.pipeline.made import SCORE, KnownBaseline, about, made_of, results, scored

GOLDEN = Path(__file__).parent / "terminal"
BESIDE = ("habit-cloze", "first option", 1200, "win", 0.55, 0.55, 0.0, -0.04, 0.04, 1.0)
DEALS = 1200


def cell(model: str, prompt: str, rate: float, helping: bool = False) -> CellResults:
    """Return a cell of DEALS deals with a win rate of exactly `rate`, spread over the deals."""
    labels = {"game": "uno", "agent": "llm", "model": model, "prompt": prompt, "seats": "solo"}
    baseline = Baseline("random", 500_000, 1_000_000)
    name = f"{model}-{prompt}"
    about = CellInfo(name, name, "x", labels, 1, baseline, "cards", helping)
    key = sum(map(ord, model + prompt))
    order = np.random.default_rng(key).permutation(DEALS)
    won = np.arange(DEALS)[np.argsort(order)] < round(rate * DEALS)
    outcomes = (
        Outcome(f"match{deal}", about.key, deal, 0, 2 * w - 1, w, w, 9, 5, 4, 0, 99, 0.1)
        for deal, w in enumerate(won.tolist())
    )
    return CellResults(about, Outcomes.from_outcomes(about.key, outcomes), DEALS, 0)


def told(result: CellResults, **changes: object) -> CellResults:
    """The cell with other facts about it."""
    return replace(result, about=replace(result.about, **changes))  # type: ignore[arg-type]


def labelled(result: CellResults, **labels: str) -> CellResults:
    return told(result, labels={**result.about.labels, **labels})


def first_deals(result: CellResults, deals: int) -> CellResults:
    own = Outcomes.from_outcomes(result.about.key, [*result.outcomes][:deals])
    return replace(result, outcomes=own, complete_deals=deals)


def adjusted(result: CellResults) -> CellResults:
    """Half the spread, half the effect."""
    values = 0.25 + result.outcomes.won / 2
    return replace(result, adjusted=Adjusted(np.arange(DEALS), values, "rule", 0.5, 0.0))


def beside(**shown: tuple[float, float]) -> pd.DataFrame:
    """controls.csv of cells whose only control is this much below them, with this p-value."""
    rows = [
        (f"{name}-cloze", "first option", 1200, "win", 0.6, 0.6 - d, d, d - 0.1, d + 0.1, p)
        for name, (d, p) in shown.items()
    ]
    return pd.DataFrame(rows, columns=[*CONTROLS])


SPREAD = np.tile([-2.0, -1.0, 0.0, 1.0, 2.0], 40)
CHIPS = np.random.default_rng(1).normal(3, 1, 100)
EVEN, BETTER = cell("a", "cloze", 0.5), cell("b", "cloze", 0.6)


def scenarios() -> Mapping[str, Results]:
    sizes = {"llama": (1e9, 0.5), "other": (1e10, 1.128 / 2.128), "big": (1e11, 0.56)}
    games = [f"game {at}" for at in range(GROUPS + 1)]
    grid = [cell(model, prompt, 0.5) for model in ("a", "b") for prompt in ("cloze", "rap")]
    coop = labelled(cell("a", "cloze", 0.5, helping=True), seats="coop")
    return {
        # 1,200 deals, Holm over 3, two-sided: (2.394 + .8416) x .5 / sqrt(1200) = 4.67 points
        "an effect, and none": made_of([EVEN, cell("b", "cloze", 0.56)]),
        # odds of 1 at 1B and .56 / .44 at 100B: sqrt(1.2727) = 1.128 for ten times
        "models of known sizes": made_of(
            [told(cell(m, "cloze", rate), parameters=n) for m, (n, rate) in sizes.items()]
        ),
        "models of unknown sizes, and prompts": made_of(grid),
        "what determines each other": made_of([EVEN, cell("b", "rap", 0.6)]),
        "luck taken out": made_of([adjusted(EVEN), adjusted(BETTER)]),
        "three prompts": made_of([EVEN, cell("a", "rap", 0.55), cell("a", "cot", 0.52)]),
        "no baseline": made_of([told(EVEN, baseline=None)]),
        "a cell without a deal": made_of([BETTER, replace(EVEN, outcomes=Outcomes("a-cloze"))]),
        "two seatings": made_of([EVEN, told(coop, name="other")]),
        "two prompts that do not differ": made_of(
            [cell("a", "cloze", 0.56), cell("a", "rap", 0.57)]
        ),
        "worse, and better": made_of([cell("a", "cloze", 0.4), BETTER]),
        "helpers": made_of([cell("a", "cloze", 0.45, True), cell("b", "cloze", 0.56, True)]),
        "many cells": made_of([cell("a", f"p{at}", 0.5 + 0.1 * (at < 4)) for at in range(5)]),
        "a habit": made_of([BETTER], {"controls": beside(b=(0.0, 1.0))}),
        "one habit of two": made_of(
            [BETTER, cell("a", "cloze", 0.7)], {"controls": beside(b=(0.1, 0.001), a=(0.1, 0.3))}
        ),
        "not inferior": made_of([told(EVEN, test=DeclaredTest("non_inferior", 0.05))]),
        "not shown to keep up": made_of([told(EVEN, test=DeclaredTest("non_inferior", 0.005))]),
        "stopped by a rule": made_of(
            [replace(BETTER, stopped=True)],
            {
                stopped.verdicts: {"b-cloze": "above the baseline"},
                findings.verdicts: {"b-cloze": "above the baseline"},
            },
        ),
        "stopped, and a habit": made_of(
            [replace(BETTER, stopped=True)],
            {
                "controls": beside(b=(0.0, 1.0)),
                stopped.verdicts: {"b-cloze": "above the baseline"},
                findings.verdicts: {"b-cloze": "above the baseline"},
            },
        ),
        "seven groups": made_of(
            [
                labelled(cell(f"m{at}", "cloze", 0.6 if at == GROUPS else 0.5), game=game)
                for at, game in enumerate(games)
            ]
        ),
        # s = 1.4178, error .10025: (2.394 + .8416) x .10025 = .3244 by the normal law
        "a score": made_of(
            [
                scored("a", (5 + SPREAD).tolist(), baseline=KnownBaseline(5.0)),
                scored("b", (6 + SPREAD[::-1]).tolist(), baseline=KnownBaseline(5.0)),
            ]
        ),
        "too few deals for any difference": made_of(
            [
                first_deals(cell("a", prompt, rate), 3)
                for prompt, rate in (("cloze", 0.56), ("rap", 0.57))
            ]
        ),
        "two games": made_of([EVEN, told(labelled(EVEN, game="nim"), name="other")]),
        "too few deals of a measure without a range": made_of(
            [results(about("a", Measure("chips"), baseline=KnownBaseline(3.0)), CHIPS[:9], [0] * 9)]
        ),
    }


def said() -> str:
    """The verdict and the findings of every scenario; a sentence where it is first said."""
    lines, before = list[str](), set[str]()
    for name, made in scenarios().items():
        lines += ["", f"--- {name}"]
        found = [("", verdict(made))]
        if len(made.cells) <= GROUPS:
            found += [(one.question, one.sentences) for one in answers(made)]
        for question, sentences in found:
            if new := [one for one in sentences if one not in before]:
                before.update(new)
                lines += [*filter(None, [question]), *wrapped(new)]
    return "\n".join([*lines[1:], ""])


def wrapped(paragraphs: Iterable[str]) -> list[str]:
    return [line for one in paragraphs for line in textwrap.wrap(one, 100, break_on_hyphens=False)]


def run_end(columns: int, show: Callable[[Results], None] = terminal.show) -> str:
    """What a run of four cells prints: one reads, one has a habit, two are at chance."""
    rates = {("reader", "cloze"): 0.58, ("habit", "cloze"): 0.55}
    rates |= {("reader", "counterfactual"): 0.51, ("habit", "counterfactual"): 0.5}
    cells = [cell(model, prompt, rate) for (model, prompt), rate in rates.items()]
    results = made_of(cells, {"controls": pd.DataFrame([BESIDE], columns=[*CONTROLS])})
    warned = results["summary"].assign(
        warning=["", "replied 'A' to 97.0% of 900 questions", "", ""]
    )
    results.cache["summary"] = warned
    with patch.object(width, "WIDTH", columns), redirect_stdout(io.StringIO()) as shown:
        show(results)
    return _stripped(shown.getvalue())


def deal_of(line: bytes) -> int:
    (deal,) = re.findall(rb'"deal":(\d+)', line)
    return int(deal)


def commanded() -> str:
    """What the commands print that read a folder, of a small sweep and of a damaged copy of it."""
    lines = list[str]()

    def do(main: Callable[[list[str]], int], *words: object) -> str:
        with redirect_stdout(io.StringIO()) as shown:
            status = main([str(word) for word in words])
        named = main.__module__.rpartition(".")[2]
        typed = " ".join(["$", named, *map(str, words), f"({status})"])
        lines.extend(("", typed.replace(str(base), ""), shown.getvalue().replace(str(base), "")))
        return shown.getvalue()

    with TemporaryDirectory() as place, patch.object(report, "drawings", lambda *_: {}):
        base = Path(place)
        folder, other = base / "one", base / "two"
        for out, prompt in ((folder, "cloze,vanilla"), (other, "counterfactual")):
            words = [*FAST[:3], "controls=[]", "game=tic_tac_toe", "deals=3", f"prompt={prompt}"]
            do(run.main, *words, "baseline=null", "concurrent_matches=1", f"output_dir={out}")
        lines.clear()
        for file in (folder / "records").iterdir():  # matches may end in any order
            written = file.read_bytes().splitlines(keepends=True)
            file.write_bytes(b"".join(sorted(written, key=deal_of)))
        do(compare.main, folder, other)
        listed = do(matches.main, folder, "--lost", "--most", 2)
        do(replay.main, re.findall("[0-9a-f]{16}", listed)[0], "--in", folder)
        do(verify.main, folder, "--replay", "all")
        first, *_ = sorted((folder / "records").iterdir())
        text = first.read_bytes().splitlines(keepends=True)
        first.write_bytes(
            b"".join([text[0], text[1].replace(b":", b";", 9), text[0], text[2][:99]])
        )
        (folder / "records" / "notes.jsonl").write_text("mine")
        do(verify.main, folder)
    return _stripped("\n".join(lines[1:]))


def helped(*words: str) -> str:
    with redirect_stdout(io.StringIO()) as shown:
        assert run.main(["--help", *words]) == 0
    return _stripped(shown.getvalue())


def _stripped(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


MADE: Mapping[str, Callable[[], str]] = {
    "findings_100": said,
    "run_80": lambda: run_end(80),
    "run_100": lambda: run_end(100),
    "full_80": lambda: run_end(80, terminal.show_all),
    "commands_100": commanded,
    "help": lambda: helped(),
    "help_games": lambda: helped("games"),
}


@pytest.mark.parametrize("name", MADE)
def test_the_text_is_the_golden_one(name: str) -> None:
    text = MADE[name]()
    assert text == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")
    columns = 100 if name.endswith("100") else 80
    assert max(map(len, text.splitlines())) <= columns


def test_every_choice_has_a_line_of_help() -> None:
    every = [file for folder in conf_folders() for file in folder.glob("*/*.yaml")]
    files = [file for file in every if file.parent.name != "hydra"]
    unsaid = [
        file for file in files if not first_sentence(file.parent.name, file.stem, conf_folders())
    ]
    assert unsaid == []


def test_no_bar_where_there_is_nothing_to_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    for total in (0, 3):
        out = Console(file=io.StringIO())
        with progress.Waiting(out, "traces", "matches", done="traced") as waiting:
            waiting.reach(total, total)
        assert isinstance(out.file, io.StringIO)
        assert bool(out.file.getvalue()) == bool(total)


@pytest.mark.parametrize("columns", [100, 80, 60])
def test_columns_that_do_not_fit_follow_below(columns: int) -> None:
    shown = width.WrappedTable()
    shown.add_column("cell", overflow="fold", min_width=12)
    figures = [f"{number}" * 12 for number in range(10)]
    for figure in figures:
        shown.add_column(figure[:9], justify="right", no_wrap=True)
    for name in ("fake cot", "fake direct"):
        shown.add_row(name, *figures)
    out = io.StringIO()
    Console(width=columns, file=out).print(shown)
    lines = out.getvalue().splitlines()
    assert all(len(line) <= columns for line in lines)
    for name in ("fake cot", "fake direct"):
        rows = [line.removeprefix(name).split() for line in lines if line.startswith(name)]
        assert [figure for row in rows for figure in row] == figures


def test_the_first_paragraphs_are_shown_and_the_rest_counted() -> None:
    many = [f"{at}." for at in range(GROUPS + 2)]
    assert first_paragraphs(many) == (*many[:GROUPS], "And 2 more groups of cells: verdict.csv.")
    assert first_paragraphs(many[:GROUPS]) == tuple(many[:GROUPS])


# --- cells without skill

NOTHING = re.compile(
    r"None of the 8 prompts is shown to beat random \([^)]*\)\. "
    r"No difference between the prompts is shown( \([^)]*\))?\."
)
FEW = 200
DRAWS: Mapping[str, Callable[[np.random.Generator], list[float]]] = {
    "wins": lambda rng: rng.binomial(1, 0.3, FEW).tolist(),
    "scores": lambda rng: np.round(10 * rng.beta(0.5, 1, FEW), 1).tolist(),
}
"""Results of a deal, whose means are those of the baselines."""


def null_cells(kind: str, rng: np.random.Generator) -> list[CellResults]:
    """Eight prompts that all play like the baseline."""
    baseline = KnownBaseline(0.3, 0.0005) if kind == "wins" else KnownBaseline(10 / 3, 0.005)
    cells = []
    for at in range(8):
        info = about(f"p{at}", WIN if kind == "wins" else SCORE, baseline=baseline, model="m")
        info = replace(info, labels={**info.labels, "prompt": f"p{at}"})
        figures = DRAWS[kind](rng)
        cells.append(results(info, figures, [int(kind == "wins" and f) for f in figures]))
    return cells


def false_verdicts(kind: str, seed: int, runs: int) -> int:
    """Count the runs in which any sentence says that something is shown."""
    rng = np.random.default_rng(seed)
    texts = (" ".join(verdict(made_of(null_cells(kind, rng)))) for _ in range(runs))
    return sum(not NOTHING.fullmatch(text) for text in texts)


@pytest.mark.parametrize("kind", [*DRAWS])
def test_nothing_is_said_of_cells_without_skill_thanks_to_the_correction(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert false_verdicts(kind, 1, 24) <= 6  # of 24 at 5%, more in 0.01% of all seeds
    monkeypatch.setattr(conditions, "holm", np.asarray)
    assert false_verdicts(kind, 1, 24) > 6


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*DRAWS])
def test_at_most_5_percent_of_verdicts_on_cells_without_skill_are_false(
    kind: str, figure: Callable[[str], None]
) -> None:
    runs = 1_000
    false = false_verdicts(kind, 2, runs)
    found = clopper_pearson(false, runs)
    figure(
        f"verdicts of 8 cells without skill, by {kind}: something is shown in {false} of "
        f"{runs:,} runs ({found.low:.3f} to {found.high:.3f})"
    )
    assert found.low <= 0.05


if __name__ == "__main__":
    for name, make in MADE.items():
        (GOLDEN / f"{name}.txt").write_text(make(), encoding="utf-8")
