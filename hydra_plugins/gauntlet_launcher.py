"""Hydra's view of the pipeline: a launcher that takes all jobs of a sweep at once.

Other launchers run each job by itself. This one composes them all and hands them on together, so
that a sweep is one plan, one Ray session, one progress bar and one table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, RangeSweep
from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

from common.errors import UserError
from pipeline.config.own_folder import own_folder

ONE_A_RUN = ("experiment", "name", "deals")
"""What is no part of a grid: an experiment brings one of its own, and all cells share deals."""

MOST_JOBS = 10_000


class GauntletLauncher(Launcher):
    """Composes all jobs as one sweep."""

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        self._context, self._config = hydra_context, config

    def launch(
        self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int
    ) -> Sequence[JobReturn]:
        from pipeline.config import compose as composing
        from pipeline.config import jobs, players, read, resolved

        composer = jobs.Jobs(self._context.config_loader, self._config)
        typed: Any = OmegaConf.to_container(self._config.hydra.overrides.task, resolve=False)
        allowed = [word for word in typed if word.lstrip("+").startswith("allow_env=")]

        @cache
        def find(group: str, choice: str) -> players.Node:
            new = "+" if group == "player" else ""  # no player is chosen for the whole sweep
            composed = composer.compose((f"{new}{group}={choice}", *allowed))
            node: players.Node = read.resolved(composed, [group])[group]
            return node

        found = composer.all(job_overrides)
        cells = [
            cell
            for job in found
            for cell in read.read_cells(job.config, job.choices, job.overrides, find)
        ]
        sweep = read.read_sweep([job.config for job in found])
        folder = own_folder(sweep.output_dir, self._config, composer.compose)
        config = {**resolved.document(found), "output_dir": str(folder)}
        composing.take(cells, replace(sweep, output_dir=folder, config=config))
        return [JobReturn(status=JobStatus.COMPLETED, _return_value=None) for _ in found]


class GauntletSweeper(BasicSweeper):
    """Hydra's own, without its rehearsal, its files and its batches: our launcher composes every
    job before any is played."""

    def __init__(self, params: dict[str, str] | None = None) -> None:
        super().__init__(max_batch_size=None, params=params)

    def sweep(self, arguments: list[str]) -> Any:
        assert self.launcher is not None
        assert self.hydra_context is not None
        parser = OverridesParser.create(config_loader=self.hydra_context.config_loader)
        overrides = parser.parse_overrides([*self._parse_config(), *arguments])
        for override in overrides:
            if override.key_or_group in ONE_A_RUN and override.is_sweep_override():
                raise UserError(
                    f"{override.input_line}: {override.key_or_group} takes one value a run; run "
                    "them one after the other"
                )
        _refuse_many(overrides)
        (jobs,) = self.split_arguments(overrides, None)
        return self.launcher.launch(jobs, initial_job_idx=0)


def _refuse_many(overrides: Sequence[Override]) -> None:
    """Raises UserError for more jobs than a sweep may have, without making them."""
    jobs = 1
    for override in overrides:
        jobs *= _values(override)
        if not 0 < jobs <= MOST_JOBS:
            raise UserError(
                f"{override.input_line}: a sweep has 1 to {MOST_JOBS:,} jobs, the values of all "
                "its keys multiplied"
            )


def _values(override: Override) -> int:
    """How many values the override has, counted as far as MOST_JOBS + 1."""
    if not override.is_discrete_sweep():
        return 1
    value = override.value()
    every = value.range() if isinstance(value, RangeSweep) else override.sweep_iterator()
    return sum(1 for _ in islice(every, MOST_JOBS + 1))


ConfigStore.instance().store(
    group="hydra/sweeper",
    name="gauntlet",
    node={
        "_target_": "hydra_plugins.gauntlet_launcher.GauntletSweeper",
        "params": None,
    },
    provider="gauntlet",
)
ConfigStore.instance().store(
    group="hydra/launcher",
    name="gauntlet",
    node={"_target_": "hydra_plugins.gauntlet_launcher.GauntletLauncher"},
    provider="gauntlet",
)
