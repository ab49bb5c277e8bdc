"""The end of a run and the help as a person sees them, at 80 and 100 columns.

`python -m tests.pipeline.test_terminal` writes the texts anew; read what changed before you commit.
"""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path
from unittest.mock import patch

import pandas as pd
import pytest
from rich.console import Console

from gauntlet.common import terminal as width
from gauntlet.common.conf_folders import conf_folders
from gauntlet.pipeline.config.yaml_files import first_sentence
from gauntlet.pipeline.log import progress
from gauntlet.pipeline.run import main
from gauntlet.pipeline.tables.sweep.controls import CONTROLS
from gauntlet.pipeline.tables.sweep.terminal import show
from tests.pipeline.made import made_of
from tests.pipeline.test_answers import cell

GOLDEN = Path(__file__).parent / "terminal"
BESIDE = ("habit-cloze", "first option", 1200, "win", 0.55, 0.55, 0.0, -0.04, 0.04, 1.0)


def run_end(columns: int) -> str:
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


def helped(*words: str) -> str:
    with redirect_stdout(io.StringIO()) as shown:
        assert main(["--help", *words]) == 0
    return _stripped(shown.getvalue())


def _stripped(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


MADE = {
    "run_80": lambda: run_end(80),
    "run_100": lambda: run_end(100),
    "help": lambda: helped(),
    "help_games": lambda: helped("games"),
}


@pytest.mark.parametrize("name", MADE)
def test_the_text_is_the_golden_one(name: str) -> None:
    text = MADE[name]()
    assert text == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")
    columns = 100 if name.endswith("100") else 80
    assert max(map(len, text.splitlines())) <= columns
    most = {"run_80": 24, "run_100": 20}  # a table too wide for 80 columns goes on below
    assert len(text.splitlines()) <= most.get(name, 60)


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


if __name__ == "__main__":
    for name, make in MADE.items():
        (GOLDEN / f"{name}.txt").write_text(make(), encoding="utf-8")
