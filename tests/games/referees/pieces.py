"""OpenSpiel's chess, antichess, Chinese checkers and Go with a cursor, by the rules of
games/openspiel/games.yaml."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.games.referees import Look, Point, Referee, Rules, tied, won_by
from tests.games.referees.classics import position, too_few
from tests.games.referees.go import Board

chess: Any = pytest.importorskip("chess")
variant: Any = pytest.importorskip("chess.variant")


def chess_game(start: Callable[[], Any], misere: bool) -> Rules:
    """Player 1 is white. The pieces move as in python-chess; the end is of the told rules."""

    def rules(seats: int, look: Look) -> Referee:
        board, quiet = start(), 0
        before: list[str] = []
        while True:
            mover = 1 if board.turn else 0
            before.append(position(board))
            names = {board.san(move).rstrip("#" * misere): move for move in moves(board)}
            if not names:
                if misere:
                    return won_by(mover)
                return won_by(1 - mover) if board.is_check() else tied()
            if quiet >= 100 or before.count(before[-1]) >= 3 or (not misere and too_few(board)):
                return tied()
            (name,) = yield {mover: names}
            move = names[name]
            pawn = board.piece_type_at(move.from_square) == chess.PAWN
            quiet = 0 if pawn or board.is_capture(move) else quiet + 1
            board.push(move)

    return rules


def moves(board: Any) -> list[Any]:
    """In antichess a capture in passing does not count as one."""
    legal = list(board.legal_moves)
    if not isinstance(board, variant.AntichessBoard):
        return legal
    taking = [move for move in legal if board.is_capture(move) and not board.is_en_passant(move)]
    return taking or list(board.pseudo_legal_moves)


CURSOR = {"Up": (1, 0), "Down": (-1, 0), "Left": (0, -1), "Right": (0, 1)}


def cursor_go(seats: int, look: Look) -> Referee:
    """On 5 by 5, to which the test sets it."""
    size, komi = 5, 7.5
    board, passes, mover, again = Board(size), 0, 0, False
    last, earlier = board.stones(), {board.stones()}
    cursors: list[Point] = [(size // 2, size // 2)] * 2
    while passes < 2:
        for moved in range(101):
            r, c = cursors[mover]
            names = ["Pass"]
            for name, (dr, dc) in CURSOR.items():
                if moved < 100 and 0 <= r + dr < size and 0 <= c + dc < size:
                    names.append(name)
            after = board.after((r, c), mover)
            if after and after.stones() != last:
                names.append("Place Stone")
            (name,) = yield {mover: names}
            if name not in CURSOR:
                break
            cursors[mover] = r + CURSOR[name][0], c + CURSOR[name][1]
        last = board.stones()
        passes = passes + 1 if name == "Pass" else 0
        if name != "Pass":
            board = after or board
            again = again or board.stones() in earlier
            earlier.add(board.stones())
        mover = 1 - mover
    black, white = board.area()
    return tied() if again else won_by(0 if black > white + komi else 1)


STAR = [1, 2, 3, 4, 13, 12, 11, 10, 9, 10, 11, 12, 13, 4, 3, 2, 1]
HOLES = [(row, 2 * k - n + 1) for row, n in enumerate(STAR) for k in range(n)]
NUMBER = {hole: number for number, hole in enumerate(HOLES)}
STEPS = ((0, 2), (0, -2), (1, 1), (1, -1), (-1, 1), (-1, -1))


def chinese_checkers(seats: int, look: Look) -> Referee:
    """With 60 turns, to which the test sets it."""
    held = [set(HOLES[:10]), set(HOLES[-10:])]

    def moves(hole: Point) -> tuple[list[Point], list[Point]]:
        """The holes that a piece steps to, and those that it jumps to."""
        near = [(hole[0] + dr, hole[1] + dc) for dr, dc in STEPS]
        far = [(hole[0] + 2 * dr, hole[1] + 2 * dc) for dr, dc in STEPS]
        taken = held[0] | held[1]
        jumps = [b for a, b in zip(near, far, strict=True) if a in taken]
        free = [
            [one for one in ends if one in NUMBER and one not in taken] for ends in (near, jumps)
        ]
        return free[0], free[1]

    for turn in range(60):
        mover, piece, visited = turn % 2, None, list[Point]()
        while True:
            names = {}
            for hole in [piece] if piece else held[mover]:
                steps, jumps = moves(hole)
                for sign, ends in (("->", [] if piece else steps), ("=>", jumps)):
                    for to in (one for one in ends if one not in visited):
                        names[f"{NUMBER[hole]}{sign}{NUMBER[to]}"] = (hole, to)
            if not names and piece:
                break
            (name,) = yield {mover: [*names, *["Pass"] * bool(piece or not names)]}
            if name == "Pass":
                break
            hole, to = names[name]
            held[mover] = held[mover] - {hole} | {to}
            if "->" in name:
                break
            visited, piece = [*(visited or [hole]), to], to
        if held[mover] == set(HOLES[-10:] if mover == 0 else HOLES[:10]):
            return won_by(mover)
    return tied()


PIECES: dict[str, Rules] = {
    "antichess": chess_game(variant.AntichessBoard, misere=True),
    "chess": chess_game(chess.Board, misere=False),
    "chinese_checkers": chinese_checkers,
    "cursor_go": cursor_go,
}
