"""What a team may hope for in the midst of a game, for players that search."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np

from games.codenames.belief import leanings
from games.codenames.players import fitting
from games.codenames.rules import (
    ASSASSIN,
    BLUE,
    BONUS,
    COUNTS,
    NEUTRAL,
    RED,
    State,
    guessed,
    left,
    most_guesses,
    over,
    pending,
    shares,
    team_of,
    with_guess,
)

PER_WORD, PER_TURN = 0.45, 0.4
"""What a word less to find, and the turn, add to the logarithm of the odds of winning."""


def worth(state: State, team: int, quirks: bool) -> float:
    """What a team may hope for, from 0 to 1: at the end its score.

    After a guess it is the mean over all words that the clues put in the same light as the one that
    was guessed: to whoever guesses they are alike, and a search over few keys would else take the
    lucky ones for good.
    """
    if over(state, quirks):
        return shares(state, quirks)[team]
    if not state.turns or not state.turns[-1].guesses:
        return _hope(state, team, quirks)
    *turns, last = state.turns
    before = replace(last, guesses=last.guesses[:-1], over=False)
    earlier = replace(state, turns=(*turns, before))
    alike = _alike(earlier, last.guesses[-1])
    return sum(_hope(with_guess(earlier, place, quirks), team, quirks) for place in alike) / len(
        alike
    )


def _alike(state: State, place: int) -> list[int]:
    """The hidden words that lean to each team as much as this one, itself among them."""
    lies_open = guessed(state.turns)
    seen = [kind if at in lies_open else -1 for at, kind in enumerate(state.key)]
    leans = leanings(state.words, seen, state.turns)
    same = (leans == leans[:, [place]]).all(axis=0)
    return [at for at in np.flatnonzero(same).tolist() if at not in lies_open]


def _hope(state: State, team: int, quirks: bool) -> float:
    """By what lies where. A turn that is not over is played to its end as a greedy operative would,
    over all orders of the words that go with the clue."""
    if over(state, quirks):
        return shares(state, quirks)[team]
    turn, hidden = pending(state.turns), left(state)
    if turn is None:
        hope = _standing(hidden, team_of(state.turns))
    else:
        fits = fitting(state.words, turn.clue) - guessed(state.turns)
        order = (turn.team, 1 - turn.team, NEUTRAL, ASSASSIN)
        counts = tuple(sum(state.key[place] == kind for place in fits) for kind in order)
        wants = min(turn.number or len(fits), most_guesses(turn, quirks)) - len(turn.guesses)
        hope = _played_on(counts, wants, hidden, turn.team)
    return hope if team == RED else 1 - hope


@cache
def _played_on(fits: tuple[int, ...], wants: int, hidden: tuple[int, int], acting: int) -> float:
    """Red's hope where `acting` guesses at random among words that fit: so many of its own, of the
    other team, neutral and the assassin; `wants` more guesses."""
    total = sum(fits)
    if not hidden[acting]:
        return _lost(hidden, 1 - acting)
    if total == 0 or wants <= 0:
        return _standing(hidden, 1 - acting)
    own, other, neutral, assassin = fits
    hope = 0.0
    if own:
        fewer = (own - 1, other, neutral, assassin)
        hope += own * _played_on(fewer, wants - 1, _less(hidden, acting), acting)
    if other:
        hope += other * _standing(_less(hidden, 1 - acting), 1 - acting)
    if neutral:
        hope += neutral * _standing(hidden, 1 - acting)
    return (hope + assassin * (acting == BLUE)) / total


def _less(hidden: tuple[int, int], team: int) -> tuple[int, int]:
    red, blue = hidden
    return (red - 1, blue) if team == RED else (red, blue - 1)


@cache
def _standing(hidden: tuple[int, int], acting: int) -> float:
    """Red's hope between turns, where so many words are hidden and `acting` gives a clue."""
    if not min(hidden):
        return _lost(hidden, RED if hidden[RED] else BLUE)
    ahead = PER_WORD * (hidden[BLUE] - hidden[RED]) + PER_TURN * (1 if acting == RED else -1)
    chance = 1 / (1 + math.exp(-ahead))
    red, blue = hidden
    if_won = _lost((0, max(1, blue - red // 2)), BLUE)
    if_lost = _lost((max(1, red - blue // 2), 0), RED)
    return chance * if_won + (1 - chance) * if_lost


def _lost(hidden: tuple[int, int], loser: int) -> float:
    """Red's share where a team has lost with so many words hidden."""
    points = [COUNTS[team] - hidden[team] + BONUS * (team != loser) for team in (RED, BLUE)]
    return points[RED] / sum(points)
