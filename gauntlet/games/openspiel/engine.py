"""The interface to OpenSpiel: load and check a game by name, and play its states.

A state is the list of actions so far, chance included, so it is plain data. OpenSpiel's own state
is cached with it within a process, and rebuilt from the actions elsewhere.

`games.yaml` adds facts that OpenSpiel's descriptions of its games lack.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from gauntlet.common.errors import extra, suggest

SEATS = ("players", "num_players", "numPlayers")
"""Parameters that set the number of seats of an OpenSpiel game."""
SETTLED = "rng_seed"
"""The parameter that seeds a game that samples its chance internally."""
PLAIN = {"ansi_color_output": False}
"""Default parameters: escape codes do not belong in prompts."""


@dataclass(frozen=True)
class State:
    """seed: determines the chance to come; for a game that samples internally, all of it. actions:
    all so far, chance included, by OpenSpiel's numbers. moves: the seat and name of each player
    move, in order. live: OpenSpiel's state; None if it has to be rebuilt.
    choices: a cache of each seat's options."""

    seed: int
    actions: tuple[int, ...]
    moves: tuple[tuple[int, str], ...]
    live: Any = field(default=None, compare=False, repr=False)
    choices: dict[tuple[int, int], Any] = field(default_factory=dict, compare=False, repr=False)

    def __reduce__(self) -> tuple[type[State], tuple[Any, ...]]:
        return State, (self.seed, self.actions, self.moves)


@cache
def spiel() -> Any:
    """Return the pyspiel module. Raises UserError if OpenSpiel is not installed."""
    return extra("pyspiel", "openspiel", "open_spiel")


def installed() -> str:
    """Return the installed version of OpenSpiel. Raises UserError if there is none."""
    spiel()
    return version("open_spiel")


@lru_cache(maxsize=64)
def load(name: str, parameters: str, seats: int, files: str | None) -> Any:
    """Load OpenSpiel's game of that name. parameters: its own settings, as JSON. files: the hash of
    the files that they name.

    Raises ValueError for an unknown name, parameter or number of seats, and with the reason for a
    game that cannot be played here.
    """
    kind = _kind(name)
    if kind.dynamics == spiel().GameType.Dynamics.MEAN_FIELD:
        raise ValueError(f"{name} is a mean-field game: it has a crowd, and no seats to play from")
    if kind.max_num_players < 2:
        raise ValueError(f"{name} is for one player, and a match needs two")
    settings = _settings(kind, json.loads(parameters), seats)
    try:
        game = spiel().load_game(name, settings)
        game.new_initial_state()  # some games validate their parameters only here
    except (spiel().SpielError, ValueError, IndexError) as error:
        raise ValueError(f"OpenSpiel cannot load {name}: {_line(error)}") from error
    if game.num_players() != seats:
        raise ValueError(f"{name} seats {game.num_players()} players, got {seats}")
    if reason := _unfit(game, kind):
        raise ValueError(f"{name} {reason}")
    return game


def files_hash(parameters: Any) -> str | None:
    """Return 16 hex digits of a hash of all files that the parameters name, including those of a
    wrapped game; None if they name none. Raises ValueError for an unreadable file."""
    contents = [*_contents(parameters)]
    return hashlib.sha256("".join(contents).encode()).hexdigest()[:16] if contents else None


def _contents(value: Any) -> Iterator[str]:
    """Yield the hash of each file, in a fixed order."""
    if isinstance(value, Mapping):
        for _, item in sorted(value.items()):
            yield from _contents(item)
    elif isinstance(value, str) and Path(value).is_file():
        try:
            yield hashlib.sha256(Path(value).read_bytes()).hexdigest()
        except OSError as error:
            raise ValueError(f"{value} cannot be read: {error.strerror}") from error


@cache
def kinds() -> Mapping[str, Any]:
    """Return OpenSpiel's description of each registered game, by name."""
    return {kind.short_name: kind for kind in spiel().registered_games()}


