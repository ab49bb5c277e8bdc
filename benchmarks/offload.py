"""What it costs to run a checkpoint whose layers are read from the disk for every pass.

    python -m benchmarks.offload [--gigabytes 0.6] [--folder DIR] [--json F]

Writes a checkpoint with random weights, measures how fast plain reading gets its files from the
disk, and then, with the system's copies of the files dropped before each pass, so that the disk is
really read:

- stream: passes over one token, which wait for little but their layers: bytes a second, and the
  share of the disk's rate that is;
- pack: decisions in a pack of the size that the engine chooses: the share of the time for which
  the pass waited for layers, and decisions a second beside those with all weights in memory;
- memory: the most that a process of each kind held;
- exact: whether all scores and a text are the same bits.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM

from benchmarks.decisions import stored
from benchmarks.networks import tokens_of
from gauntlet.models.base import Generate, Prompt, Score
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.engine.files import PROJECT, weight_files
from gauntlet.models.engine.streamed import stream_of

WIDTH, INNER, VOCABULARY = 1024, 2816, 1280
"""Of a layer, which has 51 MB in float32 then, and the tokens that the tokenizer has."""
CHUNK = 1 << 24
"""Bytes of a plain reading."""
LAST = 120
"""Letters of a decision's prompts."""
READINGS = 5
"""Plain readings and streamed ones, in turns; the fastest of each counts, as other work on the
machine only slows them."""
ROUNDS = 3
"""Packs that are timed; the median counts."""


COMPARED = 8
"""Decisions whose scores are compared bit by bit."""


def write_checkpoint(folder: Path, layers: int, width: int, inner: int) -> None:
    """Writes a checkpoint with random weights, a file a layer, never holding more than one."""
    config = LlamaConfig(
        hidden_size=width,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=width // 64,
        num_key_value_heads=width // 64,
        vocab_size=VOCABULARY,
        max_position_embeddings=2048,
        initializer_range=0.05,
        tie_word_embeddings=True,
    )
    tokens_of("15m").tokenizer.save_pretrained(folder)
    config.architectures = ["LlamaForCausalLM"]
    config.save_pretrained(folder)
    one = LlamaConfig(**{**config.to_dict(), "num_hidden_layers": 1})
    places = {}
    for number in range(layers):
        torch.manual_seed(number)
        weights: dict[str, Any] = dict(LlamaForCausalLM(one).state_dict())
        del weights["lm_head.weight"]
        own = {
            key.replace("layers.0.", f"layers.{number}."): weight
            for key, weight in weights.items()
            if "layers.0." in key or number == 0
        }
        file = f"model-{number:03}.safetensors"
        save_file(own, folder / file, metadata={"format": "pt"})
        places |= dict.fromkeys(own, file)
    index = {"metadata": {"total_size": 0}, "weight_map": places}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    os.sync()  # what is not yet on the disk cannot be dropped


def dropped(folder: Path) -> None:
    """Has the system drop its copies of the checkpoint's files."""
    for file in weight_files(folder, "random"):
        with file.open("rb") as stream:
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def disk_rate(folder: Path) -> float:
    """Bytes a second of reading all files one after another."""
    dropped(folder)
    buffer, size, started = bytearray(CHUNK), 0, time.perf_counter()
    for file in weight_files(folder, "random"):
        with file.open("rb", buffering=0) as stream:
            while got := stream.readinto(buffer):
                size += got
    return size / (time.perf_counter() - started)


def streaming(folder: Path) -> dict[str, float]:
    """Passes over one token, and plain readings of the same files in turns with them."""
    torch.set_num_threads(1)
    local = Checkpoint(str(folder), offload="layers", engine="reference", device="cpu").load()
    network = local._writer.network
    stream = stream_of(network)
    assert stream is not None
    disk, passes = [], []
    for _ in range(READINGS):
        disk.append(disk_rate(folder))
        dropped(folder)
        # Two passes: while the second one works, the first layer is read for a third.
        before, started = stream.bytes, time.perf_counter()
        for _ in range(2):
            with torch.inference_mode():
                network(input_ids=torch.zeros(1, 1, dtype=torch.int64), use_cache=False)
            dropped(folder)
        passes.append((stream.bytes - before) / (time.perf_counter() - started))
    rate, own = max(disk), max(passes)
    return {"disk_bytes_s": rate, "stream_bytes_s": own, "stream_share": own / rate}


