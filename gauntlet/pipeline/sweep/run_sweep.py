"""One sweep from its configs to its tables: plan, play what is missing, judge, show, track."""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain

from rich.console import Console

from gauntlet.common.disk import write_atomically
from gauntlet.common.errors import Halted, UserError
from gauntlet.common.process import INTERRUPTED
from gauntlet.common.terminal import console
from gauntlet.pipeline.config import resolved
from gauntlet.pipeline.config.read import CellConfig, SweepConfig
from gauntlet.pipeline.judging import luck, stopping
from gauntlet.pipeline.launch.placement import paid_models, resolve_launch
from gauntlet.pipeline.log import code, failed_matches, same_name_cells
from gauntlet.pipeline.log.events import event, log_events, redact_data
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.live import RunStatus, State
from gauntlet.pipeline.log.progress import Waiting
from gauntlet.pipeline.log.records import Log
from gauntlet.pipeline.log.results import CellInfo, CellResults, collect
from gauntlet.pipeline.plan.baseline import GAMES, Baseline, enough_games, measure
from gauntlet.pipeline.plan.build import build_cells, check_keys
from gauntlet.pipeline.plan.cells import Cell, Plan
from gauntlet.pipeline.plan.control_cells import controls_and_noise
from gauntlet.pipeline.plan.deals import planned_deals
from gauntlet.pipeline.plan.time_budget import ProgressCallbacks, enough_slow_deals
from gauntlet.pipeline.sweep import beliefs
from gauntlet.pipeline.sweep.announce import announce, announce_rounds
from gauntlet.pipeline.sweep.play import distinct, missing, play_controls, play_missing
from gauntlet.pipeline.sweep.rounds import Rounds, so_far
from gauntlet.pipeline.tables.sweep import claims
from gauntlet.pipeline.tables.sweep.claims import planned_tests

NOTHING_PLAYED = 1
"""An exit status; 2 is a user error."""
HURRIED = 2000
"""Matches whose tables take a few seconds. After Ctrl-C those of more are left to `report`."""


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
    check_keys(cell_configs)
    cells = build_cells(cell_configs)
    beliefs.check(cells, sweep)
    adaptive = sweep.adaptive is not None
    named_controls = [{} if adaptive else controls_and_noise(cell, sweep) for cell in cells]
    control_cells = distinct(cells, named_controls)
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
    with (
        Log(sweep.output_dir, sweep.seed, infos=every_about) as log,
        log_events(log.folder),
        RunStatus(
            log.folder,
            so_far(plan, sweep, abouts, Folder(log.folder)),
            chain.from_iterable(log.outcomes.values()),
        ) as live,
    ):
        packages = [name for config in cell_configs for name in config.packages]
        going = _Run(out, sweep, cells, control_cells, plan, log, live, packages)
        going.write_down(every, every_about, changed)
        going.play([about.key for about in abouts], baselines, command)
        going.finish()
    return going.exit_status()


