"""From a config to a cell: every object that its nodes name, checked in full."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agents.base import Agent, Checked, Goal
from agents.human import Human
from agents.llm import LLM
from agents.rule import Rule
from common.errors import ModelError, UserError
from games.base import Game
from games.capabilities import measures_of
from models.base import ModelSource
from models.human import Terminal
from pipeline.config.nodes import build, describe
from pipeline.config.read import CellConfig, SeatConfig
from pipeline.plan.cells import SCHEMA, Cell, Player
from pipeline.plan.identity import model_identity, player_identity


def build_cells(configs: Sequence[CellConfig]) -> tuple[Cell, ...]:
    """The cells, checked in full: nothing that a config asks for is found impossible later."""
    cells = {cell.key: cell for cell in map(_cell, configs)}
    return tuple(cells.values())


def _cell(config: CellConfig) -> Cell:
    game = _game(config)
    players = tuple(_player(number, config, game) for number in range(len(config.seats)))
    swept = tuple(number for number, seat in enumerate(config.seats) if seat.subject)
    subjects = swept or config.measured
    identity = {
        "schema": SCHEMA,
        "game": describe(game),
        "players": [player_identity(player, seat, game) for seat, player in enumerate(players)],
        "rotate": config.rotate,
        "ask_forced": config.quirks == "paper",
    }
    labels = {**config.labels, **_unused_as_dash(players[subjects[0]])}
    return Cell(
        experiment=config.experiment,
        labels=labels,
        game=game,
        players=players,
        subjects=subjects,
        measured=config.measured,
        measure=measures_of(game)[0].name,
        rotate=config.rotate,
        ask_forced=config.quirks == "paper",
        baseline=config.baseline,
        identity=identity,
    )


def _game(config: CellConfig) -> Game[Any]:
    node = dict(config.game)
    if config.quirks == "paper":
        if "quirks" not in node:
            raise UserError(f"{config.labels['game']}: this game has no published slips")
        node["quirks"] = True
    game: Game[Any] = build(node, "game", config.packages, num_seats=len(config.seats))
    return game


def _player(number: int, config: CellConfig, game: Game[Any]) -> Player:
    seat = config.seats[number]
    where = "" if seat.subject else f"seats.{number}."
    if seat.helps is not None and not 0 <= seat.helps < len(config.seats):
        raise UserError(f"seats.{number}.goal helps seat {seat.helps}, which does not exist")
    agent, model = _agent_and_model(seat, where, config)
    try:
        if isinstance(agent, Checked):
            agent.check(game)
        if isinstance(agent, Rule):
            agent = agent.aimed(game, number, Goal(seat.helps))
    except ValueError as error:
        raise UserError(f"{where}agent: {error}") from error
    name = seat.name if isinstance(agent, LLM) else seat.name.partition(".")[0]
    return Player(name, agent, model, seat.helps)


def _agent_and_model(
    seat: SeatConfig, where: str, config: CellConfig
) -> tuple[Agent, ModelSource | None]:
    asks = seat.agent.get("_target_") == f"{LLM.__module__}.{LLM.__qualname__}"
    if not asks:
        agent: Agent = build(seat.agent, f"{where}agent", config.packages)
        return agent, Terminal() if isinstance(agent, Human) else None
    method = build(seat.prompt, f"{where}prompt", config.packages)
    model: ModelSource = build(seat.model, f"{where}model", config.packages)
    try:
        model_identity(model)
        model.check_choices(method.labels())
    except ModelError as error:
        raise UserError(f"{where}model: {error}") from error
    return build(seat.agent, f"{where}agent", config.packages, method=method), model


def _unused_as_dash(subject: Player) -> dict[str, str]:
    return {} if isinstance(subject.agent, LLM) else {"model": "-", "prompt": "-"}
