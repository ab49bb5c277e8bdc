"""Which matches may be leased now.

A careful cell, one that asks a model, starts with a single match: faults of a model, a prompt or a
game show there, before a full width of matches is under way. The others follow once it has been
played. While all matches of a cell have failed, only as many are admitted as it takes to see
`max_failures` failures of one kind; the cell is then stopped for this run.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from heapq import heapify, heappop, heappush

from gauntlet.pipeline.plan.cells import Task

Refill = Callable[[], Sequence[Iterator[Task]] | None]
Head = tuple[int, int, Task]
"""A cell's next task, after its deal and the cell's place, which alone order the heap."""


class Admission:
    """The tasks of several cells, lowest deal first, each as soon as it may be leased.

    queues: the tasks of each cell, in deal order. careful: keys of the cells that start with one
    match. max_failures: None stops no cell.
    refill: returns new queues once all are empty, None while it waits for matches under way, and
    none for the end.
    stopped: keys of the stopped cells. trying: the current limit of each cell that is still
    restricted.
    """

    def __init__(
        self,
        queues: Sequence[Iterator[Task]],
        careful: Collection[str] = (),
        max_failures: int | None = None,
        refill: Refill = lambda: (),
    ) -> None:
        self.stopped: set[str] = set()
        self.trying: dict[str, float] = dict.fromkeys(careful, 1)
        self._most, self._refill = max_failures, refill
        self._played: set[str] = set()
        self._given: Counter[str] = Counter()
        self._failures: defaultdict[str, dict[str, str]] = defaultdict(dict)
        self._held: dict[str, Head] = {}
        self._fill(queues)

    def _fill(self, queues: Sequence[Iterator[Task]]) -> None:
        self._queues = queues
        self._ready = [head for place in range(len(queues)) for head in self._head(place)]
        heapify(self._ready)

    def tasks(self) -> Iterator[Task | None]:
        """Yield every admitted task; None if the remaining ones must wait for others to end."""
        yield from self._admitted()
        while (queues := self._refill()) is None or queues:
            if queues is None:
                yield None
            else:
                self._fill(queues)
                yield from self._admitted()

    def _admitted(self) -> Iterator[Task | None]:
        while self._ready or self._held:
            if not self._ready:
                yield None
                continue
            head = heappop(self._ready)
            _, place, task = head
            if task.cell in self.stopped:
                continue
            if self._given[task.cell] >= self.trying.get(task.cell, math.inf):
                self._held[task.cell] = head
                continue
            self._given[task.cell] += 1
            for following in self._head(place):
                heappush(self._ready, following)
            yield task

    def played(self, cell: str) -> None:
        """A match of the cell was played: lift its limit."""
        self._played.add(cell)
        self._admit(cell, math.inf)

    def lift(self) -> None:
        """Wait no longer for the first matches of cells without a failure."""
        for cell in [cell for cell in self.trying if not self._failures[cell]]:
            self._admit(cell, math.inf)

    def failed(self, task: Task, kind: str) -> bool:
        """Record a failed match and its kind of error. Returns whether that stops its cell."""
        cell = task.cell
        if self._most is None or cell in self._played or cell in self.stopped:
            self._admit(cell, math.inf)
            return False
        self._failures[cell].setdefault(task.match, kind)
        kinds = Counter(self._failures[cell].values())
        if max(kinds.values()) < self._most:
            self._admit(cell, self._most * len(kinds))
            return False
        self.stopped.add(cell)
        self._held.pop(cell, None)
        return True

    def _head(self, place: int) -> Iterator[Head]:
        """The next task of the cell at this place, if any."""
        task = next(self._queues[place], None)
        if task is not None:
            yield task.deal, place, task

    def _admit(self, cell: str, matches: float) -> None:
        """Raise the limit of a restricted cell to `matches`."""
        if cell not in self.trying:
            return
        self.trying[cell] = matches
        if matches == math.inf:
            del self.trying[cell]
        if cell in self._held:
            heappush(self._ready, self._held.pop(cell))
