"""The playing loop: workers play what the log lacks of a plan, and their results are logged."""

from __future__ import annotations

import signal
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain

from rich.console import Console

from gauntlet.agents.prompting.base import PreparedMethod
from gauntlet.common.process import abandon
from gauntlet.pipeline.config.read import SweepConfig
from gauntlet.pipeline.judging.stopping import StopRule
from gauntlet.pipeline.launch.cluster import start_workers
from gauntlet.pipeline.launch.placement import HERE, asks_a_person, stages
from gauntlet.pipeline.log.events import event, redact
from gauntlet.pipeline.log.live import RunStatus
from gauntlet.pipeline.log.progress import Bar
from gauntlet.pipeline.log.records import Log
from gauntlet.pipeline.log.results import CellInfo, CellResults
from gauntlet.pipeline.log.run_info import run_entry
from gauntlet.pipeline.plan.build import methods_of
from gauntlet.pipeline.plan.cells import Cell, Plan, Task
from gauntlet.pipeline.play.driver import Driver, leases
from gauntlet.pipeline.play.scheduler import Finished
from gauntlet.pipeline.sweep.preflight import Preflight
from gauntlet.pipeline.sweep.rounds import Rounds

LINE = "\ninterrupted: matches in progress are dropped; Ctrl-C again ends at once"


class Interruption:
    """Whether SIGINT or SIGTERM came; the first ends play, the second the process.

    held: whether it waits for the playing loop to check, so that nothing is cut short; while models
    load and cells are judged, KeyboardInterrupt is raised."""

    def __init__(self) -> None:
        self.came = self._held = False

    @contextmanager
    def held(self, held: bool) -> Iterator[None]:
        """Inside, signals wait for the playing loop, or not. Raises KeyboardInterrupt if one came
        that should not wait."""
        before, self._held = self._held, held
        try:
            if self.came and not held:
                raise KeyboardInterrupt
            yield
        finally:
            self._held = before

    def note(self, *_: object) -> None:
        """The handler of both signals."""
        if self.came:
            abandon()
        self.came = True
        with suppress(RuntimeError):  # where it came in the middle of another line
            print(LINE, file=sys.stderr, flush=True)
        if not self._held:
            raise KeyboardInterrupt


@contextmanager
def interruption() -> Iterator[Interruption]:
    """Handle the signals inside."""
    noted = Interruption()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, noted.note) for number in numbers]
    try:
        yield noted
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def missing(plan: Plan, log: Log, stopped: Collection[str] = ()) -> int:
    """How many matches the log lacks, outside the cells whose keys are in `stopped`."""

    def there(cell: Cell) -> int:
        outcomes = log.outcomes_of(cell.key)
        return len(
            outcomes.first(plan.deals)
            if plan.rounds is None
            else outcomes.only(plan.deals_of(cell.key))
        )

    cells = [cell for cell in plan.cells if cell.key not in stopped]
    return sum(plan.matches_of(cell) - there(cell) for cell in cells)


def preparing(plan: Plan, log: Log) -> str:
    """Which methods ask their models before the first match, in words; "" if none does."""
    methods = [
        method
        for cell in plan.cells
        for player in cell.players
        for method in methods_of(player.agent)
        if isinstance(method, PreparedMethod) and missing(replace(plan, cells=(cell,)), log)
    ]
    names = dict.fromkeys(type(method).__name__ for method in methods)
    return f"preparing {', '.join(names)}" if names else ""


