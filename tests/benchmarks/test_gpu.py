"""The GPU benchmark on the CPU: every step, with only its stated requirements."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
WITHOUT = (
    *("hydra", "omegaconf", "ray", "mlflow", "pandas", "statsmodels", "scipy", "numba", "msgspec"),
    *("deepspeed", "starlette", "nicegui", "sklearn", "matplotlib"),
)
"""Packages that this project uses and a machine with a GPU need not have. Nor is the project
installed there."""

ALONE = """
import sys
from importlib.machinery import PathFinder
from importlib.metadata import DistributionFinder
class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        absent = name.partition(".")[0] in {without!r}
        return None if absent else PathFinder.find_spec(name, path, target)
    @classmethod
    def find_distributions(cls, context=DistributionFinder.Context()):
        return [] if context.name == "gauntlet" else PathFinder.find_distributions(context)
sys.meta_path = [Without if finder is PathFinder else finder for finder in sys.meta_path]
from benchmarks.gpu import main
main()
"""


def rehearsed(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", ALONE.format(without=WITHOUT), "--device", "cpu", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)


@pytest.mark.slow
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
    assert figures["tiny.shards_max_abs_logprob_diff"] < 1e-4
    assert figures["tiny.shards_largest_share"] < 0.75


def test_a_run_without_time_names_what_it_leaves_out() -> None:
    done = rehearsed("--minutes", "0")
    assert done.returncode == 0, done.stderr
    assert "left out: rate, exact.tiny.float32" in done.stdout


VLLM = """
class SamplingParams:
    def __init__(self, max_tokens, temperature, logprob_token_ids, detokenize):
        assert (max_tokens, temperature, detokenize) == (1, 0.0, False) and logprob_token_ids
class LLM:
    def __init__(self, model, skip_tokenizer_init, load_format, dtype, enable_prefix_caching,
                 gpu_memory_utilization):
        import json, pathlib
        config = json.loads((pathlib.Path(model) / "config.json").read_text())
        assert config["architectures"] == ["LlamaForCausalLM"] and config["hidden_size"] == 64
        assert (load_format, dtype, enable_prefix_caching) == ("dummy", "bfloat16", True)
    def generate(self, prompts, params, use_tqdm):
        assert all(prompt["prompt_token_ids"] for prompt in prompts)
        return prompts{lost}
"""
"""The part of vLLM that is called, with its argument names."""


def run_engine(folder: Path, lost: str) -> subprocess.CompletedProcess[str]:
    (folder / "vllm.py").write_text(VLLM.format(lost=lost))
    command = [sys.executable, "-m", "benchmarks.engines", "vllm", "tiny"]
    env = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300)


def test_an_engine_gets_every_prompt_and_its_rate_is_told(tmp_path: Path) -> None:
    done = run_engine(tmp_path, "")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["decisions_per_second"] > 0
    assert "replies came" in run_engine(tmp_path, "[1:]").stderr
