"""The classic games as text: PettingZoo itself gives observation planes and action numbers.

The poker texts come from RLCard's observations, the chess texts from the board and moves of
python-chess, which PettingZoo uses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gauntlet.common.errors import extra
from gauntlet.games.base import Fact

RANKS = {"A": "ace", "K": "king", "Q": "queen", "J": "jack", "T": "ten"}
SUITS = {"S": "spades", "H": "hearts", "D": "diamonds", "C": "clubs"}
LIMIT = ("call", "raise", "fold", "check")
NO_LIMIT = ("fold", "check or call", "raise half the pot", "raise the pot", "go all in")


def card(code: str) -> str:
    """RLCard writes the suit first: HK is the king of hearts."""
    return f"{RANKS.get(code[1], code[1])} of {SUITS[code[0]]}"


def limit_option(env: Any, action: int) -> str:
    return LIMIT[action]


def no_limit_option(env: Any, action: int) -> str:
    return NO_LIMIT[action]


def raw_observation(env: Any, seat: int) -> Mapping[str, Any]:
    """Return RLCard's own observation of the hand for a seat."""
    found: Mapping[str, Any] = env.env.get_state(seat)["raw_obs"]
    return found


def leduc_facts(env: Any, seat: int) -> tuple[Fact, ...]:
    raw = raw_observation(env, seat)
    opened = raw["public_card"]
    return (
        Fact("Open card", card(opened) if opened else "none yet"),
        Fact("Chips in the pot", chips(raw["all_chips"], seat)),
        Fact("Your card", card(raw["hand"]), own=True),
    )


def holdem_facts(env: Any, seat: int) -> tuple[Fact, ...]:
    raw = raw_observation(env, seat)
    return (
        Fact("Open cards", ", ".join(map(card, raw["public_cards"])) or "none yet"),
        Fact("Chips in the pot", chips(chips_in_pot(env, raw), seat)),
        Fact("Your cards", ", ".join(map(card, raw["hand"])), own=True),
    )


def chips_in_pot(env: Any, observation: Mapping[str, Any]) -> list[int]:
    """Return what each seat has put into the pot, which limit hold'em's observation omits."""
    every = observation.get("all_chips")
    return list(every) if every is not None else [one.in_chips for one in env.env.game.players]


def chips(put: list[int], seat: int) -> str:
    return ", ".join(
        f"player {player}{' (you)' * (player == seat)}: {float(many):g}"
        for player, many in enumerate(put)
    )


UTILS = "pettingzoo.classic.chess.chess_utils"


def facts(env: Any, seat: int) -> tuple[Fact, ...]:
    board = env.board
    ranks = [f"{8 - at} {row}" for at, row in enumerate(str(board).split("\n"))]
    return (
        Fact("Your colour", ("White", "Black")[seat]),
        Fact("Board (White's pieces in capitals)", "\n".join([*ranks, "  a b c d e f g h"])),
        Fact("Position (FEN)", board.fen()),
    )


def option(env: Any, action: int) -> str:
    """Return the move in algebraic notation, as e4 or Nxf3+."""
    seat = env.possible_agents.index(env.agent_selection)
    move = extra(UTILS, "pettingzoo").action_to_move(env.board, action, seat)
    return str(env.board.san(move))


LINES = 9
"""Board size of go_v5. The library fixes it globally."""
LETTERS = "ABCDEFGHJKLMNOPQRST"
"""Columns of a Go board, which skips I."""


@dataclass(frozen=True)
class Classic:
    """The texts of one game.

    module: its PettingZoo module. title, rules: as a person would word them. facts: what a seat
    sees of the environment. option: the name of a legal action. verb: its prefix in the history.
    seats: the possible numbers of seats. arguments: the environment's arguments, by number of
    seats. hidden: whether there is hidden information. draws: whether draws are possible.
    """

    module: str
    title: str
    rules: str
    facts: Callable[[Any, int], tuple[Fact, ...]]
    option: Callable[[Any, int], str]
    verb: str = "played"
    seats: tuple[int, ...] = (2,)
    arguments: Callable[[int], Mapping[str, Any]] = field(default=lambda seats: {})
    hidden: bool = False
    draws: bool = False

    def clause(self, env: Any, action: int) -> str:
        return f"{self.verb} {self.option(env, action)}"


