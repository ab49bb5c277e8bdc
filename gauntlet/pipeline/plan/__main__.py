"""Size a sweep before it runs: `python -m pipeline.plan model=llama70b --hardware 8xH100`, or by a
pilot's spread how many deals it needs: `python -m pipeline.plan --pilot DIR expect.gain=0.05`.

A command like those directly in `pipeline/`; it is here because the package has its name. Nothing
imports it.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from gauntlet.common.errors import require
from gauntlet.common.process import as_process, invocation
from gauntlet.common.terminal import console
from gauntlet.pipeline.config.compose import compose
from gauntlet.pipeline.config.read import CellConfig, SweepConfig
from gauntlet.pipeline.sizing.pilot import show_pilot


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog=invocation("pipeline.plan"),
        description="What a sweep needs: memory, shards, replicas, decisions, tokens; or "
        "deals, by a pilot.",
        epilog="All other arguments are those of pipeline.run.",
    )
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--hardware", help="such as 8xH100, 2xA100-40, 16xcpu")
    how.add_argument(
        "--pilot", type=Path, metavar="DIR", help="the deals needed, by this folder's results"
    )
    options, overrides = parser.parse_known_args(arguments)

    def plan(cells: Sequence[CellConfig], sweep: SweepConfig) -> int:
        if options.pilot:
            show_pilot(console(), options.pilot, sweep.expect)
        else:
            require("torch", "local")
            from gauntlet.pipeline.sizing.planner import show

            show(console(), cells, sweep, options.hardware)
        return 0

    return compose(overrides, plan)


if __name__ == "__main__":
    as_process(main)
