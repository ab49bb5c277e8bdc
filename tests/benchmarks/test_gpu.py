"""The run on a card, rehearsed on the CPU: every step of it, with what it says it needs alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
WITHOUT = (
    *("hydra", "omegaconf", "ray", "mlflow", "pandas", "statsmodels", "scipy", "numba", "msgspec"),
    *("deepspeed", "starlette", "nicegui", "sklearn", "matplotlib"),
)
"""What this project uses and a machine with a card need not have."""

ALONE = """
import sys
from importlib.machinery import PathFinder
class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        absent = name.partition(".")[0] in {without!r}
        return None if absent else PathFinder.find_spec(name, path, target)
sys.meta_path = [Without if finder is PathFinder else finder for finder in sys.meta_path]
from benchmarks.gpu import main
main()
"""


def rehearsed(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", ALONE.format(without=WITHOUT), "--device", "cpu", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)


def test_every_step_is_gone_with_torch_and_transformers_alone(tmp_path: Path) -> None:
    done = rehearsed("--minutes", "10", "--json", str(tmp_path / "figures.json"))
    assert done.returncode == 0, done.stderr
    assert "left out" not in done.stdout
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["exact.tiny.float32.max_abs_logprob_diff"] < 1e-4
    assert figures["exact.tiny.float32.alike_alone"] == 1
    assert figures["exact.tiny.bfloat16.alike_alone"] == 1
    for figure in ("decision_ratio", "cached_ratio", "limit_share", "batch_invariant_cost"):
        assert f"tiny.{figure}" in figures
    assert figures["tiny.generation_ratio"] > 0


def test_a_run_without_time_names_what_it_leaves_out() -> None:
    done = rehearsed("--minutes", "0")
    assert done.returncode == 0, done.stderr
    assert "left out: rate, exact.tiny.float32" in done.stdout
