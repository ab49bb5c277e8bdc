"""Parse the prompts of the reasoning methods back into facts.

A tutor that uses only the prompt knows no more than the model that learns from it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gauntlet.agents.prompting.answers import move_in
from gauntlet.agents.prompting.tot import ANSWERS, PLANS, VOTE
from gauntlet.models.base import Prompt

SEAT = re.compile(r"You are player (\d)")
GAME = re.compile(r"in a game of (.*)\.")
FACT = re.compile(r"^([A-Z][\w' ]*): (.+)$", re.MULTILINE)
MOVED = re.compile(r"player (\d): (\w+)")
SUPPOSED = "Suppose that play goes on so"
NEXT = re.compile(r"^Suppose that player (\d) makes this move next: (\w+)$", re.MULTILINE)
LISTED = re.compile(r"^\d+\) ", re.MULTILINE)


class Step(NamedTuple):
    """A seat and its move."""

    seat: int
    move: str


@dataclass(frozen=True)
class PromptFacts:
    """The contents of a prompt.

    seat: the prompted player's. facts: by name, the first of each name. legal: the listed moves,
    none if the prompt is about a value. line: the moves supposed to follow.
    """

    prompt: Prompt
    game: str
    seat: int
    facts: dict[str, str]
    legal: tuple[str, ...]
    line: tuple[Step, ...]

    @property
    def next(self) -> Step:
        """The move to be rated. Raises ValueError if there is none."""
        match = NEXT.search(self.prompt.changing)
        if match is None:
            raise ValueError(f"a prompt that supposes no move: {self.prompt.changing!r:.80}")
        return Step(int(match[1]), match[2])

    def candidates(self, form: str) -> Sequence[str | None]:
        """Return the moves that the listed plans or answers name, None for those that name none."""
        above = PLANS if PLANS in self.prompt.changing else ANSWERS
        listed = self.prompt.changing.partition(above)[2].partition(VOTE)[0]
        found = [move_in(text, self.legal, form) for text in LISTED.split(listed)[1:]]
        return [self.legal[one] if isinstance(one, int) else None for one in found]


def parse_prompt(prompt: Prompt) -> PromptFacts:
    """Parse a prompt. Raises ValueError if it names no seat or no game."""
    seat, game = SEAT.search(prompt.static), GAME.search(prompt.static)
    if seat is None or game is None:
        raise ValueError(f"a prompt without a player and a game: {prompt.static!r:.80}")
    facts: dict[str, str] = {}
    for name, text in FACT.findall(prompt.changing):
        facts.setdefault(name, text)
    legal = tuple(name for name in facts.get("Legal moves", "").split(", ") if name)
    line = tuple(Step(int(who), move) for who, move in MOVED.findall(facts.get(SUPPOSED, "")))
    return PromptFacts(prompt, game[1], int(seat[1]), facts, legal, line)
