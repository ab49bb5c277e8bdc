"""What the description of a cell says that its records were played with: its game, its players."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from games.base import Game
from pipeline.config.nodes import build, node_of


def recorded_game(described: Mapping[str, Any], packages: Sequence[str] = ()) -> Game[Any]:
    """The game that `describe` told so, games within it too. packages: which further ones its
    classes may be of; a folder does not say that itself, as it may be anybody's. Raises
    UserError."""
    node = node_of(described)
    game: Game[Any] = build(node, "game", packages, num_seats=node.pop("num_seats"))
    return game


def player_name(described: Mapping[str, Any]) -> str:
    """What a player is, in a few words: its class and what sets it apart."""
    return _words(described["agent"])


def _words(told: Any) -> str:
    if isinstance(told, Mapping):
        name = [str(told["class"]).rpartition(".")[2]] if "class" in told else []
        short = {"method": lambda method: _words({"class": method["class"]})}
        parts = {key: value for key, value in told.items() if key != "class"}
        return " ".join([*name, *(short.get(key, _words)(parts[key]) for key in parts)])
    return ", ".join(map(_words, told)) if isinstance(told, list) else str(told)