def play_missing(
    out: Console,
    plan: Plan,
    sweep: SweepConfig,
    log: Log,
    rule: StopRule,
    live: RunStatus,
    command: str | None,
    verbs: tuple[str, str] = ("playing", "played"),
    rounds: Rounds | None = None,
) -> bool:
    """Play what the log lacks. Returns whether it was interrupted. command: the command line for
    runs.jsonl; None if the run is already listed there. verbs: the progress bar's labels during
    play and afterwards. rounds: of an adaptive sweep, which `plan` has so far."""
    for cell in plan.cells:
        rule.check(cell.key)
    missing_tasks = missing(plan, log, rule.stopped)
    if not missing_tasks:
        return False
    cells = {cell.key: cell for cell in plan.cells}

    def finished(result: Finished) -> None:
        assert result.record is not None
        outcome = log.append(cells[result.task.cell], result.record)
        live.finished(outcome)
        preflight.played(result.record, outcome)
        if rounds:
            rounds.played(result.record)
            bar.total = missing_tasks + rounds.added - added
        bar.advance()
        judge(result.task.cell)

    def give_up(task: Task, error: str) -> None:
        place = {"match": task.match, "cell": task.cell, "deal": task.deal}
        log.append_line(
            "failed_matches", {**place, "rotation": task.rotation, "error": redact(error)}
        )
        live.give_up(task, error)
        preflight.failed(task, error)
        if rounds:
            rounds.given_up.add(task.match)
        bar.advance(failed=True)
        judge(task.cell)

    def judge(cell: str) -> None:
        with stop.held(False):  # where luck is removed, it may take a while
            rule.note(cell)

    def tick() -> None:
        log.sync()
        live.tick(rule.stopped | admission.stopped)
        bar.tick()
        preflight.tick()
        if stop.came:
            raise KeyboardInterrupt

    if command is not None:
        log.append_line("runs", run_entry(plan, missing_tasks, command))
    event("start", matches=missing_tasks, launch=sweep.launch, **live.summary())

    def refill() -> Sequence[Iterator[Task]] | None:
        return rounds.queues(admission.stopped) if rounds else ()

    preflight = Preflight(out, plan, log, sweep, rule.stopped, refill)
    admission = preflight.admission
    try:
        for stage in stages(sweep.launch, plan.sources, admission.tasks()):
            missing_tasks = missing(rounds.plan if rounds else plan, log, rule.stopped)
            added = rounds.added if rounds else 0
            with (
                interruption() as stop,
                start_workers(stage.launch, plan, sweep.concurrent_matches) as workers,
                Bar(
                    out,
                    missing_tasks,
                    asks_a_person(plan.sources),
                    *verbs,
                    before=preparing(plan, log),
                    outlook=live.outlook,
                ) as bar,
                stop.held(True),
            ):
                live.play(len(workers))
                preflight.workers = len(workers)
                lease, ahead = leases(sweep.concurrent_matches, missing_tasks, len(workers))
                if stage.one_by_one:
                    lease = ahead = 1
                Driver(
                    workers,
                    lease,
                    finished,
                    give_up,
                    tick,
                    patience=stage.launch.get("patience"),
                    ahead=ahead,
                    failed=preflight.failed,
                    stopped=admission.stopped,
                    trying=admission.trying,
                ).run(stage.tasks)
        preflight.ended()
    except KeyboardInterrupt:
        return True
    finally:
        log.sync()
    return False


def distinct(cells: Sequence[Cell], controls: Sequence[Mapping[str, Cell]]) -> tuple[Cell, ...]:
    """The controls without duplicates: cells may share one, and one may be a cell of the sweep."""
    own = {cell.key for cell in cells}
    found = {one.key: one for named in controls for one in named.values()}
    return tuple(one for key, one in found.items() if key not in own)


def play_controls(
    out: Console,
    controls: Sequence[Cell],
    results: Sequence[CellResults],
    sweep: SweepConfig,
    log: Log,
    live: RunStatus,
) -> int:
    """Play the missing matches of controls and noise cells in a second pass, up to the last
    complete deal of `results`. Returns how many are left if interrupted, else 0. Raises UserError,
    Halted."""
    deals = max(result.complete_deals for result in results)
    plan = Plan(tuple(controls), deals, sweep.seed)
    if not controls or not missing(plan, log):
        return 0
    launch = sweep.launch if plan.sources else HERE  # without models, no workers are needed
    control_sweep = replace(sweep, launch=launch, stop="fixed", tracking={"kind": "none"})
    live.add(plan, chain.from_iterable(log.outcomes.values()))
    rule = StopRule(
        control_sweep, plan, [CellInfo.from_cell(control, None) for control in controls], log
    )
    interrupted = play_missing(
        out, plan, control_sweep, log, rule, live, None, ("controls", "controls: played")
    )
    return missing(plan, log) if interrupted else 0
