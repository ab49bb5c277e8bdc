"""What was asked of a reproduction, what comes out of it, and how its experiments are run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import yaml
from rich.console import RenderableType

from gauntlet.common.errors import ModelError, UserError, suggest
from gauntlet.models.base import ModelSource
from gauntlet.pipeline.config.compose import CONF
from gauntlet.pipeline.config.nodes import build
from gauntlet.pipeline.tracking.store import STORE

RAY = ("local", "ray")
"""Choices of conf/launch that judging knows too."""


@dataclass(frozen=True)
class Settings:
    """A paper's module takes one of these in `reproduce` and returns a `Reproduction`.

    models: names from conf/model. deals: as `--deals`. playouts: an option, where a paper judges
    decisions. out: the folder of all that is written. overrides: further words for every run's
    command line. matches: the file of a paper's own matches, where it publishes them and the file
    does not lie where it is looked for. Raises UserError for fewer than one deal or playout.
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
        """The MLflow store of the runs, where they are tracked at all."""
        return self._last("tracking.store=", str(STORE))

    @property
    def _launch(self) -> list[str]:
        """What tells the judging to use the Ray that the runs were told to use, if they were."""
        name = self._last("launch=", "")
        changes = [word.removeprefix("launch.") for word in self.overrides]
        kept = [new for new, word in zip(changes, self.overrides, strict=True) if new != word]
        return ["--launch", name, *kept] if name in RAY else []

    def _last(self, key: str, default: str) -> str:
        given = [word.removeprefix(key) for word in self.overrides if word.startswith(key)]
        return given[-1] if given else default

    def run(self, experiment: str, folder: str, *overrides: str) -> Path:
        """Plays what is missing of an experiment; returns its output_dir, out/folder."""
        there = self.out / folder
        own = (f"experiment={experiment}", f"name={experiment}", f"output_dir={there}")
        words = (*own, *overrides, *self.overrides)
        command("pipeline.run", *words)
        return there

    def judge(self, folder: Path, *options: str) -> None:
        """Judges the decisions of an output_dir as `pipeline.metrics` does."""
        words = ("--playouts", str(self.playouts), "--store", self.store, *options)
        command("pipeline.metrics", str(folder), *words, *self._launch)


@dataclass(frozen=True)
class Reproduction:
    """table: written as PAPER.csv. shown: what the terminal gets. folders: what else there is."""

    table: pd.DataFrame
    shown: Sequence[RenderableType]
    folders: Sequence[Path] = ()


def command(module: str, *words: str) -> None:
    """Runs one of the project's commands. Raises UserError where it fails."""
    status = subprocess.run([sys.executable, "-m", f"gauntlet.{module}", *words]).returncode
    if status:
        raise UserError(f"-m {module} {' '.join(words)} ended with status {status}")


def available(models: Sequence[str]) -> list[str]:
    """Those of the models that can be played here; says why others cannot.

    Raises UserError for a name that conf/model does not have.
    """
    return [model for model in models if _available(model)]


def _available(model: str) -> bool:
    file = CONF / "model" / f"{model}.yaml"
    if not file.exists():
        known = suggest(model, [file.stem for file in (CONF / "model").glob("*.yaml")])
        raise UserError(f"there is no conf/model/{model}.yaml{known}")
    source: ModelSource = build(yaml.safe_load(file.read_text()), f"model {model}", ())
    try:
        source.identity()
    except ModelError as error:
        print(f"not run: {model}: {error}")
        return False
    return True


def read_csv(file: Path, *words: str) -> pd.DataFrame:
    """A table of ours; only an empty field is no value, so that a model may be called `null`.

    words: columns of text, whatever stands there (`true`).
    """
    return pd.read_csv(file, keep_default_na=False, na_values=[""], dtype=dict.fromkeys(words, str))
