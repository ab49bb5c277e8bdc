"""A network in two shards on one device against the whole: a step of `benchmarks.gpu`.

    python -m benchmarks.two_shards SIZE [--device cuda]     prints one line of JSON

Two processes hold one shard each, split by DeepSpeed or, on a CPU where it is not installed, by
transformers. On one GPU their sums go through main memory, so this shows that the shards' results
match the whole's, not the speed of two GPUs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import torch

from benchmarks import apart
from benchmarks.decisions import turns
from benchmarks.networks import SIZES, network_of, tokens_of
from benchmarks.timing import compare, in_calls, rows_of, timed
from gauntlet.models.base import Score
from gauntlet.models.engine.packed import Packed
from gauntlet.models.engine.reference import Reference
from gauntlet.models.engine.shards import Rank, layer_weights, load_part

PARTS = 2
DECISIONS = {"cpu": 6, "cuda": 64}
SECONDS = 300
"""Timeout for a rank that waits for the other one."""

Figures = dict[str, float]


def measured(size: str, device: str) -> Figures:
    """Run `measure` in separate processes. Raises RuntimeError."""
    found = apart.run_part("benchmarks.two_shards", size, "--device", device)
    return {f"{size}.shards_{figure}": value for figure, value in found.items()}


def measure(size: str, device: str) -> Figures:
    """Return the shards' deviation from the reference scorer on the whole network, in float32;
    decisions per second; the largest share of the layers' weights in one shard."""
    if device == "cuda" and not find_spec("deepspeed"):
        # transformers gathers the shards' outputs, which through main memory ends the process.
        raise SystemExit("two shards on one GPU need DeepSpeed: pip install deepspeed")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "whole"
        network = network_of(size, device).float()
        network.save_pretrained(folder)
        weights = layer_weights(network)
        exact = rows_of(Reference(network, tokens_of(size)).score(decisions(device)))
        del network
        if device == "cuda":
            torch.cuda.empty_cache()
        command = [sys.executable, "-m", "benchmarks.two_shards", size, "--device", device]
        parts = [
            subprocess.Popen([*command, "--part", str(number), "--folder", place])
            for number in range(PARTS)
        ]
        try:
            codes = [part.wait(SECONDS) for part in parts]
        finally:
            for part in parts:
                part.kill()
        if any(codes):
            raise SystemExit(f"a part ended with an error: {codes}")
        told = [json.loads((Path(place) / f"{n}.json").read_text()) for n in range(PARTS)]
    found = compare(exact, told[0]["rows"])
    return {
        "max_abs_logprob_diff": found["max_abs_logprob_diff"],
        "argmax_flips": found["argmax_flips"],
        "largest_share": max(one["weights"] for one in told) / weights,
        "decisions_per_second": len(decisions(device)) / told[0]["seconds"],
    }


def part(size: str, device: str, number: int, place: Path) -> None:
    """Run one of the processes and write its results to a file."""
    rank = Rank(number, PARTS, f"file://{place / 'meeting'}", one_card=device == "cuda")
    network, least = load_part(place / "whole", size, "float32", device, rank)
    packed, requests = Packed(network, tokens_of(size), least=least), decisions(device)
    rows = rows_of(packed.score(requests))
    seconds = timed({"parts": partial(in_calls, packed, requests, len(requests))}, network.device)
    told = {"rows": rows, "weights": layer_weights(network), "seconds": seconds["parts"]}
    (place / f"{number}.json").write_text(json.dumps(told))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()  # else its threads may abort the process


def decisions(device: str) -> list[Score]:
    found = [turn.decision for turn in turns(2 * DECISIONS[device]) if turn.decision is not None]
    return found[: DECISIONS[device]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("size", choices=sorted(size for size in SIZES if SIZES[size].shape))
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--part", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.part is None:
        print(json.dumps(measure(options.size, options.device)))
    else:
        part(options.size, options.device, options.part, options.folder)


if __name__ == "__main__":
    main()
