"""Sizing a sweep before it runs: what fits on which devices, and how much is asked.

    python -m pipeline.plan model=llama70b prompt=cloze deals=10000 --hardware 8xH100

It takes the arguments of `pipeline.run`. Models are not loaded: their shapes come from
`SHAPES` or their config.json. The number of decisions per match and the prompt lengths come
from playing a few matches with synthetic replies.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from gauntlet.common.errors import ModelError, UserError, counted, suggest
from gauntlet.common.sanitize import one_line
from gauntlet.common.terminal import WrappedTable, short
from gauntlet.models.checkpoint import Checkpoint, cached_folder
from gauntlet.models.engine.files import local_folder, read_json
from gauntlet.models.engine.memory import (
    OFFLOADED_PACKS,
    PACK_MOST,
    WEIGHTS_SHARE,
    bytes_per_token,
    state_bytes,
)
from gauntlet.pipeline.config.read import CellConfig, SweepConfig
from gauntlet.pipeline.log.results import CellInfo
from gauntlet.pipeline.plan.baseline import measure
from gauntlet.pipeline.plan.deals import planned_deals
from gauntlet.pipeline.sizing.workload import SAMPLE, Work, cast, control_casts, sampled
from gauntlet.pipeline.tables.sweep.claims import planned_tests

GIB = 1 << 30
MOST_DEVICES = 100_000


@dataclass(frozen=True)
class Device:
    """One device. memory: GiB."""

    name: str
    memory: float


DEVICES = {
    device.name: device
    for device in (
        Device("H200", 131.3),
        Device("H100", 74.5),
        Device("A100-80", 74.5),
        Device("A100-40", 37.3),
        Device("L40S", 44.7),
        Device("A6000", 44.7),
        Device("4090", 22.4),
        Device("cpu", 4.0),
    )
}
"""From the vendors' data sheets (SXM where there are several variants): the 141 GB of an H200 are
131.3 GiB. `cpu` is one server core with its share of memory, for one worker per core."""


def devices(text: str) -> tuple[int, Device]:
    """Parse a number of devices: "8xH100", "H200". Raises UserError for an unknown device."""
    match = re.fullmatch(r"(?:0*(\d{1,9})\s*[xX*])?\s*(.+)", text.strip())
    names = {name.lower(): device for name, device in DEVICES.items()}
    count = int(match.group(1) or 1) if match else 1
    name = one_line(match.group(2) if match else "", 40)
    argument = f"--hardware {one_line(text, 40)!r}"
    if re.match(r"\d{10}", name) or not 1 <= count <= MOST_DEVICES:
        raise UserError(f"{argument}: there may be 1 to {MOST_DEVICES:,} devices")
    if name.lower() not in names:
        longer = [known for known in DEVICES if known.lower().startswith(name.lower())]
        hint = suggest(name, longer if name and longer else DEVICES)
        raise UserError(f"{argument}: no device {name!r}{hint}")
    return count, names[name.lower()]


@dataclass(frozen=True)
class Shape:
    """A dense Llama-style decoder, with the field names of its config.json."""

    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    intermediate_size: int
    vocab_size: int
    tie_word_embeddings: bool = False

    @property
    def layer_parameters(self) -> int:
        """Parameters of all layers: four projections, a gated MLP of three, two norms."""
        queries = self.num_attention_heads * self.head_dim
        keys = self.num_key_value_heads * self.head_dim
        attention = self.hidden_size * 2 * (queries + keys)
        layer = attention + 3 * self.hidden_size * self.intermediate_size + 2 * self.hidden_size
        return self.num_hidden_layers * layer

    @property
    def parameters(self) -> int:
        """All parameters: layers, embedding, the head if not tied, and the last norm."""
        tables = 1 if self.tie_word_embeddings else 2
        return self.layer_parameters + (tables * self.vocab_size + 1) * self.hidden_size


SHAPES = {
    "meta-llama/Llama-3.2-1B": Shape(2048, 16, 32, 8, 64, 8192, 128256, True),
    "meta-llama/Llama-3.1-8B": Shape(4096, 32, 32, 8, 128, 14336, 128256),
    "mistralai/Mistral-Small-24B-Instruct-2501": Shape(5120, 40, 32, 8, 128, 32768, 131072),
    "meta-llama/Llama-3.3-70B-Instruct": Shape(8192, 80, 64, 8, 128, 28672, 128256),
}
"""From their config.json files on the Hugging Face hub."""


def shape_of(path: str) -> Shape:
    """The shape of the model at `path` (see models.checkpoint.Checkpoint). Raises UserError."""
    if path in SHAPES:
        return SHAPES[path]
    try:
        folder = local_folder(path) or cached_folder(path, None)
        if folder is None:
            names = ", ".join(sorted(SHAPES))
            raise UserError(
                f"model {path!r} is not on this machine, so its shape is not known; fetch its "
                f"config.json into a folder and give that, or plan with one of {names}"
            )
        return _from_config(read_json(Path(folder) / "config.json", path), path)
    except ModelError as error:
        raise UserError(str(error)) from error


def _from_config(config: Mapping[str, Any], path: str) -> Shape:
    config = config.get("text_config", config)
    experts = [key for key in config if "expert" in key and config[key]]
    if experts:
        raise UserError(f"model {path!r} has {experts[0]}; only dense models are planned")
    try:
        heads = int(config["num_attention_heads"])
        return Shape(
            hidden_size=int(config["hidden_size"]),
            num_hidden_layers=int(config["num_hidden_layers"]),
            num_attention_heads=heads,
            num_key_value_heads=int(config.get("num_key_value_heads") or heads),
            head_dim=int(config.get("head_dim") or config["hidden_size"] // heads),
            intermediate_size=int(config["intermediate_size"]),
            vocab_size=int(config["vocab_size"]),
            tie_word_embeddings=bool(config.get("tie_word_embeddings", False)),
        )
    except KeyError as error:
        raise UserError(f"model {path!r}: its config.json has no {error.args[0]}") from error
    except TypeError as error:
        raise UserError(
            f"model {path!r} has layers of several widths; only models with one are planned"
        ) from error


USABLE = 0.9
"""The share of a device's memory to plan with."""
BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(frozen=True)
class Fit:
    """A replica's memory in GiB per device, its shards, and the number of replicas.

    on_disk: GiB of weights that are read for every pass.
    """

    weights: float
    cache: float
    activations: float
    shards: int
    replicas: int
    on_disk: float = 0.0

    @property
    def memory(self) -> float:
        return self.weights + self.cache + self.activations


