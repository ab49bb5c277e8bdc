"""Codenames: the Game class, and the game as text: rules, moves, and what each role sees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gauntlet.games.base import (
    Action,
    Fact,
    Observation,
    TextAction,
    TextMove,
    only_move,
)
from gauntlet.games.capabilities import MATCH_SCORE, Measure, full_rules
from gauntlet.games.codenames import players, rules
from gauntlet.games.codenames.clues import NOUNS, clue_spec
from gauntlet.games.codenames.players import sample_key, worth
from gauntlet.games.codenames.rules import (
    ASSASSIN,
    BLUE,
    BONUS,
    CARDS,
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


@dataclass(frozen=True)
class View:
    """What a role knows: the kinds of the words, -1 if unknown, and all turns."""

    role: int
    words: tuple[str, ...]
    seen: tuple[int, ...]
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class Codenames:
    """Red against blue, each a spymaster and an operative, as in GameBench (arXiv 2406.06613).

    num_seats: 2, one per team, or 4, one per role. paper_bugs: True plays by the published code:
    clues are not checked, a 0 allows one guess, guessing is optional, and a team that meets
    the assassin with its last allowed guess wins.

    An action is a clue's number, the place of a word, or `STOP`. Raises ValueError for other seats.
    """

    num_seats: int = 2
    paper_bugs: bool = False

    policies: ClassVar[tuple[str, ...]] = tuple(players.TOLD)
    told_policies: ClassVar[Mapping[str, str]] = players.TOLD
    measures: ClassVar[tuple[Measure, ...]] = (MATCH_SCORE,)
    rules_summary: ClassVar[str] = SUMMARY

    def __post_init__(self) -> None:
        ROLES.check("codenames", self.num_seats)

    @property
    def rules_headings(self) -> Mapping[str, str]:
        return headings(self.paper_bugs)

    @property
    def seatings(self) -> tuple[tuple[int, ...], ...]:
        return ROLES.seatings(self.num_seats)

    def deal(self, rng: np.random.Generator) -> State:
        board = rng.choice(len(NOUNS), CARDS, replace=False).tolist()
        key = rng.permutation(np.repeat(np.arange(len(COUNTS)), COUNTS)).tolist()
        return State(tuple(NOUNS[noun] for noun in board), tuple(key))

    def to_move(self, state: State) -> tuple[int, ...]:
        if rules.over(state, self.paper_bugs):
            return ()
        return (ROLES.seat(self.num_seats, to_act(state.turns)),)

    def legal(self, state: State, seat: int) -> tuple[Action, ...]:
        return self._options(state) if self.to_move(state) == (seat,) else ()

    def _options(self, state: State) -> tuple[Action, ...]:
        """Return clues for up to the team's number of hidden words; or the hidden words, and STOP
        once a word has been guessed."""
        turn = rules.pending(state.turns)
        if turn is None:
            most = rules.hidden_counts(state)[rules.team_of(state.turns)]
            spec = clue_spec(state.words, self.paper_bugs)
            return tuple(TextAction(number, spec) for number in range(most + 1))
        lies_open = rules.guessed(state.turns)
        hidden = tuple(place for place in range(CARDS) if place not in lies_open)
        return (*hidden, STOP) if turn.guesses or self.paper_bugs else hidden

    def play(self, state: State, moves: Sequence[Action]) -> State:
        move = only_move(self, state, moves, self._options(state))
        if isinstance(move, TextMove):
            return rules.with_clue(state, move.text, int(move))
        return rules.with_guess(state, int(move), self.paper_bugs)

    def observe(self, state: State, seat: int) -> Observation:
        role = to_act(state.turns)
        lies_open = rules.guessed(state.turns)
        knows_all = role in SPYMASTERS
        visible = tuple(
            kind if knows_all or place in lies_open else -1 for place, kind in enumerate(state.key)
        )
        return Observation(
            game=TITLE,
            seat=seat,
            rules=full_rules(self),
            facts=tuple(facts(state, role, self.paper_bugs)),
            history=tuple(history(state, self.paper_bugs)),
            options=tuple(
                option(role, int(action), state.words) for action in self.legal(state, seat)
            ),
            view=View(role, state.words, visible, state.turns),
            role=ROLES.role(self.num_seats, role),
            team=ROLES.team(self.num_seats, role),
        )

    def returns(self, state: State) -> tuple[float, ...]:
        """Twice the score, minus 1."""
        return tuple(2 * score - 1 for score in self._scores(state))

    def measure(self, state: State) -> Mapping[str, Sequence[float]]:
        return {MATCH_SCORE.name: self._scores(state)}

    def _scores(self, state: State) -> tuple[float, ...]:
        return ROLES.each_seat(self.num_seats, rules.shares(state, self.paper_bugs))

    def show(self, state: State) -> str:
        return show_board(state)

    def sample(self, observation: Observation, rng: np.random.Generator) -> State:
        """Return a state consistent with what the role knows; for an operative the key is drawn
        from its posterior given the clues."""
        view: View = observation.view
        if view.role in SPYMASTERS:
            return State(view.words, view.seen, view.turns)
        key = sample_key(view.words, view.seen, view.turns, rng)
        return State(view.words, key, view.turns)

    def probabilities(self, policy: str, observation: Observation) -> tuple[float, ...]:
        players.check(policy)
        options = len(observation.options)
        if policy == "random":
            return (1 / options,) * options
        view: View = observation.view
        if view.role in SPYMASTERS:
            state = State(view.words, view.seen, view.turns)
            number = players.best_number(state, self.paper_bugs)
            return tuple(float(option == number) for option in range(options))
        opened = rules.guessed(view.turns)
        places = [place for place in range(CARDS) if place not in opened]
        actions = [*places, STOP] if len(places) < options else places
        return players.guess_chances(view.words, view.turns, actions)

    def words(
        self, policy: str, observation: Observation, option: int, rng: np.random.Generator
    ) -> str:
        """Return a clue for the number of the option."""
        view: View = observation.view
        state = State(view.words, view.seen, view.turns)
        clues = players.best_clues(state, option, self.paper_bugs)
        return clues[int(rng.integers(len(clues)))]

    def worth(self, state: State, seat: int) -> float:
        team = seat if self.num_seats == 2 else ROLES.teams[seat]
        return worth(state, team, self.paper_bugs)