def _kind(name: str) -> Any:
    if name not in kinds():
        close = suggest(name, kinds()).partition(" (known: ")[0]
        raise ValueError(f"OpenSpiel has no game {name!r}{close} (docs/games/openspiel.md has all)")
    return kinds()[name]


def _settings(kind: Any, parameters: Mapping[str, Any], seats: int) -> dict[str, Any]:
    """Return the parameters as OpenSpiel takes them, plus the automatic ones."""
    specification, name = kind.parameter_specification, kind.short_name
    seating = [one for one in SEATS if one in specification]
    if taken := [one for one in (*seating, SETTLED) if one in parameters]:
        raise ValueError(f"{name}'s {taken[0]} is not a parameter here: the match settles it")
    settings: dict[str, Any] = {key: value for key, value in PLAIN.items() if key in specification}
    for key, value in parameters.items():
        if key not in specification:
            raise ValueError(f"{name} has no parameter {key!r}{suggest(key, specification)}")
        settings[key] = _fitting(value, specification[key], f"{name}'s {key}")
    if not kind.default_loadable and not parameters:
        raise ValueError(f"{name} cannot be loaded without parameters: {', '.join(specification)}")
    if seating:
        low, high = kind.min_num_players, kind.max_num_players
        if not low <= seats <= high:
            raise ValueError(f"{name} seats {low} to {high} players, got {seats}")
        settings[seating[0]] = seats
    return settings


def _fitting(value: Any, default: Any, where: str) -> Any:
    """Convert the value to the type that OpenSpiel expects; a wrapped game may be given by name."""
    if isinstance(default, dict):
        return {"name": value} if isinstance(value, str) else value
    if isinstance(default, float) and type(value) is int:
        return float(value)
    if type(value) is not type(default):
        raise ValueError(f"{where} is {value!r}; it must be like {default!r}")
    return value


def _unfit(game: Any, kind: Any) -> str:
    """Return why the game, loaded as one of this kind, cannot be played here, as the end of a
    sentence; "" if it can. A wrapping game has the description of the wrapped one."""
    if samples_internally(game) and SETTLED not in kind.parameter_specification:
        return "draws its chance in secret, so that no deal of it can be dealt twice"
    told = game.get_type()
    if not (told.provides_observation_string or told.provides_information_state_string):
        return "tells nothing of its states in text"
    return ""


def samples_internally(game: Any) -> bool:
    """Return whether the game samples its chance internally without revealing it."""
    return bool(game.get_type().chance_mode == spiel().GameType.ChanceMode.SAMPLED_STOCHASTIC)


def has_chance(game: Any) -> bool:
    return bool(game.get_type().chance_mode != spiel().GameType.ChanceMode.DETERMINISTIC)


def start(game: Any, seed: int) -> Any:
    """Return OpenSpiel's initial state of a deal, before any chance."""
    if samples_internally(game):
        kind = game.get_type().short_name
        settled = {**game.get_parameters(), SETTLED: seed % 2**31}
        return spiel().load_game(kind, settled).new_initial_state()
    return game.new_initial_state()


def resolve_chance(live: Any, seed: int, number: int) -> None:
    """Resolve chance nodes until a seat is to move. `number` is the index of the first chance
    event, from 0; events with the same index and outcome probabilities have the same outcome in
    every game of a deal."""
    while live.is_chance_node():
        live.apply_action(_draw(live.chance_outcomes(), hashed_uniform(seed, number)))
        number += 1


def hashed_uniform(seed: int, number: int) -> float:
    """Return a number in [0, 1) that depends on the two arguments alone."""
    digest = hashlib.blake2b(f"{seed} {number}".encode(), digest_size=7).digest()
    return int.from_bytes(digest, "big") / 2.0**56


def _draw(outcomes: Sequence[tuple[int, float]], share: float) -> int:
    for outcome, chance in outcomes:
        share -= chance
        if share < 0:
            return outcome
    return outcomes[-1][0]


def apply(live: Any, moves: Sequence[int]) -> None:
    """Apply the moves of all seats that are to move."""
    if live.is_simultaneous_node():
        live.apply_actions(list(moves))
    else:
        live.apply_action(moves[0])


