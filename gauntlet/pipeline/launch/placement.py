"""Restrictions on where a sweep may run, whatever its launch config says.

A human player sits at this terminal. An API needs no workers, and its ledger, which records
payments and enforces the cap, is a file on one machine. llama.cpp uses all cores by itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from gauntlet.common.errors import UserError, installed, require
from gauntlet.models.base import ModelSource, Paid
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.fake import Fake
from gauntlet.models.human import Terminal
from gauntlet.models.llama_cpp.sources import Gguf, LlamaServer
from gauntlet.pipeline.config.read import Node, SweepConfig
from gauntlet.pipeline.plan.cells import Task
from gauntlet.pipeline.play.cost import shards_of

HERE: Node = {"kind": "inline", "workers": 1}
FIRST_SECONDS = 3.0
"""About as long as a local Ray takes to start and stop."""


@dataclass(frozen=True)
class Stage:
    """What to play, and where. one_by_one: a match must end before the next one starts."""

    launch: Node
    tasks: Iterator[Task | None]
    one_by_one: bool = False


def stages(
    launch: Node,
    sources: Sequence[ModelSource],
    tasks: Iterator[Task | None],
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Stage]:
    """Yield the stages of the sweep; each must be played before the next is requested.

    Without weights to load or a set number of workers, a short sweep ends before Ray is up. So such
    matches are first played here for about that long, and only the rest goes to workers.
    """
    if _is_default(launch) and all(isinstance(one, Fake) for one in sources):
        yield Stage(HERE, _for_a_while(tasks, clock), one_by_one=True)
    for task in tasks:
        yield Stage(launch, chain([task], tasks))


def _for_a_while(tasks: Iterator[Task | None], clock: Callable[[], float]) -> Iterator[Task | None]:
    end = clock() + FIRST_SECONDS
    while clock() < end:
        try:
            yield next(tasks)
        except StopIteration:
            return


def resolve_launch(sweep: SweepConfig, sources: Sequence[ModelSource]) -> SweepConfig:
    """The sweep with its effective launch: in this process if a human plays, one match at a time,
    or if every model is paid; also if llama.cpp would answer for all workers of this machine, since
    each worker would only load its own copy."""
    if asks_a_person(sources):
        return replace(sweep, launch=HERE, concurrent_matches=1)
    if sources and all(isinstance(source, Paid) for source in sources):
        return replace(sweep, launch=HERE)
    served = all(isinstance(source, (Gguf, LlamaServer, Paid)) for source in sources)
    if sources and served and _is_default(sweep.launch):
        return replace(sweep, launch=HERE)
    return sweep


def _is_default(launch: Node) -> bool:
    """Whether it is this machine's Ray, with as many workers as fit."""
    alone = launch["kind"] == "ray" and launch.get("address") is None
    return bool(alone and launch["workers"] is None)


def asks_a_person(sources: Sequence[ModelSource]) -> bool:
    """Whether a human plays at this terminal."""
    return any(isinstance(source, Terminal) for source in sources)


def check_nodes(sources: Sequence[ModelSource], nodes: int) -> None:
    """Raises UserError if workers on several machines would use a paid model."""
    if nodes > 1 and 0 < len(paid_models(sources)) < len(sources):
        raise UserError(
            f"a model behind an API and others would be asked from {nodes} nodes, but what is paid "
            "is kept and capped on one machine only: take one node, or a sweep for each of them"
        )


def check_installed(sources: Sequence[ModelSource]) -> None:
    """Raises UserError if a model needs a package from an extra that is not installed."""
    if any(isinstance(source, Checkpoint) for source in sources):
        require("torch", "local")
    if any(isinstance(source, Gguf) for source in sources):
        require("xllamacpp", "gguf")
    if any(shards_of(source) > 1 for source in sources):
        require("deepspeed", "cluster")


def without_ray(launch: Node) -> bool:
    """Whether all is played in this process: if the config says so, or, with the default launch,
    if Ray is not installed. Raises UserError if it is not, and another launch needs it."""
    if launch["kind"] == "inline":
        return True
    if not _is_default(launch):
        require("ray", "cluster")
    return not installed("ray")


def in_batches(sources: Sequence[ModelSource]) -> bool:
    """Whether a model takes as long for many replies as for one: hours."""
    return any(getattr(source, "batch", False) for source in sources)


def paid_models(sources: Sequence[ModelSource]) -> list[Paid]:
    """The models whose replies cost money."""
    return [source for source in sources if isinstance(source, Paid)]
