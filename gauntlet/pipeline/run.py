"""Run a sweep: `python -m pipeline.run`. Hydra composes the config, our launcher runs it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

from gauntlet.common.process import as_process, invocation
from gauntlet.pipeline.config.compose import compose
from gauntlet.pipeline.config.read import CellConfig, SweepConfig


def main(arguments: Sequence[str] | None = None) -> int:
    """Compose the command line and play it; returns the exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    return compose(given, partial(play, given))


def play(arguments: Sequence[str], cells: Sequence[CellConfig], sweep: SweepConfig) -> int:
    """Play the sweep here, or submit the command line to SLURM."""
    if sweep.launch["kind"] == "slurm":
        from gauntlet.pipeline.launch import slurm

        return slurm.submit_sweep(cells, sweep, arguments)
    from gauntlet.pipeline.log.run_info import command_line
    from gauntlet.pipeline.sweep import run_sweep

    command = command_line(invocation("pipeline.run"), arguments)
    return run_sweep.run(cells, sweep, command)


if __name__ == "__main__":
    as_process(main)
