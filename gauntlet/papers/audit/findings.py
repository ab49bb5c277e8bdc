"""Findings about published papers, recomputed from their printed numbers.

Each finding is a claim of a paper, the result of recomputing it from the paper's own numbers, and
whether it holds. Findings that no printed number decides are listed too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import sqrt

import pandas as pd
from scipy.stats import norm

from gauntlet.common.terminal import WrappedTable

ALPHA = 0.05

Finding = tuple[str, str, bool]
"""The claim, the recomputed result, and whether the claim holds."""


Open = tuple[str, str]
"""A claim that no printed number decides, and why."""


def findings(
    checks: Mapping[str, Callable[[], Finding]], undecided: Mapping[str, Open]
) -> pd.DataFrame:
    """Return all findings: id, claim, recomputed, verdict (holds, fails or not_computable)."""
    rows = []
    for name, compute in checks.items():
        claim, recomputed, holds = compute()
        rows.append((name, claim, recomputed, "holds" if holds else "fails"))
    rows += [(name, *told, "not_computable") for name, told in undecided.items()]
    return pd.DataFrame(rows, columns=["id", "claim", "recomputed", "verdict"])


def view(findings: pd.DataFrame) -> WrappedTable:
    """Return the findings as a table for the terminal."""
    grid = WrappedTable(gap=2)
    for heading in ("id", "claim", "recomputed", "verdict"):
        grid.add_column(heading, overflow="fold", no_wrap=heading in ("id", "verdict"))
    for row in findings.to_dict("records"):
        grid.add_row(*(str(value) for value in row.values()))
        grid.add_row()
    return grid


def z_and_p(rate: float, baseline: float, games: int) -> tuple[float, float]:
    """One-sided one-proportion z test from a printed rate, whose count may not be an integer."""
    z = (rate - baseline) / sqrt(baseline * (1.0 - baseline) / games)
    return z, float(norm.sf(z))


def z_and_p_of_two(
    rate: float, games: int, baseline: float, baseline_games: int
) -> tuple[float, float]:
    """One-sided pooled two-proportion z test, from printed rates as `z_and_p`."""
    pooled = (rate * games + baseline * baseline_games) / (games + baseline_games)
    error = sqrt(pooled * (1.0 - pooled) * (1.0 / games + 1.0 / baseline_games))
    z = (rate - baseline) / error
    return z, float(norm.sf(z))


def format_tests(tests: Mapping[str, tuple[float, float]]) -> str:
    """Format z and p of every test."""
    return "; ".join(f"{model} z={z:.3f} p={p:.3g}" for model, (z, p) in tests.items())
