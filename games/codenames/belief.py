"""Keys that an operative holds possible, the likelier ones more often: spymasters give clues that
go with their own words."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from games.codenames.players import fitting
from games.codenames.rules import ASSASSIN, BLUE, COUNTS, NEUTRAL, RED, Turn

SURE = 0.97
"""The most that a clue is trusted, as the chance that a word is what it makes of it."""
EVEN = math.log(0.4 / 0.6)
"""The logarithm of the odds that a hidden word is a given team's where no clue speaks of it."""
SPARED = 3.0
"""How much less likely, as a logarithm, the assassin goes with a clue."""


def sampled_key(
    board: tuple[str, ...],
    seen: Sequence[int],
    turns: Sequence[Turn],
    rng: np.random.Generator,
) -> tuple[int, ...]:
    """A key that agrees with all kinds in `seen`, in which -1 is hidden. The kinds of the hidden
    words are given out one after the other to those with the highest leaning plus Gumbel noise:
    draws in proportion, without replacement."""
    key = list(seen)
    hidden = [place for place, kind in enumerate(seen) if kind < 0]
    leans = leanings(board, seen, turns)
    for kind in (RED, BLUE, ASSASSIN, NEUTRAL):
        count = COUNTS[kind] - sum(known == kind for known in seen)
        drawn = leans[kind, hidden] + rng.gumbel(size=len(hidden))
        taken = {hidden[at] for at in np.argsort(-drawn, kind="stable")[:count].tolist()}
        for place in taken:
            key[place] = kind
        hidden = [place for place in hidden if place not in taken]
    return tuple(key)


def leanings(board: tuple[str, ...], seen: Sequence[int], turns: Sequence[Turn]) -> np.ndarray:
    """How much each word leans to each kind by the clues, float64 of shape (kinds, words): a number
    is how many words of the team go with the clue, so of those still hidden it names a share."""
    leans = np.zeros((len(COUNTS), len(board)))
    before: set[int] = set()
    for turn in turns:
        meant = fitting(board, turn.clue) - before
        before |= set(turn.guesses)
        hidden = [place for place in meant if seen[place] < 0]
        if hidden:
            found = sum(seen[place] == turn.team for place in meant)
            share = ((turn.number or len(meant)) - found) / len(hidden)
            share = min(SURE, max(1 - SURE, share))
            lean = math.log(share / (1 - share)) - EVEN
            leans[turn.team, hidden] += lean
            leans[1 - turn.team, hidden] -= max(0.0, lean)
            leans[ASSASSIN, hidden] -= SPARED
    return leans
