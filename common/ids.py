"""The ids by which records, deals and cell keys know a class.

A class's id is its dotted name, without `gauntlet.` if it is ours: `games.nim.Nim`. Deals are
seeded by it and cells are keyed by it. A class that moves to another module keeps its id by an
entry in MOVED, so moving it changes no deal and no key. An id is a valid `_target_` too, wherever
the class is now.
"""

from __future__ import annotations

from collections.abc import Mapping

PACKAGE = "gauntlet."
ROOMS = ("agents", "games", "models")
"""Our packages whose classes a config may name."""
MOVED: Mapping[str, str] = {
    "agents.depth_limited_minimax.DepthLimitedMinimax": "agents.shallow.Shallow",
    "agents.epsilon_random.EpsilonRandom": "agents.careless.Careless",
}
"""The ids of classes of ours that have moved, by their names today without `gauntlet.`."""


def class_id(cls: type) -> str:
    """The class's id: its dotted name before it was first moved."""
    name = f"{cls.__module__}.{cls.__qualname__}".removeprefix(PACKAGE)
    return MOVED.get(name, name)


def dotted_name(class_id: str) -> str:
    """Where the class of this id is now."""
    name = next((name for name, moved in MOVED.items() if moved == class_id), class_id)
    return PACKAGE + name if name.partition(".")[0] in ROOMS else name
