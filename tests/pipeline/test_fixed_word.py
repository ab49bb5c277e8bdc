"""A model that writes the same word for every prompt: messages to the user, and the tables."""

from __future__ import annotations

import html
from pathlib import Path

import pandas as pd
import pytest

from tests.pipeline.conftest import Sweep

WORD = ("model=fake", "+model.texts=[moin]", "controls=auto")
SILENT = ("prompt=vanilla", "prompt._target_=tests.pipeline.habits.Silent", "packages=[tests]")


def printed(capsys: pytest.CaptureFixture[str], folder: Path) -> str:
    """Return the output, its wrapped lines joined; each fits the terminal."""
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line) for line in lines if str(folder) not in line) <= 100
    return " ".join(" ".join(lines).split())


def test_a_word_that_no_option_has_is_told(
    sweep: Sweep, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The fallback that took every move is a random one here, and is counted."""
    assert sweep("game=tic_tac_toe", "prompt=vanilla", *WORD, "deals=20") == 0
    (warning,) = pd.read_csv(folder / "summary.csv")["warning"]
    assert warning.startswith("replied 'moin' to 100.0% of ")
    assert "; a fallback took 100.0% of its decisions" in warning
    said = printed(capsys, folder)
    assert f"WARNING fake[texts=[moin]] vanilla: {warning}" in said
    assert "0.0-100.0%" in said, "all matches may have been lost or won"
    page = (folder / "report.html").read_text()
    assert "WARNING fake[texts=[moin]]" in page
    samples = (folder / "samples.txt").read_text()
    for text in (samples, html.unescape(page)):
        assert text.count("-> 'moin'") == text.count("(malformed: a fallback took it)") == 5
    deals = [int(line.rpartition(" ")[2]) for line in samples.splitlines() if ", deal " in line]
    assert [deal // 4 for deal in deals] == [0, 1, 2, 3, 4], "one from each fifth of the deals"


def test_a_fallback_that_nobody_is_told_of_shows(
    sweep: Sweep, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There are no fallbacks in the log: the player wins as often as one that always takes the last
    option."""
    assert sweep("game=uno", *SILENT, *WORD, "deals=12") == 0
    (cell,) = pd.read_csv(folder / "summary.csv").itertuples()
    (read,) = pd.read_csv(folder / "parser.csv").itertuples()
    assert cell.fallbacks == read.malformed == 0
    first, habit, *rivals = cell.warning.split("; ")
    assert first.startswith("replied 'moin' to 100.0% of ")
    assert habit.startswith("took the last option in 100.0% of ")
    assert rivals[-1].startswith("not shown to do better than always the last option (-")
    controls = pd.read_csv(folder / "controls.csv").set_index("control")
    assert controls.loc["last option", "difference"] == 0
    assert controls.loc["last option", "control_mean"] == cell.raw
    assert "A fixed option in the subject's place" in printed(capsys, folder)


def test_a_player_that_reads_is_not_warned_of(sweep: Sweep, folder: Path) -> None:
    """The fake model's letters depend on every word of the prompt."""
    assert sweep("prompt=cloze", "deals=40", "game=tic_tac_toe") == 0
    summary = pd.read_csv(folder / "summary.csv", keep_default_na=False)
    assert list(summary["warning"]) == [""]
    (told,) = pd.read_csv(folder / "diagnostics.csv").itertuples()
    assert told.questions > 300
    assert told.reply_share < 0.5
    assert told.close_decisions == 0
    letters = pd.read_csv(folder / "choices.csv").query("kind == 'letter'")
    assert letters["share"].sum() == pytest.approx(1)
    assert letters["random"].sum() == pytest.approx(1)