def decisions() -> list[Score]:
    """The ends of real decisions, options and question: short texts, so that a small machine goes
    through in minutes."""
    return [
        Score(
            tuple(
                Prompt("", prompt.changing[-LAST:], prompt.cue) for prompt in turn.decision.prompts
            ),
            turn.decision.choices,
        )
        for turn in stored()
        if turn.decision is not None
    ]


def filling(local: Any) -> list[Score]:
    """As many decisions as one pack holds."""
    pack: list[Score] = []
    room = local._scorer.pack_tokens
    for score in decisions():
        texts = [local.tokens.encode(prompt) for prompt in score.prompts]
        room -= len(local._scorer._decision(score, texts).tree.tokens)
        if room < 0:
            break
        pack.append(score)
    return pack


def deciding(folder: Path, offload: str) -> dict[str, Any]:
    """Decisions in one pack at a time, and a text; what was held, and what came of it."""
    local = Checkpoint(str(folder), offload=offload, device="cpu").load()  # type: ignore[arg-type]
    stream = stream_of(local._writer.network)
    pack = filling(local)
    # Both ways are asked the same, though their packs hold different numbers of decisions.
    replies = [
        *local.answer(decisions()[:COMPARED]),
        *local.answer([Generate(pack[0].prompts[0], 8)]),
    ]
    rates, waits = [], []
    for _ in range(ROUNDS):
        dropped(folder)
        waited, started = stream.waited if stream else 0.0, time.perf_counter()
        local.answer(pack)
        took = time.perf_counter() - started
        rates.append(len(pack) / took)
        waits.append((stream.waited - waited) / took if stream else 0.0)
    return {
        "decisions": len(pack),
        "pack_tokens": local._scorer.pack_tokens,
        "hiding_tokens": stream.hiding if stream else 0,
        "decisions_s": statistics.median(rates),
        "waited_share": statistics.median(waits),
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "replies": hashlib.sha256(repr(replies).encode()).hexdigest(),
    }


def part_of(part: str, folder: Path) -> dict[str, Any]:
    """What one process measures."""
    return streaming(folder) if part == "streaming" else deciding(folder, part)


def run_part(part: str, folder: Path) -> dict[str, Any]:
    """A part in a process of its own, whose memory is its own."""
    command = [sys.executable, "-m", "benchmarks.offload", "--folder", str(folder), "--part", part]
    done = subprocess.run(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def measured(folder: Path) -> dict[str, float | bool]:
    """All figures of the checkpoint in the folder."""
    size = sum(file.stat().st_size for file in weight_files(folder, "random"))
    found = {"checkpoint_bytes": size, **_print_figures(run_part("streaming", folder))}
    resident, offloaded = run_part("none", folder), run_part("layers", folder)
    return {
        **found,
        **_print_figures(
            {
                "exact": resident["replies"] == offloaded["replies"],
                **{key: offloaded[key] for key in ("pack_tokens", "hiding_tokens", "decisions")},
                "waited_share": offloaded["waited_share"],
                "resident_decisions_s": resident["decisions_s"],
                "offloaded_decisions_s": offloaded["decisions_s"],
                "offloaded_ratio": offloaded["decisions_s"] / resident["decisions_s"],
                "resident_peak_bytes": resident["peak_bytes"],
                "offloaded_peak_bytes": offloaded["peak_bytes"],
            }
        ),
    }


def _print_figures(figures: dict[str, Any]) -> dict[str, Any]:
    for key, value in figures.items():
        shown = f"{value / 2**20:,.0f} MiB" if "bytes" in key else f"{value:.4g}"
        print(f"{key:28} {value if isinstance(value, bool) else shown}", flush=True)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--gigabytes", type=float, default=0.6, help="size of the checkpoint")
    parser.add_argument("--width", type=int, default=WIDTH, help="of its hidden rows")
    parser.add_argument("--folder", type=Path, help="a checkpoint that is there, in place of one")
    parser.add_argument("--part", choices=["streaming", "none", "layers"], help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    given = parser.parse_args()
    if given.part:
        print(json.dumps(part_of(given.part, given.folder)))
        return
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=given.folder and given.folder.parent) as made_here:
        folder = given.folder or Path(made_here)
        if not given.folder:
            inner = given.width * INNER // WIDTH
            layer = 4 * (4 * given.width**2 + 3 * given.width * inner)
            write_checkpoint(
                folder, max(2, round(given.gigabytes * 1e9 / layer)), given.width, inner
            )
        found: dict[str, Any] = measured(folder)
    found["seconds"] = time.perf_counter() - started
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
