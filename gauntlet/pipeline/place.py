"""Place a player on a game's ladder: `python -m pipeline.place game=tic_tac_toe agent=minimax`.

The player is named by the words of `pipeline.run`. It meets the ladder's rungs, graded UCT players
(`games/ladder/`), in pairs of matches until its Elo is known well enough (`stats/placing.py`), and
gets the number of playouts of a UCT player of equal strength (docs/ladder.md). The matches are
logged like those of any run; a killed placement goes on with the same command, and decides alike.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from rich.console import Console

from gauntlet.common.disk import write_atomically
from gauntlet.common.errors import UserError, counted, suggest
from gauntlet.common.process import as_process, invocation
from gauntlet.common.sanitize import visible
from gauntlet.common.terminal import WrappedTable, console
from gauntlet.games import ladder as ladders
from gauntlet.games.ladder import OPENING, RUNGS, Ladder
from gauntlet.pipeline.config import resolved
from gauntlet.pipeline.config.compose import compose
from gauntlet.pipeline.config.output_dir import short_name
from gauntlet.pipeline.config.read import CellConfig, SweepConfig
from gauntlet.pipeline.launch.cluster import start_workers
from gauntlet.pipeline.log import code
from gauntlet.pipeline.log.events import log_events, redact, redact_data
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.records import Log
from gauntlet.pipeline.log.results import CellInfo
from gauntlet.pipeline.log.run_info import command_line, run_entry
from gauntlet.pipeline.plan.build import build_cells, check_keys
from gauntlet.pipeline.plan.cells import Cell, Plan, Task
from gauntlet.pipeline.plan.identity import cell_identity
from gauntlet.pipeline.play.driver import Driver, Worker
from gauntlet.pipeline.play.scheduler import Finished
from gauntlet.stats.placing import Fit, Placement, Rungs, goodness, placing

SETTLED = (
    *("~experiment", "+name=place", "seats=against", "rotate=true", "baseline=null"),
    *("controls=[]", "tracking=none", "launch=inline"),
    f"seats.0.player={','.join(map(ladders.player, RUNGS))}",
)
"""The words that make a cell of every rung."""
FIXED = (
    *("experiment", "name", "seats", "rotate", "baseline", "controls", "tracking", "launch"),
    *("deals", "samples", "pairing", "players", "ablate", "stop", "measure", "paper_bugs"),
)
"""Keys that a placement settles."""
OUTPUT = Path("outputs/place")
ACCEPT = "allow_code_change"


def read_words(typed: Sequence[str]) -> tuple[Ladder, list[str]]:
    """The ladder that `game=NAME` names, and the words of the sweep in which the player of the
    other words meets every rung. Raises UserError."""
    names = [word.partition("=")[2] for word in typed if word.startswith("game=")]
    known = ladders.ladders()
    if len(names) != 1 or names[0] not in known:
        wrong = f"game={names[0]}{suggest(names[0], known)}" if len(names) == 1 else "game=NAME"
        raise UserError(f"{wrong}: a placement takes one of the ladders {', '.join(known)}")
    ladder, own = known[names[0]], [word for word in typed if not word.startswith("game=")]
    for word in own:
        key = word.lstrip("+~").partition("=")[0].partition(".")[0]
        if key in (*FIXED, "game"):
            raise UserError(f"{word}: a placement settles {key} itself")
    if not any(word.startswith("output_dir=") for word in own):
        parts = [ladder.name, *(word for word in own if not word.startswith(ACCEPT))]
        own = [*own, f"output_dir={OUTPUT / short_name(parts)}"]
    return ladder, [*SETTLED, *ladder.game, *own]


def rung_cells(configs: Sequence[CellConfig]) -> tuple[Cell, ...]:
    """The cells in which the player meets each of RUNGS. Raises UserError for several
    players."""
    if len(configs) != len(RUNGS):
        raise UserError("a placement takes one player: give every key one value")
    check_keys(configs)
    cells = (replace(cell, opening=OPENING) for cell in build_cells(configs))
    named = [replace(cell, identity=cell_identity(cell)) for cell in cells]
    return tuple(named)


def rated(ladder: Ladder) -> Rungs:
    """The ladder's rungs with their ratings. Raises UserError before its matches are played."""
    rows = ladders.rows(ladder)
    if not rows:
        raise UserError(f"{ladder.file} holds no matches: python -m benchmarks.ladder plays them")
    meetings = [(row.first, row.second) for row in rows]
    return Rungs.rated(RUNGS, meetings, [row.pairs for row in rows])


@dataclass(frozen=True)
class Wanted:
    """within: half the width of the interval to reach, in Elo. most: pairs of matches. batch: pairs
    that are played at once against one rung. rungs: their playouts; () for all."""

    within: float = 75.0
    most: int = 200
    batch: int = 4
    rungs: tuple[int, ...] = ()


