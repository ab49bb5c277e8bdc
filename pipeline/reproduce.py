"""A paper's numbers beside our own: `make reproduce PAPER=llm_uno MODELS=pocket`.

Plays what is missing of the paper's experiments with the given models, and sets every published
line against it. A model whose weights are not here leaves its lines empty: not_run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from rich.table import Table

from models.base import ModelError, ModelSource
from pipeline import audit, audit_llm_uno, audit_uno_arena, llm_uno, table
from pipeline.errors import UserError, nearest
from pipeline.figures import save_png
from pipeline.leaves import build
from pipeline.published import frame
from pipeline.records import write_atomically
from pipeline.run import CONF

DEALS = 2000
"""Deals a cell by default: minutes with a small model on a laptop, an interval of +-2.2 points."""


def reproduce(
    models: Sequence[str], deals: int, out: Path, overrides: Sequence[str]
) -> pd.DataFrame:
    """Runs LLM-UNO's experiments and writes llm_uno.csv and the figures; returns the table.

    overrides: further words for every run's command line. Raises UserError for an unknown model.
    """
    here = [model for model in models if available(model)]
    common = ["quirks=paper", *overrides]
    base = out / "llm_uno_baselines"
    _run("experiment=llm_uno_baselines", f"output_dir={base}", *common)
    parts = []
    for experiment in llm_uno.FIGURES if here else ():
        folder = out / f"llm_uno_{experiment}"
        chosen = (f"experiment=llm_uno_{experiment}", f"model={','.join(here)}", f"deals={deals}")
        _run(*chosen, f"output_dir={folder}", *common)
        parts.append(_csv(folder / "summary.csv").assign(experiment=experiment))
    seats, cells = _csv(base / "seats.csv"), _joined(parts)
    found = frame(llm_uno.rows(seats, cells, models))
    write_atomically(out / "llm_uno.csv", found.to_csv(index=False))
    save_png(llm_uno.figures(seats, cells, models), out / "figures")
    return found


def available(model: str) -> bool:
    """Whether the model of that YAML file can be played; says why not."""
    file = CONF / "model" / f"{model}.yaml"
    if not file.exists():
        raise UserError(f"there is no conf/model/{model}.yaml{nearest(model, _known())}")
    source: ModelSource = build(yaml.safe_load(file.read_text()), f"model {model}", ())
    try:
        source.identity()
    except ModelError as error:
        print(f"not run: {model}: {error}")
        return False
    return True


def _known() -> list[str]:
    return [file.stem for file in (CONF / "model").glob("*.yaml")]


def _run(*overrides: str) -> None:
    command = [sys.executable, "-m", "pipeline.run", *overrides]
    status = subprocess.run(command).returncode
    if status:
        raise UserError(f"{' '.join(command[1:])} ended with status {status}")


def _csv(file: Path) -> pd.DataFrame:
    return pd.read_csv(file, keep_default_na=False, na_values=[""])


def _joined(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    columns = ("experiment", "model", "prompt", "matches", "baseline", "ci_low", "ci_high")
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


def view(found: pd.DataFrame) -> Table:
    """The reproduction as a person reads it."""
    shown = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    shown.add_column("id", overflow="fold")
    for heading in ("paper", "ours", "95% interval", "n", "verdict"):
        shown.add_column(heading, justify="right", no_wrap=True)
    for _, row in found.iterrows():
        interval = "" if np.isnan(row["ci_low"]) else f"{row['ci_low']:.4f}-{row['ci_high']:.4f}"
        shown.add_row(
            row["id"].partition(".")[2],
            _figure(row["published"]),
            _figure(row["ours"]),
            interval,
            "" if pd.isna(row["n"]) else f"{row['n']:,}",
            row["verdict"],
        )
    return shown


def _figure(value: float) -> str:
    if np.isnan(value):
        return ""
    return f"{value:,.0f}" if value == int(value) else f"{value:.4f}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline.reproduce", description="A paper's numbers beside our own."
    )
    parser.add_argument("paper", choices=("llm_uno", "audit"), help="what to reproduce")
    parser.add_argument("--models", default="pocket", help="names from conf/model, with commas")
    parser.add_argument("--deals", type=int, default=DEALS, help="deals a cell (papers: 10,000)")
    parser.add_argument("--out", type=Path, default=Path("outputs/reproduce"), metavar="DIR")
    parser.add_argument("overrides", nargs="*", help="further words for each run, as launch=inline")
    given = parser.parse_intermixed_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    out = table.console()
    try:
        if given.paper == "audit":
            found = audit.findings(audit_llm_uno.CHECKS | audit_uno_arena.CHECKS)
            write_atomically(given.out / "audit.csv", found.to_csv(index=False))
            out.print(audit.view(found))
        else:
            models = list(dict.fromkeys(given.models.split(",")))
            found = reproduce(models, given.deals, given.out, given.overrides)
            out.print(view(found))
            out.print(f"\nfigures  {given.out / 'figures'}", soft_wrap=True)
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    out.print(f"table    {given.out / given.paper}.csv", soft_wrap=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
