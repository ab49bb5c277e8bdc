"""Codenames' rules: whose words lie where, who gives a clue and who guesses, and how the game ends.
Words appear only as places on the board."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

RED, BLUE, NEUTRAL, ASSASSIN = range(4)
COUNTS = (9, 8, 3, 1)
"""Number of words of each kind: GameBench's 21 instead of the box's 25."""
CARDS = sum(COUNTS)
STOP = CARDS
"""The operative's action besides the places of the words."""
BONUS = 3
"""Points for winning."""
MOST_TURNS = 50
"""With paper bugs an operative may stop at once, so the number of turns needs a limit."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A clue and its guesses. guesses: places in order. over: whether guessing has ended."""

    team: int
    clue: str
    number: int
    guesses: tuple[int, ...] = ()
    over: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """words: the board. key: the kind of each word. turns: so far; the last may be unfinished."""

    words: tuple[str, ...]
    key: tuple[int, ...]
    turns: tuple[Turn, ...] = ()


def pending(turns: Sequence[Turn]) -> Turn | None:
    """Return the turn in which a guess is due; None if a clue is due."""
    return turns[-1] if turns and not turns[-1].over else None


def team_of(turns: Sequence[Turn]) -> int:
    """Return the team to act; red begins."""
    if not turns:
        return RED
    return turns[-1].team ^ turns[-1].over


def guessed(turns: Sequence[Turn]) -> set[int]:
    """Return the open places."""
    return {place for turn in turns for place in turn.guesses}


def hidden_counts(state: State) -> tuple[int, int]:
    """Return how many words of red and of blue are still hidden."""
    counts = list(COUNTS)
    for place in guessed(state.turns):
        counts[state.key[place]] -= 1
    return counts[RED], counts[BLUE]


def most_guesses(turn: Turn, paper_bugs: bool) -> int:
    """Return how many guesses a turn allows: its number plus one, and any number for 0. The
    published code treats 0 like every other number."""
    return CARDS if turn.number == 0 and not paper_bugs else turn.number + 1


def with_clue(state: State, clue: str, number: int) -> State:
    return replace(state, turns=(*state.turns, Turn(team_of(state.turns), clue, number)))


def with_guess(state: State, action: int, paper_bugs: bool) -> State:
    """Return the state after a guess of a place, or STOP."""
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
    """Return the team that has won: all its words are open, or the other one met the assassin. In
    the published code a team that meets the assassin with the last guess that its clue allows wins,
    since the turn passes before the code checks whose turn it was."""
    if assassinated(state):
        turn = state.turns[-1]
        passed = paper_bugs and turn.number > 0 and len(turn.guesses) == turn.number + 1
        return turn.team if passed else 1 - turn.team
    return next((team for team, count in enumerate(hidden_counts(state)) if count == 0), None)


def over(state: State, paper_bugs: bool) -> bool:
    if winner(state, paper_bugs) is not None:
        return True
    return len(state.turns) == MOST_TURNS and state.turns[-1].over


def shares(state: State, paper_bugs: bool) -> tuple[float, float]:
    """Return each team's share of all points at the end: one per open word of its own, by either
    team, and BONUS for winning; a team that loses by the assassin has none. Halves if there
    are no points."""
    won, hidden = winner(state, paper_bugs), hidden_counts(state)
    points = [COUNTS[team] - hidden[team] for team in (RED, BLUE)]
    if won is not None:
        if assassinated(state):
            points[1 - won] = 0
        points[won] += BONUS
    total = sum(points)
    return (points[RED] / total, points[BLUE] / total) if total else (0.5, 0.5)


def guesses_made(state: State) -> Iterator[tuple[Turn, int]]:
    """Yield every guess in order, with its turn."""
    for turn in state.turns:
        for place in turn.guesses:
            yield turn, place
