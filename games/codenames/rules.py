"""Whose words lie where, who gives a clue and who guesses, and how it ends. Words are known here by
their places on the board alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

RED, BLUE, NEUTRAL, ASSASSIN = range(4)
COUNTS = (9, 8, 3, 1)
"""How many words there are of each kind: GameBench's 21 in place of the box's 25."""
CARDS = sum(COUNTS)
STOP = CARDS
"""The operative's action beside the places of the words."""
BONUS = 3
"""Points for winning."""
MOST_TURNS = 50
"""With paper bugs an operative may stop at once, and so turns have to end somewhere."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A clue, and what came of it. guesses: places in order. over: whether guessing has ended."""

    team: int
    clue: str
    number: int
    guesses: tuple[int, ...] = ()
    over: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """words: the board. key: the kind of each word. turns: so far, the last perhaps not over."""

    words: tuple[str, ...]
    key: tuple[int, ...]
    turns: tuple[Turn, ...] = ()


def pending(turns: Sequence[Turn]) -> Turn | None:
    """The turn in which somebody guesses now; None where a clue is to be given."""
    return turns[-1] if turns and not turns[-1].over else None


def team_of(turns: Sequence[Turn]) -> int:
    """The team that is to act: red begins."""
    if not turns:
        return RED
    return turns[-1].team ^ turns[-1].over


def guessed(turns: Sequence[Turn]) -> set[int]:
    """The places that lie open."""
    return {place for turn in turns for place in turn.guesses}


def left(state: State) -> tuple[int, int]:
    """How many words of red and of blue are still hidden."""
    counts = list(COUNTS)
    for place in guessed(state.turns):
        counts[state.key[place]] -= 1
    return counts[RED], counts[BLUE]


def most_guesses(turn: Turn, paper_bugs: bool) -> int:
    """How many a turn may have: one more than its number, and any number for 0. The published code
    counts 0 like every other number."""
    return CARDS if turn.number == 0 and not paper_bugs else turn.number + 1


def with_clue(state: State, clue: str, number: int) -> State:
    return replace(state, turns=(*state.turns, Turn(team_of(state.turns), clue, number)))


def with_guess(state: State, action: int, paper_bugs: bool) -> State:
    """The place guessed, or STOP."""
    turn = state.turns[-1]
    if action == STOP:
        after = replace(turn, over=True)
    else:
        guesses = (*turn.guesses, action)
        wrong = state.key[action] != turn.team
        over = wrong or len(guesses) == most_guesses(turn, paper_bugs)
        after = replace(turn, guesses=guesses, over=over)
    return replace(state, turns=(*state.turns[:-1], after))


def assassinated(state: State) -> bool:
    """Whether the last guess was the assassin."""
    last = state.turns[-1].guesses[-1:] if state.turns else ()
    return any(state.key[place] == ASSASSIN for place in last)


def winner(state: State, paper_bugs: bool) -> int | None:
    """The team that has won: all its words are open, or the other one met the assassin. In the
    published code whoever meets it by the last guess that the clue allows has won: the turn has
    passed before it asks whose turn it was."""
    if assassinated(state):
        turn = state.turns[-1]
        passed = paper_bugs and turn.number > 0 and len(turn.guesses) == turn.number + 1
        return turn.team if passed else 1 - turn.team
    return next((team for team, count in enumerate(left(state)) if count == 0), None)


def over(state: State, paper_bugs: bool) -> bool:
    """Whether the game has ended."""
    if winner(state, paper_bugs) is not None:
        return True
    return len(state.turns) == MOST_TURNS and state.turns[-1].over


def shares(state: State, paper_bugs: bool) -> tuple[float, float]:
    """Each team's share of all points, at the end: a point for every word of its own that is open,
    whoever guessed it, and BONUS for winning; a team that loses by the assassin has none. Halves
    where there is no point."""
    won, hidden = winner(state, paper_bugs), left(state)
    points = [COUNTS[team] - hidden[team] for team in (RED, BLUE)]
    if won is not None:
        if assassinated(state):
            points[1 - won] = 0
        points[won] += BONUS
    total = sum(points)
    return (points[RED] / total, points[BLUE] / total) if total else (0.5, 0.5)


def opened(state: State) -> Iterator[tuple[Turn, int]]:
    """Every guess in order, with its turn."""
    for turn in state.turns:
        for place in turn.guesses:
            yield turn, place
