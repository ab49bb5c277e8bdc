"""Benchmark the scoring engine on one GPU, in a few minutes and one command.

    python -m benchmarks.gpu [--minutes 13] [--json F]
    python -m benchmarks.gpu --device cpu       the same steps at tiny sizes, without a GPU

Needs torch 2.11 or newer, transformers and numpy, no network. It prints each result as it comes and
writes the file after each step, so an interrupted run keeps its results; steps that would exceed
the time limit are skipped and listed.

- exact: the packed scorer against the reference, in float32 and bfloat16; whether batch-invariant
  results are bit-identical in any batch.
- speed: `benchmarks.scoring` at each size: decisions per second, x loop, x game, x cached, share of
  the GPU's measured rate, the host's share, the cost of batch_invariant, and peak memory; vLLM and
  SGLang on the same decisions, if installed.
- writing: batched generation, against `generate` one at a time.
- shards: two shards of a network on one GPU, against the whole, if DeepSpeed is installed.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import torch
import transformers

from benchmarks import two_shards
from benchmarks.decisions import turns
from benchmarks.engines import installed, measured
from benchmarks.limits import matmul_rate
from benchmarks.networks import network_of, tokens_of
from benchmarks.scoring import WIDTH, measure
from benchmarks.timing import compare, rows_of
from benchmarks.writing import measure_writing
from gauntlet.models.base import Score
from gauntlet.models.engine.packed import Packed
from gauntlet.models.engine.reference import Reference

OLDEST = (2, 11)
EXACT = {"cuda": ("15m", "1b"), "cpu": ("tiny",)}
SPEED = {"cuda": ("1b", "8b"), "cpu": ("tiny",)}
ENGINE_SIZES = ("1b", "8b", "tiny")
WRITING = {"cuda": "1b", "cpu": "tiny"}
SECONDS = {"1b": 120.0, "8b": 150.0}
"""To measure a size's speed: 117 and 145 on an H200."""
DTYPES = (torch.float32, torch.bfloat16)
CHECKED = {"cuda": 24, "cpu": 6}
"""Decisions whose log-probabilities are all compared."""

Figures = dict[str, float]
Step = Callable[[], Figures]


@dataclass
class Run:
    """One run on a device: its results so far, and its deadline."""

    device: str
    ends: float
    file: Path | None
    figures: dict[str, float | str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def take(self, name: str, step: Step, seconds: float) -> None:
        """Run one step, of about `seconds` seconds, if there is time for it."""
        if time.monotonic() + seconds > self.ends:
            self.left_out.append(name)
            print(f"{name}: left out, it takes about {seconds:.0f} s", flush=True)
            return
        started = time.monotonic()
        try:
            found = step()
        except (RuntimeError, torch.OutOfMemoryError, SystemExit) as error:
            why = (str(error).strip() or type(error).__name__).splitlines()[0]
            self.left_out.append(name)
            print(f"{name}: {why}", flush=True)
            return
        self.tell({**found, f"{name}.seconds": time.monotonic() - started})

    def tell(self, figures: dict[str, float] | dict[str, str]) -> None:
        for key, value in figures.items():
            shown = value if isinstance(value, str) else f"{value:.4g}"
            print(f"{key:44} {shown}", flush=True)
        self.figures.update(figures)
        if self.file:
            self.file.write_text(json.dumps(self.figures, indent=1) + "\n")


def steps(device: str) -> Iterator[tuple[str, Step, float]]:
    """Yield the steps of a device, the most important first, with their approximate seconds on an
    H200."""
    for size in EXACT[device]:
        for dtype in DTYPES:
            name = f"exact.{size}.{str(dtype).removeprefix('torch.')}"
            yield name, partial(exact, size, device, dtype), 10.0
    first, *larger = SPEED[device]
    yield from speed_steps(first, device)
    size = WRITING[device]
    yield f"writing.{size}", partial(writing, size, device), 60.0
    yield f"shards.{size}", partial(two_shards.measured, size, device), 90.0
    for size in larger:
        yield from speed_steps(size, device)


def speed_steps(size: str, device: str) -> Iterator[tuple[str, Step, float]]:
    """The steps that measure the speed of a size, by us and by other engines, if installed."""
    seconds = SECONDS.get(size, 15.0)
    yield f"speed.{size}", partial(speed, size, device), seconds
    for engine in installed() if size in ENGINE_SIZES else ():
        yield f"{engine}.{size}", partial(engine_figures, engine, size), seconds


def exact(size: str, device: str, dtype: torch.dtype) -> Figures:
    """Compare the packed scorer with the reference, and its bits alone and in a batch."""
    name = f"exact.{size}.{str(dtype).removeprefix('torch.')}"
    network, tokens = network_of(size, device).to(dtype), tokens_of(size)
    real = decisions(CHECKED[device])
    packed = Packed(network, tokens, invariant=True)
    together = packed.score(real)
    found = compare(rows_of(Reference(network, tokens).score(real)), rows_of(together))
    alone = [packed.score([decision])[0] for decision in real]
    return {
        **{f"{name}.{figure}": value for figure, value in found.items()},
        f"{name}.alike_alone": sum(a == b for a, b in zip(alone, together, strict=True))
        / len(real),
    }


def speed(size: str, device: str) -> Figures:
    """Return the results of `benchmarks.scoring`, and peak memory in GiB."""
    if device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    found = measure(size, device, WIDTH[device])
    if device == "cuda":
        found[f"{size}.peak_gib"] = torch.cuda.max_memory_allocated() / 2**30
    return found


def engine_figures(engine: str, size: str) -> Figures:
    """Run vLLM or SGLang on the same decisions, after freeing our own memory."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return measured(engine, size)


def writing(size: str, device: str) -> Figures:
    network, tokens = network_of(size, device).float(), tokens_of(size)  # 16 bits: ties differ
    found = measure_writing(network, tokens, decisions(8))
    return {f"{size}.{figure}": value for figure, value in found.items()}


def decisions(count: int) -> list[Score]:
    return [turn.decision for turn in turns(count) if turn.decision is not None][:count]


def about(device: str) -> dict[str, str]:
    """Return descriptions of the machine and the libraries."""
    card = torch.cuda.get_device_properties(0) if device == "cuda" else None
    return {
        "device": f"{card.name}, {card.total_memory / 2**30:.0f} GiB" if card else "cpu",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--minutes", type=float, default=13, help="no step begins that ends later")
    parser.add_argument("--json", type=Path, help="write the figures to this file, step by step")
    options = parser.parse_args()
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    if version < OLDEST:
        parser.error(f"torch {torch.__version__} is too old; it takes {'.'.join(map(str, OLDEST))}")
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("torch sees no card; --device cpu goes through the same steps at tiny sizes")
    if options.device == "cpu":
        torch.set_num_threads(1)
    run = Run(options.device, time.monotonic() + 60 * options.minutes, options.json)
    run.tell(about(options.device))
    largest = SPEED[options.device][0]
    run.take(
        "rate",
        lambda: {"matmul_teraflops": matmul_rate(network_of(largest, options.device)) / 1e12},
        10,
    )
    for name, step, seconds in steps(options.device):
        run.take(name, step, seconds if options.device == "cuda" else 1)
    if run.left_out:
        print(f"left out: {', '.join(run.left_out)}")


if __name__ == "__main__":
    main()
