"""The tutor's knowledge of Tic-Tac-Toe on 3 x 3: minimax, with ties broken by how often a random
player then loses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from gauntlet.agents.minimax import outcome
from gauntlet.games.tic_tac_toe import State, TicTacToe
from gauntlet.training.pocket.duel.prompt_parsing import PromptFacts

GAME = TicTacToe()
NAMES = tuple(f"C{cell % 3 + 1}R{cell // 3 + 1}" for cell in range(9))
PREFERRED = (4, 0, 2, 6, 8, 1, 3, 5, 7)
"""Order among equal moves: the centre first, then corners, then edges."""
LINES = (0o7, 0o70, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124)
"""Rows, columns and diagonals as bits of their cells."""
NONE = "nothing"


@dataclass(frozen=True)
class Marks:
    """A position as described by a prompt."""

    facts: PromptFacts

    @cached_property
    def state(self) -> State:
        seat, facts = self.facts.seat, self.facts.facts
        own, other = cells(facts["Your marks"]), cells(facts["Opponent's marks"])
        first, second = (own, other) if seat == 0 else (other, own)
        order = [cell for pair in zip(first, second, strict=False) for cell in pair]
        state = State((mask(first), mask(second)), (*order, *first[len(second) :]))
        for _, move in self.facts.line:
            state = GAME.play(state, (NAMES.index(move),))
        return state

    @property
    def form(self) -> str:
        return GAME.move_format

    def best(self) -> str:
        return max(self.facts.legal, key=self.worth)

    def worth(self, move: str) -> tuple[float, float, int]:
        cell = NAMES.index(move)
        after, sign = GAME.play(self.state, (cell,)), 1 - 2 * self.facts.seat
        return (
            sign * outcome(GAME, after),
            value_vs_random(after, self.facts.seat),
            -PREFERRED.index(cell),
        )

    def thought(self, move: str) -> str:
        """Return a line with the winning cell, the cell to block, and the move."""
        seat = self.facts.seat
        wins, threats = completing(self.state, seat), completing(self.state, 1 - seat)
        text = f" I win with {(*wins, NONE)[0]} now."
        if not wins:
            text += f" The other player threatens {(*threats, NONE)[0]}."
        return f"{text} I take {move}.\n"

    def intent(self, move: str) -> str:
        seat = self.facts.seat
        if move in completing(self.state, seat):
            return "win"
        if move in completing(self.state, 1 - seat):
            return "block"
        after = GAME.play(self.state, (NAMES.index(move),))
        forks = len(completing(after, seat)) > 1
        return "centre" if move == "C2R2" and not forks else "fork"

    def rate(self) -> int:
        """Rate the position as the mean of its value under perfect play and against a random
        player: 0 to 100, in tens."""
        seat = self.facts.seat
        sure = (1 - 2 * seat) * outcome(GAME, self.state)
        return round((sure + value_vs_random(self.state, seat) + 2) * 2.5) * 10

    def analysis(self) -> str:
        if not GAME.to_move(self.state):
            return " The game is over."
        mover = len(self.state.moves) % 2
        who = "I win" if mover == self.facts.seat else "The other player wins"
        wins, threats = completing(self.state, mover), completing(self.state, 1 - mover)
        told = f" {who} with {(*wins, NONE)[0]} now."
        return told if wins else f"{told} After that {(*threats, NONE)[0]} is a threat."

    def advantage(self) -> int:
        """Rate a move for the player who makes it: 0 to 100, in tens."""
        seat, move = self.facts.next
        after, sign = GAME.play(self.state, (NAMES.index(move),)), 1 - 2 * seat
        return round((sign * outcome(GAME, after) + value_vs_random(after, seat) + 2) * 2.5) * 10


@lru_cache(maxsize=50_000)
def value_vs_random(state: State, seat: int) -> float:
    """Return `seat`'s mean return, -1 to 1, with perfect play against a random player, choosing
    among the best moves the one that maximises it."""
    movers = GAME.to_move(state)
    if not movers:
        return GAME.returns(state)[seat]
    after = [GAME.play(state, (cell,)) for cell in GAME.legal(state, movers[0])]
    if movers[0] != seat:
        return sum(value_vs_random(one, seat) for one in after) / len(after)
    sign = 1 - 2 * seat
    return max((sign * outcome(GAME, one), value_vs_random(one, seat)) for one in after)[1]


@lru_cache(maxsize=50_000)
def completing(state: State, seat: int) -> tuple[str, ...]:
    """Return the empty cells that complete a line of `seat`."""
    taken, own = state.marks[0] | state.marks[1], state.marks[seat]
    free = (cell for cell in range(9) if not taken >> cell & 1)
    return tuple(NAMES[cell] for cell in free if lined(own | 1 << cell))


def lined(marks: int) -> bool:
    """Return whether the cells, as bits, contain a whole row, column or diagonal."""
    return any(marks & line == line for line in LINES)


def cells(names: str) -> list[int]:
    return [] if names == "none" else [NAMES.index(name) for name in names.split(", ")]


def mask(cells: list[int]) -> int:
    return sum(1 << cell for cell in cells)
