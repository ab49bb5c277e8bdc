"""OpenSpiel games as text: rules, situation, moves, and returns.

A seat chooses from a list of options or, if there are too many, types a move as OpenSpiel writes
it.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from gauntlet.games.base import Action, TextAction, TextMove, TextSpec, move_fault
from gauntlet.games.openspiel import engine
from gauntlet.games.openspiel.engine import GameNotes

SHOWN = 3
"""Number of example moves in a prompt."""
TYPED = "type a move"
"""The name of the single option if moves are typed."""


@dataclass(frozen=True)
class Choice:
    """The options of `seat` in OpenSpiel's state `live`, listed if there are at most `listed`."""

    live: Any
    seat: int
    listed: int

    @cached_property
    def actions(self) -> tuple[int, ...]:
        """OpenSpiel's numbers of the legal actions, ascending."""
        return tuple(self.live.legal_actions(self.seat))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """A unique name for each action."""
        named = [engine.name(self.live, self.seat, action) for action in self.actions]
        return disambiguate(named, self.actions)

    @cached_property
    def legal(self) -> tuple[Action, ...]:
        if len(self.actions) <= self.listed:
            return self.actions
        return (TextAction(self.live.num_distinct_actions(), move_spec(self.names)),)

    @property
    def options(self) -> tuple[str, ...]:
        """The name of each legal option."""
        return self.names if self.legal == self.actions else (TYPED,)

    def fault(self, move: Action) -> str:
        """Return why a move is not possible, as the end of a sentence; "" if it is."""
        if isinstance(move, TextMove) or self.legal != self.actions:
            return move_fault(move, self.legal)
        return "" if move in self.actions else "is not legal"

    def action(self, move: Action) -> int:
        """Return OpenSpiel's number of a valid move."""
        if isinstance(move, TextMove):
            return self.actions[self.names.index(matching_name(move.text, self.names))]
        return int(move)


@dataclass(frozen=True, slots=True)
class Moves(TextSpec):
    """Accepts the name of a legal move. Case and spaces matter only if two moves differ by them.
    The examples are all legal moves, so that a random example is a uniform move."""

    def fault(self, text: str) -> str:
        if matching_name(text, self.examples):
            return ""
        return f"is none of the {len(self.examples)} legal moves"

    def __post_init__(self) -> None:
        """Each example is a legal move, so there is nothing to check."""


def move_spec(names: Sequence[str]) -> Moves:
    """Return the spec of a typed move. The first examples appear in prompts; they are drawn at
    random from a seed that depends only on the names, which the seat knows, so nothing hidden
    leaks."""
    sample = random.Random("\n".join(names)).sample(names, min(SHOWN, len(names)))
    shown = set(sample)
    ask = f"one of {len(names)} legal moves, written as in {', '.join(map(repr, sample))}"
    examples = (*sample, *(name for name in names if name not in shown))
    return Moves(ask, examples, max_chars=max(map(len, names)))


def matching_name(text: str, names: Sequence[str]) -> str:
    """Return the name that the text stands for; "" if there is none, or several."""
    if text in names:
        return text
    found = [one for one in names if _normalized(one) == _normalized(text)]
    return found[0] if len(found) == 1 else ""


def _normalized(text: str) -> str:
    return re.sub(r"\s", "", text).casefold()


def disambiguate(names: Sequence[str], actions: Sequence[int]) -> tuple[str, ...]:
    """Return the names, with OpenSpiel's number appended to ambiguous ones."""
    often: Mapping[str, int] = Counter(names)
    return tuple(
        one if one and often[one] == 1 else f"{one} (action {action})".strip()
        for one, action in zip(names, actions, strict=True)
    )


EMPTY = ("", "Non-terminal", "Terminal")
"""Descriptions that say nothing (apart from who observes)."""
MOST_PAYOFFS = 64
"""Maximum number of joint outcomes in a payoff table."""
LAST = 40
"""Maximum number of moves in a drawing of a state."""
BEGUN = "the game has begun; moves are hidden, and each seat is told what it knows of them"


def rules(game: Any, notes: GameNotes, settings: Mapping[str, Any]) -> str:
    """Return the rules on one line: from the notes if there are any, then what OpenSpiel says of
    the game. settings: OpenSpiel's parameters that the user has set; the notes are on the usual
    ones."""
    parts = [notes.rules or _general(game)]
    if notes.rules and settings:
        usual = game.get_type().parameter_specification
        named = (f"{key} is {one} (usually {usual.get(key)})" for key, one in settings.items())
        parts.append(f"Here {', '.join(named)}, whatever these rules say.")
    if notes.reading:
        parts.append(f"How the situation is written: {notes.reading}")
    if notes.slip:
        parts.append(f"Note: {notes.slip}")
    return " ".join((*parts, _ending(game)))


