"""What the pocket model learns from: decisions of all games, with how good each option is.

Games are dealt without end, so no decision is met twice but by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from gauntlet.agents.base import Goal, Turn
from gauntlet.agents.minimax import outcome
from gauntlet.games.base import Game
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.games.uno.arena.game import UnoArena
from gauntlet.games.uno.arena.rules import CARD, PHASE
from gauntlet.games.uno.game import Uno
from gauntlet.training.pocket.teacher import Network, ratings

UNO_SCALE = 0.015
"""A difference in the chance to win that makes an option e times as likely to be the answer."""
STAKE = 0.02
"""A decision of which less depends (the best option's lead over the mean) is taught less often."""
ARENA_SCALE, ARENA_STAKE = 0.03, 0.04
"""The same for UNO Arena, whose values are playouts' and not so exact."""
ARENA_PLAYOUTS = 200
TIC_TAC_TOE_SCALE = 0.2
STRAY = 0.25
"""How often the learner's seat leaves the teacher's move for a random one."""

SHARES = {
    "uno 2": (0.53, 0.02),
    "uno 3": (0.02, 0.01),
    "uno 4": (0.02, 0.01),
    "arena 2": (0.05, 0.09),
    "arena 3": (0.01, 0.01),
    "arena 5": (0.01, 0.02),
    "tic-tac-toe": (0.17, 0.03),
}
"""How often a decision of each table is asked about by labels, and how often in a conversation."""

SQUARE = "I look at the lines that each square is on."
THOUGHTS = (
    "I weigh what each card leaves me with.",
    "I weigh which colour serves my hand.",
    "I weigh what a challenge wins and costs.",
)
"""What is thought of a card, a colour and a challenge."""


class Lesson(NamedTuple):
    """A turn, float64 logits (options,) of how good each option is, what to say of such a turn,
    and whether it is asked about in a conversation, not by labels."""

    turn: Turn
    logits: np.ndarray
    thought: str
    talk: bool = False


def lessons(network: Network, rng: np.random.Generator) -> Iterator[Lesson]:
    """Decisions of all tables, mixed in proportion to SHARES, without end."""
    tables = [uno_lessons(network, seats, rng) for seats in (2, 3, 4)]
    tables += [arena_lessons(seats, rng) for seats in (2, 3, 5)]
    tables.append(tic_tac_toe_lessons(rng))
    shares = np.array(list(SHARES.values())).ravel()
    while True:
        for kind in rng.choice(len(shares), 1000, p=shares).tolist():
            yield next(tables[kind // 2])._replace(talk=bool(kind % 2))


def uno_lessons(network: Network, seats: int, rng: np.random.Generator) -> Iterator[Lesson]:
    """The turns of one seat that plays mostly as the teacher would, against random others."""
    game = Uno(seats)

    def rated(state: Any, options: Sequence[int], _: int) -> np.ndarray:
        return ratings(network, state.array, np.array(options))

    for _, turn, worth in learners_turns(game, rated, rng):
        if matters(worth, STAKE, rng):
            yield Lesson(turn, worth / UNO_SCALE, THOUGHTS[CARD])


def arena_lessons(seats: int, rng: np.random.Generator) -> Iterator[Lesson]:
    """The turns of one seat that plays mostly by playouts, against random others."""
    game = UnoArena(seats)

    def tried(state: Any, _: Sequence[int], seat: int) -> np.ndarray:
        return chances(game, state, seat, rng)

    for state, turn, worth in learners_turns(game, tried, rng):
        phase = state.array.item(PHASE)
        if phase != CARD or matters(worth, ARENA_STAKE, rng):
            yield Lesson(turn, worth / ARENA_SCALE, THOUGHTS[phase])


def learners_turns(
    game: Game[Any],
    judge: Callable[[Any, Sequence[int], int], np.ndarray],
    rng: np.random.Generator,
) -> Iterator[tuple[Any, Turn, np.ndarray]]:
    """States at which one seat has a choice, its turns, and what `judge` says of the options; the
    seat takes the best of them or, by STRAY, any, and the others play at random."""
    while True:
        state, learner = game.deal(rng), int(rng.integers(game.num_seats))
        while movers := game.to_move(state):
            options = game.legal(state, movers[0])
            choice = int(rng.integers(len(options)))
            if len(options) > 1 and movers[0] == learner:
                worth = judge(state, options, learner)
                yield state, turn_of(game, state, learner), worth
                choice = choice if rng.random() < STRAY else int(worth.argmax())
            state = game.play(state, (options[choice],))


def chances(game: UnoArena, state: Any, seat: int, rng: np.random.Generator) -> np.ndarray:
    """The share of playouts that `seat` wins after each option, by what it knows: (options,)."""
    players = ("random",) * game.num_seats
    found = game.winners(state, players, ARENA_PLAYOUTS, int(rng.integers(2**63)), hidden=True)
    return np.asarray((found >> seat & 1).mean(axis=1))


def matters(worth: np.ndarray, stake: float, rng: np.random.Generator) -> bool:
    """True the oftener, the more the best option is better than the mean."""
    return bool(rng.random() < (worth.max() - worth.mean()) / stake)


def tic_tac_toe_lessons(rng: np.random.Generator) -> Iterator[Lesson]:
    """The turns of Tic-Tac-Toe at which the move matters."""
    for turn, worth in grid_turns(rng):
        if worth.min() < worth.max():
            yield Lesson(turn, worth / TIC_TAC_TOE_SCALE, SQUARE)


def grid_turns(rng: np.random.Generator) -> Iterator[tuple[Turn, np.ndarray]]:
    """Turns of Tic-Tac-Toe games whose seats move perfectly or at random, and how each option ends:
    1 a win, 0 a draw, -1 a loss."""
    game = TicTacToe()
    while True:
        state = game.deal(rng)
        while movers := game.to_move(state):
            options, sign = game.legal(state, movers[0]), 1 - 2 * movers[0]
            after = [game.play(state, (action,)) for action in options]
            worth = np.array([sign * outcome(game, position) for position in after])
            yield turn_of(game, state, movers[0]), worth
            likely = worth == worth.max() if rng.random() < 0.5 else worth > -2
            state = after[rng.choice(np.flatnonzero(likely))]


def turn_of(game: Game[Any], state: Any, seat: int) -> Turn:
    return Turn(game, game.legal(state, seat), Goal(), lambda: game.observe(state, seat))
