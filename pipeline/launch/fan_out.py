"""One function over many items: on threads of this process, or by Ray's workers.

The results come in the order of the items, whoever is first. Workers need no files of this
machine: the function and its items travel to them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

import yaml

from gauntlet.common.errors import UserError, suggest
from gauntlet.pipeline.config.compose import CONF
from gauntlet.pipeline.config.read import Node
from gauntlet.pipeline.launch.session import session

CHUNK = 16
"""The most items that travel together."""
AHEAD = 4
"""Chunks under way for each worker."""

Map = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]
Result = TypeVar("Result")


def read_launch(words: Sequence[str]) -> Node:
    """A choice of conf/launch and changes to it, as in "ray address=HOST:PORT". Raises UserError
    for a choice that starts no Ray from here, and for a key that it does not have."""
    name, *changes = words
    if name not in ("local", "ray"):
        raise UserError(f"--launch {name} cannot be used here{suggest(name, ('local', 'ray'))}")
    node: dict[str, Any] = yaml.safe_load(
        (CONF / "launch" / f"{name}.yaml").read_text(encoding="utf-8")
    )
    for change in changes:
        key, given, value = change.partition("=")
        if not given or key not in node:
            raise UserError(f"--launch {name} {change}: no such setting{suggest(key, node)}")
        node[key] = yaml.safe_load(value)
    workers = node["workers"]
    if workers is not None and (not isinstance(workers, int) or workers < 1):
        raise UserError(f"launch.workers is {workers!r}; it is 1 or more, or null for all cores")
    return node


@contextmanager
def executor(threads: int, launch: Node | None) -> Iterator[Map]:
    """A map like the built-in one over a sequence: on so many threads, or where `launch` is given
    by the Ray that it asks for. Raises UserError where that cannot be joined or loses a worker
    again and again; what the function raises comes through."""
    if launch is None:
        pool = ThreadPoolExecutor(threads)
        try:
            yield lambda function, items: pool.map(function, items)
        finally:
            pool.shutdown(cancel_futures=True)  # who is interrupted waits for none that is waiting
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
    """Chunks of the items, at most so many at once that the workers never wait."""
    import ray
    from ray.exceptions import RayError, RayTaskError

    task: Any = ray.remote(_each).options(num_cpus=max(1, cores // workers))
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


def _each(function: Callable[[Any], Result], items: Iterable[Any]) -> list[Result]:
    return [function(item) for item in items]


def _chunks(items: Sequence[Any], workers: int) -> Iterator[Sequence[Any]]:
    """Small enough that every worker gets several."""
    size = min(CHUNK, max(1, len(items) // (AHEAD * workers)))
    return (items[start : start + size] for start in range(0, len(items), size))
