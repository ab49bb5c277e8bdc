"""The games under test: those of conf/game, with several numbers of seats and parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from gauntlet.games.air_land_sea import AirLandSea
from gauntlet.games.base import Action, Game, Observation, default_text_move
from gauntlet.games.hive import Hive
from gauntlet.games.holdem import Holdem
from gauntlet.games.playouts import policies_of
from gauntlet.games.rock_paper_scissors import RockPaperScissors
from gauntlet.games.santorini import Santorini
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.games.uno import State as UnoState
from gauntlet.games.uno import Uno
from gauntlet.games.uno.policies import redeal
from gauntlet.games.uno.rules import SEED
from gauntlet.games.watch import Watch
from tests.nodes import Node, build, nodes

SEATS = (2, 3, 10)
"""Numbers of seats to try in addition to a game's default."""

VARIANTS: dict[str, Sequence[dict[str, Any]]] = {
    "air_land_sea": ({"goal": 3, "paper_bugs": True},),
    "arctic_scavengers": ({"paper_bugs": True}, {"rounds": 6}),
    "are_you_the_traitor": ({"num_seats": 5}, {"paper_bugs": True, "exchanges": 1, "points": 4}),
    "codenames": ({"num_seats": 4}, {"paper_bugs": True}, {"paper_bugs": True, "num_seats": 4}),
    "evergreen": ({"family": "takeaway"}, {"family": "bidding"}),
    "hive": ({"max_turns": 20, "paper_bugs": True},),
    "holdem": ({"stack": 7, "small_blind": 2, "big_blind": 5, "paper_bugs": True},),
    "holdem_hands": ({"raises": "neuron", "hands": 1},),
    "pit": (
        {"turns": 40, "paper_bugs": True},
        {"num_seats": 4, "corner": 5, "turns": 40, "goal": 150},
    ),
    "rock_paper_scissors": ({"rounds": 1}, {"rounds": 4}),
    "santorini": ({"paper_bugs": True},),
    "sea_battle": ({"paper_bugs": True}, {"num_seats": 6}),
    "tic_tac_toe": ({"size": 2, "win_length": 2}, {"size": 4}, {"size": 5, "win_length": 4}),
    "two_rooms": (
        {"num_seats": 6},
        {"paper_bugs": True, "rounds": 1},
        {"paper_bugs": True, "num_seats": 6},
    ),
    "uno": ({"paper_bugs": True}, {"paper_bugs": True, "num_seats": 4}),
}
"""Further parameters of our own games; a game needs no entry."""

ONE_WINNER = (AirLandSea, Hive, RockPaperScissors, Santorini, TicTacToe, Uno)
"""Games of ours that never have two winners."""

SHORTER: dict[str, dict[str, Any]] = {
    "arctic_scavengers": {"rounds": 2},
    "are_you_the_traitor": {"points": 5, "exchanges": 3},
    "hive": {"max_turns": 30},
    "openspiel": {"name": "liars_dice"},
    "pit": {"turns": 60, "deal_turns": 24, "goal": 200},
    "sea_battle": {"most_turns": 3},
    "watch_rps": {"of": RockPaperScissors(rounds=13)},
    "watch_tic_tac_toe": {"games": 1, "catalogue": ("first", "careful")},
    "watch_uno": {"games": 1, "catalogue": ("rule", "first")},
    "watch_uno_arena": {"games": 1},
    "watch_holdem": {"of": Holdem(mode="hands", hands=4), "catalogue": ("caller", "tight")},
}
"""Settings that shorten games with long matches."""

ELSEWHERE = ("obfuscated_uno", "pettingzoo", "textarena")
"""Games with their own tests: test_obfuscated.py and, for other libraries' games, if the packages
are installed, test_adapters_*.py."""

LONGEST = 10_000
"""Plies after which a game counts as endless."""

SEEN_WHOLE = 100
"""Plies at the start of a game that are all checked; of the later ones ever fewer."""


def named_games() -> tuple[dict[str, Game[Any]], dict[str, str]]:
    """Return every game of conf/game as configured, or shorter, by name; and the errors of those
    that cannot be built, so that a broken game fails only its own tests."""
    games, broken = {}, {}
    for name, node in nodes("game").items():
        if name in ELSEWHERE:
            continue
        try:
            games[name] = build(node, **SHORTER.get(name, {}))
        except Exception as error:
            broken[name] = f"{type(error).__name__}: {error}"
    return games, broken


