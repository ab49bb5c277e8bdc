"""Codenames as text: rules, moves, and what each role sees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gauntlet.games.base import Fact
from gauntlet.games.codenames.rules import (
    ASSASSIN,
    BLUE,
    BONUS,
    COUNTS,
    MOST_TURNS,
    NEUTRAL,
    RED,
    STOP,
    State,
    Turn,
    guessed,
    most_guesses,
    team_of,
)
from gauntlet.games.teams import Roles

TITLE = "Codenames"
KINDS = ("red", "blue", "neutral", "assassin")
SPYMASTERS = (0, 2)
"""The roles that give clues, by team; add one for the operative."""
ROLES = Roles(
    names=(
        "the spymaster of red",
        "the operative of red",
        "the spymaster of blue",
        "the operative of blue",
    ),
    teams=(RED, RED, BLUE, BLUE),
)

SUMMARY = (
    "Codenames: two teams, red and blue, look for their own words on a board of "
    f"{sum(COUNTS)}. Only the spymasters know which word is whose. By clues of one word each "
    "spymaster leads the operative of its team to the team's words. The team whose words all lie "
    "open first wins; whoever opens the assassin loses at once."
)


def headings(paper_bugs: bool) -> dict[str, str]:
    red, blue, neutral, _ = COUNTS
    clue = (
        "A clue is any text without a comma and a number."
        if paper_bugs
        else "A clue is one word and a number. The word is of letters alone, neither begins nor "
        "ends with a word on the board, whether that lies open or not, and is no form or part of "
        "one. Nothing else is said."
    )
    zero = (
        "The number 0 allows one guess. An operative may stop at once."
        if paper_bugs
        else "The number 0 allows any number of guesses. An operative guesses at least once."
    )
    turns = f" After {MOST_TURNS} turns nobody has won." if paper_bugs else ""
    return {
        "Words": f"{red} words are red's, which begins, {blue} are blue's, {neutral} are neutral, "
        "and one is the assassin.",
        "Turns": "The teams take turns. In a turn the spymaster gives a clue, and then the "
        f"operative of its team guesses.{turns}",
        "Clues": f"{clue} The number says how many words of the team it goes with.",
        "Guesses": "A guessed word is opened, and all see whose it is. After a word of the own "
        "team the operative may guess again, up to the number of the clue plus one in all, or "
        f"stop. Any other word ends the turn. {zero}",
        "Scoring": "Each team has a point for every word of its own that lies open, whoever "
        f"guessed it, and the winner {BONUS} more; whoever opens the assassin has none. A team's "
        "score is its share of all points.",
    }


def option(role: int, action: int, board: Sequence[str]) -> str:
    if role in SPYMASTERS:
        return f"clue for {action}"
    return "stop guessing" if action == STOP else board[action]


def history(state: State, paper_bugs: bool) -> Iterator[str]:
    """Yield all moves, one clause each."""
    for turn in state.turns:
        team = KINDS[turn.team]
        yield f"{team}'s clue: {turn.clue} for {turn.number}"
        for place in turn.guesses:
            yield f"{team} guessed {state.words[place]}: {_kind(state.key[place])}"
        if _stopped_early(state, turn, paper_bugs):
            yield f"{team} stopped guessing"


def _stopped_early(state: State, turn: Turn, paper_bugs: bool) -> bool:
    """Whether a turn ended though another guess was allowed."""
    right = all(state.key[place] == turn.team for place in turn.guesses)
    return turn.over and right and len(turn.guesses) < most_guesses(turn, paper_bugs)


def facts(state: State, role: int, paper_bugs: bool) -> Iterator[Fact]:
    team, other = ROLES.teams[role], 1 - ROLES.teams[role]
    named = ROLES.names[role]
    first = "begins" if team == RED else "is second"
    yield Fact("You are", f"{named}; {KINDS[team]} has {COUNTS[team]} words and {first}", own=True)
    lies_open = guessed(state.turns)
    hidden = [place for place in range(len(state.words)) if place not in lies_open]
    if role in SPYMASTERS:
        for name, kind in (
            ("Your team's hidden words", team),
            ("The other team's hidden words", other),
            ("Hidden neutral words", NEUTRAL),
            ("The assassin", ASSASSIN),
        ):
            yield Fact(name, _word_list(state, hidden, kind), own=True)
    else:
        turn = state.turns[-1]
        yield Fact("The clue", _clue(turn, paper_bugs), own=True)
        yield Fact("Hidden words", ", ".join(state.words[place] for place in hidden))
    counts = [
        COUNTS[kind] - sum(state.key[place] == kind for place in lies_open) for kind in (0, 1)
    ]
    yield Fact("Words to find", f"your team {counts[team]}, the other team {counts[other]}")
    yield Fact("Open words", _open(state, lies_open))
    yield Fact("Turns so far", _turns(state))


def _word_list(state: State, places: Iterable[int], kind: int) -> str:
    return ", ".join(state.words[p] for p in places if state.key[p] == kind) or "none"


def _open(state: State, places: set[int]) -> str:
    kinds = [(name, _word_list(state, sorted(places), kind)) for kind, name in enumerate(KINDS)]
    return "; ".join(f"{name}: {told}" for name, told in kinds if told != "none") or "none"


def _clue(turn: Turn, paper_bugs: bool) -> str:
    made, most = len(turn.guesses), most_guesses(turn, paper_bugs)
    limit = "any number" if turn.number == 0 and not paper_bugs else str(most - made)
    return f"{turn.clue} for {turn.number}; guessed {made}, {limit} more allowed"


def _turns(state: State) -> str:
    return "\n".join(_turn(state, turn) for turn in state.turns) or "none"


def _turn(state: State, turn: Turn) -> str:
    guesses = ", ".join(
        f"{state.words[place]} ({_kind(state.key[place])})" for place in turn.guesses
    )
    return f"{KINDS[turn.team]}: {turn.clue} for {turn.number}; guessed {guesses or 'nothing'}"


def _kind(kind: int) -> str:
    return "the assassin" if kind == ASSASSIN else KINDS[kind]


def show_board(state: State) -> str:
    """Draw the board with the whole key; open words are in brackets."""
    lies_open = guessed(state.turns)
    lines = [
        f"{name}: "
        + ", ".join(
            f"[{word}]" if place in lies_open else word
            for place, word in enumerate(state.words)
            if state.key[place] == kind
        )
        for kind, name in enumerate(KINDS)
    ]
    return "\n".join([*lines, *(_turn(state, turn) for turn in state.turns[-1:])])


def to_act(turns: Sequence[Turn]) -> int:
    """Return the role that acts."""
    guesses = bool(turns) and not turns[-1].over
    return SPYMASTERS[team_of(turns)] + guesses
