"""A model whose ranks are Ray actors, each on a device of the worker that owns them.

The worker uses them like any model. If a rank dies or falls out of step, the worker dies with all
of them, and Ray restarts worker and ranks together: no rank can continue without the others, and
after a pass that stopped half-way they wait for a reduction that never completes.
"""

from __future__ import annotations

import os
import socket
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from gauntlet.common.errors import ModelError, UserError, counted
from gauntlet.models.base import Model, ModelSource, Reply, Request
from gauntlet.pipeline.launch.devices import Allotment, name_of
from gauntlet.pipeline.launch.loading import Planned
from gauntlet.pipeline.play.cost import shards_of

PLACE_SECONDS = 120
"""Seconds to wait for a worker's devices to become free."""


@dataclass(frozen=True)
class Places:
    """The devices of one worker, reserved together.

    group: Ray's placement group, one bundle per device.
    cpus, gpus: each process's share of its device's cores and GPU.
    """

    allotment: Allotment
    group: Any
    cpus: float
    gpus: float

    @classmethod
    def reserve(cls, allotment: Allotment, cores: int, gpus: int) -> list[Places]:
        """Reserve the devices of all workers. Raises UserError if others hold them."""
        cpus = _ray_amount(cores / (allotment.workers * allotment.devices))
        bundle = {"CPU": cpus, "GPU": 1} if gpus else {"CPU": cpus}
        groups = [placement_group([bundle] * allotment.devices) for _ in range(allotment.workers)]
        if not all(group.wait(PLACE_SECONDS) for group in groups):
            raise UserError(
                f"{counted(allotment.workers, 'worker')} x "
                f"{counted(allotment.devices, 'device')} were not free "
                f"within {PLACE_SECONDS} s; does another job hold them?"
            )
        share = (_ray_amount(cpus / allotment.sharing), bool(gpus) / allotment.sharing)
        return [cls(allotment, group, *share) for group in groups]

    def options(self, device: int, idle: bool = False) -> dict[str, Any]:
        """Ray's options for an actor on a device; idle: an actor that does not compute there."""
        return {
            "num_cpus": 0 if idle else self.cpus,
            "num_gpus": 0 if idle else self.gpus,
            "scheduling_strategy": PlacementGroupSchedulingStrategy(self.group, device),
        }


def _ray_amount(amount: float) -> float:
    """The amount in the form Ray accepts: integers only above one."""
    return int(amount) if amount >= 1 else round(amount - 5e-5, 4)


class ShardGroup:
    """Answers requests with all ranks of a model together."""

    def __init__(self, source: ModelSource, places: Places, planned: Planned) -> None:
        """Return once every rank has loaded its part. Raises ModelError."""
        first = places.allotment.first[source]
        actor: Any = ray.remote(_Rank)
        self._ranks = [
            actor.options(**places.options(first + number)).remote()
            for number in range(shards_of(source))
        ]
        self._folder = tempfile.TemporaryDirectory(prefix="gauntlet-")
        try:
            meeting = self._meeting()
            count = len(self._ranks)
            _results(
                rank.load.remote(source, number, count, meeting, planned)
                for number, rank in enumerate(self._ranks)
            )
        except RayError as error:
            why = str(error).strip().splitlines()[-1]
            raise ModelError(f"model {name_of(source)}: a rank could not load: {why}") from error

    def answer(self, requests: Sequence[Request]) -> Sequence[Reply]:
        """One reply per request, in order. Exits this process if the ranks cannot continue."""
        told = ray.put(requests)
        try:
            replies: Sequence[Reply] = _results(rank.answer.remote(told) for rank in self._ranks)[0]
        except RayError as error:
            print(f"a rank of a shard group is lost: {error}", file=sys.stderr, flush=True)
            os._exit(1)
        return replies

    def close(self) -> None:
        """Free the devices."""
        for rank in self._ranks:
            ray.kill(rank)
        self._folder.cleanup()

    def _meeting(self) -> str:
        """The rendezvous URL of the ranks, for `models.engine.shards.Rank`."""
        if _own_address().startswith("127."):
            # All on one machine: use a file, so that no port is exposed.
            return (Path(self._folder.name) / "meeting").as_uri()
        address: str = _results([self._ranks[0].address.remote()])[0]
        return f"tcp://{address}"


def _results(calls: Iterable[Any]) -> list[Any]:
    """The result of each call. Raises as soon as one fails: ModelError if all ranks raise the same
    one, in step, and RayError for anything else."""
    calls = list(calls)
    waiting = calls
    try:
        while waiting:
            done, waiting = ray.wait(waiting)
            ray.get(done)
    except RayTaskError as error:
        if isinstance(error.cause, ModelError):
            raise error.cause from error
        raise
    found: list[Any] = ray.get(calls)
    return found


def _own_address() -> str:
    return str(ray.util.get_node_ip_address())  # type: ignore[no-untyped-call]


class _Rank:
    """A rank's process."""

    def __init__(self) -> None:
        self._part: Model | None = None
        self._first = False

    def address(self) -> str:
        """A free host and port on this node."""
        host = _own_address()
        with socket.socket() as free:
            free.bind((host, 0))
            return f"{host}:{free.getsockname()[1]}"

    def load(self, source: Any, number: int, count: int, meeting: str, planned: Planned) -> None:
        from gauntlet.models.engine.shards import Rank

        self._first = number == 0
        rank = Rank(number, count, meeting)
        self._part = planned.load(source, lambda _: source.load_part(rank))

    def answer(self, requests: Sequence[Request]) -> Sequence[Reply] | None:
        """All ranks compute the same replies; only the first returns them."""
        assert self._part is not None
        replies = self._part.answer(requests)
        return replies if self._first else None
