"""Where a sweep may be played, whatever its launch config says.

A person sits at this terminal. An API needs no workers, and its ledger, which keeps what was paid
and holds the cap, is a file of one machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from gauntlet.common.errors import UserError, require
from gauntlet.models.base import ModelSource, Paid
from gauntlet.models.fake import Fake
from gauntlet.models.human import Terminal
from gauntlet.pipeline.config.read import Node, SweepConfig
from gauntlet.pipeline.plan.cells import Task
from gauntlet.pipeline.play.cost import shards_of

HERE: Node = {"kind": "inline", "workers": 1}
FIRST_SECONDS = 3.0
"""About as long as a Ray of this machine takes to start and to end."""


@dataclass(frozen=True)
class Stage:
    """What to play where. one_by_one: a match must end before the next one begins."""

    launch: Node
    tasks: Iterator[Task | None]
    one_by_one: bool = False


def stages(
    launch: Node,
    sources: Sequence[ModelSource],
    tasks: Iterator[Task | None],
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Stage]:
    """Where to play, one place after the other; each stage must be played before the next is asked
    for.

    Where no weights are to be loaded and nobody said how many workers, a short sweep is over before
    Ray stands. So such matches are played here for as long as that takes, and only what is left
    then goes to workers.
    """
    alone = launch["kind"] == "ray" and launch.get("address") is None
    if alone and launch["workers"] is None and all(isinstance(one, Fake) for one in sources):
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
    """The sweep as it is to be played: in this process where a person plays, match by match, and
    where every model is paid."""
    if asks_a_person(sources):
        return replace(sweep, launch=HERE, concurrent_matches=1)
    if sources and all(isinstance(source, Paid) for source in sources):
        return replace(sweep, launch=HERE)
    return sweep


def asks_a_person(sources: Sequence[ModelSource]) -> bool:
    """Whether somebody at this terminal plays."""
    return any(isinstance(source, Terminal) for source in sources)


def check_nodes(sources: Sequence[ModelSource], nodes: int) -> None:
    """Raises UserError where workers on several machines would ask a paid model."""
    if nodes > 1 and 0 < len(paid(sources)) < len(sources):
        raise UserError(
            f"a model behind an API and others would be asked from {nodes} nodes, but what is paid "
            "is kept and capped on one machine only: take one node, or a sweep for each of them"
        )


def check_installed(sources: Sequence[ModelSource]) -> None:
    """Raises UserError where a package of an extra is not there that one of these needs."""
    if paid(sources):
        require("openai", "api")
    if any(shards_of(source) > 1 for source in sources):
        require("deepspeed", "gpu")


def paid(sources: Sequence[ModelSource]) -> list[Paid]:
    """Those whose answers cost money."""
    return [source for source in sources if isinstance(source, Paid)]
