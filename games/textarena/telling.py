"""What TextArena tells a seat, as rules, facts and a public history.

The words are the library's own. What it tells every seat alike at the start, sentence by sentence,
is the rules; what it then tells the seat are facts, the latest board by itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from games.base import Fact
from games.textarena.live import EVERYBODY, Live, Message

PROMPT, ACTION, BOARD, ADMIN = "prompt", "player_action", "game_board", "game_admin"
WORD = re.compile(r"[A-Za-z]{2,}")
SENTENCE = 3
"""Words that a line has at least that is a sentence and no part of a drawing."""


def seen_by(live: Live, seat: int) -> list[Message]:
    """What the seat was told, oldest first, without what is said of invalid moves."""
    return [m for m in live.messages if m.to in (EVERYBODY, seat) and m.kind != ADMIN]


def rules(first: Live, seats: int) -> str:
    """The sentences that open every seat's match, on one line."""
    return " ".join(common(first, seats)) or "You learn the rules as you play."


def facts(live: Live, first: Live, seats: int, seat: int) -> tuple[Fact, ...]:
    """What a seat knows beyond the rules: what only it was told of them, the latest board, and all
    that the game has told it since."""
    shared = common(first, seats)
    lines = [line for line in prompt(first, seat).split("\n") if line.strip() not in shared]
    seen = [m for m in seen_by(live, seat) if m.kind != PROMPT]
    boards = [m.text for m in seen if m.kind == BOARD]
    talk = [said(m) for m in seen if m.kind != BOARD]
    found = (
        Fact("Seat", f"player {seat}"),
        fact("Told at the start", "\n".join(lines), own=True),
        fact("Told so far", "\n".join(talk), own=True),
        fact("Now", boards[-1] if boards else "", own=True),
    )
    return tuple(one for one in found if one.text)


def common(first: Live, seats: int) -> list[str]:
    """The sentences that every seat is told at the start."""
    own = [sentences(prompt(first, seat)) for seat in range(seats)]
    return [line for line in own[0] if all(line in others for others in own)]


def history(messages: Sequence[Message]) -> tuple[str, ...]:
    """What everybody was told, a clause a message."""
    public = (m for m in messages if m.to == EVERYBODY and m.kind not in (PROMPT, BOARD, ADMIN))
    return tuple(clause for m in public if (clause := one_line(said(m))))


def prompt(first: Live, seat: int) -> str:
    return "\n".join(m.text for m in seen_by(first, seat) if m.kind == PROMPT)


def sentences(text: str) -> list[str]:
    """The lines of a text that are sentences, or head some."""
    lines = map(str.strip, text.split("\n"))
    return [one for one in lines if one.endswith(":") or len(WORD.findall(one)) >= SENTENCE]


def said(message: Message) -> str:
    text = message.text.strip("\n")
    return text if message.sender < 0 else f"player {message.sender}: {text.strip()}"


def fact(name: str, text: str, own: bool = False) -> Fact:
    """A fact of a text as the library wrote it, without what lies around it."""
    lines = [line.rstrip() for line in text.expandtabs(4).split("\n")]
    drawn = "\n".join(lines).strip("\n")
    return Fact(name, drawn if "\n" in drawn else drawn.strip(), own)


def one_line(text: str) -> str:
    return " ".join(text.split())