@dataclass
class Load:
    """A model of the sweep: its shape and its workload over all cells."""

    name: str
    source: Checkpoint
    shape: Shape
    work: Work = field(default_factory=Work)
    cells: int = 0

    @property
    def offloaded(self) -> bool:
        return self.source.offload == "disk"

    @property
    def size(self) -> int:
        """Bytes per weight and per activation."""
        return BYTES[self.source.dtype]


def fit(load: Load, count: int, device: Device) -> Fit:
    """Fit a replica in the fewest shards possible, or in those that the config sets.

    Weights and cached keys and values are sharded; the activations of a pass are not, since every
    rank computes all tokens. Raises UserError, with the sum, if it does not fit.
    """
    heads = load.shape.num_attention_heads
    asked = load.source.shards
    ways = [asked] if asked > 1 else [n for n in range(1, count + 1) if heads % n == 0]
    candidates = (
        [_offloaded(load, count, device)]
        if load.offloaded
        else [_replica(load, shards, count, device) for shards in ways]
    )
    for found in candidates:
        if _holds(found, count, device):
            return found
    last = candidates[-1]
    raise UserError(
        f"model={load.name} does not fit {count} x {device.name} in "
        f"{counted(last.shards, 'shard')}: "
        f"{last.weights:.1f} weights + {last.cache:.1f} cache + {last.activations:.1f} activations "
        f"= {last.memory:.1f} GiB per device, and {USABLE:.0%} of "
        f"{device.memory:.1f} GiB are usable" + _way_out(load, count, device)
    )


def _holds(fit: Fit, count: int, device: Device) -> bool:
    return fit.memory <= USABLE * device.memory and fit.shards <= count


def _way_out(load: Load, count: int, device: Device) -> str:
    """A hint to offload weights, if that helps."""
    if load.offloaded:
        return ""
    offloaded = _offloaded(load, count, device)
    if not _holds(offloaded, count, device):
        return ""
    return f"; with model.offload=disk model.shards=1 it takes {offloaded.memory:.1f}"


def _replica(load: Load, shards: int, count: int, device: Device) -> Fit:
    size, shape = load.size, load.shape
    pack = _usual_pack(device)
    return Fit(
        weights=shape.parameters * size / shards / GIB,
        cache=_cache(load) / shards,
        activations=pack * bytes_per_token(shape, size) / GIB,
        shards=shards,
        replicas=count // shards,
    )


