"""Training data of the pocket model: decisions in all games, with a rating of each option.

Games are dealt endlessly, so decisions repeat only by chance.
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
"""Difference in win probability that makes an option e times as likely to be the answer."""
STAKE = 0.02
"""Decisions with a smaller lead of the best option over the mean are taught less often."""
ARENA_SCALE, ARENA_STAKE = 0.03, 0.04
"""The same for UNO Arena, whose values come from playouts and are noisier."""
ARENA_PLAYOUTS = 200
TIC_TAC_TOE_SCALE = 0.2
STRAY = 0.25
"""Probability that the learner's seat plays a random move instead of the teacher's."""

SHARES = {
    "uno 2": (0.53, 0.02),
    "uno 3": (0.02, 0.01),
    "uno 4": (0.02, 0.01),
    "arena 2": (0.05, 0.09),
    "arena 3": (0.01, 0.01),
    "arena 5": (0.01, 0.02),
    "tic-tac-toe": (0.17, 0.03),
}
"""Shares of each table's decisions, with prompts by labels and in conversation."""

SQUARE = "I look at the lines that each square is on."
THOUGHTS = (
    "I weigh what each card leaves me with.",
    "I weigh which colour serves my hand.",
    "I weigh what a challenge wins and costs.",
)
"""The thoughts about a card, a colour and a challenge."""


class Lesson(NamedTuple):
    """A turn, float64 logits (options,) rating its options, the thought to write about it, and
    whether it is taught in a conversation instead of by labels."""

    turn: Turn
    logits: np.ndarray
    thought: str
    talk: bool = False


def lessons(network: Network, rng: np.random.Generator) -> Iterator[Lesson]:
    """Yield decisions of all tables forever, mixed in proportion to SHARES."""
    tables = [uno_lessons(network, seats, rng) for seats in (2, 3, 4)]
    tables += [arena_lessons(seats, rng) for seats in (2, 3, 5)]
    tables.append(tic_tac_toe_lessons(rng))
    shares = np.array(list(SHARES.values())).ravel()
    while True:
        for kind in rng.choice(len(shares), 1000, p=shares).tolist():
            yield next(tables[kind // 2])._replace(talk=bool(kind % 2))


def uno_lessons(network: Network, seats: int, rng: np.random.Generator) -> Iterator[Lesson]:
    """Yield the turns of a seat that mostly follows the teacher, against random players."""
    game = Uno(seats)

    def rated(state: Any, options: Sequence[int], _: int) -> np.ndarray:
        return ratings(network, state.array, np.array(options))

    for _, turn, worth in learners_turns(game, rated, rng):
        if is_worth_teaching(worth, STAKE, rng):
            yield Lesson(turn, worth / UNO_SCALE, THOUGHTS[CARD])


def arena_lessons(seats: int, rng: np.random.Generator) -> Iterator[Lesson]:
    """Yield the turns of a seat that mostly plays by playouts, against random players."""
    game = UnoArena(seats)

    def tried(state: Any, _: Sequence[int], seat: int) -> np.ndarray:
        return chances(game, state, seat, rng)

    for state, turn, worth in learners_turns(game, tried, rng):
        phase = state.array.item(PHASE)
        if phase != CARD or is_worth_teaching(worth, ARENA_STAKE, rng):
            yield Lesson(turn, worth / ARENA_SCALE, THOUGHTS[phase])


def learners_turns(
    game: Game[Any],
    judge: Callable[[Any, Sequence[int], int], np.ndarray],
    rng: np.random.Generator,
) -> Iterator[tuple[Any, Turn, np.ndarray]]:
    """Yield states where one seat has a choice, its turns, and the ratings of `judge`. The seat
    plays the best option or, with probability STRAY, a random one; the others play at random."""
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
    """`seat`'s share of playouts won after each option, given its information: (options,)."""
    players = ("random",) * game.num_seats
    found = game.winners(state, players, ARENA_PLAYOUTS, int(rng.integers(2**63)), hidden=True)
    return np.asarray((found >> seat & 1).mean(axis=1))


def is_worth_teaching(worth: np.ndarray, stake: float, rng: np.random.Generator) -> bool:
    """Return True more often the better the best option is than the mean."""
    return bool(rng.random() < (worth.max() - worth.mean()) / stake)


def tic_tac_toe_lessons(rng: np.random.Generator) -> Iterator[Lesson]:
    """Yield the turns of Tic-Tac-Toe where the move matters."""
    for turn, worth in grid_turns(rng):
        if worth.min() < worth.max():
            yield Lesson(turn, worth / TIC_TAC_TOE_SCALE, SQUARE)


def grid_turns(rng: np.random.Generator) -> Iterator[tuple[Turn, np.ndarray]]:
    """Yield turns of Tic-Tac-Toe games between perfect and random seats, and the outcome of each
    option: 1 a win, 0 a draw, -1 a loss."""
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
