"""A person at the terminal in a sweep, with typed lines as the keyboard.

Tests where a person leaves, or of the whole command, use a real process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.pipeline.conftest import Capsys, Sweep
from tests.pipeline.logs import matches


def play(folder: Path, typed: str, *overrides: str) -> subprocess.CompletedProcess[str]:
    base = ["experiment=play", f"output_dir={folder}", *overrides]
    return subprocess.run(
        [sys.executable, "-m", "gauntlet.pipeline.run", *base],
        input=typed,
        capture_output=True,
        text=True,
        timeout=300,
    )


Typing = Callable[..., str]

TIC_TAC_TOE = ("experiment=play", "game=tic_tac_toe", "model=fake")


@pytest.fixture
def typing(sweep: Sweep, monkeypatch: pytest.MonkeyPatch, capsys: Capsys) -> Typing:
    """Play in this process, to its end, with the typed input; return the output."""

    def go(typed: str, *overrides: str) -> str:
        keyboard, typist = os.pipe()
        monkeypatch.setattr("gauntlet.models.human.KEYBOARD", keyboard)
        os.write(typist, typed.encode())
        os.close(typist)
        try:
            assert sweep(*TIC_TAC_TOE, *overrides) == 0
        finally:
            os.close(keyboard)
        return capsys.readouterr().out

    return go


def test_moves_are_shown_once_and_a_slip_of_the_keyboard_is_asked_about_again(
    typing: Typing, folder: Path
) -> None:
    said = typing("nine\n0\n" + "1\n" * 50, "deals=1")
    for wrong in ("'nine'", "'0'"):
        assert f"{wrong} is not one of 1, 2, 3, 4, 5, 6, 7, 8\nYour choice (1 to 8):" in said
    (record,) = matches(folder).values()
    assert not any(made.fallback for made in record.decisions)
    moves = [made.options[made.chosen] for made in record.decisions if made.seat == 0]
    for move in moves:
        told = [line for line in said.splitlines() if line.endswith(f" {move}")]
        assert sum(line.startswith("player 0") for line in told) == 1, move


def test_what_an_option_is_called_will_do(typing: Typing, folder: Path) -> None:
    typing("c2r2\n" * 5 + "1\n" * 50, "deals=1")
    (record,) = matches(folder).values()
    first = next(made for made in record.decisions if made.seat == 1)
    named = "C2R2" if "C2R2" in first.options else first.options[0]
    assert first.options[first.chosen] == named


def test_whoever_leaves_can_go_on_later(typing: Typing, folder: Path) -> None:
    left = play(folder, "1\n1\n", *TIC_TAC_TOE[1:], "deals=2")
    assert left.returncode == 130, left.stderr
    said = " ".join(left.stdout.split())
    assert "2 matches are left" in said
    assert "running the same command again continues" in said
    assert "Traceback" not in left.stdout + left.stderr
    assert not (folder / "failed_matches.jsonl").exists()
    assert matches(folder) == {}
    typing("1\n" * 50, "deals=2")
    assert len(matches(folder)) == 2
