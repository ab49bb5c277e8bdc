"""Map a function over many items, with threads or Ray workers.

Results come in the order of the items. Workers need no files from this machine: the function and
its items are sent to them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from gauntlet.common.errors import UserError, suggest
from gauntlet.pipeline.config.compose import composed
from gauntlet.pipeline.config.read import Node
from gauntlet.pipeline.launch.session import session

CHUNK = 16
"""Most items sent together."""
AHEAD = 4
"""Chunks in flight per worker."""

Map = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]
Result = TypeVar("Result")


def read_launch(words: Sequence[str]) -> Node:
    """The launch config of a choice and its settings, as in "ray address=HOST:PORT". Raises
    UserError, also for a choice that starts no Ray from here."""
    name, *changes = words
    if name not in ("local", "ray"):
        raise UserError(f"--launch {name} cannot be used here{suggest(name, ('local', 'ray'))}")
    _, sweep = composed([f"launch={name}", *(f"launch.{change}" for change in changes)])
    return sweep.launch


@contextmanager
def executor(threads: int, launch: Node | None) -> Iterator[Map]:
    """Yield a map over a sequence like the built-in one: with `threads` threads, or with the Ray of
    `launch` if given. Raises UserError if Ray cannot be joined or keeps losing a worker; errors of
    the function propagate."""
    if launch is None:
        pool = ThreadPoolExecutor(threads)
        try:
            yield lambda function, items: pool.map(function, items)
        finally:
            pool.shutdown(cancel_futures=True)  # on interrupt, drop queued work
    else:
        import ray

        with session(launch):
            resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
            cores = max(1, int(resources.get("CPU", 1)))
            workers = launch["workers"] or cores
            yield lambda function, items: _by_ray(function, items, workers, cores)


def _by_ray(
    function: Callable[[Any], Result], items: Sequence[Any], workers: int, cores: int
) -> Iterator[Result]:
    """Map in chunks, with enough in flight that workers never wait."""
    import ray
    from ray.exceptions import RayError, RayTaskError

    task: Any = ray.remote(_apply_all).options(num_cpus=max(1, cores // workers))
    shared = ray.put(function)
    started = (task.remote(shared, chunk) for chunk in _chunks(items, workers))
    under_way = deque(islice(started, AHEAD * workers))
    try:
        while under_way:
            results = ray.get(under_way.popleft())
            under_way.extend(islice(started, 1))
            yield from results
    except RayTaskError as error:
        raise error.cause from None
    except RayError as error:
        raise UserError(f"a worker was lost: {type(error).__name__}; run it again") from error


def _apply_all(function: Callable[[Any], Result], items: Iterable[Any]) -> list[Result]:
    return [function(item) for item in items]


def _chunks(items: Sequence[Any], workers: int) -> Iterator[Sequence[Any]]:
    """Chunks small enough that every worker gets several."""
    size = min(CHUNK, max(1, len(items) // (AHEAD * workers)))
    return (items[start : start + size] for start in range(0, len(items), size))