NAMED, BROKEN = named_games()


def all_cases() -> dict[str, Game[Any]]:
    """The named games, with every number of SEATS that they take and every variant."""
    cases = {}
    for name, game in NAMED.items():
        cases[f"{name}-{game.num_seats}"] = game
        for seats in sorted({*SEATS} - {game.num_seats}):
            if (other := seated(nodes("game")[name], seats)) is not None:
                cases[f"{name}-{seats}"] = other
        for variant in VARIANTS.get(name, ()):
            words = "-".join(f"{key}={value}" for key, value in variant.items())
            cases[f"{name}-{words}"] = build(nodes("game")[name], **variant)
    return cases


def seated(node: Node, seats: int) -> Game[Any] | None:
    """The game with that many seats; None where it does not take them."""
    try:
        game: Game[Any] = build(node, num_seats=seats)
    except ValueError:
        return None
    return game


CASES = all_cases()

seeds = st.integers(0, 2**32 - 1)

Ply = tuple[Any, tuple[int, ...], tuple[Action, ...]]
"""A state, the seats that move in it and the moves they make; none in the last state."""


def walk(game: Game[Any], seed: int) -> Iterator[Ply]:
    """A game played with uniform random moves: every ply, then the final state."""
    rng = np.random.default_rng(seed)
    state = game.deal(rng)
    for _ in range(LONGEST):
        seats = game.to_move(state)
        if not seats:
            yield state, (), ()
            return
        options = [game.legal(state, seat) for seat in seats]
        assert all(options), f"a seat of {seats} is to move and has no legal action"
        moves = tuple(default_text_move(own[int(rng.choice(len(own)))], rng) for own in options)
        yield state, seats, moves
        state = game.play(state, moves)
    raise AssertionError(f"the game is not over after {LONGEST} plies of random play; it must end")


def looked_at(game: Game[Any], seed: int) -> Iterator[Ply]:
    """The plies of `walk`: all of a short game, of a long one the later the fewer."""
    for number, ply in enumerate(walk(game, seed)):
        if not ply[1] or number % max(1, number // SEEN_WHOLE) == 0:
            yield ply


@dataclass(eq=False)
class Match:
    """A match of random moves: the plies of it that are looked at, the last state among them."""

    game: Game[Any]
    seed: int
    plies: list[Ply]

    @cached_property
    def views(self) -> list[tuple[Any, int, Observation]]:
        """Every state that is looked at, with each seat to move and what it is told."""
        return [
            (state, seat, self.game.observe(state, seat))
            for state, seats, _ in self.plies
            for seat in seats
        ]

    @property
    def last(self) -> Any:
        return self.plies[-1][0]


@lru_cache(maxsize=32)
def match_of(game: Game[Any], seed: int) -> Match:
    return Match(game, seed, [*looked_at(game, seed)])


def final(game: Game[Any], seed: int) -> Any:
    """The last state of `walk`."""
    for state, _, _ in walk(game, seed):
        last = state
    return last


def unseen_by(seat: int, state: Any, rng: np.random.Generator) -> Any:
    """Return a UNO state with other hidden cards and random numbers."""
    array = state.array.copy()
    redeal(array, seat, rng.integers(2**63, dtype=np.uint64))
    array[SEED] = rng.integers(2**63)
    return UnoState(array, state.history)


def played_by_others(seat: int, state: Any, rng: np.random.Generator) -> Any:
    """Return the state with other policies in the watched match, which an observer cannot see."""
    told = state.transcript
    known = policies_of(told.game)
    others = tuple(known[one] for one in rng.integers(len(known), size=len(told.players)))
    return replace(state, transcript=replace(told, players=others))


HIDDEN: dict[type, Callable[[int, Any, np.random.Generator], Any]] = {
    Uno: unseen_by,
    Watch: played_by_others,
}
"""For games of ours without `sample`: how to get another state that the seat cannot distinguish."""


def after(game: Game[Any], state: Any, *options: str) -> Any:
    """The state after these options, by their names, one after the other."""
    for name in options:
        (seat,) = game.to_move(state)
        known = game.observe(state, seat).options
        assert name in known, f"{name} is not among {known}"
        state = game.play(state, [game.legal(state, seat)[known.index(name)]])
    return state


def options(game: Game[Any], state: Any) -> tuple[str, ...]:
    """Return the names of the options of the seat to move."""
    return game.observe(state, game.to_move(state)[0]).options