@dataclass
class _Run:
    """A sweep whose log is open.

    cells: as configured; those of `plan` may have other players. rounds: of an adaptive sweep.
    interrupted: whether something is left to play. halted: why no model answers any more.
    failure: why nothing was played. left_controls: matches of controls that are left.
    """

    out: Console
    sweep: SweepConfig
    cells: Sequence[Cell]
    control_cells: Sequence[Cell]
    plan: Plan
    log: Log
    live: RunStatus
    packages: Sequence[str]
    abouts: Sequence[CellInfo] = ()
    rounds: Rounds | None = None
    interrupted: bool = False
    halted: Halted | None = None
    failure: str | None = None
    left_controls: int = 0

    @property
    def folder(self) -> Folder:
        return Folder(self.log.folder)

    def write_down(
        self, cells: Sequence[Cell], abouts: Sequence[CellInfo], changed: code.CodeChange
    ) -> None:
        """Describe the cells with their controls, and print what a person should know of the
        folder."""
        for note in self.log.notes:
            self.out.print(note)
            event("log mended", logging.WARNING, note=note)
        code.describe(self.log, cells, abouts, changed)
        for note in (
            *code.notes(self.sweep.output_dir, changed),
            *same_name_cells.notes(self.folder, self.cells),
        ):
            self.out.print(note)
        claims.save_rule(self.log.folder, self.sweep.comparisons)
        config = resolved.as_yaml(redact_data(self.sweep.config))
        write_atomically(self.folder.config_file, config)

    def play(
        self, keys: Sequence[str], baselines: Mapping[str, Baseline | None], command: str
    ) -> None:
        """Play what the log lacks of the cells with these keys."""
        described = {about.key: about for about in self.folder.all_cells()}
        self.abouts = [described[key] for key in keys]  # with the controls of earlier runs
        if self.sweep.adaptive is None:
            played = max(result.complete_deals for result in logged_results(self.abouts, self.log))
            left = missing(self.plan, self.log)
            announce(self.out, self.plan, self.sweep, baselines, left, played)
        else:
            most = self.plan.deals
            self.rounds = Rounds(
                self.out,
                self.sweep.adaptive,
                self.live.plan,
                most,
                self.abouts,
                self.log,
                self.live,
            )
            announce_rounds(self.out, self.live.plan, self.sweep, most)
            self.rounds.begin()
        rule = stopping.StopRule(self.sweep, self.plan, self.abouts, self.log)
        with self._halting():
            self.interrupted = play_missing(
                self.out,
                self._plan_so_far,
                self.sweep,
                self.log,
                rule,
                self.live,
                command,
                rounds=self.rounds,
            )
        self.log.sync()

    def finish(self) -> None:
        """Judge the matches, play the controls, ask side questions, and show everything."""
        self.live.judge()
        results = self._judged()
        if not self.interrupted:
            self.failure = failed_matches.nothing_played(results, self.folder.failed_matches)
        if not self.interrupted and not self.failure:
            self._play_controls(results)
        if not self.interrupted and not self.failure:
            try:
                self.interrupted = beliefs.ask(self.out, self.cells, results, self.sweep)
            except UserError as error:
                self.out.print(f"warning: no beliefs: {error}", soft_wrap=True)
        if not self.hurry or sum(map(len, self.log.outcomes.values())) <= HURRIED:
            from gauntlet.pipeline.sweep.publish_results import (
                show,  # imported late: pandas and matplotlib are slow to load
            )

            show(self.out, self.sweep, results, self.hurry, dict.fromkeys(self.packages))
        for account in dict.fromkeys(one.account() for one in paid_models(self.plan.sources)):
            self.out.print(f"paid     {account}", soft_wrap=True)
            event("paid", account=account)
        ended: State = "failed" if self.failure else "finished"
        self.live.end("interrupted" if self.interrupted else ended, self.failure)
        if self.interrupted:
            self._say_what_is_left()

    def exit_status(self) -> int:
        """The status of the process. Raises Halted."""
        if self.halted is not None:
            raise self.halted
        if self.failure:
            file = self.folder.lines_file("failed_matches")
            print(f"gauntlet: {self.failure}; see {file}", file=sys.stderr)
            return NOTHING_PLAYED
        return INTERRUPTED if self.interrupted else 0

    @property
    def hurry(self) -> bool:
        """Whether the user waits for the end."""
        return self.interrupted and self.halted is None

    @property
    def _plan_so_far(self) -> Plan:
        return self.rounds.plan if self.rounds else self.plan

    @contextmanager
    def _halting(self) -> Iterator[None]:
        try:
            yield
        except Halted as error:
            self.interrupted, self.halted = True, error

    def _judged(self) -> list[CellResults]:
        folder, cells = self.log.folder, self.cells
        results = logged_results(self.abouts, self.log)
        if self.hurry and self.sweep.stop == "precision":  # whose rule judges luck
            results = stopping.cut_at_stop(folder, results)
        else:
            results = stopping.settle(folder, cells, results, self.sweep)
        if not self.hurry:
            luck.adjust(folder, cells, results, self.sweep.seed, self.out.print)
        return luck.with_adjustment(folder, results)

    def _play_controls(self, results: Sequence[CellResults]) -> None:
        with self._halting():
            self.left_controls = play_controls(
                self.out, self.control_cells, results, self.sweep, self.log, self.live
            )
            self.interrupted = self.left_controls > 0
            self.live.judge()

    def _say_what_is_left(self) -> None:
        part = " of this round" if self.rounds else ""
        left = missing(self._plan_so_far, self.log) + self.left_controls
        safe = sum(map(len, self.log.outcomes.values()))
        line = f"{'stopped' if self.halted else 'interrupted'}: {left:,} matches{part} are left"
        line += f", all others are safe in {self.log.folder}" if safe else ""
        hint = "" if self.halted else "; running the same command again continues"
        self.out.print(f"\n{line}{hint}")


def measure_baselines(
    out: Console, cells: Sequence[Cell], sweep: SweepConfig
) -> dict[str, Baseline | None]:
    """The baseline of each cell, by its key, as precise as this many deals need; that of an earlier
    run with more deals stays."""
    games, slow = GAMES, math.inf
    if sweep.deals != "auto":
        games, slow = enough_games(sweep.deals), enough_slow_deals(sweep.deals)
    with Waiting(out, "baseline", "games") as waiting:
        watch = ProgressCallbacks(waiting.reach, out.print)
        found = {cell.key: measure(cell, sweep.seed, games, watch, slow) for cell in cells}
    with suppress(UserError):  # no cells yet, or damaged ones, which are written anew
        for about in Folder(sweep.output_dir).all_cells():
            own, earlier = found.get(about.key), about.baseline
            if own and earlier and own.policy == earlier.policy and own.games < earlier.games:
                found[about.key] = earlier
    return found


def logged_results(abouts: Sequence[CellInfo], log: Log) -> list[CellResults]:
    """The cells with all their gap-free deals, including those beyond what this run asks for: the
    same as `views.results_of` for later readers of the folder."""
    folder = Folder(log.folder)
    return collect(abouts, log.outcomes, folder.failed_matches, folder.rounds)
