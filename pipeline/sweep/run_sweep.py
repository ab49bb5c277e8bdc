"""One sweep from its configs to its tables: plan, play what is missing, judge, show, track."""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Callable, Sequence
from itertools import chain

from rich.console import Console

from gauntlet.common.disk import write_atomically
from gauntlet.common.errors import Halted, UserError
from gauntlet.common.terminal import console
from gauntlet.pipeline.config import resolved
from gauntlet.pipeline.config.read import CellConfig, SweepConfig
from gauntlet.pipeline.judging import luck, stopping
from gauntlet.pipeline.launch.placement import paid_models, resolve_launch
from gauntlet.pipeline.log import code, failed_matches, same_name_cells
from gauntlet.pipeline.log.events import event, log_events, redact_data
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.live import RunStatus
from gauntlet.pipeline.log.progress import Waiting
from gauntlet.pipeline.log.records import Log
from gauntlet.pipeline.log.results import CellInfo, CellResults, collect
from gauntlet.pipeline.plan.baseline import GAMES, Baseline, enough_games, measure
from gauntlet.pipeline.plan.build import build_cells
from gauntlet.pipeline.plan.cells import Cell, Plan
from gauntlet.pipeline.plan.control_cells import controls_and_noise
from gauntlet.pipeline.plan.deals import planned_deals
from gauntlet.pipeline.plan.time_budget import ProgressCallbacks, enough_slow_deals
from gauntlet.pipeline.sweep import beliefs, controls
from gauntlet.pipeline.sweep.announce import announce, announce_rounds
from gauntlet.pipeline.sweep.play import missing, play_missing
from gauntlet.pipeline.sweep.rounds import Rounds, so_far
from gauntlet.pipeline.tables import claims
from gauntlet.pipeline.tables.claims import planned_tests

INTERRUPTED = 130
NOTHING_PLAYED = 1
"""Exit statuses; 2 is a user error."""


def as_planned(plan: Plan) -> Plan:
    return plan


