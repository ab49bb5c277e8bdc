"""Players that look at nothing, on the same deals: what would always the first option have won? And
with `noise_floor=true` the subject itself, asked in prompts that differ in nothing that matters.

A control is a cell like any other (`plan/control_cells.py`), played by the same loop, logged and
resumed. Its log is an output folder of its own, DIR/controls, so controls are in no table, no
family of tests, no power line and no MLflow run. To have a fixed player there, play it:
`agent=fixed`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from rich.console import Console

from gauntlet.pipeline.config.read import SweepConfig
from gauntlet.pipeline.judging.stopping import StopRule
from gauntlet.pipeline.launch.placement import HERE
from gauntlet.pipeline.log import code
from gauntlet.pipeline.log.control_links import keep_controls, keep_noise, place_of
from gauntlet.pipeline.log.live import Live
from gauntlet.pipeline.log.records import Log
from gauntlet.pipeline.log.results import CellInfo, CellResults
from gauntlet.pipeline.plan.cells import Cell, Plan
from gauntlet.pipeline.plan.control_cells import controls_of, extra_cells, noise_of
from gauntlet.pipeline.sweep.play import missing, play_missing

VERBS = ("controls", "controls: played")


def compare(cells: Sequence[Cell], sweep: SweepConfig) -> code.Changed:
    """What has changed since their controls were played, see `pipeline.log.code`."""
    every = [one for cell in cells for one in extra_cells(cell, sweep)]
    return code.compare(place_of(sweep.output_dir), every, sweep.allow_code_change)


def play(
    out: Console,
    cells: Sequence[Cell],
    results: Sequence[CellResults],
    sweep: SweepConfig,
    changed: code.Changed,
    command: str,
) -> int:
    """Plays what the controls of these cells lack, as many deals as the cells have in the tables,
    and notes which control belongs to which cell; `changed` is what `compare` found. Returns how
    many matches are left, where it was interrupted. Raises UserError."""
    plays = {control.key: control for cell in cells for control in extra_cells(cell, sweep)}
    deals = max(result.complete_deals for result in results)
    if not plays or not deals:
        return 0
    plan = Plan(tuple(plays.values()), deals, sweep.seed)
    launch = sweep.launch if plan.sources else HERE  # players that ask nothing need no workers
    own = replace(
        sweep,
        output_dir=place_of(sweep.output_dir),
        launch=launch,
        stop="fixed",
        tracking={"kind": "none"},
    )
    abouts = [CellInfo.from_cell(control, None) for control in plan.cells]
    with Log(own.output_dir, own.seed, abouts=abouts) as log:
        code.describe(log, plan.cells, abouts, changed)
        _link(cells, sweep)
        if not missing(plan, log):
            return 0
        outcomes = chain.from_iterable(log.outcomes.values())
        with Live(log.folder, plan, outcomes) as live:
            rule = StopRule(own, plan, abouts, log)
            interrupted = play_missing(out, plan, own, log, rule, live, command, VERBS)
            live.ended("interrupted" if interrupted else "finished")
        return missing(plan, log) if interrupted else 0


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
