"""Run a sweep as a SLURM job: the job script, and its submission.

The script requests the nodes and runs `pipeline.launch.allocation`, which starts Ray on them and
then the original command, with `launch=ray` in place of `launch=slurm`.

    <output_dir>/slurm/job.sh      the script
    <output_dir>/slurm/<job>.log   the job's output, over all its starts
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from gauntlet.common.disk import write_atomically
from gauntlet.common.errors import ModelError, UserError
from gauntlet.models.checkpoint import Checkpoint, cached_folder
from gauntlet.models.engine.files import local_folder
from gauntlet.pipeline.config.read import CellConfig, Node, SweepConfig
from gauntlet.pipeline.launch.placement import check_nodes
from gauntlet.pipeline.log.code import compare
from gauntlet.pipeline.plan.build import build_cells, check_keys
from gauntlet.pipeline.sizing.workload import cast

TIME = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d{1,2}))?(?::(\d{1,2}))?")
"""A time limit for sbatch: minutes, M:S, H:M:S, D-H, D-H:M or D-H:M:S."""

OPTION = re.compile(r"--([a-z][a-z0-9-]*)(=[^\x00-\x1f\x7f]+)?")

OWN_OPTIONS = {
    "account", "array", "chdir", "cpus-per-task", "gpus-per-node", "job-name", "no-kill",
    "no-requeue", "nodes", "ntasks", "ntasks-per-node", "open-mode", "output", "partition",
    "requeue", "signal", "time", "wrap",
}  # fmt: skip
"""Options not allowed in `extra`: the script sets them, or depends on their being unset."""

PASSED_ON = {"nodes", "workers", "patience"}
"""Settings that launch=ray has too."""


def submit_sweep(cells: Sequence[CellConfig], sweep: SweepConfig, arguments: Sequence[str]) -> int:
    """Write the job script of a sweep and submit it, or with `dry_run` only print it.

    arguments: the command line, to be run again inside the job. Returns status 0. Raises UserError
    for a value that SLURM would reject, for a sweep that cannot be played, and if sbatch fails.
    """
    launch = checked(sweep.launch)
    if not launch["dry_run"]:
        check_keys(cells)
    for path in check(cells, sweep, launch["nodes"]):
        said = f"model {path} is not on this machine; the nodes must have it when the job starts"
        print(f"gauntlet: {said}", file=sys.stderr)
    folder = sweep.output_dir.absolute() / "slurm"
    text = script(launch, folder, Path.cwd(), inside(arguments, launch))
    if launch["dry_run"]:
        print(text, end="")
        return 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / "job.sh", text)
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror or error}") from error
    number = submit(folder / "job.sh")
    print(f"job {number} is submitted; it writes to {folder / f'{number}.log'}")
    print(f"squeue -j {number} shows it, scancel {number} ends it; the same command continues")
    return 0


def check(cells: Sequence[CellConfig], sweep: SweepConfig, nodes: int) -> list[str]:
    """Build every cell, so that impossible settings and changed code are reported now, not after
    hours in a queue. A checkpoint that is missing here may be on the nodes, so a stand-in replaces
    it.

    Returns the paths of those checkpoints. Raises UserError.
    """
    checkpoints: list[Checkpoint] = []
    casts = [cast(cell, checkpoints) for cell in cells]
    players = (player for acted in casts for player in acted.cell.players)
    check_nodes([player.model for player in players if player.model is not None], nodes)
    away = {source for source in checkpoints if not _is_here(source)}
    built_cells = build_cells(
        [
            cell
            for cell, acted in zip(cells, casts, strict=True)
            if away.isdisjoint(acted.sources.values())
        ]
    )
    compare(sweep.output_dir, built_cells, sweep.allow_code_change)
    return [source.path for source in checkpoints if source in away]


def _is_here(source: Checkpoint) -> bool:
    try:
        folder = local_folder(source.path) or cached_folder(source.path, source.revision)
    except ModelError:  # neither a local folder nor a name on the hub
        return False
    return folder is not None


def checked(launch: Node) -> Node:
    """The launch config, in which no value can break out of its line or word in the script. Raises
    UserError."""
    time, extra = str(launch["time"]), tuple(launch["extra"])
    for option in extra:
        match = OPTION.fullmatch(option)
        if not match:
            raise UserError(
                f"launch.extra holds {option!r}; each must be one option of sbatch in one line, "
                "as --mem=64G or --exclusive"
            )
        if match.group(1) in OWN_OPTIONS:
            raise UserError(
                f"launch.extra holds {option!r}; the job script settles --{match.group(1)} itself"
            )
    if launch["signal"] >= (limit := seconds(time)):
        raise UserError(
            f"launch.signal is {launch['signal']} seconds; it must be less than launch.time, which "
            f"is {limit} seconds"
        )
    return {**launch, "time": time, "extra": extra}


def seconds(time: str) -> int:
    """A time limit in seconds. Raises UserError for what sbatch would reject."""
    match = TIME.fullmatch(time)
    total = 0
    if match:
        days, *parts = (None if part is None else int(part) for part in match.groups())
        given = [part for part in parts if part is not None]
        units = (3600, 60, 1) if days is not None or len(given) == 3 else (60, 1)
        total = 86400 * (days or 0) + sum(a * b for a, b in zip(given, units, strict=False))
    if total <= 0:
        raise UserError(
            f"launch.time is {time!r}; it must be a time as 90 (minutes), 12:00:00 or 2-12:00:00"
        )
    return total


def script(launch: Node, folder: Path, cwd: Path, arguments: Sequence[str]) -> str:
    """The job script, with every word that comes from a config quoted.

    Raises UserError for a folder name that would break a line.
    """
    if not str(folder).isprintable():
        raise UserError(f"output_dir is {str(folder.parent)!r}; a job's must be printable")
    options = [
        f"--job-name=gauntlet-{folder.parent.name}",
        f"--nodes={launch['nodes']}",
        "--ntasks-per-node=1",
        f"--cpus-per-task={launch['cpus_per_task']}",
        f"--time={launch['time']}",
        f"--signal=B:USR1@{launch['signal']}",
        "--requeue",
        "--no-kill",  # a lost node ends its workers, not the job
        "--open-mode=append",
        f"--output={str(folder).replace('%', '%%')}/%j.log",
    ]
    wanted = {
        key.replace("_", "-"): launch[key] for key in ("gpus_per_node", "partition", "account")
    }
    options += [f"--{name}={value}" for name, value in wanted.items() if value]
    options += launch["extra"]
    start = [sys.executable, "-m", "gauntlet.pipeline.launch.allocation", str(folder)]
    start += [f"--requeues={launch['requeues']}", f"--seconds={launch['signal']}", "--", *arguments]
    lines = ["#!/bin/bash", *(f"#SBATCH {shlex.quote(option)}" for option in options), ""]
    lines += [f"cd {shlex.quote(str(cwd))} || exit", f"exec {shlex.join(start)}"]
    return "\n".join(lines) + "\n"


def inside(arguments: Sequence[str], launch: Node) -> list[str]:
    """The command line to run inside the job: the allocation's Ray replaces SLURM."""
    mine = {f"launch.{key}" for key in launch.keys() - PASSED_ON}
    kept_arguments: list[str] = []
    for argument in arguments:
        key = argument.partition("=")[0].lstrip("+")
        if key == "launch":
            kept_arguments += ["launch=ray", "launch.address=auto"]
        elif key not in mine:
            kept_arguments.append(argument)
    if "launch=ray" not in kept_arguments:
        kept_arguments += ["launch=ray", "launch.address=auto"]
    return kept_arguments


def submit(path: Path) -> str:
    """Submit a script; return the job id. Raises UserError if that fails."""
    try:
        done = subprocess.run(["sbatch", "--parsable", str(path)], capture_output=True, text=True)
    except OSError as error:
        raise UserError(
            "launch=slurm needs the command sbatch, which this machine lacks; "
            "launch.dry_run=true prints the job script"
        ) from error
    if done.returncode:
        raise UserError(f"sbatch refused {path}: {' '.join(done.stderr.split())}")
    return done.stdout.strip().partition(";")[0]
