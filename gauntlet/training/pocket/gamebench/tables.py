"""The nine games, and decisions in them with ratings of the options.

One seat of each match is the learner's; some of its decisions are taught. At those it plays the
teacher's choice or, with probability STRAY, a random option; otherwise it plays like a greedy
player. The other seats are random or greedy players. The teacher is the one-ply search that also
plays matches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from gauntlet.agents.base import Decision, Turn
from gauntlet.agents.one_ply import ALIKE, OnePly
from gauntlet.agents.prompting.gamebench import SHOWN
from gauntlet.games.air_land_sea import AirLandSea
from gauntlet.games.arctic_scavengers import ArcticScavengers
from gauntlet.games.are_you_the_traitor import AreYouTheTraitor
from gauntlet.games.base import Action, Game, TextAction, TextMove
from gauntlet.games.codenames import Codenames
from gauntlet.games.hive import Hive
from gauntlet.games.pit import Pit
from gauntlet.games.playouts import RANDOM, fill_text, scripted_move
from gauntlet.games.santorini import Santorini
from gauntlet.games.sea_battle import SeaBattle
from gauntlet.games.two_rooms import TwoRooms
from gauntlet.training.pocket.data import turn_of

GREEDY = "greedy"
STRAY = 0.25
"""Probability that the learner's seat plays a random option."""
SPREAD = 0.35
"""An option is e times as likely to be the answer as one whose value is lower by this share of the
typical standard deviation of a decision's values in the game."""
MEASURED = 60
"""Number of decisions used to estimate that standard deviation."""


@dataclass(frozen=True)
class Table:
    """A game to teach.

    share: of all lessons. taught: proportion of the learner's decisions that become lessons; low
    where those of a match are similar. worlds: the teacher's number of sampled worlds. copied:
    whether the words taught are examples from the prompt, where the greedy player's would require
    more knowledge.
    """

    game: Game[Any]
    share: float
    taught: float = 1.0
    worlds: int = 4
    copied: bool = False


TABLES: dict[str, Table] = {
    "air_land_sea": Table(AirLandSea(), 0.2),
    "arctic_scavengers": Table(ArcticScavengers(), 0.06),
    "are_you_the_traitor": Table(AreYouTheTraitor(), 0.06),
    "codenames": Table(Codenames(), 0.08, copied=True),
    "hive": Table(Hive(), 0.06, taught=0.2),
    "pit": Table(Pit(), 0.08, taught=0.3),
    "santorini": Table(Santorini(), 0.2),
    "sea_battle": Table(SeaBattle(), 0.2, taught=0.3),
    "two_rooms": Table(TwoRooms(), 0.06),
}


class Lesson(NamedTuple):
    """A turn, float64 logits (options,) rating its options, and the words for each, "" for none."""

    turn: Turn
    logits: np.ndarray
    words: tuple[str, ...]


def lessons(table: Table, rng: np.random.Generator) -> Iterator[Lesson]:
    """Yield decisions of a game forever."""
    spread = np.mean([worth.std() for _, worth in islice(rated_decisions(table, rng), MEASURED)])
    for turn, worth in rated_decisions(table, rng):
        yield Lesson(turn, worth / (SPREAD * max(spread, 1e-6)), words(turn, table.copied, rng))


def rated_decisions(table: Table, rng: np.random.Generator) -> Iterator[tuple[Turn, np.ndarray]]:
    """Yield decisions of the learner's seats with the teacher's ratings of the options."""
    game = table.game
    while True:
        state, learner = game.deal(rng), int(rng.integers(game.num_seats))
        other = RANDOM if rng.random() < 0.5 else GREEDY
        while seats := game.to_move(state):
            moves = []
            for seat in seats:
                policy = GREEDY if seat == learner else other
                turn = turn_of(game, state, seat)
                if seat == learner and needs_model(turn) and rng.random() < table.taught:
                    worth = worths(turn, table.worlds, rng)
                    yield turn, worth
                    moves.append(learners(turn, worth, rng))
                else:
                    moves.append(scripted_move(game, state, seat, policy, rng))
            state = game.play(state, moves)


def turns(game: Game[Any], rng: np.random.Generator) -> Iterator[Turn]:
    """Yield turns of all seats in games between random and greedy players, forever."""
    while True:
        state = game.deal(rng)
        policies = [RANDOM if rng.random() < 0.5 else GREEDY for _ in range(game.num_seats)]
        while seats := game.to_move(state):
            yield from (turn for seat in seats if needs_model(turn := turn_of(game, state, seat)))
            moves = [scripted_move(game, state, seat, policies[seat], rng) for seat in seats]
            state = game.play(state, moves)


def needs_model(turn: Turn) -> bool:
    """Return whether a model is needed: there is a choice, or text to write."""
    return len(turn.options) > 1 or isinstance(turn.options[0], TextAction)


def worths(turn: Turn, worlds: int, rng: np.random.Generator) -> np.ndarray:
    """Return one-ply search's values of the options, float64 (options,)."""
    thinking = OnePly(worlds).decide(turn, rng)
    try:
        next(thinking)
    except StopIteration as stop:
        decision: Decision = stop.value
        return np.array(decision.scores)
    raise AssertionError("one-ply search asks nothing")


def learners(turn: Turn, worth: np.ndarray, rng: np.random.Generator) -> Action:
    """Return the learner's move: one of the best options or, with probability STRAY, any."""
    likely = worth >= (-np.inf if rng.random() < STRAY else worth.max() - ALIKE)
    option = int(rng.choice(np.flatnonzero(likely)))
    return fill_text(turn.game, GREEDY, turn.observation, turn.options, option, rng)


def words(turn: Turn, copied: bool, rng: np.random.Generator) -> tuple[str, ...]:
    """Return the words for each option: the greedy player's, or an example from the prompt; "" if
    it needs none."""
    return tuple(
        text_reply(turn, option, copied, rng)
        if isinstance(turn.options[option], TextAction)
        else ""
        for option in range(len(turn.options))
    )


def text_reply(turn: Turn, option: int, copied: bool, rng: np.random.Generator) -> str:
    wanted = turn.options[option]
    if copied and isinstance(wanted, TextAction):
        return str(rng.choice(wanted.text.examples[:SHOWN]))
    move = fill_text(turn.game, GREEDY, turn.observation, turn.options, option, rng)
    return move.text if isinstance(move, TextMove) else ""
