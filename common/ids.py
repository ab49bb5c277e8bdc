"""The ids by which records, deals and cell keys know a class.

A class's id is its dotted name, such as `games.nim.Nim`. Deals are seeded by it and cells are keyed
by it. A class that moves to another module keeps its id by an entry in MOVED, so moving it changes
no deal and no key. An id is a valid `_target_` too, wherever the class is now.
"""

from __future__ import annotations

from collections.abc import Mapping

MOVED: Mapping[str, str] = {
    "agents.depth_limited_minimax.DepthLimitedMinimax": "agents.shallow.Shallow",
    "agents.epsilon_random.EpsilonRandom": "agents.careless.Careless",
}
"""The ids of classes that have moved, by their dotted names today."""


def class_id(cls: type) -> str:
    """The class's id: its dotted name before it was first moved."""
    name = f"{cls.__module__}.{cls.__qualname__}"
    return MOVED.get(name, name)


def dotted_name(class_id: str) -> str:
    """Where the class of this id is now."""
    return next((name for name, moved in MOVED.items() if moved == class_id), class_id)
