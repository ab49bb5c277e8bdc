"""Draw a trainer's learning curves and log them to MLflow, one run per seed.

    python -m gauntlet.training.dqn.curves agents/dqn/weights

draws `NAME.png` for every curve NAME.csv and logs it in the experiment `dqn`, replacing what an
earlier call logged from the same file.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from gauntlet.common.errors import UserError, require
from gauntlet.common.process import as_process
from gauntlet.pipeline.tables.media.plot_style import ACCENT, COLOURS, save_png
from gauntlet.pipeline.tracking.store import (
    STORE,
    experiment_in,
    log_points,
    open_store,
    tracking_uri,
)
from gauntlet.stats.checks import counts
from gauntlet.stats.proportions import wilson

EXPERIMENT = "dqn"
TAG, FILE = "gauntlet.curve", "gauntlet.file"
METRICS = ("win_rate", "low", "high", "steps")
COLUMNS = ("seed", "episodes", "games", "wins", *METRICS)


def read(folder: Path) -> dict[str, pd.DataFrame]:
    """Return every curve of a folder by name; one row per seed and point. Raises UserError."""
    files = sorted(folder.glob("*.csv"))
    if not files:
        raise UserError(f"{folder} holds no learning curve (*.csv)")
    return {file.stem: _curve(file) for file in files}


def _curve(file: Path) -> pd.DataFrame:
    """Read and validate the curve of a file. Raises UserError."""
    try:
        curve = pd.read_csv(file)
    except (OSError, ValueError) as error:  # pandas' own errors are ValueErrors
        raise UserError(f"{file} is no learning curve: {_line(error)}") from error
    missing = set(COLUMNS) - set(curve.columns)
    if missing:
        raise UserError(f"{file} has no column {', '.join(sorted(missing))}")
    if curve.empty:
        raise UserError(f"{file} has no row below its header")
    numbers: pd.DataFrame = curve[list(COLUMNS)].apply(pd.to_numeric, errors="coerce")
    wrong = np.argwhere(~np.isfinite(numbers.to_numpy(float)))
    if len(wrong):
        row, name = wrong[0, 0], COLUMNS[wrong[0, 1]]
        raise UserError(f"{file}, row {row + 1}: {name} is '{curve[name].iloc[row]}', no number")
    try:
        counts(numbers["wins"], numbers["games"])
    except ValueError as error:
        raise UserError(f"{file}: {error}") from error
    return numbers


def _line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


def draw_curve(curve: pd.DataFrame) -> Figure:
    """Draw one line per seed, and their mean with the 95% interval over all games."""
    figure = Figure(figsize=(8, 3.6))
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    for (seed, own), colour in zip(curve.groupby("seed"), COLOURS * len(curve), strict=False):
        axes.plot(
            own["episodes"], 100 * own["win_rate"], color=colour, lw=0.8, label=f"seed {seed}"
        )
    totals = curve.groupby("episodes")[["games", "wins"]].sum()
    band = wilson(totals["wins"].to_numpy(), totals["games"].to_numpy())
    axes.plot(totals.index, 100 * band.estimate, color=ACCENT, lw=2.2, label="all")
    axes.fill_between(totals.index, 100 * band.low, 100 * band.high, color=ACCENT, alpha=0.15, lw=0)
    axes.set_xlabel("games learnt from")
    axes.set_ylabel("win rate in test games, %")
    axes.legend(frameon=False, fontsize=8)
    return figure


def log(client: Any, experiment: str, curve: pd.DataFrame, files: Sequence[Path]) -> int:
    """Log one run per seed, replacing those of the same file; return their number. files: the
    curve's, then other artifacts."""
    name, tags = files[0].stem, {TAG: files[0].stem, FILE: str(files[0].resolve())}
    wanted = f"tags.`{TAG}` = '{name}'"
    for run in client.search_runs([experiment], wanted, max_results=5000):
        if run.data.tags.get(FILE) == tags[FILE]:
            client.delete_run(run.info.run_id)
    seeds = curve.groupby("seed")
    for seed, rows in seeds:
        run = client.create_run(experiment, run_name=f"{name} seed {seed}", tags=tags)
        client.log_param(run.info.run_id, "game", name)
        client.log_param(run.info.run_id, "seed", seed)
        client.log_param(run.info.run_id, "folder", files[0].parent)
        for metric in METRICS:
            steps = zip(rows["episodes"], rows[metric], strict=True)
            log_points(client, run.info.run_id, [(metric, *point) for point in steps])
        for file in files:
            client.log_artifact(run.info.run_id, str(file))
        client.set_terminated(run.info.run_id)
    return len(seeds)


def run(folder: Path, out: Path, store: str) -> None:
    """Draw and log every curve of the folder. Raises UserError."""
    require("mlflow", "tracking")
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    curves = read(folder)
    try:
        out.mkdir(parents=True, exist_ok=True)
        save_png({name: draw_curve(curve) for name, curve in curves.items()}, out)
        client = open_store(store)
        experiment = experiment_in(client, store, EXPERIMENT)
        for name, curve in curves.items():
            files = (folder / f"{name}.csv", out / f"{name}.png")
            runs = log(client, experiment, curve, files)
            print(f"{files[1]}; {runs} runs in {tracking_uri(store)}")
    except (MlflowException, SQLAlchemyError, OSError) as error:
        raise UserError(f"the curves cannot be logged in {store}: {_line(error)}") from error


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m gauntlet.training.dqn.curves",
        description=(__doc__ or "").partition("\n")[0],
    )
    parser.add_argument("folder", type=Path, help="where the trainer left its curves")
    parser.add_argument("--out", type=Path, default=Path("outputs/dqn"), help="for the figures")
    parser.add_argument("--store", default=str(STORE), help="MLflow's folder, or its address")
    options = parser.parse_args(arguments)
    try:
        run(options.folder, options.out, options.store)
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    as_process(main)
