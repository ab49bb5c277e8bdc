"""Gauntlet: experiments with language models that play games.

    import gauntlet

    results = gauntlet.run("model=pocket", deals=200, prompt=["cloze", "counterfactual"])
    results.summary

The public API is what `__all__` names; `gauntlet/api.py` has it. In a checkout the folders in this
one are links to those beside it; a wheel has them as they are.
"""

from __future__ import annotations

from importlib.metadata import version
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
__version__ = version("gauntlet")


def __getattr__(name: str) -> Any:
    """A name of the API, which is loaded when it is first asked for: every command imports this."""
    if name not in __all__:
        raise AttributeError(f"module 'gauntlet' has no attribute {name!r}")
    from gauntlet import api

    return getattr(api, name)
