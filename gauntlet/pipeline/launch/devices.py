"""How many workers fit on a cluster's devices, and on which devices a worker's models run.

A device is a GPU or, in a cluster without GPUs, a core. A worker has one process for its matches
and all unsharded models, and one process for each rank of a sharded model. Each process gets its
own device if there are enough; otherwise the models of a worker share its devices, but never two
ranks of one model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gauntlet.common.errors import UserError
from gauntlet.models.base import ModelSource
from gauntlet.pipeline.play.cost import shards_of


@dataclass(frozen=True)
class Allotment:
    """The devices of every worker.

    workers: their number.
    devices: per worker.
    sharing: most processes per device.
    first: the device of each sharded model's first rank; the other ranks follow it.
    """

    workers: int
    devices: int
    sharing: int
    first: dict[ModelSource, int]


def allot(
    sources: Sequence[ModelSource], devices: int, requested: int | None, word: str
) -> Allotment:
    """The workers for these models; `wanted` is the number that the user set, if any.

    Raises UserError, with the calculation, if there are too few devices for sharded models.
    Unsharded models are never refused: any number of workers can share a device.
    """
    sharded = [source for source in sources if shards_of(source) > 1]
    has_whole = len(sharded) < len(sources)
    if not sharded:
        return Allotment(requested or devices, 1, 1, {})
    apart, together = has_whole + sum(map(shards_of, sharded)), max(map(shards_of, sharded))
    if together > devices:
        largest = max(sharded, key=shards_of)
        raise UserError(
            f"model {name_of(largest)} needs {together} shards x 1 {word}; this cluster has "
            f"{devices} {word}{'s' * (devices != 1)}"
        )
    workers = requested or max(1, devices // apart)
    if workers * together > devices:
        raise UserError(
            f"launch.workers={workers} needs {workers} workers x {together} {word}s; this cluster "
            f"has {devices}, enough for {devices // together}"
        )
    if workers * apart > devices:
        return Allotment(workers, together, has_whole + len(sharded), dict.fromkeys(sharded, 0))
    first, at = {}, int(has_whole)
    for source in sharded:
        first[source] = at
        at += shards_of(source)
    return Allotment(workers, apart, 1, first)


def name_of(source: ModelSource) -> str:
    """The model as the user named it."""
    return repr(getattr(source, "path", source))