@dataclass(frozen=True)
class Placed:
    """A placed player. cell: one of its cells. fallbacks: the share of its decisions that a
    fallback took."""

    ladder: Ladder
    cell: Cell
    rungs: Rungs
    placement: Placement
    fallbacks: float
    folder: Path

    @property
    def player(self) -> str:
        labels = self.cell.labels
        asks = labels["model"] != "-"
        return f"{labels['prompt']} on {labels['model']}" if asks else self.cell.players[1].name

    @property
    def verdict(self) -> str:
        """Where the player stands, in a sentence."""
        own, every = self.placement, rated(self.ladder)
        low, high = every.equivalents(own)
        if low <= 1 and np.isfinite(high):
            like = "like a random player"
            like += f" or UCT of up to {_playouts(high)} playouts" if high > 1 else ""
        else:
            to = f"to {_playouts(high)}" if np.isfinite(high) else "or more"
            like = f"like UCT of {_playouts(every.equivalent(own.elo))} playouts"
            like += f" ({_playouts(low)} {to})" if np.isfinite(low) else ""
        pairs = counted(own.pairs, "pair")
        return f"{self.player} plays {self.ladder.title} {like}, {pairs} of matches"


def _playouts(value: float) -> str:
    if np.isinf(value):
        return f"more than {RUNGS[-1]:,}"
    return f"{value:,.0f}" if value >= 9.5 else f"{value:.1f}".removesuffix(".0")


@dataclass
class Matches:
    """The matches of a placement, in a log. Workers, and with them models, are started for the
    first match that the log lacks."""

    plan: Plan
    sweep: SweepConfig
    log: Log
    stack: ExitStack
    command: str
    workers: Sequence[Worker] = ()
    met: Counter[str] = field(default_factory=Counter)

    def scores(self, cell: Cell, pairs: int) -> list[float]:
        """What the player scores in the next pairs of matches against a rung, 0 to 2 each."""
        start = self.met[cell.key]
        self.met[cell.key] += pairs
        deals = range(start, start + pairs)
        self._play([task for task in self._tasks(cell) if task.deal in deals])
        outcomes = self.log.outcomes_of(cell.key)
        values, dealt = outcomes.column("value"), outcomes.column("deal")
        points = 0.5 * ((values > 0).astype(float) + (values >= 0))
        return [float(points[dealt == deal].sum()) for deal in deals]

    def fallbacks(self) -> float:
        """The share of the player's decisions that a fallback took."""
        every = [self.log.outcomes_of(cell.key) for cell in self.plan.cells]
        taken, made = (sum(int(one.column(key).sum()) for one in every)
                       for key in ("fallbacks", "decisions"))  # fmt: skip
        return taken / made if made else 0.0

    def _tasks(self, cell: Cell) -> list[Task]:
        plan = replace(self.plan, deals=self.met[cell.key])
        return [task for task in plan.tasks_of(cell) if not self.log.has(task)]

    def _play(self, tasks: Sequence[Task]) -> None:
        if not tasks:
            return
        if not self.workers:
            self.log.append_line("runs", run_entry(self.plan, len(tasks), self.command))
            width = self.sweep.concurrent_matches
            self.workers = self.stack.enter_context(
                start_workers(self.sweep.launch, self.plan, width)
            )
        try:
            Driver(self.workers, 1, self._finished, self._give_up, self.log.sync).run(iter(tasks))
        finally:
            self.log.sync()

    def _finished(self, result: Finished) -> None:
        assert result.record is not None
        (cell,) = (cell for cell in self.plan.cells if cell.key == result.task.cell)
        self.log.append(cell, result.record)

    def _give_up(self, task: Task, error: str) -> None:
        place = {"match": task.match, "cell": task.cell, "deal": task.deal}
        why = redact(error)
        self.log.append_line("failed_matches", {**place, "rotation": task.rotation, "error": why})
        raise UserError(f"match {task.match} failed: {why}")


def place(
    ladder: Ladder,
    wanted: Wanted,
    command: str,
    out: Console,
    configs: Sequence[CellConfig],
    sweep: SweepConfig,
) -> Placed:
    """Play until the player of the configs is placed. Raises UserError."""
    every, cells = rated(ladder), rung_cells(configs)
    try:
        rungs = every.only(wanted.rungs or RUNGS)
    except ValueError as error:
        raise UserError(f"--rungs: {error}") from None
    _refuse_others(Folder(sweep.output_dir), cells)
    cells = tuple(cells[RUNGS.index(int(rung))] for rung in rungs.playouts)
    abouts = [CellInfo.from_cell(cell, None) for cell in cells]
    changed = code.compare(sweep.output_dir, cells, sweep.allow_code_change)
    with Log(sweep.output_dir, sweep.seed, infos=abouts) as log, log_events(log.folder):
        for note in (*log.notes, *code.notes(sweep.output_dir, changed)):
            out.print(note)
        code.describe(log, cells, abouts, changed)
        config = resolved.as_yaml(redact_data(sweep.config))
        write_atomically(Folder(log.folder).config_file, config)
        with ExitStack() as stack:
            matches = Matches(Plan(cells, wanted.most, sweep.seed), sweep, log, stack, command)
            placement = _placed(out, matches, rungs, wanted)
        return Placed(ladder, cells[0], rungs, placement, matches.fallbacks(), log.folder)


