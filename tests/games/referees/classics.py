"""PettingZoo's classic games, by the rules of games/pettingzoo/classics.py."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from gauntlet.games.holdem.ranks import bit, worth
from tests.games.referees import Look, Referee, Rules, fact, grid, in_line, tied, won_by
from tests.games.referees.boards import dropping, placing
from tests.games.referees.go import Board

chess: Any = pytest.importorskip("chess")


def chess_game(seats: int, look: Look) -> Referee:
    """The pieces move as in python-chess; when a game ends is of the rules that are told."""
    board, quiet = chess.Board(), 0
    before: list[str] = []
    while True:
        before.append(position(board))
        names = {board.san(move): move for move in board.legal_moves}
        mover = 0 if board.turn else 1
        if not names:
            return won_by(1 - mover) if board.is_check() else tied()
        if too_few(board) or before.count(before[-1]) >= 3 or quiet >= 100:
            return tied()
        for move in names.values():
            still = not board.is_capture(move) and board.piece_type_at(move.from_square) != 1
            board.push(move)
            third = before.count(position(board)) >= 2
            fiftieth = still and quiet >= 99 and any(board.legal_moves)
            board.pop()
            if third or fiftieth:
                return tied()
        (name,) = yield {mover: names}
        pawn = board.piece_type_at(names[name].from_square) == chess.PAWN
        quiet = 0 if pawn or board.is_capture(names[name]) else quiet + 1
        board.push(names[name])


def position(board: Any) -> str:
    """Pieces, mover, castling and a pawn that can be taken in passing."""
    return board.epd(en_passant="legal")


def too_few(board: Any) -> bool:
    """Kings with at most one knight, or with bishops on squares of one colour."""
    others = [piece for piece in board.piece_map().items() if piece[1].piece_type != chess.KING]
    kinds = [piece.piece_type for _, piece in others]
    colours = {(square // 8 + square % 8) % 2 for square, _ in others}
    return kinds in ([], [chess.KNIGHT]) or (set(kinds) == {chess.BISHOP} and len(colours) == 1)


def go(seats: int, look: Look) -> Referee:
    board, passes, mover = Board(9), 0, 0
    before = board.stones()
    while passes < 2:
        names: dict[str, tuple[int, int] | None] = {"pass": None}
        for row, column in grid(9, 9):
            after = board.after((row, column), mover)
            if after and after.stones() != before:
                names["ABCDEFGHJ"[column] + str(9 - row)] = (row, column)
        (name,) = yield {mover: names}
        place = names[name]
        passes = 0 if place else passes + 1
        before = board.stones()
        if place:
            board = board.after(place, mover) or board
        mover = 1 - mover
    black, white = board.area()
    return won_by(0 if black > white + 7.5 else 1)


RANKS = {"ace": 12, "king": 11, "queen": 10, "jack": 9, "ten": 8}
SUITS = ("spades", "hearts", "diamonds", "clubs")


def card(words: str) -> int:
    rank, _, suit = words.partition(" of ")
    return 4 * (RANKS[rank] if rank in RANKS else int(rank) - 2) + SUITS.index(suit)


def cards(text: str) -> list[int]:
    return [] if text == "none yet" else [card(one) for one in text.split(", ")]


def chips(look: Look) -> list[int]:
    return [int(put) for put in re.findall(r": (\d+)", fact(look(0), "Chips in the pot"))]


def shared_pot(put: list[int], worths: list[int | None]) -> tuple[float, ...]:
    """Return what each seat wins of what all have put in; a worth is None for who has folded."""
    best = max(one for one in worths if one is not None)
    winners = [seat for seat, one in enumerate(worths) if one == best]
    return tuple(
        (sum(put) / len(winners) if seat in winners else 0) - put[seat] for seat in range(len(put))
    )


def limit(rounds: int, raises: int, start: Callable[[int, int, int], int], held: str) -> Rules:
    """Poker with fixed bets. start: who begins, of the small blind, the big one and the seats."""

    def rules(seats: int, look: Look) -> Referee:
        put = chips(look)
        small, big = put.index(1), put.index(2)
        assert big == (small + 1) % seats
        assert sum(put) == 3
        hands = [cards(fact(look(seat), held)) for seat in range(seats)]
        folded: set[int] = set()
        mover, opened = start(small, big, seats), "Open card" + "s" * (held == "Your cards")
        for betting in range(rounds):
            level, size = (2 if betting == 0 else 0), (2 if betting < rounds / 2 else 4)
            bets = put[:] if betting == 0 else [0] * seats
            raised = quiet = 0
            while quiet < seats:
                assert chips(look) == put
                behind = bets[mover] < level
                names = ["fold", "call" if behind else "check", *["raise"] * (raised < raises)]
                (name,) = yield {mover: names}
                if name == "fold":
                    folded.add(mover)
                else:
                    level += size * (name == "raise")
                    put[mover] += level - bets[mover]
                    bets[mover] = level
                    quiet, raised = (1, raised + 1) if name == "raise" else (quiet + 1, raised)
                while True:
                    mover = (mover + 1) % seats
                    if mover not in folded:
                        break
                if len(folded) == seats - 1:
                    lone: list[int | None] = [None] * seats
                    lone[mover] = 0
                    return halved(shared_pot(put, lone))
        board = cards(fact(look(0), opened))
        return halved(
            shared_pot(
                put,
                [
                    None if seat in folded else strength(own, board)
                    for seat, own in enumerate(hands)
                ],
            )
        )

    return rules


def halved(chips: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(one / 2 for one in chips)


def strength(own: list[int], board: list[int]) -> int:
    if len(own) == 1:  # Leduc: a pair, or the rank
        return own[0] // 4 + 100 * (own[0] // 4 == board[0] // 4)
    return int(worth(sum(bit(one) for one in own + board), 7))


def no_limit(opens: Callable[[int, int], int]) -> Rules:
    """opens: who begins the later rounds, of the small blind and the big one."""

    def rules(seats: int, look: Look) -> Referee:
        put = chips(look)
        small, big = put.index(1), put.index(2)
        assert big == (small + 1) % seats
        hands = [cards(fact(look(seat), "Your cards")) for seat in range(seats)]
        folded: set[int] = set()
        for betting in range(4):
            mover = (big + 1) % seats if betting == 0 else opens(small, big)
            bets = put[:] if betting == 0 else [0] * seats
            waiting = {seat for seat in range(seats) if seat not in folded and put[seat] < 100}
            if len(waiting) < 2:
                waiting = set()
            while waiting:
                while mover not in waiting:
                    mover = (mover + 1) % seats
                assert chips(look) == put
                left, pot, call = 100 - put[mover], sum(put), max(bets) - bets[mover]
                amounts = {"check or call": min(call, left)}
                if call < left:
                    amounts["go all in"] = left
                    if call < pot // 2 <= left:
                        amounts["raise half the pot"] = pot // 2
                    if pot <= left:
                        amounts["raise the pot"] = pot
                (name,) = yield {mover: ["fold", *amounts]}
                waiting.discard(mover)
                if name == "fold":
                    folded.add(mover)
                    if len(folded) == seats - 1:
                        return shared_pot(put, [None if s in folded else 0 for s in range(seats)])
                    continue
                put[mover] += amounts[name]
                bets[mover] += amounts[name]
                if name != "check or call":
                    still = {s for s in range(seats) if s not in folded and put[s] < 100}
                    waiting = still - {mover}
        board = cards(fact(look(0), "Open cards"))
        return shared_pot(
            put, [None if s in folded else strength(own, board) for s, own in enumerate(hands)]
        )

    return rules


CLASSICS: dict[str, Rules] = {
    "tictactoe_v3": placing(
        {f"C{column + 1}R{row + 1}": (row, column) for row, column in grid(3, 3)},
        lambda held, last: in_line(held, last, 3),
    ),
    "connect_four_v3": dropping(lambda at, mover: f"column {at + 1}"),
    "chess_v6": chess_game,
    "go_v5": go,
    "leduc_holdem_v4": limit(2, 2, lambda small, big, seats: small, "Your card"),
    "texas_holdem_v4": limit(4, 4, lambda small, big, seats: (big + 1) % seats, "Your cards"),
    "texas_holdem_no_limit_v6": no_limit(lambda small, big: small),
}