def _general(game: Any) -> str:
    kind, types = game.get_type(), engine.spiel().GameType
    together = kind.dynamics == types.Dynamics.SIMULTANEOUS
    hidden = kind.information == types.Information.IMPERFECT_INFORMATION
    sentences = [
        f"This is {kind.long_name}, by its usual rules as OpenSpiel has them ({game}).",
        f"It has {game.num_players()} players, numbered from 0, who "
        + ("choose at once." if together else "choose in turn."),
    ]
    if engine.has_chance(game):
        sentences.append("There is chance in it.")
    if hidden:
        sentences.append("Players do not see all that others have or do.")
    sentences.append("Whoever is to move takes one of the options.")
    return " ".join(" ".join(sentences).split())


def _ending(game: Any) -> str:
    """Return what the players get at the end, and how a match is won."""
    if won_or_lost(game):
        return "In the end a win is worth 1, a loss -1, and a draw 0 where there can be one."
    low, high = game.min_utility(), game.max_utility()
    text = f"In the end each player gets a number of points from {low:g} to {high:g}; more is"
    text += " better. "
    if identical_payoffs(game):
        return text + "All players get the same, so they win and lose together."
    if zero_sum(game):
        return text + "What one gets the others lose."
    return text + "The points of the players need not add up to anything."


def zero_sum(game: Any) -> bool:
    return bool(game.get_type().utility == engine.spiel().GameType.Utility.ZERO_SUM)


def identical_payoffs(game: Any) -> bool:
    """Return whether all seats get the same."""
    return bool(game.get_type().utility == engine.spiel().GameType.Utility.IDENTICAL)


def won_or_lost(game: Any) -> bool:
    """Return whether two seats play a zero-sum game with utilities from -1 to 1."""
    whole = (game.min_utility(), game.max_utility()) == (-1.0, 1.0)
    return whole and zero_sum(game) and int(game.num_players()) == 2


def returns(game: Any, utilities: Sequence[float]) -> tuple[float, ...]:
    """Return the final utilities as returns, scaled as `OpenSpiel` describes."""
    low, high = game.min_utility(), game.max_utility()
    if zero_sum(game):
        values = [one / max(abs(low), abs(high)) for one in utilities]
    elif identical_payoffs(game):
        values = [2 * (one - low) / (high - low) - 1 for one in utilities]
    else:
        most, least = max(utilities), min(utilities)
        values = [(one - (least if one == most else most)) / (high - low) for one in utilities]
    return tuple(max(-1.0, min(1.0, float(one))) for one in values)


def situation(game: Any, notes: GameNotes, live: Any, seat: int) -> str:
    """Return OpenSpiel's text of what the seat knows; "" if it says nothing. With perfect
    information it is the current situation, else also how it came about."""
    kind, types = game.get_type(), engine.spiel().GameType
    hidden = kind.information == types.Information.IMPERFECT_INFORMATION
    wants = notes.tells or ("information" if hidden else "observation")
    information = wants == "information" or not kind.provides_observation_string
    if information and kind.provides_information_state_string:
        text = live.information_state_string(seat)
    else:
        text = live.observation_string(seat)
    text = text.removeprefix(f"Observing player: {seat}. ")
    return "" if text.strip() in EMPTY else _shaped(text)


def _shaped(text: str) -> str:
    """Strip empty lines around the text and spaces at line ends."""
    lines = [line.rstrip() for line in text.splitlines()]
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    return "\n".join(lines) if len(lines) > 1 else "".join(lines).strip()


def history(
    moves: Sequence[tuple[int, str]], open_to_all: bool, notes: GameNotes
) -> tuple[str, ...]:
    """Return the moves that every seat has seen: all of a game's, or none."""
    if open_to_all or notes.public:
        return tuple(f"player {seat}: {name}" for seat, name in moves)
    return (BEGUN,)


def payoffs(game: Any) -> str:
    """Return the payoffs of each joint first choice, one line each, for a simultaneous game without
    chance that pays at once and has few outcomes; "" otherwise."""
    live = game.new_initial_state()
    if engine.has_chance(game) or not live.is_simultaneous_node():
        return ""
    options = [live.legal_actions(seat) for seat in range(game.num_players())]
    outcomes = list(product(*options))
    once = game.max_game_length() == 1 or game.get_type().short_name == "repeated_game"
    if len(outcomes) > MOST_PAYOFFS or not once:
        return ""
    return "\n".join(_payoff(live, outcome) for outcome in outcomes)


def _payoff(live: Any, outcome: Sequence[int]) -> str:
    after = live.clone()
    after.apply_actions(list(outcome))
    chosen = [engine.name(live, seat, action) for seat, action in enumerate(outcome)]
    paid = [f"{worth:g}" for worth in after.rewards()]
    return (
        ", ".join(f"player {seat} {name}" for seat, name in enumerate(chosen))
        + f": {', '.join(f'player {seat} gets {worth}' for seat, worth in enumerate(paid))}"
    )