def _refuse_others(folder: Folder, cells: Sequence[Cell]) -> None:
    """Raises UserError if the folder holds cells of anything else."""
    if folder.holds_others(cell.key for cell in cells):
        raise UserError(
            f"{folder.path} holds cells that are not of this placement; choose another output_dir"
        )


def _placed(out: Console, matches: Matches, rungs: Rungs, wanted: Wanted) -> Placement:
    steps = placing(rungs, wanted.within, wanted.most, wanted.batch)
    rung = next(steps)
    while True:
        cell = matches.plan.cells[rung]
        left = wanted.most - sum(matches.met.values())
        scores = matches.scores(cell, min(wanted.batch, left))
        met, points = sum(matches.met.values()), " ".join(f"{score:g}" for score in scores)
        against = cell.players[0].name
        out.print(f"{counted(met, 'pair')}: {points} points, of 2 a pair, against {against}")
        try:
            rung = steps.send(scores)
        except StopIteration as stop:
            placement: Placement = stop.value
            return placement


def show(out: Console, placed: Placed) -> None:
    """Print the verdict, its Elo, and the results against each rung."""
    own, fit = placed.placement, goodness(placed.rungs, placed.placement)
    wide = "" if own.settled else "; the interval is wider than asked for, after the most pairs"
    limits = f"{own.elo:.0f} ({own.low:.0f} to {own.high:.0f})"
    out.print(f"\n{visible(placed.verdict)}")
    out.print(f"Elo {limits} above random play{wide}\n")
    out.print(_table(placed.rungs, own, fit))
    if np.isfinite(fit.f):
        degrees = ", ".join(map(str, fit.degrees))
        out.print(f"\none strength against all rungs: F({degrees}) = {fit.f:.2f}, p = {fit.p:.2g}")
    if placed.fallbacks:
        share = f"{placed.fallbacks:.1%}"
        out.print(f"{share} of its moves were random, for lack of a usable reply")
    version = f"ladder version {ladders.VERSION}"
    out.print(f"{version}; matches in {placed.folder}", soft_wrap=True)


def _table(rungs: Rungs, placement: Placement, fit: Fit) -> WrappedTable:
    table = WrappedTable()
    for heading in ("rung", "Elo", "error", "pairs", "score", "expected"):
        table.add_column(heading, justify="right", no_wrap=True)
    met, scores = np.array(placement.met), np.array(placement.scores)
    for at, playouts in enumerate(rungs.playouts):
        own = scores[met == at]
        score = f"{own.mean() / 2:.2f}" if len(own) else "-"
        elo, error = f"{rungs.elo[at]:.0f}", f"{rungs.error[at]:.0f}"
        name = ladders.player(int(playouts))
        table.add_row(name, elo, error, f"{len(own)}", score, f"{fit.expected[at]:.2f}")
    return table


def _options(arguments: Sequence[str]) -> tuple[Wanted, list[str]]:
    parser = argparse.ArgumentParser(
        prog=invocation("pipeline.place"),
        usage="%(prog)s game=LADDER [KEY=VALUE ...] [OPTION ...]",
        description="Place a player, named as for pipeline.run, on a game's ladder: "
        f"{', '.join(ladders.ladders())}.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--within", type=float, default=75.0, metavar="ELO",
        help="half the width of the interval to reach (default %(default)g)")  # fmt: skip
    add("--most", type=int, default=200, metavar="PAIRS",
        help="of matches, at the most (default %(default)s)")  # fmt: skip
    add("--batch", type=int, default=4, metavar="PAIRS",
        help="played at once against one rung (default %(default)s)")  # fmt: skip
    add("--rungs", type=int, nargs="+", metavar="PLAYOUTS", help="only these rungs; 1 is random")
    options, words = parser.parse_known_args(list(arguments))
    if not options.within > 0:
        parser.error(f"--within {options.within:g}: must be above 0")
    for name in ("most", "batch"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} {getattr(options, name)}: must be at least 1")
    rungs = tuple(options.rungs or ())
    return Wanted(options.within, options.most, options.batch, rungs), words


def main(arguments: Sequence[str] | None = None) -> int:
    given = sys.argv[1:] if arguments is None else arguments
    wanted, typed = _options(given)
    try:
        ladder, words = read_words(typed)
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    command = command_line(invocation("pipeline.place"), given)

    def act(configs: Sequence[CellConfig], sweep: SweepConfig) -> int:
        out = console()
        show(out, place(ladder, wanted, command, out, configs, sweep))
        return 0

    return compose(words, act)


if __name__ == "__main__":
    as_process(main)