def planes(env: Any, seat: int) -> np.ndarray:
    """Return the seat's own observation: (rows, columns, planes)."""
    found: np.ndarray = env.observe(env.possible_agents[seat])["observation"]
    return found


def draw_board(mine: np.ndarray, other: np.ndarray) -> str:
    """Draw a board from two planes: X for the seat's own pieces, O for the other's."""
    signs = np.where(mine, "X", np.where(other, "O", "."))
    return "\n".join(" ".join(row) for row in signs)


def tic_tac_toe_facts(env: Any, seat: int) -> tuple[Fact, ...]:
    seen = planes(env, seat)  # the first axis is the column
    return (Fact("Board (yours X, theirs O)", draw_board(seen[..., 0].T, seen[..., 1].T)),)


def connect_four_facts(env: Any, seat: int) -> tuple[Fact, ...]:
    seen = planes(env, seat)
    head = " ".join(str(column + 1) for column in range(seen.shape[1]))
    return (Fact("Board (yours X, theirs O)", f"{head}\n{draw_board(seen[..., 0], seen[..., 1])}"),)


def go_facts(env: Any, seat: int) -> tuple[Fact, ...]:
    colours = ("black", "white")
    board = env._go.board  # 1 black, -1 white; the observation planes lag a move behind
    own = 1 if seat == 0 else -1
    rows = draw_board(board == own, board == -own).split("\n")
    lines = [f"{len(rows) - at} {row}" for at, row in enumerate(rows)]
    head = "  " + " ".join(LETTERS[: len(rows)])
    return (
        Fact("Your colour", colours[seat]),
        Fact("Board (yours X, theirs O)", "\n".join([head, *lines])),
    )


def go_point(env: Any, action: int) -> str:
    if action == LINES**2:
        return "pass"
    row, column = divmod(action, LINES)
    return f"{LETTERS[column]}{LINES - row}"


SHOWDOWN = (
    "The best five of seven cards, by the usual ranks, win the pot; equal hands share it, and a "
    "chip that cannot be shared goes to one of them at random."
)
HALVED = "The result is counted in big blinds: half of the chips won or lost."

