"""Codenames' scripted players: they give and read clues by the table of associations."""

from __future__ import annotations

from collections.abc import Sequence

from games.codenames.clues import associated, wanted
from games.codenames.rules import ASSASSIN, STOP, State, Turn, guessed, team_of
from games.playouts import check_known

TOLD = {
    "random": "gives any association of a word on the board as a clue, guesses any word",
    "greedy": "gives the clue that goes with most words of its team and not with the assassin, "
    "whatever else it goes with; guesses the words that go with the clue, as many as its number "
    "says",
}
"""What each does, by name."""


def check(policy: str) -> None:
    """Raises ValueError for a policy that there is not."""
    check_known("codenames", policy, TOLD)


def fitting(board: tuple[str, ...], clue: str) -> set[int]:
    """The places of the words that go with a clue; none for a clue that the table lacks."""
    bits = associated(board).get(clue.casefold(), 0)
    return {place for place in range(len(board)) if bits >> place & 1}


def best_number(state: State, quirks: bool) -> int:
    """The number of the greedy spymaster's clue: as many words of its team as any clue goes with
    that does not go with the assassin."""
    return max((own for own, _ in _counts(state, quirks).values()), default=1)


def best_clues(state: State, number: int, quirks: bool) -> list[str]:
    """The clues of this number of the greedy spymaster, all equally good: for so many words of its
    team or, where there is none, for as many as can be, and of those the ones that go with the
    fewest other words. Any example will do where every clue goes with the assassin."""
    counts = _counts(state, quirks)
    if not counts:
        return list(wanted(state.words, quirks).examples)
    merits = {
        clue: (-max(0, number - own), -others, -abs(own - number))
        for clue, (own, others) in counts.items()
    }
    best = max(merits.values())
    return [clue for clue, merit in merits.items() if merit == best]


def _counts(state: State, quirks: bool) -> dict[str, tuple[int, int]]:
    """For every clue that goes with a hidden word of the team and not with the assassin, with how
    many of them it does and with how many other hidden words."""
    hidden = (1 << len(state.words)) - 1 - sum(1 << place for place in guessed(state.turns))
    own, barred = _bits(state, team_of(state.turns)) & hidden, _bits(state, ASSASSIN)
    known, found = associated(state.words), {}
    for clue in wanted(state.words, quirks).examples:
        meant = (known[clue] & own).bit_count()
        if meant and not known[clue] & barred:
            found[clue] = meant, (known[clue] & hidden).bit_count() - meant
    return found


def _bits(state: State, kind: int) -> int:
    return sum(1 << place for place, own in enumerate(state.key) if own == kind)


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
