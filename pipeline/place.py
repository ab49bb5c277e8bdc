"""Place a player on a game's ladder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gauntlet.games.ladder import Ladder, player
from gauntlet.pipeline.config.compose import composed
from gauntlet.pipeline.config.read import SweepConfig
from gauntlet.pipeline.plan.build import build_cells
from gauntlet.pipeline.plan.cells import Cell
from gauntlet.pipeline.plan.identity import cell_identity

RUN = ("~experiment", "baseline=null", "controls=[]", "tracking=none", "rotate=true")


def against(ladder: Ladder, rung: int, words: Sequence[str]) -> tuple[Cell, SweepConfig]:
    """The cell in which the player of these words meets a rung, without its game."""
    game = [*ladder.game, "seats=against", f"seats.0.player={player(rung)}"]
    configs, sweep = composed([*RUN, "+name=place", *game, *words])
    (cell,) = build_cells(configs)
    cell = replace(cell, opening=ladder.opening)
    return replace(cell, identity=cell_identity(cell)), sweep
