"""Codenames' scripted players: they give and read clues by the table of associations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from games.codenames.clues import associated, wanted
from games.codenames.rules import (
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
    left,
    most_guesses,
    over,
    pending,
    shares,
    team_of,
)

TOLD = {
    "random": "gives any association of a word on the board as a clue, guesses any word",
    "greedy": "gives the clue that goes with most words of its team and no others; guesses the "
    "words that go with the clue, as many as its number says",
}
"""What each does, by name."""

PER_WORD, PER_TURN = 0.45, 0.4
"""What a word less to find, and the turn, add to the logarithm of the odds of winning."""


def check(policy: str) -> None:
    """Raises ValueError for a policy that there is not."""
    if policy not in TOLD:
        raise ValueError(f"codenames has the policies {', '.join(TOLD)}, not {policy!r}")


def fitting(board: tuple[str, ...], clue: str) -> set[int]:
    """The places of the words that go with a clue; none for a clue that the table lacks."""
    bits = associated(board).get(clue.casefold(), 0)
    return {place for place in range(len(board)) if bits >> place & 1}


def best_number(state: State, quirks: bool) -> int:
    """The number of the greedy spymaster's clue."""
    own = left(state)[team_of(state.turns)]
    found = [_merit(state, clue, None) for clue in _candidates(state, quirks)]
    merit = max(found, default=1.0)
    return int(min(own, max(1.0, merit)))


def best_clues(state: State, number: int, quirks: bool) -> list[str]:
    """The greedy spymaster's clues of this number, all equally good."""
    clues = _candidates(state, quirks) or list(wanted(state.words, quirks).examples)
    merits = [_merit(state, clue, number) for clue in clues]
    top = max(merits)
    return [clue for clue, merit in zip(clues, merits, strict=True) if merit == top]


def _candidates(state: State, quirks: bool) -> list[str]:
    """The associations that go with a hidden word of the team and not with the assassin."""
    hidden = _hidden_bits(state)
    own = _bits(state, team_of(state.turns)) & hidden
    barred = _bits(state, ASSASSIN)
    known = associated(state.words)
    fit = wanted(state.words, quirks).examples
    return [clue for clue in fit if known[clue] & own and not known[clue] & barred]


def _merit(state: State, clue: str, number: int | None) -> float:
    """The words of the team that go with a clue, as far as `number` counts them, less twice the
    others; with a number less a little for every word that it is off."""
    hidden = associated(state.words)[clue] & _hidden_bits(state)
    own = (hidden & _bits(state, team_of(state.turns))).bit_count()
    others = hidden.bit_count() - own
    if number is None:
        return own - 2 * others
    return min(own, number) - 2 * others - 0.1 * abs(own - number)


def _bits(state: State, kind: int) -> int:
    return sum(1 << place for place, own in enumerate(state.key) if own == kind)


def _hidden_bits(state: State) -> int:
    return (1 << len(state.words)) - 1 - sum(1 << place for place in guessed(state.turns))


def guess_chances(
    board: tuple[str, ...], turns: Sequence[Turn], options: Sequence[int]
) -> tuple[float, ...]:
    """The chance of each option of the greedy operative: any word that goes with the clue, as many
    as its number says; then it stops. One that must guess and knows none takes any word."""
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


def worth(state: State, team: int, quirks: bool) -> float:
    """What a team may hope for, from 0 to 1. A turn that is not over is played to its end as a
    greedy operative would, over all orders of the words that go with the clue."""
    if over(state, quirks):
        return shares(state, quirks)[team]
    turn, hidden = pending(state.turns), left(state)
    if turn is None:
        acting = team_of(state.turns)
        hope = _standing(hidden, acting)
    else:
        acting = turn.team
        fits = fitting(state.words, turn.clue) - guessed(state.turns)
        counts = tuple(
            sum(state.key[place] == kind for place in fits)
            for kind in (acting, 1 - acting, NEUTRAL, ASSASSIN)
        )
        wants = min(turn.number or len(fits), most_guesses(turn, quirks)) - len(turn.guesses)
        hope = _played_on(counts, wants, hidden, acting)
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
    chance = 1 / (1 + np.exp(-ahead))
    red, blue = hidden
    if_won = _lost((0, max(1, blue - red // 2)), BLUE)
    if_lost = _lost((max(1, red - blue // 2), 0), RED)
    return float(chance * if_won + (1 - chance) * if_lost)


def _lost(hidden: tuple[int, int], loser: int) -> float:
    """Red's share where a team has lost with so many words hidden."""
    points = [COUNTS[team] - hidden[team] + BONUS * (team != loser) for team in (RED, BLUE)]
    return points[RED] / sum(points)
