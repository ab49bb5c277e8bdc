"""Keys that an operative holds possible, the likelier ones more often: spymasters give clues that
go with their own words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from games.codenames.players import fitting
from games.codenames.rules import ASSASSIN, BLUE, COUNTS, NEUTRAL, RED, Turn

MEANT, SPARED = 3.0, 1.5
"""How much likelier, as a logarithm, a word is a team's that fits a clue whose number is not
reached yet, and is not, that fits one whose number is."""


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
    leans = _leanings(board, seen, turns)
    for kind in (RED, BLUE, ASSASSIN, NEUTRAL):
        count = COUNTS[kind] - sum(known == kind for known in seen)
        drawn = leans[kind, hidden] + rng.gumbel(size=len(hidden))
        taken = {hidden[at] for at in np.argsort(-drawn, kind="stable")[:count].tolist()}
        for place in taken:
            key[place] = kind
        hidden = [place for place in hidden if place not in taken]
    return tuple(key)


def _leanings(board: tuple[str, ...], seen: Sequence[int], turns: Sequence[Turn]) -> np.ndarray:
    """How much each word leans to each kind by the clues, float64 of shape (kinds, words)."""
    leans = np.zeros((len(COUNTS), len(board)))
    for turn in turns:
        fits = fitting(board, turn.clue)
        hidden = [place for place in fits if seen[place] < 0]
        found = sum(seen[place] == turn.team for place in fits)
        if turn.number == 0 or not hidden:
            continue
        lean = MEANT if found < turn.number else -SPARED
        leans[turn.team, hidden] += lean
        leans[1 - turn.team, hidden] -= lean
        leans[ASSASSIN, hidden] -= MEANT
    return leans