def replayed(game: Any, seed: int, actions: Sequence[int]) -> Any:
    """Return OpenSpiel's state after these actions, chance included."""
    return _replay(game, seed, actions)[0]


def state_of(game: Any, seed: int, actions: Sequence[int]) -> State:
    """Return the state after these actions, with the names of its moves."""
    live, moves = _replay(game, seed, actions)
    return State(seed, tuple(actions), tuple(moves), live)


def _replay(game: Any, seed: int, actions: Sequence[int]) -> tuple[Any, list[tuple[int, str]]]:
    live, moves, remaining = start(game, seed), list[tuple[int, str]](), list(actions)
    while remaining:
        if live.is_chance_node():
            live.apply_action(remaining.pop(0))
            continue
        seats = movers(live)
        made, remaining = remaining[: len(seats)], remaining[len(seats) :]
        moves += [(seat, name(live, seat, move)) for seat, move in zip(seats, made, strict=True)]
        apply(live, made)
    return live, moves


def movers(live: Any) -> tuple[int, ...]:
    """Return the seats to move; () when the game is over."""
    if live.is_terminal():
        return ()
    if live.is_simultaneous_node():
        return tuple(range(live.num_players()))
    return (live.current_player(),)


def name(live: Any, seat: int, action: int) -> str:
    """Return OpenSpiel's name of an action, as one line."""
    return " ".join(live.action_to_string(seat, action).split())


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def random_returns(game: Any, seed: int, number: int) -> list[float]:
    """Return each seat's result of game `number`, played uniformly at random."""
    rng = random.Random(f"{seed} {number}")
    live = start(game, rng.getrandbits(63))
    while not live.is_terminal():
        if live.is_chance_node():
            live.apply_action(_draw(live.chance_outcomes(), rng.random()))
        else:
            apply(live, [rng.choice(live.legal_actions(seat)) for seat in movers(live)])
    return list(live.returns())


def play_out(live: Any, uniform: Callable[[], float]) -> list[float]:
    """Play a state on uniformly at random; return the results. uniform: draws from [0, 1)."""
    live = live.clone()
    while not live.is_terminal():
        if live.current_player() >= 0:
            actions = live.legal_actions()
            live.apply_action(actions[int(uniform() * len(actions))])
        elif live.is_chance_node():
            live.apply_action(_draw(live.chance_outcomes(), uniform()))
        else:
            choices = [live.legal_actions(seat) for seat in movers(live)]
            live.apply_actions([some[int(uniform() * len(some))] for some in choices])
    return list(live.returns())


FILE = Path(__file__).with_name("games.yaml")


@dataclass(frozen=True)
class GameNotes:
    """Notes on one game.

    rules: as sentences; "" if nobody wrote them. reading: how to read the description of the
    situation. label: the name of that fact.
    sides: the name of each seat. public: whether every move is public in a game with hidden
    information. resamples: whether OpenSpiel can resample what a seat cannot see, with actions that
    lead to the sample. tells: which of OpenSpiel's texts to use, "information" or "observation"; ""
    for the default of the game's kind. slip: an error in OpenSpiel's version.
    """

    rules: str = ""
    reading: str = ""
    label: str = "The situation"
    sides: tuple[str, ...] = ()
    public: bool = False
    resamples: bool = False
    tells: str = ""
    slip: str = ""


def notes_of(name: str) -> GameNotes:
    """Return the notes on a game; empty if it is not in the file."""
    return entries().get(name, GameNotes())


@cache
def entries() -> Mapping[str, GameNotes]:
    """Return all notes in the file, by name."""
    read: Mapping[str, Mapping[str, Any]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return {name: GameNotes(**_tuples(entry)) for name, entry in read.items()}


def _tuples(entry: Mapping[str, Any]) -> dict[str, Any]:
    plain = {key: one.strip() if isinstance(one, str) else one for key, one in entry.items()}
    return {key: tuple(one) if isinstance(one, list) else one for key, one in plain.items()}
