"""What a command line asks for, without playing it."""

from __future__ import annotations

from collections.abc import Sequence

from gauntlet.pipeline.config.compose import compose
from gauntlet.pipeline.config.read import CellConfig, SweepConfig
from gauntlet.pipeline.plan.build import build_cells
from gauntlet.pipeline.plan.cells import Cell


def composed(*words: str) -> tuple[Sequence[CellConfig], SweepConfig]:
    sweeps: list[tuple[Sequence[CellConfig], SweepConfig]] = []
    assert compose(words, lambda *sweep: sweeps.append(sweep) or 0) == 0  # type: ignore[func-returns-value]
    return sweeps[0]


def cells_of(*words: str) -> Sequence[Cell]:
    return build_cells(composed(*words)[0])
