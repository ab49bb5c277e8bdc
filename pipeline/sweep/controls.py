"""Players that look at nothing, on the same deals: what would always the first option have won? And
with `noise_floor=true` the subject itself, asked in prompts that differ in nothing that matters.

A control is a cell like any other (`plan/beside.py`), played, logged and resumed as all are. Its
log is a folder of its own, DIR/controls, which `python -m pipeline.report` and `replay` read too;
so controls are in no table, no family of tests, no power line and no MLflow run. Who wants a fixed
player there plays it: `agent=fixed`.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from pipeline.config.read import SweepConfig
from pipeline.launch.cluster import patience, started
from pipeline.launch.place import HERE
from pipeline.log import code
from pipeline.log.events import redact
from pipeline.log.links import keep_controls, keep_noise, place_of
from pipeline.log.progress import Bar
from pipeline.log.records import Log
from pipeline.log.results import About, CellResults
from pipeline.plan.beside import beside, controls_of, noise_of
from pipeline.plan.cells import Cell, Plan, Task
from pipeline.play.driver import Driver, lease_size
from pipeline.play.scheduler import Finished
from pipeline.sweep.preflight import Preflight
from pipeline.sweep.stopped import stop_asked


def compare(cells: Sequence[Cell], sweep: SweepConfig) -> code.Changed:
    """What has changed since their controls were played, see `pipeline.log.code`."""
    every = [one for cell in cells for one in beside(cell, sweep)]
    return code.compare(place_of(sweep.output_dir), every, sweep.accept_code)


def play(
    out: Console,
    cells: Sequence[Cell],
    results: Sequence[CellResults],
    sweep: SweepConfig,
    changed: code.Changed,
) -> int:
    """Plays what the controls of these cells lack, as many deals as the cells have in the tables,
    and notes which control belongs to which cell; `changed` is what `compare` found. Returns how
    many matches are left, where it was interrupted. Raises UserError."""
    plays = {control.key: control for cell in cells for control in beside(cell, sweep)}
    deals = max(result.complete_deals for result in results)
    if not plays or not deals:
        return 0
    place = place_of(sweep.output_dir)
    plan = Plan(tuple(plays.values()), deals, sweep.seed)
    abouts = [About.of(control, None) for control in plan.cells]
    with Log(place, sweep.seed, abouts=abouts) as log:
        code.describe(log, plan.cells, abouts, changed)
        _link(cells, sweep)
        return _play_missing(out, plan, sweep, log)


def _link(cells: Sequence[Cell], sweep: SweepConfig) -> None:
    """Notes which cell is beside which. A noise cell that was played once stays, also where a later
    run asks for none."""
    own = {cell.key: controls_of(cell, sweep.controls) for cell in cells}
    links = {key: {told: one.key for told, one in some.items()} for key, some in own.items()}
    if any(links.values()):
        keep_controls(sweep.output_dir, links)
    found = {cell.key: noise_of(cell) for cell in cells} if sweep.noise_floor else {}
    asked = {key: one.key for key, one in found.items() if one is not None}
    if asked:
        keep_noise(sweep.output_dir, asked)


def _play_missing(out: Console, plan: Plan, sweep: SweepConfig, log: Log) -> int:
    """In this process, which is enough for players that ask nothing; else where the sweep was.
    Returns how many matches an interruption left."""
    missing = [task for task in plan.tasks() if not log.has(task)]
    if not missing:
        return 0
    cells = {cell.key: cell for cell in plan.cells}
    launch = sweep.launch if plan.sources else HERE
    preflight = Preflight(out, plan, log, sweep, careful=False)
    admission = preflight.admission

    def finished(result: Finished) -> None:
        assert result.record is not None
        preflight.played(result.record, log.append(cells[result.task.cell], result.record))
        bar.advance()

    def set_aside(task: Task, error: str) -> None:
        place = {"match": task.match, "cell": task.cell, "deal": task.deal}
        log.append_line("set_aside", {**place, "rotation": task.rotation, "error": redact(error)})
        preflight.failed(task, error)
        bar.advance(failed=True)

    def tick() -> None:
        log.sync()
        if stop.is_set():
            raise KeyboardInterrupt

    try:
        with (
            started(launch, plan, sweep.width) as workers,
            stop_asked() as stop,
            Bar(out, len(missing), doing="controls", done="controls: played") as bar,
        ):
            lease = lease_size(sweep.width, len(missing), len(workers))
            limit = patience(launch)
            Driver(
                workers,
                lease,
                finished,
                set_aside,
                tick,
                patience=limit,
                failed=preflight.failed,
                stopped=admission.stopped,
            ).run(admission.tasks())
    except KeyboardInterrupt:
        return sum(not log.has(task) for task in missing)
    finally:
        log.sync()
    return 0
