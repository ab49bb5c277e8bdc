"""Workers that play matches: this process, or Ray actors that each load the models.

Only this package uses Ray. A worker is a process with one scheduler and its own copy of every model
of the sweep, loaded once; each rank of a sharded model is another process. Ray restarts a worker
that dies, and the driver leases its matches again.
"""

from __future__ import annotations

import logging
import pickle
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain
from logging.handlers import BufferingHandler
from typing import TYPE_CHECKING, Any

from gauntlet.common.errors import ModelError, Stopped, UserError, WorkerLost
from gauntlet.common.process import raise_gc_threshold
from gauntlet.models.base import Model, ModelSource, Paid
from gauntlet.pipeline.config.read import Node
from gauntlet.pipeline.launch.devices import allot, name_of
from gauntlet.pipeline.launch.loading import Planned
from gauntlet.pipeline.launch.placement import (
    check_installed,
    check_nodes,
    paid_models,
    without_ray,
)
from gauntlet.pipeline.launch.session import nodes_alive, session
from gauntlet.pipeline.plan.cells import Plan, Task
from gauntlet.pipeline.play.cost import shards_of
from gauntlet.pipeline.play.driver import AHEAD, Worker
from gauntlet.pipeline.play.scheduler import Finished, Scheduler

if TYPE_CHECKING:
    from gauntlet.pipeline.launch.shard_group import Places

WARNINGS = logging.getLogger("gauntlet")
MOST_WARNINGS = 1000
"""Warnings of a worker that are kept while it loads its models."""
RESTART_POLL_SECONDS = 0.2
END_SECONDS = 20
"""How long to wait for a killed worker's last replies to fail."""
GRACE_SECONDS = 5
"""Added to a paid reply's own time limit before its worker is killed."""

PIECE = 50_000
"""Bytes of a packed plan in one argument of an actor; Ray keeps one of 100,000 in its store."""

Load = Callable[[ModelSource], Model]


@contextmanager
def start_workers(launch: Node, plan: Plan, width: int) -> Iterator[Sequence[Worker]]:
    """The workers of the launch config, ready to play and closed on exit. Raises UserError, also if
    a package that a model needs is not installed."""
    check_installed(plan.sources)
    if without_ray(launch):
        inline = _Inline(plan, width, _load_whole, Planned.from_plan(plan))
        try:
            yield [inline]
        finally:
            inline.close()
    else:
        with _ray_workers(launch, plan, width) as handles:
            yield handles


class _Inline:
    """A worker in this process."""

    def __init__(self, plan: Plan, width: int, load_one: Load, planned: Planned) -> None:
        self._models = {source: planned.load(source, load_one) for source in plan.sources}
        self._scheduler = Scheduler(
            {cell.key: cell for cell in plan.cells}, plan.seed, self._models, width
        )
        self._waiting = ThreadPoolExecutor(max(AHEAD, width))

    def play(self, lease: Sequence[Task]) -> Future[list[Finished]]:
        matches = self._scheduler.submit(lease)
        return self._waiting.submit(lambda: [match.result() for match in matches])

    def restart(self) -> None:
        """Not possible: it runs in the calling process."""

    def close(self) -> None:
        self._scheduler.close()
        self._waiting.shutdown(cancel_futures=True)
        for model in self._models.values():
            model.close()


def _load_whole(source: ModelSource) -> Model:
    if shards_of(source) > 1:
        raise ModelError(
            f"model {name_of(source)} in {shards_of(source)} shards needs Ray: set launch=local "
            "instead of launch=inline, or model.shards=1"
        )
    return source.load()


class _RemoteActor:
    """A Ray worker process. Leases overlap, so its scheduler never runs dry.

    pieces: its plan, as `_packed`.

    If it must not play, because a model or the code has changed since the plan, it stays alive to
    report that: for an actor that dies during start-up, Ray keeps only a text.
    """

    def __init__(self, width: int, places: Places | None, *pieces: bytes) -> None:
        plan, planned = pickle.loads(zlib.decompress(b"".join(pieces)))

        def load_one(source: ModelSource) -> Model:
            from gauntlet.pipeline.launch.shard_group import ShardGroup

            if places is None or shards_of(source) == 1:
                return source.load()
            return ShardGroup(source, places, planned)

        raise_gc_threshold()
        self._warnings = BufferingHandler(MOST_WARNINGS)
        WARNINGS.addHandler(self._warnings)
        self._refusal: Stopped | None = None
        try:
            planned.check_code(plan.cells)
            self._inline = _Inline(plan, width, load_one, planned)
        except Stopped as error:
            self._refusal = error
        WARNINGS.removeHandler(self._warnings)

    def ready(self) -> list[str]:
        """Return once the models are loaded, with the warnings about them. Raises Stopped if it
        must not play."""
        if self._refusal is not None:
            raise self._refusal
        return [record.getMessage() for record in self._warnings.buffer]

    def play(self, lease: Sequence[Task]) -> list[Finished]:
        self.ready()
        return self._inline.play(lease).result()

    def close(self) -> None:
        """Return once the requests in progress are answered, or soon; send no more."""
        if self._refusal is None:
            self._inline.close()


def _packed(plan: Plan, planned: Planned) -> list[bytes]:
    """The plan and what was planned, in pieces that Ray sends with the call. What is larger it
    keeps in its store, where a worker that restarts may not find it."""
    packed = zlib.compress(pickle.dumps((plan, planned)))
    return [packed[at : at + PIECE] for at in range(0, len(packed), PIECE)]


