"""Utilisation of API model slots: by the pipeline, and by a simple barrier.

The models sleep instead of calling a server. Their latencies are log-normal (median 50 ms, sigma 1:
one in a hundred takes ten times the median), with a fixed seed.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from gauntlet.agents.base import Agent, Decision, Turn
from gauntlet.games.base import Game
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.models.base import Model, ModelSource, Prompt, Reply, Request, Score, Scores
from gauntlet.pipeline.launch.cluster import start_workers
from gauntlet.pipeline.plan.cells import Cell, Plan, Player
from gauntlet.pipeline.play.chains import Answered, Ask, Chain
from gauntlet.pipeline.play.driver import Driver, leases
from gauntlet.pipeline.play.match import play

SLOTS = 16
"""Slots per model."""
WIDTH = 64
"""Concurrent matches. More than all slots together: with two models the load alternates, and with
only as many matches as slots one model's slots would idle."""
MEDIAN, SIGMA = 0.05, 1.0
"""Median latency in seconds, and the standard deviation of its logarithm."""
REQUEST = Score((Prompt("", "Which one?\n", "Answer:"),), ("A",))
REPLY = Scores(((0.0,),), (3,))


def slots() -> dict[str, float]:
    """Return the share of slot-seconds spent answering requests, for one model and for two at one
    table, by the driver with an inline worker and its scheduler; and by a barrier. Seats are
    rotated, so that both models get equally many requests.

    Measured from the moment when all slots are first busy to the start of the last match: after it
    the slots drain, whatever the scheduler.
    """
    figures = {}
    for count, deals, fewer in ((1, 125, 50), (2, 200, 35)):
        figures[f"slots_busy_{count}"] = by_the_pipeline(count, deals)
        figures[f"slots_busy_{count}_barrier"] = by_the_plain_way(count, fewer)
    for name, share in figures.items():
        print(f"{name:24} {share:6.1%} of {SLOTS} slots a model, {WIDTH} matches under way")
    return figures


class Clock:
    """Records when answers begin (+1) and end (-1), and when the last match began."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._changes: list[tuple[float, int]] = []
        self._noting = threading.Lock()
        self.last_match = 0.0

    def note(self, change: int) -> None:
        with self._noting:
            self._changes.append((time.perf_counter(), change))

    def busy(self, full: int) -> float:
        """Return the share of slot-seconds used, from when `full` slots were first busy to the
        start of the last match."""
        under_way, before, spent, began = 0, 0.0, 0.0, 0.0
        for at, change in self._changes:
            if began:
                spent += under_way * (min(at, self.last_match) - min(before, self.last_match))
            under_way, before = under_way + change, at
            if not began and under_way == full:
                began = at
        if not 0.0 < began < self.last_match:
            raise SystemExit("the slots were never busy while there were matches to begin")
        return spent / (self._slots * (self.last_match - began))


@dataclass(frozen=True)
class Sleeping:
    """The source of a model that sleeps before it answers."""

    number: int
    clock: Clock = field(compare=False)

    def identity(self) -> Mapping[str, Any]:
        return {"sleeping": self.number}

    def check_choices(self, choices: Sequence[str]) -> None:
        """Accepts any."""

    def load(self) -> Model:
        return SleepingModel(self.clock, random.Random(self.number))


@dataclass
class SleepingModel:
    clock: Clock
    rng: random.Random
    slots: int = SLOTS

    def answer(self, requests: Sequence[Request]) -> Sequence[Reply]:
        self.clock.note(1)
        time.sleep(self.rng.lognormvariate(math.log(MEDIAN), SIGMA))
        self.clock.note(-1)
        return [REPLY] * len(requests)

    def close(self) -> None:
        """Nothing to free."""


@dataclass(frozen=True)
class Asking:
    """Calls its model, then takes the first option. On an empty board it records the time."""

    clock: Clock = field(compare=False)

    def decide(self, turn: Turn, rng: Any) -> Iterator[Any]:
        if len(turn.options) == 9:
            self.clock.last_match = time.perf_counter()
        yield REQUEST
        return Decision(0)


def table(models: int) -> tuple[Cell, Clock]:
    """Return tic-tac-toe of two seats that use one model, or one each."""
    clock = Clock(SLOTS * models)
    game: Game[Any] = TicTacToe()
    agent: Agent = Asking(clock)  # type: ignore[assignment]
    sources = [Sleeping(seat % models, clock) for seat in range(2)]
    players = tuple(Player("asking", agent, source, None) for source in sources)
    labels = {"game": "tic_tac_toe", "seats": "asking"}
    known = {"players": [{"model": source.identity()} for source in sources]}
    return Cell("slots", labels, game, players, (0,), (0,), "win", True, False, None, known), clock


def by_the_pipeline(models: int, deals: int) -> float:
    cell, clock = table(models)
    plan = Plan((cell,), deals, seed=1)
    failed: list[str] = []
    with start_workers({"kind": "inline"}, plan, WIDTH) as crew:
        lease, ahead = leases(WIDTH, len(list(plan.tasks())), len(crew))
        aside = lambda task, error: failed.append(error)  # noqa: E731
        Driver(crew, lease, lambda result: None, aside, lambda: None, ahead=ahead).run(plan.tasks())
    if failed:
        raise SystemExit(failed[0])
    return clock.busy(SLOTS * models)


def by_the_plain_way(models: int, deals: int) -> float:
    """Half of the matches send their requests together, one model after the other, and wait for the
    slowest reply; the other half is played meanwhile, which takes no time here. So at most the
    slots of one model are ever busy."""
    cell, clock = table(models)
    plan = Plan((cell,), deals, seed=1)
    loaded = {source: source.load() for source in plan.sources}
    waiting = deque(play(cell, task, plan.seed) for task in plan.tasks())
    asking: dict[Ask, Chain[Any]] = {}
    with ThreadPoolExecutor(SLOTS) as pool:
        while waiting or asking:
            while waiting and len(asking) < WIDTH // 2:
                proceed(waiting.popleft(), None, asking)
            came = [pair for source in loaded for pair in together(pool, loaded, source, asking)]
            playing, asking = asking, {}
            for ask, reply in came:
                proceed(playing[ask], Answered(ask, reply), asking)
    return clock.busy(SLOTS)


def together(
    pool: ThreadPoolExecutor,
    loaded: Mapping[ModelSource, Model],
    source: ModelSource,
    asking: Mapping[Ask, Chain[Any]],
) -> list[tuple[Ask, Reply]]:
    """Send all requests for the model, and return the replies once all have arrived."""
    asks = [ask for ask in asking if ask.source == source]
    replies = pool.map(loaded[source].answer, ([ask.request] for ask in asks))
    return [(ask, reply) for ask, (reply,) in zip(asks, replies, strict=True)]


def proceed(chain: Chain[Any], come: Answered | None, asking: dict[Ask, Chain[Any]]) -> None:
    """Play the match to its next requests, which are added to `asking`, or to its end."""
    try:
        asks = next(chain) if come is None else chain.send(come)
    except StopIteration:
        return
    asking.update(dict.fromkeys(asks, chain))
