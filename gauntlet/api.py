"""The public API, for notebooks and for extensions.

    import gauntlet

    results = gauntlet.run("model=pocket", deals=200, prompt=["cloze", "counterfactual"])
    results.summary
    results.matches.groupby("prompt")["win"].mean()
    gauntlet.load("outputs/quickstart").table("outcomes")

Everything not named here is private and may change. Custom games (docs/adding_a_game.md), agents,
model sources and prompting methods (docs/extending.md) implement one of the protocols below.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from gauntlet.agents.base import Agent as Agent
from gauntlet.agents.base import Decision as Decision
from gauntlet.agents.base import Goal as Goal
from gauntlet.agents.base import Turn as Turn
from gauntlet.agents.prompting.base import Method as Method
from gauntlet.common.errors import UserError as UserError
from gauntlet.common.process import INTERRUPTED
from gauntlet.games.base import Fact as Fact
from gauntlet.games.base import Game as Game
from gauntlet.games.base import Observation as Observation
from gauntlet.games.base import TextAction as TextAction
from gauntlet.games.base import TextMove as TextMove
from gauntlet.games.base import TextSpec as TextSpec
from gauntlet.games.capabilities import Measure as Measure
from gauntlet.models.base import Generate as Generate
from gauntlet.models.base import Generation as Generation
from gauntlet.models.base import Model as Model
from gauntlet.models.base import ModelSource as ModelSource
from gauntlet.models.base import Prompt as Prompt
from gauntlet.models.base import Score as Score
from gauntlet.models.base import Scores as Scores
from gauntlet.pipeline.config.compose import composed
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellInfo
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.tables import registry

OF_A_MATCH = ("match", "deal", "rotation", "plies", "seconds", "device_seconds")
OF_A_DECISION = (
    *("seat", "options", "scores", "margin", "chosen", "move", "forced", "status", "fallback"),
    *("attempts", "tokens", "text", "notes"),
)


@dataclass(frozen=True)
class Results:
    """The results in an output folder, as data frames."""

    folder: Path

    @property
    def summary(self) -> pd.DataFrame:
        """One row per cell with its estimate, interval and test: summary.csv."""
        return self.table("summary")

    @property
    def pairs(self) -> pd.DataFrame:
        """One row per comparison of two cells: pairs.csv."""
        return self.table("pairs")

    def table(self, name: str) -> pd.DataFrame:
        """The table of this name; docs/records.md lists them. Raises UserError for an unknown
        name."""
        if name not in registry.tables():
            known = ", ".join(registry.tables())
            raise UserError(f"there is no table {name!r}; there are {known}")
        return self._tables[name].copy()

    @cached_property
    def _tables(self) -> registry.Results:
        return registry.Results.load(self.folder)

    @property
    def matches(self) -> pd.DataFrame:
        """One row per match, including those of unfinished deals.

        Columns: the labels of its cell, match, deal, rotation, plies and times, and each measure as
        the mean over the measured seats.
        """
        return pd.DataFrame(
            {
                **_labels(about),
                **{name: getattr(record, name) for name in OF_A_MATCH},
                **{
                    name: sum(figures[seat] for seat in record.measured) / len(record.measured)
                    for name, figures in record.measures.items()
                },
            }
            for about, record in self._records()
        )

    @property
    def decisions(self) -> pd.DataFrame:
        """One row per decision of any seat.

        Columns: the labels of its cell, match, deal, rotation and turn (from 0), whether its seat
        is a subject's (`subject`), and the fields of the record.
        """
        return pd.DataFrame(
            {
                **_labels(about),
                **{name: getattr(record, name) for name in ("match", "deal", "rotation")},
                "turn": turn,
                "subject": decision.seat in record.subjects,
                **{name: getattr(decision, name) for name in OF_A_DECISION},
            }
            for about, record in self._records()
            for turn, decision in enumerate(record.decisions)
        )

    def _records(self) -> Iterator[tuple[CellInfo, MatchRecord]]:
        place = Folder(self.folder)
        for about in place.sweep_cells():
            for record in place.matches(about.stem):
                yield about, record


def load(folder: str | Path) -> Results:
    """The results of an output folder. Raises UserError if it holds no sweep."""
    if not Folder(Path(folder)).has_sweep:
        raise UserError(f"{folder} holds no sweep")
    return Results(Path(folder))


def run(*words: str, **settings: Any) -> Results:
    """Play a sweep, or what is missing of it, like `gauntlet run -m WORDS`.

    words: as on the command line, such as "model=pocket".
    settings: the same by keyword; a list is swept over.

    Raises UserError for a mistake in them, or if no match could be played.
    """
    from gauntlet.pipeline.sweep import run_sweep

    typed = [*words, *(f"{key}={_typed(value)}" for key, value in settings.items())]
    cells, sweep = composed(["-m", *typed])
    if sweep.launch["kind"] == "slurm":
        raise UserError("gauntlet.run plays from this process: launch=slurm is for `gauntlet run`")
    status = run_sweep.run(cells, sweep)
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    if status:
        raise UserError(f"no match of {sweep.output_dir} could be played")
    return load(sweep.output_dir)


def _typed(value: object) -> str:
    """A value in command-line syntax."""
    if isinstance(value, (list, tuple)):
        return ",".join(map(_typed, value))
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)


def _labels(about: CellInfo) -> dict[str, Any]:
    return {"experiment": about.experiment, **about.labels}
