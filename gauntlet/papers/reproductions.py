"""Settings and result of a reproduction, and how its experiments are run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import yaml
from rich.console import RenderableType

from gauntlet.common.conf_folders import conf_folders, packages
from gauntlet.common.errors import ModelError, UserError, suggest
from gauntlet.common.process import invocation
from gauntlet.models.base import ModelSource
from gauntlet.pipeline.plan.build import build_model
from gauntlet.pipeline.tracking.store import STORE

RAY = ("local", "ray")
"""Choices of conf/launch that judging supports too."""


@dataclass(frozen=True)
class Settings:
    """Settings of a reproduction, passed to a paper module's `reproduce`.

    models: names from conf/model. deals: as `--deals`. playouts: per option, for papers that judge
    decisions. out: the output folder. overrides: further arguments for every run's command line.
    matches: the file of a paper's published matches, if not in its default location. Raises
    UserError for fewer than one deal or playout.
    """

    models: tuple[str, ...]
    deals: int
    playouts: int
    out: Path
    overrides: tuple[str, ...] = ()
    matches: Path | None = None

    def __post_init__(self) -> None:
        if min(self.deals, self.playouts) < 1:
            raise UserError(
                f"deals and playouts are 1 or more, got {self.deals} and {self.playouts}"
            )

    @property
    def store(self) -> str:
        """The MLflow store of the runs, if they are tracked."""
        return self._last_option("tracking.store=", str(STORE))

    @property
    def _launch(self) -> list[str]:
        """Arguments that make the judging use the runs' Ray cluster, if they use one."""
        name = self._last_option("launch=", "")
        changes = [word.removeprefix("launch.") for word in self.overrides]
        kept = [new for new, word in zip(changes, self.overrides, strict=True) if new != word]
        return ["--launch", name, *kept] if name in RAY else []

    def _last_option(self, key: str, default: str) -> str:
        given = [word.removeprefix(key) for word in self.overrides if word.startswith(key)]
        return given[-1] if given else default

    def run(self, experiment: str, folder: str, *overrides: str) -> Path:
        """Play what is missing of an experiment; return its output_dir, out/folder."""
        there = self.out / folder
        own = (f"experiment={experiment}", f"name={experiment}", f"output_dir={there}")
        words = (*own, *overrides, *self.overrides)
        command("pipeline.run", *words)
        return there

    def judge(self, folder: Path, *options: str) -> None:
        """Judge the decisions of an output_dir with `pipeline.metrics`."""
        words = ("--playouts", str(self.playouts), "--store", self.store, *options)
        command("pipeline.metrics", str(folder), *words, *self._launch)


@dataclass(frozen=True)
class Reproduction:
    """table: written as PAPER.csv. shown: printed to the terminal. folders: further outputs."""

    table: pd.DataFrame
    shown: Sequence[RenderableType]
    folders: Sequence[Path] = ()


def command(module: str, *words: str) -> None:
    """Run one of the project's commands. Raises UserError if it fails."""
    status = subprocess.run([sys.executable, "-m", f"gauntlet.{module}", *words]).returncode
    if status:
        raise UserError(f"`{invocation(module, *words)}` ended with status {status}")


def available(models: Sequence[str]) -> list[str]:
    """Return the models that can be played here; print why others cannot.

    Raises UserError for a name that no conf/model has.
    """
    return [model for model in models if _available(model)]


def source_of(model: str) -> ModelSource:
    """The model of this name. Raises UserError for a name that no conf/model has."""
    files = {file.stem: file for folder in conf_folders() for file in folder.glob("model/*.yaml")}
    if model not in files:
        raise UserError(f"there is no conf/model/{model}.yaml{suggest(model, files)}")
    node = yaml.safe_load(files[model].read_text(encoding="utf-8"))
    return build_model(node, f"model {model}", tuple(packages()))


def _available(model: str) -> bool:
    try:
        source_of(model).identity()
    except ModelError as error:
        print(f"not run: {model}: {error}")
        return False
    return True
