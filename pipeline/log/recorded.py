"""What the description of a cell says that its records were played with: its game, its players."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from games.base import Game
from pipeline.config.nodes import build


def recorded_game(described: Mapping[str, Any]) -> Game[Any]:
    settings = {key: value for key, value in described.items() if key not in ("class", "num_seats")}
    node = {"_target_": described["class"], **settings}
    game: Game[Any] = build(node, "game", (), num_seats=described["num_seats"])
    return game


def player_name(described: Mapping[str, Any]) -> str:
    """What a player is, in a few words: its class and what sets it apart."""
    agent = described["agent"]
    words = [agent["class"].rpartition(".")[2]]
    if "method" in agent:
        words.append(agent["method"]["class"].rpartition(".")[2])
    words += [str(value) for key, value in agent.items() if key not in ("class", "method")]
    return " ".join(words)
