"""The compiled engine's cache: an edited rule takes effect at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

RULES = """
from pathlib import Path
from gauntlet.games.compiling import Compiler

compiler = Compiler(Path(__file__).parent)

@compiler.inlined
def cards():
    return 7
"""
PLAY = """
from engine.rules import cards, compiler

@compiler.compiled
def dealt(seats):
    return seats * cards()
"""


def dealt(folder: Path) -> str:
    command = [sys.executable, "-c", "from engine.play import dealt; print(dealt(2), dealt.stats)"]
    env = os.environ | {"PYTHONPATH": str(folder)}
    env.pop("NUMBA_CACHE_DIR", None)
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout


def test_a_change_in_one_file_renews_what_calls_it_from_another(tmp_path: Path) -> None:
    package = tmp_path / "engine"
    package.mkdir()
    (package / "rules.py").write_text(RULES)
    (package / "play.py").write_text(PLAY)
    first, again = dealt(tmp_path), dealt(tmp_path)
    assert first.startswith("14 ")
    assert "cache_hits=Counter()" in first
    assert again.startswith("14 ")
    assert "cache_misses=Counter()" in again, "the second process compiled again"
    (package / "rules.py").write_text(RULES.replace("7", "5"))
    assert dealt(tmp_path).startswith("10 ")
