"""Build cells from configs, with every object that their nodes name, and check them in full."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Annotated, Any

from msgspec import Meta

from gauntlet.agents.base import Agent, Goal, aimed, check
from gauntlet.agents.human import Human
from gauntlet.agents.prompting.base import Method
from gauntlet.common.errors import ModelError, UserError, suggest
from gauntlet.common.ids import PACKAGE
from gauntlet.games.base import Game
from gauntlet.games.capabilities import MATCH_SCORE, WIN, judgeable_measures
from gauntlet.games.contract import check_declarations
from gauntlet.models.base import Keyed, ModelSource
from gauntlet.models.human import Terminal
from gauntlet.pipeline.config.nodes import build, takes
from gauntlet.pipeline.config.players import Node, SeatConfig
from gauntlet.pipeline.config.read import CellConfig
from gauntlet.pipeline.config.values import check_value
from gauntlet.pipeline.plan.cells import Cell, Player
from gauntlet.pipeline.plan.identity import cell_identity, model_identity

LOG = logging.getLogger("gauntlet")

WEIGHTS = ("content", "commit", "gguf")
"""The keys of a model's identity that say which weights it has."""
PARAMETERS = "parameters"
"""The key of a model's node that says how many parameters it has."""


class Unfit(UserError):
    """An optional player cannot play the game."""


def build_cells(configs: Sequence[CellConfig]) -> tuple[Cell, ...]:
    """The cells, fully checked, so that an impossible setting fails here. Those of an optional
    player that cannot play the game are left out."""
    measures = {config.measure for config in configs}
    if len(measures) > 1:  # the measure changes no match, so the cells would share a key
        told = " and ".join(sorted(str(name or "null") for name in measures))
        raise UserError(f"measure takes one value a run, got {told}")
    cells: dict[str, Cell] = {}
    names: dict[str, dict[str, None]] = {}
    same_cells: dict[tuple[str, str], None] = {}
    for config in configs:
        try:
            cell = _cell(config)
        except Unfit:
            continue
        first = cells.setdefault(cell.key, cell)
        _refuse_another(first, cell)
        if first.name != cell.name:
            same_cells[cell.name, first.name] = None
        for seat, player in zip(config.seats, cell.identity["players"], strict=True):
            weights = [str(player.get("model", {}).get(key, "")) for key in WEIGHTS]
            if any(weights):
                name = seat.labels["model"].partition("[")[0]
                names.setdefault("".join(weights), {})[name] = None
    for name, first_name in same_cells:
        LOG.warning("%s is not played: its matches are those of %s", name, first_name)
    for same in names.values():
        if len(same) > 1:
            LOG.warning("%s are one model: their weights are the same", " and ".join(same))
    return tuple(cells.values())


def check_keys(configs: Sequence[CellConfig]) -> None:
    """Raises UserError if a model that is asked lacks its key: before a model's files are hashed or
    a server is asked, which may take minutes."""
    seats = {
        repr((seat.agent, seat.prompt, seat.model, config.packages)): (seat, config.packages)
        for config in configs
        for seat in config.seats
    }
    for seat, packages in seats.values():
        model = model_of(seat, build_agent(seat, packages), packages)
        if isinstance(model, Keyed):
            try:
                model.check_key()
            except ModelError as error:
                raise UserError(f"{seat.where}model: {error}") from error


def _refuse_another(first: Cell, second: Cell) -> None:
    """Raises UserError if settings that change no match would give two rows of the same matches."""
    for key, one, other in (
        ("baseline", first.baseline or "null", second.baseline or "null"),
        ("test", first.test.name, second.test.name),
        ("margin", first.test.margin, second.test.margin),
        ("keep_thoughts", first.keep_thoughts, second.keep_thoughts),
    ):
        if one != other:
            raise UserError(f"{key} takes one value a run, got {one} and {other}")


def _cell(config: CellConfig) -> Cell:
    game = _game(config)
    players = tuple(_player(number, config, game) for number in range(len(config.seats)))
    swept = tuple(number for number, seat in enumerate(config.seats) if seat.subject)
    cell = Cell(
        experiment=config.experiment,
        labels=_labels(config, players, (swept or config.measured)[0]),
        game=game,
        players=players,
        subjects=swept or config.measured,
        measured=config.measured,
        measure=_measure(config, game),
        rotate=config.rotate,
        ask_forced=config.paper_bugs,
        baseline=config.baseline,
        identity={},
        samples=config.samples,
        test=config.test,
        keep_thoughts=config.keep_thoughts,
        without=config.without,
    )
    return replace(cell, identity=cell_identity(cell))


def _labels(config: CellConfig, players: Sequence[Player], subject: int) -> dict[str, str]:
    """Table labels: no model or prompt if none is used, and the opponent's name in a pairwise
    match."""
    labels, player = dict(config.labels), players[subject]
    if player.model is None or isinstance(player.agent, Human):
        labels |= {"model": "-", "prompt": "-"}
    elif not methods_of(player.agent):
        labels["prompt"] = "-"
    if config.opponent is not None:
        labels["seats"] = f"{labels['seats']} against {players[config.opponent].name}"
    return labels


