"""The second pass of a sweep: its controls and noise cells, on the deals that its cells have
finished.

The same loop plays them into the same log. To have a fixed player among the sweep's own cells, use
`agent=fixed`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

from rich.console import Console

from gauntlet.pipeline.config.read import SweepConfig
from gauntlet.pipeline.judging.stopping import StopRule
from gauntlet.pipeline.launch.placement import HERE
from gauntlet.pipeline.log.live import RunStatus
from gauntlet.pipeline.log.records import Log
from gauntlet.pipeline.log.results import CellInfo, CellResults
from gauntlet.pipeline.plan.cells import Cell, Plan
from gauntlet.pipeline.sweep.play import missing, play_missing

VERBS = ("controls", "controls: played")


def distinct(cells: Sequence[Cell], controls: Sequence[Mapping[str, Cell]]) -> tuple[Cell, ...]:
    """The controls without duplicates: cells may share one, and one may be a cell of the sweep."""
    own = {cell.key for cell in cells}
    found = {one.key: one for named in controls for one in named.values()}
    return tuple(one for key, one in found.items() if key not in own)


def play(
    out: Console,
    controls: Sequence[Cell],
    results: Sequence[CellResults],
    sweep: SweepConfig,
    log: Log,
    live: RunStatus,
) -> int:
    """Play the controls' missing matches, up to the last complete deal of `results`. Returns how
    many are left if interrupted, else 0. Raises UserError, Halted."""
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
    interrupted = play_missing(out, plan, control_sweep, log, rule, live, None, VERBS)
    return missing(plan, log) if interrupted else 0