def _offloaded(load: Load, count: int, device: Device) -> Fit:
    """A replica a device, which keeps the weights that fit and reads the others for every pass."""
    shape = load.shape
    weights, cache = shape.parameters * load.size / GIB, _cache(load)
    pack = OFFLOADED_PACKS * _usual_pack(device)
    activations = pack * bytes_per_token(shape, load.size) / GIB
    ends = (shape.parameters - shape.layer_parameters) * load.size / GIB
    layer = shape.layer_parameters * load.size / shape.num_hidden_layers / GIB
    held = min(weights, max(ends, WEIGHTS_SHARE * (USABLE * device.memory - cache)) + layer)
    return Fit(held, cache, activations, 1, count, on_disk=weights - held)


def _cache(load: Load) -> float:
    """GiB of cached keys and values."""
    return sum(load.work.statics.values()) * state_bytes(load.shape, load.size) / GIB


def _usual_pack(device: Device) -> int:
    return PACK_MOST["cpu" if device.name == "cpu" else "cuda"]


def loads(cells: Sequence[CellConfig], sweep: SweepConfig) -> tuple[list[Load], int]:
    """Every checkpoint of the sweep with its workload over all cells; and the deals per cell."""
    checkpoints: list[Checkpoint] = []
    casts = [cast(config, checkpoints) for config in cells]
    if not checkpoints:
        raise UserError("no cell of this sweep asks a checkpoint: there is nothing to size")
    by_key = {acted.cell.key: acted.cell for acted in casts}
    auto = sweep.deals == "auto"
    baselines = {key: measure(cell, sweep.seed) if auto else None for key, cell in by_key.items()}
    abouts = [CellInfo.from_cell(cell, baselines[cell.key]) for cell in by_key.values()]
    deals = planned_deals(sweep, by_key.values(), baselines, planned_tests(abouts))
    model_loads = [
        Load(_model_name(source.path), source, shape_of(source.path)) for source in checkpoints
    ]
    every = [*casts, *(other for acted in casts for other in control_casts(acted, sweep))]
    distinct = {acted.cell.key: acted for acted in reversed(every)}
    for acted in reversed(distinct.values()):
        matches = deals * len(acted.cell.rotations)
        for source, work in sampled(acted, sweep.seed).items():
            load = model_loads[checkpoints.index(source)]
            load.work = load.work.plus(work, matches / SAMPLE)
            load.cells += 1
    return model_loads, deals


def _model_name(path: str) -> str:
    """The last part of a path or repository; of `models/pocket/weights`, `pocket`."""
    folder, _, name = path.rpartition("/")
    return folder.rpartition("/")[2] if folder and name == "weights" else name


def show(
    out: Console,
    cells: Sequence[CellConfig],
    sweep: SweepConfig,
    hardware: str,
) -> None:
    """Print what fits and what is asked. Raises UserError."""
    count, device = devices(hardware)
    model_loads, deals = loads(cells, sweep)
    fits = [fit(load, count, device) for load in model_loads]
    most = "at most " if sweep.adaptive else ""
    out.print(
        f"{cells[0].experiment}: {most}{deals:,} deals per cell on {count} x {device.name} "
        f"({device.memory:g} GiB each)\n"
    )
    out.print(_memory(model_loads, fits))
    out.print()
    out.print(_work(model_loads))
    foot = (
        f"Counted in {SAMPLE} matches a cell with made-up answers; tokens estimated from the text, "
        "as sent and packed as the engine does. Models of one sweep share the devices: give large "
        "ones an output_dir each."
    )
    out.print(Text(foot, style="dim"))


def _table(*headings: str) -> WrappedTable:
    table = WrappedTable(gap=2)
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="right" if place else "left", no_wrap=bool(place))
    return table


def _memory(loads: Sequence[Load], fits: Sequence[Fit]) -> WrappedTable:
    table = _table(
        *("GiB per device", "parameters", "weights", "cache", "pass", "sum", "shards", "replicas")
    )
    for load, placed in zip(loads, fits, strict=True):
        sizes = (placed.weights, placed.cache, placed.activations, placed.memory)
        table.add_row(
            load.name,
            short(load.shape.parameters),
            *(f"{size:.1f}" for size in sizes),
            str(placed.shards),
            str(placed.replicas),
        )
    return table


def _work(loads: Sequence[Load]) -> WrappedTable:
    table = _table("work", "cells", "decisions", "tokens as sent", "packed")
    for load in loads:
        work = load.work
        amounts = (work.decisions, work.sent + work.written, work.packed + work.written)
        table.add_row(load.name, str(load.cells), *map(short, amounts))
    return table
