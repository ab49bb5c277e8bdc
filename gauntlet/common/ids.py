"""Class ids, by which records, deals and cell keys refer to classes.

A class's id is its dotted name, without `gauntlet.` for our own: `games.nim.Nim`. It seeds deals
and is part of cell keys. A class that moves to another module keeps its id through an entry in
MOVED, so that no deal or key changes. An id is also a valid `_target_`, wherever the class is now.
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
"""Ids of our classes that have moved, by their current names without `gauntlet.`."""

LATER: Mapping[str, str] = {"told": "unless default"}
"""Metadata of a field that is newer than the first records: at its default it is not in keys."""


def class_id(cls: type) -> str:
    """The class's id: its dotted name before its first move."""
    name = f"{cls.__module__}.{cls.__qualname__}".removeprefix(PACKAGE)
    return MOVED.get(name, name)


def dotted_name(class_id: str) -> str:
    """The current dotted name of the class with this id."""
    name = next((name for name, moved in MOVED.items() if moved == class_id), class_id)
    return PACKAGE + name if name.partition(".")[0] in ROOMS else name
