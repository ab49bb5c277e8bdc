"""From configs to one frozen plan: cells with their players built, and the matches to play.

A cell's key is a hash of all that can change its matches, and of nothing that cannot. A match's
id adds the seed, the deal and the rotation. Neither seeds anything: see `pipeline/match.py`.

    python -m pipeline.plan model=llama70b --hardware 8xH100

sizes a sweep before it runs: see `pipeline/sizing/planner.py`.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np

from agents.base import Agent, Checked, Goal, Prepared, Thinking, Turn
from agents.human import Human
from agents.llm import LLM
from agents.rule import Rule
from games.base import Game
from models.base import Generation, ModelError, ModelSource, Request, Score
from models.human import Terminal
from pipeline.config import CellConfig, SeatConfig
from pipeline.errors import UserError
from pipeline.leaves import build, describe

SCHEMA = 1
"""Version of the record format and of what a match id covers."""

WORDING_PLIES = 3
"""How far into a game the probe of a prompt's wording lies: far enough for some history."""


@dataclass(frozen=True)
class Player:
    """Who takes part, wherever seated: an agent, the model it asks (if any), and its goal."""

    name: str
    agent: Agent
    model: ModelSource | None
    helps: int | None

    def goal(self, rotation: int, num_seats: int) -> Goal:
        """The goal in a rotation that has moved every player `rotation` seats on."""
        return Goal(None if self.helps is None else (self.helps + rotation) % num_seats)


@dataclass(frozen=True)
class Cell:
    """One row of the table: a game, its players, and the one whose wins are counted.

    Player i sits in seat i, or in seat (i + r) mod num_seats in rotation r of a rotated cell.
    """

    experiment: str
    labels: Mapping[str, str]
    game: Game[Any]
    players: tuple[Player, ...]
    subject: int
    measured: int
    rotate: bool
    ask_forced: bool
    baseline: str | None
    identity: Mapping[str, Any]

    @cached_property
    def key(self) -> str:
        return digest(self.identity)

    @cached_property
    def name(self) -> str:
        """What distinguishes the cell to a person, fit for a file name."""
        labels = self.labels
        parts = [labels["game"], labels["seats"], self.players[self.subject].name]
        return "-".join("".join(c if c.isalnum() or c in "._" else "_" for c in p) for p in parts)

    @property
    def stem(self) -> str:
        return stem(self.name, self.key)

    @property
    def rotations(self) -> range:
        return range(len(self.players) if self.rotate else 1)


@dataclass(frozen=True)
class Task:
    """One match to play: a deal and a rotation of a cell."""

    cell: str
    deal: int
    rotation: int
    match: str


@dataclass(frozen=True)
class Plan:
    """The cells of a sweep and how many deals each is to play, the same ones for all."""

    cells: tuple[Cell, ...]
    deals: int
    seed: int

    def tasks(self) -> Iterator[Task]:
        """Every match in deal order, so that all cells share the deals played so far."""
        for deal in range(self.deals):
            for cell in self.cells:
                for rotation in cell.rotations:
                    match = digest([cell.key, self.seed, deal, rotation])
                    yield Task(cell.key, deal, rotation, match)

    @property
    def sources(self) -> tuple[ModelSource, ...]:
        """Every model that the plan needs, once."""
        players = (player for cell in self.cells for player in cell.players)
        return tuple(dict.fromkeys(player.model for player in players if player.model is not None))


def build_cells(configs: Sequence[CellConfig]) -> tuple[Cell, ...]:
    """The cells, checked in full: nothing that a config asks for is found impossible later."""
    cells = {cell.key: cell for cell in map(_cell, configs)}
    return tuple(cells.values())


def stem(name: str, key: str) -> str:
    """What a cell's files are called, without their ending."""
    return f"{name[:100]}-{key}"


def digest(data: Any) -> str:
    """16 hex digits of the SHA-256 of `data` as canonical JSON."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _cell(config: CellConfig) -> Cell:
    game = _game(config)
    players = tuple(_player(number, config, game) for number in range(len(config.seats)))
    swept = (number for number, seat in enumerate(config.seats) if seat.subject)
    subject = next(swept, config.measured)
    identity = {
        "schema": SCHEMA,
        "game": describe(game),
        "players": [_identity(player, seat, game) for seat, player in enumerate(players)],
        "rotate": config.rotate,
        "ask_forced": config.quirks == "paper",
    }
    labels = {**config.labels, **_unused_as_dash(players[subject])}
    return Cell(
        experiment=config.experiment,
        labels=labels,
        game=game,
        players=players,
        subject=subject,
        measured=config.measured,
        rotate=config.rotate,
        ask_forced=config.quirks == "paper",
        baseline=config.baseline,
        identity=identity,
    )


def _game(config: CellConfig) -> Game[Any]:
    leaf = dict(config.game)
    if config.quirks == "paper":
        if "quirks" not in leaf:
            raise UserError(f"{config.labels['game']}: this game has no published slips")
        leaf["quirks"] = True
    game: Game[Any] = build(leaf, "game", config.packages, num_seats=len(config.seats))
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
        _model_identity(model)
        model.check_choices(method.labels())
    except ModelError as error:
        raise UserError(f"{where}model: {error}") from error
    return build(seat.agent, f"{where}agent", config.packages, method=method), model


def _identity(player: Player, seat: int, game: Game[Any]) -> dict[str, Any]:
    described: dict[str, Any] = {"agent": describe(player.agent), "helps": player.helps}
    if player.model is not None:
        described["model"] = _model_identity(player.model)
        asked_first = first_requests(game, player, seat)
        described["wording"] = digest(asked_first if len(asked_first) > 1 else asked_first[0])
        asked = first_of_preparation(game, player, seat)
        if asked is not None:
            described["preparation"] = digest(asked)
    return described


@lru_cache
def _model_identity(source: ModelSource) -> dict[str, Any]:
    return dict(source.identity())


def first_requests(game: Game[Any], player: Player, seat: int) -> list[Request | None]:
    """What the player asks at its first choice, after a few plies, in a game of first options; a
    conversation goes on over empty replies. [None] where it is never asked.

    Its hash stands for the wording of the prompts: whoever changes a word of a method or of a
    game's facts gets new match ids, without a version number that could be forgotten.
    """
    rng = np.random.default_rng(0)
    state = game.deal(rng)
    for ply in itertools.count():
        seats = game.to_move(state)
        if not seats:
            break
        options = {s: game.legal(state, s) for s in seats}
        if ply >= WORDING_PLIES and len(options.get(seat, ())) > 1:
            observe = partial(game.observe, state, seat)
            turn = Turn(game, options[seat], player.goal(0, game.num_seats), observe)
            return list(_conversation(player.agent.decide(turn, rng))) or [None]
        state = game.play(state, [options[s][0] for s in seats])
    return [None]


def _conversation(thinking: Thinking) -> Iterator[Request]:
    request = next(thinking, None)
    while request is not None:
        yield request
        if isinstance(request, Score):
            return
        try:
            request = thinking.send(Generation("", 0, 0))
        except StopIteration:
            return


def first_of_preparation(game: Game[Any], player: Player, seat: int) -> Request | None:
    """What the player asks first before its first match; None where it has nothing to ask."""
    if not isinstance(player.agent, Prepared):
        return None
    return next(player.agent.prepare(game, seat, player.goal(0, game.num_seats)), None)


def _unused_as_dash(subject: Player) -> dict[str, str]:
    return {} if isinstance(subject.agent, LLM) else {"model": "-", "prompt": "-"}


if __name__ == "__main__":
    import sys

    from pipeline.sizing.planner import main

    sys.exit(main())
