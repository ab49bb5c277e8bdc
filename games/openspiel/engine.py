"""OpenSpiel itself: a game found by name, checked and loaded, and its states played on.

A state is what was done so far, chance included, so that it is plain data; OpenSpiel's own state of
it goes along in the same process and is made anew from the actions where it does not.

`games.yaml` has what people know of OpenSpiel's games and its description does not say.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from gauntlet.common.errors import extra, suggest

SEATS = ("players", "num_players", "numPlayers")
"""Parameters by which OpenSpiel's games are told how many seats they have."""
SETTLED = "rng_seed"
"""The parameter that settles the luck of a game that draws it in secret."""
PLAIN = {"ansi_color_output": False}
"""Parameters that are set unless given: escape codes are no text."""


@dataclass(frozen=True)
class State:
    """seed: settles the chance to come, and of a game that draws in secret all of it. actions: all
    so far as OpenSpiel numbers them, those of chance too. moves: the seat and the name of each that
    a player made, in order. live: OpenSpiel's state; None where it has to be made anew.
    choices: what was looked up of each seat's options."""

    seed: int
    actions: tuple[int, ...]
    moves: tuple[tuple[int, str], ...]
    live: Any = field(default=None, compare=False, repr=False)
    choices: dict[tuple[int, int], Any] = field(default_factory=dict, compare=False, repr=False)

    def __reduce__(self) -> tuple[type[State], tuple[Any, ...]]:
        return State, (self.seed, self.actions, self.moves)


@cache
def spiel() -> Any:
    """The module. Raises UserError where OpenSpiel is not installed."""
    return extra("pyspiel", "openspiel", "open_spiel")


def installed() -> str:
    """The version of OpenSpiel that is at hand. Raises UserError where it is none."""
    spiel()
    return version("open_spiel")


@lru_cache(maxsize=64)
def loaded(name: str, parameters: str, seats: int, files: str | None) -> Any:
    """OpenSpiel's game of that name. parameters: its own settings, as JSON. files: the hash of the
    files that they name.

    Raises ValueError for a name, a parameter or a number of seats that it does not have, and with
    the reason for a game that cannot be played here.
    """
    kind = _kind(name)
    if kind.dynamics == spiel().GameType.Dynamics.MEAN_FIELD:
        raise ValueError(f"{name} is a mean-field game: it has a crowd, and no seats to play from")
    if kind.max_num_players < 2:
        raise ValueError(f"{name} is for one player, and a match needs two")
    settings = _settings(kind, json.loads(parameters), seats)
    try:
        game = spiel().load_game(name, settings)
        game.new_initial_state()  # some look at their parameters here alone
    except (spiel().SpielError, ValueError, IndexError) as error:
        raise ValueError(f"OpenSpiel cannot load {name}: {_line(error)}") from error
    if game.num_players() != seats:
        raise ValueError(f"{name} seats {game.num_players()} players, got {seats}")
    if reason := _unfit(game, kind):
        raise ValueError(f"{name} {reason}")
    return game


def files_hash(parameters: Any) -> str | None:
    """16 hex digits of the contents of all files that the parameters name, those of a wrapped game
    too; None where they name none. Raises ValueError for a file that cannot be read."""
    contents = [*_contents(parameters)]
    return hashlib.sha256("".join(contents).encode()).hexdigest()[:16] if contents else None


def _contents(value: Any) -> Iterator[str]:
    """The hash of each file, in a settled order."""
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
    """All that is registered: OpenSpiel's description of each game, by name."""
    return {kind.short_name: kind for kind in spiel().registered_games()}


def _kind(name: str) -> Any:
    if name not in kinds():
        close = suggest(name, kinds()).partition(" (known: ")[0]
        raise ValueError(f"OpenSpiel has no game {name!r}{close} (docs/games/openspiel.md has all)")
    return kinds()[name]


def _settings(kind: Any, parameters: Mapping[str, Any], seats: int) -> dict[str, Any]:
    """The parameters as OpenSpiel takes them, with those that are not the user's."""
    known, name = kind.parameter_specification, kind.short_name
    seating = [one for one in SEATS if one in known]
    if taken := [one for one in (*seating, SETTLED) if one in parameters]:
        raise ValueError(f"{name}'s {taken[0]} is not a parameter here: the match settles it")
    found: dict[str, Any] = {key: value for key, value in PLAIN.items() if key in known}
    for key, value in parameters.items():
        if key not in known:
            raise ValueError(f"{name} has no parameter {key!r}{suggest(key, known)}")
        found[key] = _fitting(value, known[key], f"{name}'s {key}")
    if not kind.default_loadable and not parameters:
        raise ValueError(f"{name} cannot be loaded without parameters: {', '.join(known)}")
    if seating:
        low, high = kind.min_num_players, kind.max_num_players
        if not low <= seats <= high:
            raise ValueError(f"{name} seats {low} to {high} players, got {seats}")
        found[seating[0]] = seats
    return found


def _fitting(value: Any, default: Any, where: str) -> Any:
    """The value as the type that OpenSpiel wants; a game that another one wraps may be its name."""
    if isinstance(default, dict):
        return {"name": value} if isinstance(value, str) else value
    if isinstance(default, float) and type(value) is int:
        return float(value)
    if type(value) is not type(default):
        raise ValueError(f"{where} is {value!r}; it must be like {default!r}")
    return value