CLASSICS: Mapping[str, Classic] = {
    "tictactoe_v3": Classic(
        "tictactoe.tictactoe",
        "Tic-Tac-Toe",
        "Two players mark empty cells of a grid of 3 columns and 3 rows by turns, player 0 first. "
        "CxRy is the cell in column x and row y, counted from 1. Three marks in a line win; a "
        "full grid without such a line is a draw.",
        tic_tac_toe_facts,
        lambda env, action: f"C{action // 3 + 1}R{action % 3 + 1}",
        "marked",
        draws=True,
    ),
    "connect_four_v3": Classic(
        "connect_four.connect_four",
        "Connect Four",
        "Two players drop discs by turns into the 7 columns of an upright board of 6 rows, player "
        "0 first; a disc falls to the lowest free place. Four discs of one player in a line, "
        "along a row, a column or a diagonal, win. A full board is a draw.",
        connect_four_facts,
        lambda env, action: f"column {action + 1}",
        "dropped a disc into",
        draws=True,
    ),
    "chess_v6": Classic(
        "chess.chess",
        "Chess",
        "Chess by the usual rules: player 0 has White, player 1 has Black. Moves are written in "
        "algebraic notation. Stalemate is a draw, and so are kings with at most one knight, or "
        "with bishops on squares of one colour. Draws need not be claimed: the game is drawn as "
        "soon as a position occurs for the third time or there were fifty moves of both players "
        "without a capture or a pawn's move, and already if one legal move of the player to move "
        "would lead to that.",
        facts,
        option,
        draws=True,
    ),
    "go_v5": Classic(
        "go.go",
        "Go",
        f"Go on a board of {LINES} by {LINES} lines: player 0 has Black and begins. By turns "
        "players put a stone on a free point or pass. Stones of one colour that are joined along "
        "lines and have no free point beside them are taken off, the opponent's first; a stone "
        "whose own group would then have none must not be put. A move must not bring back the "
        "position before the opponent's last move (ko). After two passes in a row the game is "
        "over; a player has a point for each own stone and for each free point that only its own "
        "stones enclose, and White 7.5 more. More points win.",
        go_facts,
        go_point,
        arguments=lambda seats: {"board_size": LINES},
    ),
    "leduc_holdem_v4": Classic(
        "rlcard_envs.leduc_holdem",
        "Leduc Hold'em",
        "Poker with six cards: a king, a queen and a jack in two suits. Both players hold one "
        "card. At random one of them puts in a small blind of 1 chip and the other a big blind of "
        "2. There are two rounds of bets, with one card laid open for both between them. The small "
        "blind begins the first round, and the second is begun by the player who did not act last. "
        "A raise puts in 2 chips more than a call in the first round and 4 in the second; there "
        "are at most two raises a round. A round ends when both have acted and put in as much. A "
        "pair with the open card beats any other hand, else the higher card wins the pot; equal "
        "cards share it. One may always fold, and loses what one has put in. "
        f"{HALVED}",
        leduc_facts,
        limit_option,
        "chose to",
        hidden=True,
    ),
    "texas_holdem_v4": Classic(
        "rlcard_envs.texas_holdem",
        "Limit Texas Hold'em",
        "One hand of Texas hold'em with fixed bets: two own cards, then three, one and one open "
        "cards, with a round of bets before and after each. At random a player has the small blind "
        "of 1 chip, and the next one the big blind of 2. The player after the big blind begins the "
        "first round (of two, the small blind), and each later round is begun by the player after "
        "the one who acted last. A raise puts in 2 chips more than a call in the first two rounds "
        "and 4 in the last two; there are at most four raises a round. A round ends after as many "
        "checks and calls as there are players at the table, those who have folded included; a "
        "raise starts the count again and is the first of them. So if somebody has folded, the "
        "others may act again. One may always fold, and loses what one has put in. "
        f"{SHOWDOWN} {HALVED}",
        holdem_facts,
        limit_option,
        "chose to",
        seats=tuple(range(2, 11)),
        arguments=lambda seats: {"num_players": seats},
        hidden=True,
    ),
    "texas_holdem_no_limit_v6": Classic(
        "rlcard_envs.texas_holdem_no_limit",
        "No-limit Texas Hold'em",
        "One hand of Texas hold'em: two own cards, then three, one and one open cards, with a "
        "round of bets before and after each. All have 100 chips. At random a player has the small "
        "blind of 1 chip, and the next one the big blind of 2. The player after the big blind "
        "begins the first round (of two, the small blind); the small blind begins each later "
        "round, or the next player after it who can act. A round ends when all who have neither "
        "folded nor put in all their chips have acted since the last raise. To raise half the pot "
        "is to put in half as many chips as lie in the pot, rounded down, the call included, if "
        "that is more than the call and one has as many; to raise the pot is to put in as many as "
        "lie in it. If the call takes all of one's chips, one can only call or fold. One may "
        f"always fold, and loses what one has put in. {SHOWDOWN} The result is counted in chips.",
        holdem_facts,
        no_limit_option,
        "chose to",
        seats=tuple(range(2, 11)),
        arguments=lambda seats: {"num_players": seats},
        hidden=True,
    ),
}

REFUSED: Mapping[str, str] = {
    "rps_v2": "its seats move at once and it has no mask of legal actions; "
    "game=rock_paper_scissors is the same game",
    "hanabi_v5": "it is OpenSpiel's, reached through a further package; "
    "game=openspiel game.name=hanabi is the same game",
}
"""Unsupported classic games, and why."""
