"""Codenames' scripted players: they give and read clues by the table of associations.

Also samples the keys an operative considers possible, in proportion to how well the clues fit them,
and evaluates unfinished games for a team.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from gauntlet.games.codenames.clues import associated, clue_spec
from gauntlet.games.codenames.rules import (
    ASSASSIN,
    BLUE,
    BONUS,
    COUNTS,
    NEUTRAL,
    RED,
    STOP,
    State,
    Turn,
    guessed,
    hidden_counts,
    most_guesses,
    over,
    pending,
    shares,
    team_of,
    with_guess,
)
from gauntlet.games.playouts import check_known_policy

TOLD = {
    "random": "gives any association of a word on the board as a clue, guesses any word",
    "greedy": "gives the clue that goes with most words of its team and not with the assassin, "
    "whatever else it goes with; guesses the words that go with the clue, as many as its number "
    "says",
}
"""What each policy does, by name."""


def check(policy: str) -> None:
    """Raises ValueError for an unknown policy."""
    check_known_policy("codenames", policy, TOLD)


def fitting(board: tuple[str, ...], clue: str) -> set[int]:
    """Return the places of the words associated with a clue; none for a clue missing from the
    table."""
    bits = associated(board).get(clue.casefold(), 0)
    return {place for place in range(len(board)) if bits >> place & 1}


def best_number(state: State, paper_bugs: bool) -> int:
    """Return the number of the greedy spymaster's clue: the most words of its team that a clue not
    associated with the assassin fits."""
    return max((own for own, _ in _counts(state, paper_bugs).values()), default=1)


def best_clues(state: State, number: int, paper_bugs: bool) -> list[str]:
    """Return the greedy spymaster's equally good clues for this number: those that fit that many
    words of its team, or else as many as possible, and among them those that fit the fewest other
    words. Any example if every clue fits the assassin."""
    counts = _counts(state, paper_bugs)
    if not counts:
        return list(clue_spec(state.words, paper_bugs).examples)
    merits = {
        clue: (-max(0, number - own), -others, -abs(own - number))
        for clue, (own, others) in counts.items()
    }
    best = max(merits.values())
    return [clue for clue, merit in merits.items() if merit == best]


def _counts(state: State, paper_bugs: bool) -> dict[str, tuple[int, int]]:
    """Return, for every clue that fits a hidden word of the team and not the assassin, how many of
    them it fits and how many other hidden words."""
    hidden = (1 << len(state.words)) - 1 - sum(1 << place for place in guessed(state.turns))
    targets, barred = _bits(state, team_of(state.turns)) & hidden, _bits(state, ASSASSIN)
    clue_places, counts = associated(state.words), {}
    for clue in clue_spec(state.words, paper_bugs).examples:
        meant = (clue_places[clue] & targets).bit_count()
        if meant and not clue_places[clue] & barred:
            counts[clue] = meant, (clue_places[clue] & hidden).bit_count() - meant
    return counts


def _bits(state: State, kind: int) -> int:
    return sum(1 << place for place, own in enumerate(state.key) if own == kind)


def guess_chances(
    board: tuple[str, ...], turns: Sequence[Turn], options: Sequence[int]
) -> tuple[float, ...]:
    """Return the probability of each option of the greedy operative: any word that fits the clue,
    up to its number; then it stops. If it must guess and knows none, it takes any word."""
    turn = turns[-1]
    fits = fitting(board, turn.clue) & set(options)
    wants = not turn.number or len(turn.guesses) < turn.number
    if fits and wants:
        best = fits
    elif STOP in options:
        best = {STOP}
    else:
        best = set(options)
    return tuple((option in best) / len(best) for option in options)


SURE = 0.97
"""Upper limit of the trust in a clue, as a probability for a word."""
EVEN = math.log(0.4 / 0.6)
"""Log odds that a hidden word is a given team's without a clue about it."""
SPARED = 3.0
"""Log of how much less likely the assassin fits a clue."""


def sample_key(
    board: tuple[str, ...],
    visible: Sequence[int],
    turns: Sequence[Turn],
    rng: np.random.Generator,
) -> tuple[int, ...]:
    """Return a key consistent with all kinds in `visible`, in which -1 is hidden. Hidden kinds are
    assigned one after the other to the words with the highest leaning plus Gumbel noise, which
    draws in proportion without replacement."""
    key = list(visible)
    hidden = [place for place, kind in enumerate(visible) if kind < 0]
    leans = leanings(board, visible, turns)
    for kind in (RED, BLUE, ASSASSIN, NEUTRAL):
        count = COUNTS[kind] - sum(known == kind for known in visible)
        drawn = leans[kind, hidden] + rng.gumbel(size=len(hidden))
        sampled = {hidden[at] for at in np.argsort(-drawn, kind="stable")[:count].tolist()}
        for place in sampled:
            key[place] = kind
        hidden = [place for place in hidden if place not in sampled]
    return tuple(key)


