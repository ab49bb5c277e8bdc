"""Every benchmark starts, small, so that no figure of the docs loses its command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
MODULES = sorted(
    file.stem
    for file in (ROOT / "benchmarks").glob("*.py")
    if 'if __name__ == "__main__":' in file.read_text(encoding="utf-8")
)
SMALL = {
    "adaptive": ("equals --leagues 4 --robins 2 --players 4",),
    "decisions": ("",),
    "evergreen": ("--games 3", "--example"),
    "games": ("tic_tac_toe --seconds .05",),
    "ladder": ("--table",),
    "leagues": ("--leagues 2",),
    "nulls": ("--runs 2 --deals 20",),
    "llama_cpp": ("gauntlet/models/pocket/weights --decisions 1 --length 2 --rounds 1",),
    "placing": ("procedure --placements 2",),
    "ratings": ("--tournaments 2",),
    "reasoning": ("--methods direct --matches 1",),
    "robustness": ("--runs 2", "--table few --runs 2"),
    "scaling": ("--part decision", "--part simulation --matches 10000"),
    "sweeps": ("--cells 10 --deals 1",),
    "textbook": ("",),
}
"""The options of the quick ones, and of those that use the most of what changes."""
SLOW = {
    "adaptive": ("verdicts --leagues 4 --robins 2",),
    "arena": ("--seconds .05",),
    "beliefs": ("--deals 2 --games Kuhn --models pocket_duel",),
    "chance": ("--deals 5 --playouts 4", "--table leads --deals 5 --playouts 4 --rows kuhn"),
    "ended": ("--runs 2",),
    "engines": ("vllm tiny",),
    "evergreen": ("--losses --games 3",),
    "families": ("llama",),
    "gpu": ("--device cpu --minutes 0",),
    "holdem": ("--seconds .05",),
    "intervals": ("--runs 2",),
    "luck": ("--games 20 --deals 5", "--game holdem --games 20 --deals 5"),
    "scaling": ("--part speedup", "--part slots"),
    "scoring": ("--sizes tiny",),
    "start": ("--rounds 1",),
    "stopping": ("--sweeps 4000",),
    "sweeps": ("--cells 10 --deals 1 --one 10",),
    "two_shards": ("tiny --device cpu",),
    "uno": ("--seconds .05",),
}
MISSING = {"engines": "vllm is not installed", "llama_cpp": "a GGUF file"}
"""What is not on every machine, as the line that ends the benchmark names it."""
CASES = [
    pytest.param(name, options, marks=marks, id=f"{name} {options}".rstrip())
    for table, marks in ((SMALL, ()), (SLOW, pytest.mark.slow))
    for name, variants in table.items()
    for options in variants
]


def test_every_benchmark_is_in_the_tables() -> None:
    assert sorted({*SMALL, *SLOW}) == MODULES


@pytest.mark.parametrize(("name", "options"), CASES)
def test_a_benchmark_starts(name: str, options: str) -> None:
    command = [sys.executable, "-m", f"benchmarks.{name}", *options.split()]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=600)
    if name in MISSING:
        assert done.returncode == 2
        assert MISSING[name] in done.stderr.splitlines()[-1]
    else:
        assert done.returncode == 0, done.stderr
        assert any(character.isdigit() for character in done.stdout)