class _RayWorker:
    """The driver's handle of an actor. After a crash, leases wait until Ray has restarted it."""

    def __init__(self, actor: Any) -> None:
        self.actor = actor
        self._lost = threading.Event()
        self._closed = threading.Event()
        self._waiting: list[threading.Thread] = []

    def play(self, lease: Sequence[Task]) -> Future[list[Finished]]:
        """Wait in a daemon thread, so that the process can exit without waiting for a lease."""
        done: Future[list[Finished]] = Future()
        thread = threading.Thread(target=self._settle, args=(lease, done), daemon=True)
        self._waiting = [*(waiting for waiting in self._waiting if waiting.is_alive()), thread]
        thread.start()
        return done

    def restart(self) -> None:
        """Kill the worker's process; Ray starts a new one."""
        import ray

        ray.kill(self.actor, no_restart=False)

    def end(self) -> None:
        """Kill the worker for good, even if it still plays: the sweep may end before a lease that
        another worker finished first."""
        import ray

        self._closed.set()
        ray.kill(self.actor)

    def join(self, seconds: float) -> None:
        """Wait until no thread waits for the worker. Ray must not be shut down earlier: it crashes
        the process if one of its threads still waits for a reply."""
        deadline = time.monotonic() + seconds
        for thread in self._waiting:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _settle(self, lease: Sequence[Task], done: Future[list[Finished]]) -> None:
        try:
            done.set_result(self._play(lease))
        except BaseException as error:  # the driver must see any error
            done.set_exception(error)

    def _play(self, lease: Sequence[Task]) -> list[Finished]:
        import ray
        from ray.exceptions import RayError

        try:
            self._wait_for_restart()
            finished: list[Finished] = ray.get(self.actor.play.remote(lease))
        except RayError as error:
            refusal = getattr(error, "cause", None)
            if isinstance(refusal, Stopped):
                return [Finished(task, None, str(refusal), halts=True) for task in lease]
            self._lost.set()
            raise WorkerLost(f"worker lost: {type(error).__name__}") from error
        return finished

    def _wait_for_restart(self) -> None:
        import ray
        from ray.exceptions import ActorUnavailableError

        while self._lost.is_set():
            if self._closed.is_set():
                raise WorkerLost("worker lost: the session has ended")
            try:
                ray.get(self.actor.ready.remote())
                self._lost.clear()
            except ActorUnavailableError:  # still restarting; Ray has no event to wait for
                time.sleep(RESTART_POLL_SECONDS)


@contextmanager
def _ray_workers(launch: Node, plan: Plan, width: int) -> Iterator[Sequence[Worker]]:
    import ray

    with session(launch):
        check_nodes(plan.sources, nodes_alive())
        actor: Any = ray.remote(_RemoteActor)
        pieces = _packed(plan, Planned.from_plan(plan))
        lasting = {"max_restarts": -1, "max_concurrency": 2 * max(AHEAD, width)}
        handles = [
            _RayWorker(actor.options(**lasting, **options).remote(width, places, *pieces))
            for options, places in _shares(launch, plan)
        ]
        try:
            _wait_until_ready(handles)
            yield handles
        finally:
            try:
                _take_in(handles, paid_models(plan.sources))
            finally:
                for handle in handles:
                    handle.end()
                for handle in handles:
                    handle.join(END_SECONDS)


def _take_in(handles: Sequence[_RayWorker], sources: Sequence[Paid]) -> None:
    """Let workers finish the paid requests in progress, which would otherwise be paid for twice."""
    import ray

    if sources:
        seconds = max(source.timeout for source in sources) + GRACE_SECONDS
        closing = [handle.actor.close.remote() for handle in handles]
        ray.wait(closing, num_returns=len(closing), timeout=seconds)


def _shares(launch: Node, plan: Plan) -> list[tuple[dict[str, Any], Places | None]]:
    """Each worker's part of the cluster: its Ray options, and the devices of its shards."""
    import ray

    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    cores, gpus = int(resources.get("CPU", 1)), int(resources.get("GPU", 0))
    allotment = allot(plan.sources, gpus or cores, launch["workers"], "GPU" if gpus else "core")
    if not allotment.first:
        options = {
            "num_cpus": max(1, cores // allotment.workers),  # Ray gives a worker as many threads
            "num_gpus": gpus / allotment.workers if gpus else 0,
        }
        return [(options, None)] * allotment.workers
    from gauntlet.pipeline.launch.shard_group import Places

    whole = len(allotment.first) < len(plan.sources)
    reserved = Places.reserve(allotment, cores, gpus)
    return [(places.options(0, idle=not whole), places) for places in reserved]


def _wait_until_ready(handles: Sequence[_RayWorker]) -> None:
    import ray
    from ray.exceptions import RayError

    try:
        warnings = ray.get([handle.actor.ready.remote() for handle in handles])
    except RayError as error:
        reason = str(error.__cause__ or error).strip().splitlines()[-1]
        if reason.startswith(f"{UserError.__module__}."):
            reason = reason.partition(": ")[2]
        refusal = getattr(error, "cause", None)
        reason = str(refusal) if isinstance(refusal, Stopped) else reason
        raise UserError(f"a worker could not start: {reason}") from error
    for warning in dict.fromkeys(chain.from_iterable(warnings)):
        WARNINGS.warning("%s", warning)