def _unfit(game: Any, kind: Any) -> str:
    """Why the game, loaded as one of this kind, cannot be played here, as the end of a sentence; ""
    where it can. A game that wraps another is described as that one."""
    if secretive(game) and SETTLED not in kind.parameter_specification:
        return "draws its chance in secret, so that no deal of it can be dealt twice"
    told = game.get_type()
    if not (told.provides_observation_string or told.provides_information_state_string):
        return "tells nothing of its states in text"
    return ""


def secretive(game: Any) -> bool:
    """Whether the game draws its chance itself and tells nobody what it drew."""
    return bool(game.get_type().chance_mode == spiel().GameType.ChanceMode.SAMPLED_STOCHASTIC)


def lucky(game: Any) -> bool:
    """Whether there is any chance in the game."""
    return bool(game.get_type().chance_mode != spiel().GameType.ChanceMode.DETERMINISTIC)


def start(game: Any, seed: int) -> Any:
    """OpenSpiel's first state of a deal, before any chance."""
    if secretive(game):
        kind = game.get_type().short_name
        settled = {**game.get_parameters(), SETTLED: seed % 2**31}
        return spiel().load_game(kind, settled).new_initial_state()
    return game.new_initial_state()


def settle(live: Any, seed: int, number: int) -> None:
    """Plays chance on until a seat is to move: the event of this number, from 0, and those after
    it bring the same in every game of a deal whose outcomes are as likely."""
    while live.is_chance_node():
        live.apply_action(_draw(live.chance_outcomes(), luck(seed, number)))
        number += 1


def luck(seed: int, number: int) -> float:
    """A share of [0, 1) that depends on the two numbers alone."""
    digest = hashlib.blake2b(f"{seed} {number}".encode(), digest_size=7).digest()
    return int.from_bytes(digest, "big") / 2.0**56


def _draw(outcomes: Sequence[tuple[int, float]], share: float) -> int:
    for outcome, chance in outcomes:
        share -= chance
        if share < 0:
            return outcome
    return outcomes[-1][0]


def apply(live: Any, moves: Sequence[int]) -> None:
    """Plays the moves of all seats that are to move."""
    if live.is_simultaneous_node():
        live.apply_actions(list(moves))
    else:
        live.apply_action(moves[0])


def replayed(game: Any, seed: int, actions: Sequence[int]) -> Any:
    """OpenSpiel's state after these actions, those of chance among them."""
    return _replay(game, seed, actions)[0]


def state_of(game: Any, seed: int, actions: Sequence[int]) -> State:
    """The state after these actions, with the names of the moves in them."""
    live, moves = _replay(game, seed, actions)
    return State(seed, tuple(actions), tuple(moves), live)


def _replay(game: Any, seed: int, actions: Sequence[int]) -> tuple[Any, list[tuple[int, str]]]:
    live, moves, left = start(game, seed), list[tuple[int, str]](), list(actions)
    while left:
        if live.is_chance_node():
            live.apply_action(left.pop(0))
            continue
        seats = movers(live)
        made, left = left[: len(seats)], left[len(seats) :]
        moves += [(seat, name(live, seat, move)) for seat, move in zip(seats, made, strict=True)]
        apply(live, made)
    return live, moves


def movers(live: Any) -> tuple[int, ...]:
    """The seats that are to move; () when the game is over."""
    if live.is_terminal():
        return ()
    if live.is_simultaneous_node():
        return tuple(range(live.num_players()))
    return (live.current_player(),)


def name(live: Any, seat: int, action: int) -> str:
    """What OpenSpiel calls an action, on one line."""
    return " ".join(live.action_to_string(seat, action).split())


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def played_at_random(game: Any, seed: int, number: int) -> list[float]:
    """What each seat gets in the game of this number, of which all moves are drawn alike."""
    rng = random.Random(f"{seed} {number}")
    live = start(game, rng.getrandbits(63))
    while not live.is_terminal():
        if live.is_chance_node():
            live.apply_action(_draw(live.chance_outcomes(), rng.random()))
        else:
            apply(live, [rng.choice(live.legal_actions(seat)) for seat in movers(live)])
    return list(live.returns())


FILE = Path(__file__).with_name("games.yaml")


@dataclass(frozen=True)
class GameNotes:
    """One game.

    rules: in sentences; "" where nobody wrote them. reading: how the situation is to be read.
    label: the name of the fact that tells the situation.
    sides: what each seat is called. public: whether every move is seen by all, in a game that hides
    something. resamples: whether OpenSpiel can draw what a seat cannot see, so that the actions
    lead to what was drawn. tells: which of OpenSpiel's texts is told, "information" or
    "observation"; "" for what the game's kind suggests. slip: what OpenSpiel has wrong.
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
    """What is known of a game; nothing where it is not in the file."""
    return entries().get(name, GameNotes())


@cache
def entries() -> Mapping[str, GameNotes]:
    """All that the file has, by name."""
    read: Mapping[str, Mapping[str, Any]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return {name: GameNotes(**_tuples(entry)) for name, entry in read.items()}


def _tuples(entry: Mapping[str, Any]) -> dict[str, Any]:
    plain = {key: one.strip() if isinstance(one, str) else one for key, one in entry.items()}
    return {key: tuple(one) if isinstance(one, list) else one for key, one in plain.items()}
