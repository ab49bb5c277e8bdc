"""Draws rock-paper-scissors: the throws round by round, the last ones first."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from gauntlet.common.markup import join_markup, tag
from gauntlet.games.base import Observation
from gauntlet.games.drawing import marks, picture
from gauntlet.games.rock_paper_scissors import HANDS, RockPaperScissors, State

STYLE = Path(__file__).with_suffix(".css")

MOST = 20
"""Maximum number of rounds drawn; longer games show the last ones."""

POLICY_NAMES = {
    "A": "scissors only",
    "B": "rock only",
    "C": "paper only",
    "D": "all alike",
    "E": "rock or paper",
    "F": "rock or scissors",
    "G": "paper or scissors",
    "H": "half rock",
    "I": "half paper",
    "J": "half scissors",
    "K": "rock before paper",
    "L": "rock before scissors",
    "M": "paper before rock",
    "N": "paper before scissors",
    "O": "scissors before rock",
    "P": "scissors before paper",
    "X": "beats the last hand",
    "Y": "loses to the last hand",
    "Z": "copies the last hand",
}

SHAPES = (
    tag("circle", cx=12, cy=12, r=8),
    tag("rect", x=5, y=3, width=14, height=18, rx=1),
    tag("path", d="M5 3L16 17M19 3L8 17M8 17a2.5 2.5 0 1 0 -2 4a2.5 2.5 0 0 0 2 -4M16 17"
        "a2.5 2.5 0 1 1 2 4a2.5 2.5 0 0 1 -2 -4"),
)  # fmt: skip
"""A stone, a sheet and a pair of scissors, in a square of 24 units."""


def draw_state(game: RockPaperScissors, state: State) -> Markup:
    return _table(game, state, None)


def draw_view(game: RockPaperScissors, observation: Observation) -> Markup:
    """The finished rounds: no state holds what the other is about to throw."""
    return _table(game, observation.view, observation.seat)


def _table(game: RockPaperScissors, state: State, you: int | None) -> Markup:
    names = [f"player {seat}{' (you)' if seat == you else ''}" for seat in range(2)]
    wins = [sum((round_[seat] - round_[1 - seat]) % 3 == 1 for round_ in state) for seat in (0, 1)]
    score = f"{len(state)} of {game.rounds} rounds played, score {wins[0]}:{wins[1]}"
    head = tag("tr", *(tag("th", word, scope="col") for word in ("round", *names, "won by")))
    first = max(0, len(state) - MOST)
    rows = [_row(number, state[number]) for number in range(len(state) - 1, first - 1, -1)]
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="d-rounds")
    left_out = tag("p", f"{first} earlier rounds are not drawn") if first else ""
    label = tag("p", score, class_="d-score")
    throws = (tag("span", _hand(hand), class_="d-throw", **marks((hand,))) for hand in range(3))
    choice = "" if you is None else tag("div", *throws, class_="d-middle")
    return picture(score, label, choice, table if state else "", left_out, kind="d-throws")


def _row(number: int, throws: tuple[int, int]) -> Markup:
    ahead = (throws[0] - throws[1]) % 3
    won = ("nobody", "player 0", "player 1")[ahead]
    hands = [tag("td", _hand(hand), class_="d-ahead" if ahead == seat + 1 else None)
             for seat, hand in enumerate(throws)]  # fmt: skip
    return tag("tr", tag("td", str(number + 1)), *hands, tag("td", won))


def _hand(hand: int) -> Markup:
    shape = tag("svg", SHAPES[hand], viewBox="0 0 24 24", class_="d-hand-shape", aria_hidden="true")
    return join_markup(shape, " ", HANDS[hand])
