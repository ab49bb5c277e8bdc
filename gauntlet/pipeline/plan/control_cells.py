"""Control and noise cells, which a sweep's cells are compared with on the same deals.

In a control, a player that ignores the position replaces the subject. In a noise cell, the subject
gets prompts with only irrelevant differences. They are ordinary cells with their own role, but are
left out of cell tables, pairs, test families and MLflow runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gauntlet.agents.fixed import Fixed
from gauntlet.agents.human import Human
from gauntlet.agents.noise import Noisy
from gauntlet.pipeline.config.read import SweepConfig
from gauntlet.pipeline.plan.cells import Cell, Player, Role
from gauntlet.pipeline.plan.identity import cell_identity

AUTO = (1, -1)
ENDS = {1: "first", -1: "last"}
"""The option positions that have a name."""
NOISE = "noise"


def controls_and_noise(cell: Cell, sweep: SweepConfig) -> dict[str, Cell]:
    """The cell's controls by name, and its noise cell under NOISE, as the sweep requests."""
    noise = noise_of(cell) if sweep.noise_floor else None
    return {**controls_of(cell, sweep.controls), **({NOISE: noise} if noise else {})}


def controls_of(cell: Cell, places: str | Sequence[int]) -> dict[str, Cell]:
    """The cell's controls by name: every subject takes the option at one position.

    "auto" gives the first and last option if the subject asks a model and no other player does,
    else none.
    """
    other_players = [p for number, p in enumerate(cell.players) if number not in cell.subjects]
    if places == "auto":
        asks = any(cell.players[subject].model is not None for subject in cell.subjects)
        places = AUTO if asks and all(player.model is None for player in other_players) else ()
    controls = {}
    for at in map(int, places):
        name = f"{ENDS[at]} option" if at in ENDS else f"option {at}"
        fixed = {
            subject: Player(name, Fixed(at), None, cell.players[subject].helps)
            for subject in cell.subjects
        }
        labels = {"agent": name, "model": "-", "prompt": "-"}
        controls[name] = _replaced(cell, fixed, labels, "control")
    return controls


def noise_of(cell: Cell) -> Cell | None:
    """The cell with every subject that asks a model wrapped in `Noisy`; None if there is none. A
    human does not count as a model."""
    asking = {
        subject: replace(player, name=f"{player.name} {NOISE}", agent=Noisy(player.agent))
        for subject in cell.subjects
        for player in [cell.players[subject]]
        if player.model is not None and not isinstance(player.agent, Human)
    }
    prompt = f"{cell.labels.get('prompt', '')} {NOISE}".strip()
    return _replaced(cell, asking, {"prompt": prompt}, "noise") if asking else None


def _replaced(cell: Cell, players: dict[int, Player], labels: dict[str, str], role: Role) -> Cell:
    """The cell with these players, by number, and no baseline."""
    changed = replace(
        cell,
        labels={**cell.labels, **labels},
        players=tuple(players.get(at, player) for at, player in enumerate(cell.players)),
        baseline=None,
        role=role,
        identity={},
    )
    return replace(changed, identity=cell_identity(changed))
