"""Sizing a sweep before it runs: what fits on which devices, and how much is asked.

    python -m pipeline.plan model=llama70b prompt=cloze deals=10000 --hardware 8xH100

It takes the arguments of `pipeline.run`. Models are not loaded: their shapes come from
`hardware.py` or their config.json. The number of decisions per match and the prompt lengths come
from playing a few matches with synthetic replies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.text import Text

from gauntlet.common.errors import UserError, counted
from gauntlet.common.terminal import WrappedTable, short
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.engine.memory import (
    OFFLOADED_PACKS,
    PACK_MOST,
    bytes_per_token,
    state_bytes,
)
from gauntlet.models.engine.offload import WEIGHTS_SHARE
from gauntlet.pipeline.config.read import CellConfig, SweepConfig
from gauntlet.pipeline.log.results import CellInfo
from gauntlet.pipeline.plan.baseline import measure
from gauntlet.pipeline.plan.deals import planned_deals
from gauntlet.pipeline.sizing.hardware import GIB, Device, Shape, devices, shape_of
from gauntlet.pipeline.sizing.workload import SAMPLE, Cast, Work, cast, control_casts, sampled
from gauntlet.pipeline.tables.sweep.claims import planned_tests

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
    if load.offloaded or load.source.quantization == "fp8":
        return ""
    offloaded = _offloaded(load, count, device)
    if not _holds(offloaded, count, device):
        return ""
    return f"; with model.offload=disk model.shards=1 it takes {offloaded.memory:.1f}"


def _replica(load: Load, shards: int, count: int, device: Device) -> Fit:
    size, shape = load.size, load.shape
    weights = shape.parameters * (1 if load.source.quantization == "fp8" else size)
    pack = _usual_pack(device)
    return Fit(
        weights=weights / shards / GIB,
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
    for acted in _with_controls(casts, sweep):
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


def _with_controls(casts: Sequence[Cast], sweep: SweepConfig) -> list[Cast]:
    """The cells, and their controls that also use a checkpoint, without duplicates."""
    every = [*casts, *(other for acted in casts for other in control_casts(acted, sweep))]
    return list({acted.cell.key: acted for acted in reversed(every)}.values())[::-1]


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
