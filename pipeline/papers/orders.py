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

from models.base import ModelError, ModelSource
from pipeline.errors import UserError, nearest
from pipeline.leaves import build
from pipeline.run import CONF
from pipeline.track import STORE


@dataclass(frozen=True)
class Order:
    """A paper's module takes one of these in `reproduce` and returns a `Found`.

    models: names from conf/model. deals: as `--deals`. out: the folder of all that is written.
    overrides: further words for every run's command line.
    """

    models: tuple[str, ...]
    deals: int
    out: Path
    overrides: tuple[str, ...] = ()

    @property
    def store(self) -> str:
        """The MLflow store of the runs, where they are tracked at all."""
        key = "tracking.store="
        given = [word.removeprefix(key) for word in self.overrides if word.startswith(key)]
        return given[-1] if given else str(STORE)

    def run(self, experiment: str, folder: str, *overrides: str) -> Path:
        """Plays what is missing of an experiment; returns its output_dir, out/folder."""
        there = self.out / folder
        words = (f"experiment={experiment}", f"output_dir={there}", *overrides, *self.overrides)
        command("pipeline.run", *words)
        return there


@dataclass(frozen=True)
class Found:
    """table: written as PAPER.csv. shown: what the terminal gets. folders: what else there is."""

    table: pd.DataFrame
    shown: Sequence[RenderableType]
    folders: Sequence[Path] = ()


def command(module: str, *words: str) -> None:
    """Runs one of the project's commands. Raises UserError where it fails."""
    status = subprocess.run([sys.executable, "-m", module, *words]).returncode
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
        known = nearest(model, [file.stem for file in (CONF / "model").glob("*.yaml")])
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