def _measure(config: CellConfig, game: Game[Any]) -> str:
    """The named measure, or the game's default. Where two players are compared with each other, a
    draw is half a win, so that equal ones have one half."""
    name, names = config.measure, [measure.name for measure in judgeable_measures(game)]
    if name is None:
        paired = config.opponent is not None and config.baseline is None
        return MATCH_SCORE.name if paired and names[0] == WIN.name else names[0]
    if name not in names:
        raise UserError(f"measure={name} is none of this game's{suggest(name, names)}")
    return name


def _game(config: CellConfig) -> Game[Any]:
    node = dict(config.game)
    if config.paper_bugs:
        if "paper_bugs" not in node:
            raise UserError(f"{config.labels['game']}: this game has no published bugs")
        node["paper_bugs"] = True
    game: Game[Any] = build(node, "game", config.packages, num_seats=len(config.seats))
    check_declarations(game)
    return game


def _player(number: int, config: CellConfig, game: Game[Any]) -> Player:
    seat = config.seats[number]
    if seat.helps is not None and not 0 <= seat.helps < len(config.seats):
        raise UserError(f"seats.{number}.goal helps seat {seat.helps}, which does not exist")
    agent, model = _agent_and_model(seat, config.packages)
    try:
        for part in (agent, *methods_of(agent)):
            check(part, game)
        agent = aimed(agent, game, number, Goal(seat.helps))
    except ValueError as error:
        refusal = Unfit if seat.optional else UserError
        raise refusal(f"{seat.where}agent: {error}") from error
    asks = model is not None and not isinstance(agent, Human)
    parameters = parameters_of(seat.model, f"{seat.where}model") if asks else None
    suffixes = seat.asked if methods_of(agent) else seat.asked[:1] if asks else ()
    return Player(seat.name + "".join(suffixes), agent, model, seat.helps, parameters)


def parameters_of(model: Node, where: str) -> float | None:
    """The size that a model's node gives, which changes no match. Raises UserError."""
    value = model.get(PARAMETERS)
    if value is None:
        return None
    return float(check_value(value, Annotated[float, Meta(gt=0)], f"{where}.{PARAMETERS}"))


def _agent_and_model(seat: SeatConfig, packages: Sequence[str]) -> tuple[Agent, ModelSource | None]:
    agent = build_agent(seat, packages)
    model = model_of(seat, agent, packages)
    if model is None:
        return agent, Terminal() if isinstance(agent, Human) else None
    class_path = f"{type(model).__module__}.{type(model).__qualname__}"
    for name in ("identity", "load", "check_choices"):
        if not callable(getattr(model, name, None)):
            raise UserError(
                f"{seat.where}model: {class_path}.{name} is not a method; it must be one"
            )
    try:
        hash(model)
    except TypeError as error:
        raise UserError(f"{seat.where}model: {class_path}: {error}; it must have a hash") from error
    try:
        model_identity(model)
        for method in methods_of(agent):
            model.check_choices(method.labels())
    except ModelError as error:
        raise UserError(f"{seat.where}model: {error}") from error
    return agent, model


def model_of(seat: SeatConfig, agent: Agent, packages: Sequence[str]) -> ModelSource | None:
    """The model that the seat's agent asks, unchecked: it has prompting methods, or is the user's,
    and the seat or the player's file names a model for it. Raises UserError."""
    asks = methods_of(agent) or (seat.names_model and not _is_ours(agent))
    if isinstance(agent, Human) or not asks:
        return None
    return build_model(seat.model, f"{seat.where}model", packages)


def build_model(node: Node, where: str, packages: Sequence[str]) -> ModelSource:
    """The source that a node of conf/model describes. Raises UserError."""
    own = {key: value for key, value in node.items() if key != PARAMETERS}
    source: ModelSource = build(own, where, packages)
    return source


def build_agent(seat: SeatConfig, packages: Sequence[str]) -> Agent:
    """The seat's agent, with the seat's prompting method as its `method` if that is not set. Raises
    UserError."""
    where, open_parts = f"{seat.where}agent", {}
    if takes(seat.agent, "method", where, packages):
        open_parts["method"] = build(seat.prompt, f"{seat.where}prompt", packages)
    agent: Agent = build(seat.agent, where, packages, **open_parts)
    return agent


def methods_of(thing: Any) -> tuple[Method, ...]:
    """All prompting methods nested in an agent; an agent with any asks a model."""
    if isinstance(thing, Method):
        return (thing,)
    return tuple(method for part in _parts(thing) for method in methods_of(part))


def _is_ours(agent: Any) -> bool:
    """Whether all code of the agent is ours, which asks models by prompting methods alone."""
    ours = not is_dataclass(agent) or type(agent).__module__.startswith(PACKAGE)
    return ours and all(map(_is_ours, _parts(agent)))


def _parts(thing: Any) -> tuple[Any, ...]:
    """What a mapping, a list or the fields of an object hold."""
    if isinstance(thing, Mapping):
        return tuple(thing.values())
    if is_dataclass(thing) and not isinstance(thing, type):
        return tuple(getattr(thing, field.name, None) for field in fields(thing))
    return tuple(thing) if isinstance(thing, (tuple, list)) else ()
