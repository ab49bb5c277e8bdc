"""Players that look at nothing, on the same deals: what would always the first option have won?

A control is a cell like any other, with `agents.fixed.Fixed` in the subjects' place, played, logged
and resumed as all are. Its log is a folder of its own, DIR/controls, which `python -m
pipeline.report` and `replay` read too; so controls are in no table, no family of tests, no power
line and no MLflow run. Who wants one there plays it: `agent=fixed`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console

from agents.fixed import Fixed
from pipeline.config.read import SweepConfig
from pipeline.launch.cluster import patience, started
from pipeline.launch.place import HERE
from pipeline.log import code
from pipeline.log.events import redact
from pipeline.log.progress import Bar
from pipeline.log.records import Log
from pipeline.log.results import About, CellResults
from pipeline.plan.cells import Cell, Plan, Player, Task
from pipeline.plan.identity import cell_identity
from pipeline.play.driver import Driver, lease_size
from pipeline.play.scheduler import Finished
from pipeline.tables.controls import ENDS, keep_links, place_of

AUTO = (1, -1)


def compare(cells: Sequence[Cell], sweep: SweepConfig) -> code.Changed:
    """What has changed since their controls were played, see `pipeline.log.code`."""
    every = [one for cell in cells for one in controls_of(cell, sweep.controls).values()]
    return code.compare(place_of(sweep.output_dir), every, sweep.accept_code)


def play(
    out: Console,
    cells: Sequence[Cell],
    results: Sequence[CellResults],
    sweep: SweepConfig,
    changed: code.Changed,
) -> None:
    """Plays what the controls of these cells lack, as many deals as the cells have in the tables,
    and notes which control belongs to which cell; `changed` is what `compare` found. Raises
    UserError."""
    own = {cell.key: controls_of(cell, sweep.controls) for cell in cells}
    plays = {control.key: control for some in own.values() for control in some.values()}
    deals = max(result.complete_deals for result in results)
    if not plays or not deals:
        return
    place = place_of(sweep.output_dir)
    plan = Plan(tuple(plays.values()), deals, sweep.seed)
    abouts = [About.of(control, None) for control in plan.cells]
    with Log(place, sweep.seed, abouts=abouts) as log:
        code.describe(log, plan.cells, abouts, changed)
        _play_missing(out, plan, sweep, log)
    links = {
        key: {told: control.key for told, control in some.items()} for key, some in own.items()
    }
    keep_links(sweep.output_dir, links)


def controls_of(cell: Cell, places: str | Sequence[int]) -> dict[str, Cell]:
    """The cell's controls by their names: every subject takes the option of one place.

    With "auto" there are two where they ask no model and the subject does, else none.
    """
    others = [p for number, p in enumerate(cell.players) if number not in cell.subjects]
    if places == "auto":
        asks = any(cell.players[subject].model is not None for subject in cell.subjects)
        places = AUTO if asks and all(player.model is None for player in others) else ()
    return {_name(int(at)): _control(cell, int(at)) for at in places}


def _name(at: int) -> str:
    return f"{ENDS.get(at, at)} option" if at in ENDS else f"option {at}"


def _control(cell: Cell, at: int) -> Cell:
    players = list(cell.players)
    for subject in cell.subjects:
        players[subject] = Player(_name(at), Fixed(at), None, players[subject].helps)
    control = replace(
        cell,
        labels={**cell.labels, "agent": _name(at), "model": "-", "prompt": "-"},
        players=tuple(players),
        baseline=None,
        identity={},
    )
    return replace(control, identity=cell_identity(control))


def _play_missing(out: Console, plan: Plan, sweep: SweepConfig, log: Log) -> None:
    """In this process, which is enough for players that ask nothing; else where the sweep was."""
    missing = [task for task in plan.tasks() if not log.has(task)]
    if not missing:
        return
    cells = {cell.key: cell for cell in plan.cells}
    launch = sweep.launch if plan.sources else HERE

    def finished(result: Finished) -> None:
        assert result.record is not None
        log.append(cells[result.task.cell], result.record)
        bar.advance()

    def set_aside(task: Task, error: str) -> None:
        place = {"match": task.match, "cell": task.cell, "deal": task.deal}
        log.append_line("set_aside", {**place, "rotation": task.rotation, "error": redact(error)})
        bar.advance()

    with (
        started(launch, plan, sweep.width) as workers,
        Bar(out, len(missing), doing="controls", done="controls: played") as bar,
    ):
        lease = lease_size(sweep.width, len(missing), len(workers))
        limit = patience(launch)
        Driver(workers, lease, finished, set_aside, log.sync, patience=limit).run(iter(missing))
    log.sync()
