"""A game of OpenSpiel in words: its rules, what a seat is told, what the moves were, and what the
end is worth."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from games.openspiel import engine
from games.openspiel.known import Known

EMPTY = ("", "Non-terminal", "Terminal")
"""Situations that say nothing, but for who observes."""
MOST_PAYOFFS = 64
"""Outcomes of one choice of all that are told as a table of payoffs."""
LAST = 40
"""Moves that a drawing of a state tells."""
BEGUN = "the game has begun; moves are hidden, and each seat is told what it knows of them"


def rules(game: Any, known: Known) -> str:
    """The rules on one line: own words where there are, then what OpenSpiel says of the game."""
    parts = [known.rules or _general(game)]
    if known.reading:
        parts.append(f"How the situation is written: {known.reading}")
    if known.slip:
        parts.append(f"Note: {known.slip}")
    return " ".join((*parts, _ending(game)))


def _general(game: Any) -> str:
    kind, types = game.get_type(), engine.spiel().GameType
    together = kind.dynamics == types.Dynamics.SIMULTANEOUS
    hidden = kind.information == types.Information.IMPERFECT_INFORMATION
    told = [
        f"This is {kind.long_name}, by its usual rules as OpenSpiel has them ({game}).",
        f"It has {game.num_players()} players, numbered from 0, who "
        + ("choose at once." if together else "choose in turn."),
    ]
    if engine.lucky(game):
        told.append("There is chance in it.")
    if hidden:
        told.append("Players do not see all that others have or do.")
    told.append("Whoever is to move takes one of the options.")
    return " ".join(" ".join(told).split())


def _ending(game: Any) -> str:
    """What the players get in the end, and how a match is won."""
    if won_or_lost(game):
        return "In the end a win is worth 1, a loss -1, and a draw 0 where there can be one."
    low, high = game.min_utility(), game.max_utility()
    told = f"In the end each player gets a number of points from {low:g} to {high:g}; more is"
    told += " better. "
    if together(game):
        return told + "All players get the same, so they win and lose together."
    if zero_sum(game):
        return told + "What one gets the others lose."
    return told + "The points of the players need not add up to anything."


def zero_sum(game: Any) -> bool:
    return bool(game.get_type().utility == engine.spiel().GameType.Utility.ZERO_SUM)


def together(game: Any) -> bool:
    """Whether all seats get the same."""
    return bool(game.get_type().utility == engine.spiel().GameType.Utility.IDENTICAL)


def won_or_lost(game: Any) -> bool:
    """Whether two seats play for 1, which the loser pays."""
    whole = (game.min_utility(), game.max_utility()) == (-1.0, 1.0)
    return whole and zero_sum(game) and int(game.num_players()) == 2


def returns(game: Any, utilities: Sequence[float]) -> tuple[float, ...]:
    """The utilities of the end as `OpenSpiel` says."""
    low, high = game.min_utility(), game.max_utility()
    if zero_sum(game):
        found = [one / max(abs(low), abs(high)) for one in utilities]
    elif together(game):
        found = [2 * (one - low) / (high - low) - 1 for one in utilities]
    else:
        most, least = max(utilities), min(utilities)
        found = [(one - (least if one == most else most)) / (high - low) for one in utilities]
    return tuple(max(-1.0, min(1.0, float(one))) for one in found)


def situation(game: Any, known: Known, live: Any, seat: int) -> str:
    """OpenSpiel's own words for what the seat knows; "" where they say nothing. Where all is open
    that is how things stand, else also how they came about."""
    kind, types = game.get_type(), engine.spiel().GameType
    hidden = kind.information == types.Information.IMPERFECT_INFORMATION
    wants = known.tells or ("information" if hidden else "observation")
    information = wants == "information" or not kind.provides_observation_string
    if information and kind.provides_information_state_string:
        told = live.information_state_string(seat)
    else:
        told = live.observation_string(seat)
    told = told.removeprefix(f"Observing player: {seat}. ")
    return "" if told.strip() in EMPTY else _shaped(told)


def _shaped(text: str) -> str:
    """Without the empty lines around, and space at the ends of lines."""
    lines = [line.rstrip() for line in text.splitlines()]
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    return "\n".join(lines) if len(lines) > 1 else "".join(lines).strip()


def history(moves: Sequence[tuple[int, str]], open_to_all: bool, known: Known) -> tuple[str, ...]:
    """The moves that every seat has seen: all or none of a game's."""
    if open_to_all or known.public:
        return tuple(f"player {seat}: {name}" for seat, name in moves)
    return (BEGUN,)


def payoffs(game: Any) -> str:
    """What each outcome of the first choice pays, a line each, where all choose at once without
    chance, there are few outcomes, and each pays at once; "" otherwise."""
    live = game.new_initial_state()
    if engine.lucky(game) or not live.is_simultaneous_node():
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
