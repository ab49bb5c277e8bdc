"""Gauntlet: experiments with language models that play games.

    import gauntlet

    results = gauntlet.run("model=pocket", deals=200, prompt=["cloze", "counterfactual"])
    results.summary

`__all__` lists the public API, which is in `gauntlet/api.py`.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from gauntlet.common.process import leave_current_folder

if TYPE_CHECKING:
    from gauntlet.api import (
        Agent,
        Decision,
        Fact,
        Game,
        Generate,
        Generation,
        Goal,
        Measure,
        Method,
        Model,
        ModelSource,
        Observation,
        Prompt,
        Results,
        Score,
        Scores,
        TextAction,
        TextMove,
        TextSpec,
        Turn,
        UserError,
        load,
        run,
    )

leave_current_folder()

__all__ = [
    "Agent",
    "Decision",
    "Fact",
    "Game",
    "Generate",
    "Generation",
    "Goal",
    "Measure",
    "Method",
    "Model",
    "ModelSource",
    "Observation",
    "Prompt",
    "Results",
    "Score",
    "Scores",
    "TextAction",
    "TextMove",
    "TextSpec",
    "Turn",
    "UserError",
    "load",
    "run",
]
try:
    __version__ = version("gauntlet")
except PackageNotFoundError:  # a checkout that is not installed, as for benchmarks on a GPU machine
    __version__ = "unknown"


def __getattr__(name: str) -> Any:
    """A name of the API, loaded on first use, because every command imports this package."""
    if name not in __all__:
        raise AttributeError(f"module 'gauntlet' has no attribute {name!r}")
    from gauntlet import api

    return getattr(api, name)
