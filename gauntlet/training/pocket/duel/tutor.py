"""The tutor: answers the prompts of the reasoning methods in their required form, with a few words
of reasoning."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Protocol

from gauntlet.agents.minimax import outcome
from gauntlet.agents.prompting.answers import move_in
from gauntlet.agents.prompting.cot_base import MOVE_CUE, THOUGHT_CUE
from gauntlet.agents.prompting.react import ACTION
from gauntlet.agents.prompting.talaga import CLOSING, QUESTIONS
from gauntlet.agents.prompting.tot import PLAN, VOTE
from gauntlet.games.holdem import words
from gauntlet.games.holdem.policies import FAIR, GOOD, MARGIN, STRONG, kind, preflop, share_beaten
from gauntlet.games.holdem.ranks import CATEGORY, bit, worth
from gauntlet.games.tic_tac_toe import State, TicTacToe
from gauntlet.models.base import Prompt
from gauntlet.training.pocket.duel.prompt_parsing import PromptFacts, parse_prompt

# --- its knowledge of Tic-Tac-Toe: minimax; ties by how often a random player loses

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


# --- its knowledge of hold'em: the strength of its hand and the price of a call

SEATS = re.compile(r"player \d(?: \(you\))? (\d+)")
UNSEEN = 0.57
"""Strength assumed for a hand whose cards are not in the prompt."""
FOLDED = {True: 10, False: 90}
"""Value after a fold: True for one's own, False for the other player's."""


@dataclass(frozen=True)
class Cards:
    """A hand as described by a prompt."""

    facts: PromptFacts

    @cached_property
    def hand(self) -> list[int]:
        return numbers(self.facts.facts.get("Your cards", ""))

    @cached_property
    def board(self) -> list[int]:
        return numbers(self.facts.facts["Board"].replace("none yet", ""))

    @cached_property
    def strength(self) -> float:
        """Share of other hands that it beats; before the flop, of showdowns that it wins."""
        if not self.hand:
            return UNSEEN
        if not self.board:
            return float(preflop()[kind(*self.hand)])
        table = sum(map(bit, self.board))
        return float(share_beaten(sum(map(bit, self.hand)), table, 2 + len(self.board)))

    @cached_property
    def lacking(self) -> int:
        """Chips needed to call."""
        own, other = self._by_seat("Bets this round")
        return min(max(other - own, 0), self._by_seat("Stacks")[0])

    @property
    def price(self) -> float:
        """The call as a share of the pot after it."""
        pot = int(self.facts.facts["Pot"].split()[0])
        return self.lacking / (pot + self.lacking)

    @property
    def form(self) -> str:
        return words.FORMAT

    def best(self) -> str:
        late, strong, legal = bool(self.board), self.strength, self.facts.legal
        if strong >= STRONG[late] and "RAISE_POT" in legal:
            return "RAISE_POT"
        if "CHECK" in legal:
            bets = strong >= GOOD[late] and "RAISE_HALF_POT" in legal
            return "RAISE_HALF_POT" if bets else "CHECK"
        return "CALL" if strong >= max(FAIR[late], self.price + MARGIN) else "FOLD"

    def worth(self, move: str) -> tuple[bool, int]:
        """Sort key: the best move first, then the cheapest."""
        return move == self.best(), -words.NAMES.index(move)

    def thought(self, move: str) -> str:
        """Return a line with the hand, the price, and the move."""
        call = f"A call pays {rounded(self.price)} of 100." if self.lacking else "A check is free."
        return f"{self.analysis()} {call} I choose {move}.\n"

    def intent(self, move: str) -> str:
        return move

    def analysis(self) -> str:
        return f" My hand is {self._name()} and beats {rounded(self.strength)} of 100."

    def rate(self) -> int:
        folded = [
            FOLDED[seat == self.facts.seat] for seat, move in self.facts.line if move == "FOLD"
        ]
        return (*folded, rounded(self.strength))[0]

    def advantage(self) -> int:
        """Rate a move: a fold is worth little, a raise as much as the hand is strong, others 50."""
        seat, move = self.facts.next
        if move == "FOLD":
            return 10
        strong = rounded(self.strength if seat == self.facts.seat else UNSEEN)
        return 50 if move in ("CHECK", "CALL") else strong

    def _name(self) -> str:
        """Return the hand's category; before the flop a pair or a high card."""
        if not self.board:
            pair = len({card >> 2 for card in self.hand}) == 1
            return words.CATEGORIES[pair]
        hand = sum(map(bit, self.hand + self.board))
        return words.CATEGORIES[worth(hand, len(self.hand) + len(self.board)) >> CATEGORY]

    def _by_seat(self, fact: str) -> tuple[int, int]:
        """Return the player's own chips and the other's."""
        found = [int(chips) for chips in SEATS.findall(self.facts.facts[fact])]
        return found[self.facts.seat], found[1 - self.facts.seat]