def leanings(board: tuple[str, ...], visible: Sequence[int], turns: Sequence[Turn]) -> np.ndarray:
    """Return how much each word leans to each kind given the clues, float64 of shape (kinds,
    words). A clue's number is how many words of the team it fits, so it gives a share of those
    still hidden."""
    leans = np.zeros((len(COUNTS), len(board)))
    before: set[int] = set()
    for turn in turns:
        fits = fitting(board, turn.clue) - before
        before |= set(turn.guesses)
        hidden = [place for place in fits if visible[place] < 0]
        if hidden:
            found = sum(visible[place] == turn.team for place in fits)
            share = ((turn.number or len(fits)) - found) / len(hidden)
            share = min(SURE, max(1 - SURE, share))
            lean = math.log(share / (1 - share)) - EVEN
            leans[turn.team, hidden] += lean
            leans[1 - turn.team, hidden] -= max(0.0, lean)
            leans[ASSASSIN, hidden] -= SPARED
    return leans


PER_WORD, PER_TURN = 0.45, 0.4
"""What one word fewer to find, and having the turn, add to the log odds of winning."""


def worth(state: State, team: int, paper_bugs: bool) -> float:
    """Return the value of the state for a team, 0 to 1: its score at the end.

    After a guess it is the mean over all words that the clues do not distinguish from the one
    guessed. They look alike to the operative, and a search over few keys would otherwise overrate
    the lucky ones.
    """
    if over(state, paper_bugs):
        return shares(state, paper_bugs)[team]
    if not state.turns or not state.turns[-1].guesses:
        return _hope(state, team, paper_bugs)
    *turns, last = state.turns
    before = replace(last, guesses=last.guesses[:-1], over=False)
    earlier = replace(state, turns=(*turns, before))
    equivalent = _equal_words(earlier, last.guesses[-1])
    return sum(
        _hope(with_guess(earlier, place, paper_bugs), team, paper_bugs) for place in equivalent
    ) / len(equivalent)


def _equal_words(state: State, place: int) -> list[int]:
    """Return the hidden words that lean to each team as much as this one, itself included."""
    lies_open = guessed(state.turns)
    seen = [kind if at in lies_open else -1 for at, kind in enumerate(state.key)]
    leans = leanings(state.words, seen, state.turns)
    same = (leans == leans[:, [place]]).all(axis=0)
    return [at for at in np.flatnonzero(same).tolist() if at not in lies_open]


def _hope(state: State, team: int, paper_bugs: bool) -> float:
    """Return the value given which words are open. An unfinished turn is played on as a greedy
    operative would, averaged over all orders of the words that fit the clue."""
    if over(state, paper_bugs):
        return shares(state, paper_bugs)[team]
    turn, hidden = pending(state.turns), hidden_counts(state)
    if turn is None:
        hope = _turn_value(hidden, team_of(state.turns))
    else:
        fits = fitting(state.words, turn.clue) - guessed(state.turns)
        order = (turn.team, 1 - turn.team, NEUTRAL, ASSASSIN)
        counts = tuple(sum(state.key[place] == kind for place in fits) for kind in order)
        wants = min(turn.number or len(fits), most_guesses(turn, paper_bugs)) - len(turn.guesses)
        hope = _played_on(counts, wants, hidden, turn.team)
    return hope if team == RED else 1 - hope


@cache
def _played_on(fits: tuple[int, ...], needed: int, hidden: tuple[int, int], acting: int) -> float:
    """Return red's value if `acting` guesses at random among the words that fit: counts of its own,
    the other team's, neutral and assassin; `wants` more guesses."""
    total = sum(fits)
    if not hidden[acting]:
        return _loss_value(hidden, 1 - acting)
    if total == 0 or needed <= 0:
        return _turn_value(hidden, 1 - acting)
    own, other, neutral, assassin = fits
    hope = 0.0
    if own:
        fewer = (own - 1, other, neutral, assassin)
        hope += own * _played_on(fewer, needed - 1, _decrease(hidden, acting), acting)
    if other:
        hope += other * _turn_value(_decrease(hidden, 1 - acting), 1 - acting)
    if neutral:
        hope += neutral * _turn_value(hidden, 1 - acting)
    return (hope + assassin * (acting == BLUE)) / total


def _decrease(hidden: tuple[int, int], team: int) -> tuple[int, int]:
    red, blue = hidden
    return (red - 1, blue) if team == RED else (red, blue - 1)


@cache
def _turn_value(hidden: tuple[int, int], acting: int) -> float:
    """Return red's value between turns with these counts of hidden words, when `acting` gives a
    clue."""
    if not min(hidden):
        return _loss_value(hidden, RED if hidden[RED] else BLUE)
    ahead = PER_WORD * (hidden[BLUE] - hidden[RED]) + PER_TURN * (1 if acting == RED else -1)
    chance = 1 / (1 + math.exp(-ahead))
    red, blue = hidden
    if_won = _loss_value((0, max(1, blue - red // 2)), BLUE)
    if_lost = _loss_value((max(1, red - blue // 2), 0), RED)
    return chance * if_won + (1 - chance) * if_lost


def _loss_value(hidden: tuple[int, int], loser: int) -> float:
    """Return red's share if a team has lost with these counts of hidden words."""
    points = [COUNTS[team] - hidden[team] + BONUS * (team != loser) for team in (RED, BLUE)]
    return points[RED] / sum(points)