def run(
    cell_configs: Sequence[CellConfig],
    sweep: SweepConfig,
    command: str = "",
    replace_plan: Callable[[Plan], Plan] = as_planned,
) -> int:
    """Play and judge a sweep. Returns the exit status; raises UserError.

    command: the command line, for the log. replace_plan: returns the plan to play, for players that
    the plan cannot know, such as a person at a web page; cells keep their keys.
    """
    out = console()
    cells = build_cells(cell_configs)
    if sweep.simulate:
        from gauntlet.pipeline.sweep import simulate

        simulate.run(out, cells, sweep)
        return 0
    beliefs.check(cells, sweep)
    adaptive = sweep.adaptive is not None
    named_controls = [{} if adaptive else controls_and_noise(cell, sweep) for cell in cells]
    control_cells = controls.distinct(cells, named_controls)
    every = (*cells, *control_cells)
    changed = code.compare(sweep.output_dir, every, sweep.allow_code_change)
    baselines = measure_baselines(out, cells, sweep)
    abouts = [
        CellInfo.from_cell(cell, baselines[cell.key], own)
        for cell, own in zip(cells, named_controls, strict=True)
    ]
    every_about = [*abouts, *(CellInfo.from_cell(control, None) for control in control_cells)]
    deals = planned_deals(sweep, cells, baselines, planned_tests(abouts))
    plan = replace_plan(Plan(cells, deals, sweep.seed))
    sweep = resolve_launch(sweep, plan.sources)
    stopping.check(sweep, abouts)
    claims.check(sweep.comparisons, (cell.name for cell in cells))
    halted, left_controls = None, 0
    with (
        Log(sweep.output_dir, sweep.seed, infos=every_about) as log,
        log_events(log.folder),
        RunStatus(
            log.folder,
            so_far(plan, sweep, abouts, Folder(log.folder)),
            chain.from_iterable(log.outcomes.values()),
        ) as live,
    ):
        for note in log.notes:
            out.print(note)
            event("log mended", logging.WARNING, note=note)
        code.describe(log, every, every_about, changed)
        described = {about.key: about for about in Folder(log.folder).all_cells()}
        abouts = [described[about.key] for about in abouts]  # with the controls of earlier runs
        for note in (
            *code.notes(sweep.output_dir, changed),
            *same_name_cells.notes(Folder(log.folder), cells),
        ):
            out.print(note)
        claims.save_rule(log.folder, sweep.comparisons)
        config = resolved.as_yaml(redact_data(sweep.config))
        write_atomically(Folder(log.folder).config_file, config)
        played = max(result.complete_deals for result in logged_results(abouts, log))
        if sweep.adaptive is None:
            rounds = None
            announce(out, plan, sweep, baselines, missing(plan, log), played)
        else:
            rounds = Rounds(out, sweep.adaptive, live.plan, deals, abouts, log, live)
            announce_rounds(out, live.plan, sweep, deals)
            rounds.begin()
        rule = stopping.StopRule(sweep, plan, abouts, log)
        try:
            first = rounds.plan if rounds else plan
            interrupted = play_missing(out, first, sweep, log, rule, live, command, rounds=rounds)
        except Halted as error:
            interrupted, halted = True, error
        log.sync()
        live.judge()
        results, entries = logged_results(abouts, log), Folder(log.folder).failed_matches
        results = stopping.settle(log.folder, cells, results, sweep)
        luck.adjust(log.folder, cells, results, sweep.seed, out.print)
        results = luck.with_adjustment(log.folder, results)
        failure = None if interrupted else failed_matches.nothing_played(results, entries)
        if not interrupted and not failure:
            try:
                left_controls = controls.play(out, control_cells, results, sweep, log, live)
                interrupted = left_controls > 0
                live.judge()
            except Halted as error:
                interrupted, halted = True, error
        if not interrupted and not failure:
            try:
                interrupted = beliefs.ask(out, cells, results, sweep)
            except UserError as error:
                out.print(f"warning: no beliefs: {error}", soft_wrap=True)
        from gauntlet.pipeline.sweep.publish_results import (
            show,  # imported late: pandas and matplotlib are slow to load
        )

        show(out, sweep, results, hurry=interrupted and not halted)
        for account in dict.fromkeys(source.account() for source in paid_models(plan.sources)):
            out.print(f"paid     {account}", soft_wrap=True)
            event("paid", account=account)
        live.ended("interrupted" if interrupted else "failed" if failure else "finished", failure)
        if interrupted:
            part = " of this round" if rounds else ""
            hint = "" if halted else "; running the same command again continues"
            left = missing(rounds.plan if rounds else plan, log) + left_controls
            out.print(
                f"\ninterrupted: {left:,} matches{part} are left, all others are safe in "
                f"{log.folder}{hint}"
            )
    if halted is not None:
        raise halted
    if failure:
        print(
            f"gauntlet: {failure}; see {sweep.output_dir / 'failed_matches.jsonl'}", file=sys.stderr
        )
        return NOTHING_PLAYED
    return INTERRUPTED if interrupted else 0


def measure_baselines(
    out: Console, cells: Sequence[Cell], sweep: SweepConfig
) -> dict[str, Baseline | None]:
    """The baseline of each cell, by its key, as precise as this many deals need."""
    games, slow = GAMES, math.inf
    if sweep.deals != "auto":
        games, slow = enough_games(sweep.deals), enough_slow_deals(sweep.deals)
    with Waiting(out, "baseline", "games") as waiting:
        watch = ProgressCallbacks(waiting.reach, out.print)
        return {cell.key: measure(cell, sweep.seed, games, watch, slow) for cell in cells}


def logged_results(abouts: Sequence[CellInfo], log: Log) -> list[CellResults]:
    """The cells with all their gap-free deals, including those beyond what this run asks for: the
    same as `views.results_of` for later readers of the folder."""
    folder = Folder(log.folder)
    return collect(abouts, log.outcomes, folder.failed_matches, folder.rounds)
