"""Chess in words: the board and the moves of python-chess, which PettingZoo plays with."""

from __future__ import annotations

from typing import Any

from common.errors import extra
from games.base import Fact

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
    """The move in algebraic notation, as e4 or Nxf3+."""
    seat = env.possible_agents.index(env.agent_selection)
    move = extra(UTILS, "pettingzoo").action_to_move(env.board, action, seat)
    return str(env.board.san(move))
