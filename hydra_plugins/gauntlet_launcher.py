"""Hydra's view of the pipeline: a launcher that takes all jobs of a sweep at once.

Other launchers run each job by itself. This one composes them all and hands them on together, so
that a sweep is one plan, one Ray session, one progress bar and one table.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.config_store import ConfigStore
from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf


class GauntletLauncher(Launcher):
    """Runs all jobs as one sweep, and ends the process where the sweep was interrupted."""

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        self._context, self._config = hydra_context, config

    def launch(
        self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int
    ) -> Sequence[JobReturn]:
        from pipeline.config import compose as composing
        from pipeline.config import jobs, players, read

        composer = jobs.Jobs(self._context.config_loader, self._config)

        @cache
        def find(group: str, choice: str) -> players.Node:
            new = "+" if group == "player" else ""  # no player is chosen for the whole sweep
            composed = composer.compose((f"{new}{group}={choice}",))
            node = OmegaConf.to_container(composed[group], resolve=True)
            assert isinstance(node, dict)
            return {str(key): value for key, value in node.items()}

        found = [composer.job(overrides) for overrides in job_overrides]
        cells = [
            cell
            for job in found
            for cell in read.read_cells(job.config, job.choices, job.overrides, find)
        ]
        status = composing.act(cells, read.read_sweep([job.config for job in found]))
        if status:
            sys.exit(status)
        return [JobReturn(status=JobStatus.COMPLETED, _return_value=None) for _ in found]


class GauntletSweeper(BasicSweeper):
    """Hydra's own, without its rehearsal: our launcher composes every job before any is played."""

    def validate_batch_is_legal(self, batch: Sequence[Sequence[str]]) -> None:
        pass


ConfigStore.instance().store(
    group="hydra/sweeper",
    name="gauntlet",
    node={
        "_target_": "hydra_plugins.gauntlet_launcher.GauntletSweeper",
        "max_batch_size": None,
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
