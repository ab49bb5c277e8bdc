"""Rebuild the game, players and cell from a cell's description in a log, and moves from records."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gauntlet.agents.human import Human
from gauntlet.common.errors import UserError
from gauntlet.games.base import Action, Game, move_fault, move_with
from gauntlet.models.replay import Replay
from gauntlet.pipeline.config.nodes import PACKAGES, build
from gauntlet.pipeline.log.differences import differences
from gauntlet.pipeline.log.results import CellInfo
from gauntlet.pipeline.log.schema import DecisionRecord
from gauntlet.pipeline.plan.cells import Cell, Player
from gauntlet.pipeline.plan.identity import describe, node_of


def recorded_game(description: Mapping[str, Any]) -> Game[Any]:
    """Build the game that `describe` described, including games nested in it. Raises UserError."""
    node = node_of(description)
    game: Game[Any] = build(node, "game", trusted(), num_seats=node.pop("num_seats"))
    return game


def trusted() -> list[str]:
    """Further packages that a recorded class may come from, as the environment lists them. A folder
    cannot grant these itself, as anybody may have written it."""
    return [name for name in os.environ.get(PACKAGES, "").split(",") if name]


def recorded_move(game: Game[Any], legal: Sequence[Action], decision: DecisionRecord) -> Action:
    """The decision's move. Raises UserError if the game has other options by now, or no longer
    accepts its text."""
    if len(legal) != len(decision.options):
        raise other_version(game)
    move = move_with(legal[decision.chosen], decision.text)
    if move_fault(move, legal):
        raise other_version(game)
    return move


def other_version(game: Game[Any]) -> UserError:
    return UserError(
        "the record does not fit the game as it is now: it was written by another version "
        f"of {type(game).__name__}"
    )


def recorded_cell(description: Mapping[str, Any], about: CellInfo) -> Cell:
    """Build the described cell for replay: players that asked a model get one that can only answer
    from a log. Raises UserError if a class is missing or its settings have changed."""
    identity = description["identity"]
    game = recorded_game(identity["game"])
    pairs = zip(about.players, identity["players"], strict=True)
    cell = Cell(
        experiment=about.experiment,
        labels=about.labels,
        game=game,
        players=tuple(_player(name, player) for name, player in pairs),
        subjects=(),
        measured=(),
        measure=about.measure.name,
        rotate=bool(identity["rotate"]),
        ask_forced=bool(identity["ask_forced"]),
        baseline=None,
        identity=identity,
        samples=about.samples,
        opening=int(identity.get("opening", 0)),
    )
    seating = cell.seating(0)
    subjects, measured = (
        tuple(seating[seat] for seat in every[0]) for every in (about.subjects, about.seats)
    )
    return replace(cell, subjects=subjects, measured=measured)


def _player(name: str, description: Mapping[str, Any]) -> Player:
    agent = build(node_of(description["agent"]), "agent", trusted())
    for one in differences(description["agent"], describe(agent)):
        raise UserError(f"agent.{one.where} was {one.left}, and is {one.right}")
    model = Replay(name) if "model" in description or isinstance(agent, Human) else None
    return Player(name, agent, model, description["helps"])


def player_name(described: Mapping[str, Any]) -> str:
    """A short name for a player: its class and its settings."""
    return _words(described["agent"])


def _words(settings: Any) -> str:
    if isinstance(settings, Mapping):
        name = [str(settings["class"]).rpartition(".")[2]] if "class" in settings else []
        short = {"method": lambda method: _words({"class": method["class"]})}
        parts = {key: value for key, value in settings.items() if key != "class"}
        return " ".join([*name, *(short.get(key, _words)(parts[key]) for key in parts)])
    return ", ".join(map(_words, settings)) if isinstance(settings, list) else str(settings)