def numbers(names: str) -> list[int]:
    """Convert cards to numbers."""
    return [4 * words.RANKS.index(name[0]) + words.SUITS.index(name[1]) for name in names.split()]


def rounded(share: float) -> int:
    """Convert a share of 1 to one of 100, in steps of five."""
    return round(share * 20) * 5


# --- replies


class Knowledge(Protocol):
    """A tutor's knowledge of the position in a prompt."""

    @property
    def facts(self) -> PromptFacts: ...

    @property
    def form(self) -> str:
        """The game's move format, a regular expression."""
        ...

    def best(self) -> str:
        """Return the best legal move."""
        ...

    def worth(self, move: str) -> Any:
        """Return a sort key for moves, the best one last."""
        ...

    def thought(self, move: str) -> str:
        """Return a line of reasoning that ends with the move."""
        ...

    def intent(self, move: str) -> str:
        """Return the game's intent that the move carries out."""
        ...

    def analysis(self) -> str:
        """Return a line on who is ahead."""
        ...

    def rate(self) -> int:
        """Return the player's winning chances, 0 to 100."""
        ...

    def advantage(self) -> int:
        """Return the value of the next move for the player who makes it, 0 to 100."""
        ...


KNOWLEDGE: dict[str, type[Marks] | type[Cards]] = {"Tic-Tac-Toe": Marks, "Texas hold'em": Cards}
OTHERWISE = {
    "situation": " From 0 to 100, how good are your chances to reach your goal from here?",
    "move": " From 0 to 100, how much does this move help whoever makes it?",
}
"""The judge's questions rephrased."""


def knowing(prompt: Prompt) -> Knowledge:
    told = parse_prompt(prompt)
    return KNOWLEDGE[told.game](told)


def reply(prompt: Prompt, move: str | None = None) -> str:
    """Return the answer to a prompt; if it names a move, `move` instead of the best one."""
    if PLAN in prompt.changing:
        return f" <{planned(prompt)}>"
    for reward, question in QUESTIONS.items():
        if prompt.changing.endswith(f"Question: {question}\n"):
            return OTHERWISE[reward]
    knowledge = knowing(prompt)
    if prompt.changing.endswith(CLOSING["situation"]):
        return f"{knowledge.analysis()}\nThe winning rate is {knowledge.rate()}"
    if prompt.changing.endswith(CLOSING["move"]):
        return (
            f" It is {knowledge.facts.next.move}.\nThe advantage score is {knowledge.advantage()}"
        )
    if prompt.changing.endswith(VOTE):
        return vote(knowledge)
    return name_move(prompt, knowledge, move or knowledge.best())


def name_move(prompt: Prompt, knowledge: Knowledge, move: str) -> str:
    """Format a move as the prompt requires."""
    if prompt.cue == MOVE_CUE:
        return f" <{move}>"
    assert prompt.cue == THOUGHT_CUE, prompt.cue
    action = f"Action: {knowledge.intent(move)}\n" if ACTION in prompt.changing else ""
    return f"{knowledge.thought(move)}{action}Move: <{move}>"


def vote(knowledge: Knowledge) -> str:
    """Vote for the candidate with the best move, the first of equals."""
    moves = knowledge.facts.candidates(knowledge.form)
    able = [move for move in moves if move is not None]
    if not able:
        return " None names a move.\nThe best choice is 1"
    best = max(able, key=knowledge.worth)
    return f" {best} is best.\nThe best choice is {moves.index(best) + 1}"


def planned(prompt: Prompt) -> str:
    """Return the move that the plan in the prompt names, or the best one if it names none."""
    knowledge = knowing(prompt)
    legal, plan = knowledge.facts.legal, prompt.changing.partition(PLAN)[2]
    move = move_in(plan, legal, knowledge.form)
    return legal[move] if isinstance(move, int) else knowledge.best()
