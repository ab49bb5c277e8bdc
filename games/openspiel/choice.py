"""What a seat may choose from: a list of options or, where there are too many, a move that is typed
as OpenSpiel writes it."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from games.base import Action, Open, Said, TextSpec, move_fault
from games.openspiel import engine

SHOWN = 3
"""Moves that are given as examples of how one is written."""
TYPED = "type a move"
"""What the one option is called where moves are typed."""


@dataclass(frozen=True)
class Choice:
    """What `seat` may do in OpenSpiel's state `live`, listed where there are at most so many."""

    live: Any
    seat: int
    listed: int

    @cached_property
    def actions(self) -> tuple[int, ...]:
        """OpenSpiel's numbers of the legal actions, ascending."""
        return tuple(self.live.legal_actions(self.seat))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """A name for each of them, no two alike."""
        named = [engine.name(self.live, self.seat, action) for action in self.actions]
        return apart(named, self.actions)

    @cached_property
    def legal(self) -> tuple[Action, ...]:
        if len(self.actions) <= self.listed:
            return self.actions
        return (Open(self.live.num_distinct_actions(), wanted(self.names)),)

    @property
    def options(self) -> tuple[str, ...]:
        """The name of each legal option."""
        return self.names if self.legal == self.actions else (TYPED,)

    def fault(self, move: Action) -> str:
        """Why a move cannot be made, as the end of a sentence; "" where it can."""
        if isinstance(move, Said) or self.legal != self.actions:
            return move_fault(move, self.legal)
        return "" if move in self.actions else "is not legal"

    def action(self, move: Action) -> int:
        """OpenSpiel's number of a move that can be made."""
        if isinstance(move, Said):
            return self.actions[self.names.index(meant(move.text, self.names))]
        return int(move)


@dataclass(frozen=True, slots=True)
class Moves(TextSpec):
    """Wants one of the legal moves, by its name. Upper and lower case, and space, count only where
    two moves differ by it. The examples are all of them, so that a player that takes one at random
    takes each alike."""

    def fault(self, text: str) -> str:
        if meant(text, self.examples):
            return ""
        return f"is none of the {len(self.examples)} legal moves"

    def __post_init__(self) -> None:
        """Each example is a legal move, so there is nothing to check."""


def wanted(names: Sequence[str]) -> Moves:
    """What a typed move has to be. The first examples are told in prompts, so they are drawn at
    random: by the names alone, which the seat knows, and not by what is hidden."""
    some = random.Random("\n".join(names)).sample(names, min(SHOWN, len(names)))
    shown = set(some)
    ask = f"one of {len(names)} legal moves, written as in {', '.join(map(repr, some))}"
    examples = (*some, *(name for name in names if name not in shown))
    return Moves(ask, examples, max_chars=max(map(len, names)))


def meant(text: str, names: Sequence[str]) -> str:
    """The name that the text stands for; "" where it is none, or one of several."""
    if text in names:
        return text
    found = [one for one in names if _plain(one) == _plain(text)]
    return found[0] if len(found) == 1 else ""


def _plain(text: str) -> str:
    return re.sub(r"\s", "", text).casefold()


def apart(names: Sequence[str], actions: Sequence[int]) -> tuple[str, ...]:
    """The names, those of several actions with the number that OpenSpiel gives each."""
    often: Mapping[str, int] = Counter(names)
    return tuple(
        one if one and often[one] == 1 else f"{one} (action {action})".strip()
        for one, action in zip(names, actions, strict=True)
    )
