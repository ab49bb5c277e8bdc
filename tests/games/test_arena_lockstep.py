"""UNO Arena's engine against a slow referee written from the rule text, step by step.

Both get the same shuffled deck and the same random choices. At every decision all hands, the pile
and the played cards (each in order), the colour in force, the direction, who decides what, the
options and the winners must be equal.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from gauntlet.games.uno import rules as cards
from gauntlet.games.uno.arena import rules, words
from gauntlet.games.uno.words import CARD_NAMES, COLOURS
from tests.games.arena_referee import Referee
from tests.games.slips import slipped

ASKED = ("card", "colour", "challenge")


def shuffled_deck(seed: int) -> list[str]:
    """The deck of a deal as the engine shuffles it, next card first."""
    array = cards.blank(2)
    array[cards.SEED] = seed
    cards.whole_pile(array)
    return named(array.tolist(), cards.PILE)[::-1]


def named(cells: list[int], at: int) -> list[str]:
    return [CARD_NAMES[card & 63] for card in cells[at + 1 : at + 1 + cells[at]]]


def our_side(array: np.ndarray) -> dict[str, Any]:
    cells = array.tolist()
    over = cells[rules.WINNERS] >= 0
    found = {
        "hands": [named(cells, cards.hand_of(seat)) for seat in range(cells[cards.SEATS])],
        "pile": named(cells, cards.PILE)[::-1],
        "played": named(cells, cards.PLAYED),
        "winners": {s for s in range(16) if over and cells[rules.WINNERS] >> s & 1},
    }
    if over:
        return found
    return found | {
        "colour": COLOURS[cells[rules.IN_FORCE]],
        "clockwise": cells[cards.DIRECTION] > 0,
        "to decide": (cells[cards.TO_MOVE], ASKED[cells[rules.PHASE]]),
    }


def their_side(referee: Referee) -> dict[str, Any]:
    found = {
        "hands": referee.hands,
        "pile": referee.pile,
        "played": referee.discard,
        "winners": referee.winners,
    }
    if referee.winners:
        return found
    return found | {
        "colour": referee.colour,
        "clockwise": referee.clockwise,
        "to decide": (referee.turn, referee.asked),
    }


@dataclass
class Tally:
    games: int = 0
    decisions: int = 0
    challenges: int = 0
    emptied: int = 0
    shared: int = 0
    seats: set[int] = field(default_factory=set)
    difference: str = ""

    def __str__(self) -> str:
        return (
            f"{self.games:,} games of {min(self.seats)} to {max(self.seats)} players, "
            f"{self.decisions:,} plies, {self.challenges:,} challenges, {self.emptied:,} games "
            f"ended by the pile, {self.shared:,} shared"
        )


def lockstep(engine: Any, seats: int, seed: int, tally: Tally) -> None:
    """Plays one deal in both by random choices, to its end or the first difference."""
    choose = random.Random(seed)
    array = cards.blank(seats)
    engine.deal(array, seats, seed)
    referee = Referee(seats, shuffled_deck(seed))
    tally.games += 1
    tally.seats.add(seats)
    told = "the deal"
    while True:
        ours, theirs = our_side(array), their_side(referee)
        actions = {} if ours["winners"] else options(engine, array)
        expected = set() if referee.winners else referee.options()
        if ours != theirs or actions.keys() != expected:
            differ = [
                f"{k}: {ours.get(k)} / {theirs[k]}" for k in theirs if ours.get(k) != theirs[k]
            ]
            differ.append(f"options {sorted(actions)} / {sorted(expected)}")
            tally.difference = f"{seats} players, deal {seed}, after {told}: " + "; ".join(differ)
        if tally.difference or not actions:
            break
        told = choose.choice(sorted(actions))
        tally.decisions += 1
        tally.challenges += told == "challenge"
        engine.step(array, actions[told])
        referee.say(told)
    tally.emptied += all(referee.hands)
    tally.shared += len(referee.winners) > 1


def options(engine: Any, array: np.ndarray) -> dict[str, int]:
    """The engine's legal actions by name; fails where two have one name."""
    phase, mask = array.item(rules.PHASE), engine.legal(array)
    numbers = [action for action in range(61) if mask >> action & 1]
    found = {words.option(phase, action): action for action in numbers}
    assert len(found) == len(numbers)
    return found


def in_lockstep(games: dict[int, int]) -> Tally:
    """So many games for each number of seats, or fewer up to the first difference."""
    tally = Tally()
    for seats, count in games.items():
        for seed in range(count):
            lockstep(rules, seats, 1000 * seats + seed * 10_007, tally)
            if tally.difference:
                return tally
    return tally


def test_every_state_equals_that_of_the_referee(figure: Callable[[str], None]) -> None:
    tally = in_lockstep(dict.fromkeys(range(2, 11), 60))
    assert not tally.difference, tally.difference
    figure(f"UNO Arena in lockstep with its referee: {tally}")
    assert tally.games == 540
    assert min(tally.challenges, tally.emptied, tally.shared) > 10


@pytest.mark.slow
def test_every_state_of_20_000_games_equals_that_of_the_referee(
    figure: Callable[[str], None],
) -> None:
    tally = in_lockstep({2: 4000, **dict.fromkeys(range(3, 11), 2000)})
    assert not tally.difference, tally.difference
    figure(f"UNO Arena in lockstep with its referee: {tally}")
    assert tally.games == 20_000


SLIPS = {
    "six cards are dealt": ("HAND = 7", "HAND = 6"),
    "hands are dealt one after the other": (
        "for _ in range(HAND):\n        for seat in range(seats):",
        "for seat in range(seats):\n        for _ in range(HAND):",
    ),
    "a function may be turned up": ("state[TRAIT] >= SKIP:", "state[TRAIT] >= 13:"),
    "only the first card turned up stays": (
        ">= SKIP:\n        turn_up(",
        ">= SKIP:\n        state[PLAYED] = 0\n        turn_up(",
    ),
    "the last seat begins": (
        "    state[BEFORE] = state[IN_FORCE]\n",
        "    state[BEFORE] = state[IN_FORCE]\n    state[TO_MOVE] = seats - 1\n",
    ),
    "the colour must fit": ("if state[TRAIT] < WILD:", "if False:"),
    "the number must fit": ("PLAIN << (15 * state[IN_FORCE])\n    if", "0\n    if"),
    "a wild waits until nothing else fits": (
        "if held & WILDS:",
        "if held & WILDS and not actions:",
    ),
    "a wild draw four waits until nothing else fits": (
        "if held & WILD_DRAW_FOURS:",
        "if held & WILD_DRAW_FOURS and not actions:",
    ),
    "a draw is open to all": ("return actions if actions else", "return actions |"),
    "a draw goes on until a card fits": (
        "elif give(state, state[TO_MOVE], 1):",
        "elif give(state, state[TO_MOVE], 1) and legal(state) == 1 << DRAW:",
    ),
    "two cards are drawn": ("state[TO_MOVE], 1)", "state[TO_MOVE], 2)"),
    "a wild names no colour": ("elif action in (WILD, WILD_DRAW_FOUR):", "elif action == 14:"),
    "a wild draw four cannot be challenged": ("state[PHASE] = CHALLENGE", "answer(state, YIELD)"),
    "a wild can be challenged": ("== WILD_DRAW_FOUR:", ">= WILD:"),
    "its player judges the challenge": (
        "state[IN_FORCE] = colour\n    pass_turn(state)\n    if",
        "state[IN_FORCE] = colour\n    if trait_of(state[TOP]) == WILD:\n"
        "        pass_turn(state)\n    if",
    ),
    "a challenge looks for the new colour": ("15 * state[BEFORE]", "15 * state[IN_FORCE]"),
    "a challenge looks for any card but a wild": (
        "PLAIN << (15 * state[BEFORE])",
        "(1 << 60) - 1",
    ),
    "every challenge is right": ("action == CALL and held_by", "action == CALL or held_by"),
    "a bluff costs six": ("state[TOP_BY], FOUR)", "state[TOP_BY], SIX)"),
    "a bluff passes the turn": (
        "give(state, state[TOP_BY], FOUR)",
        "give(state, state[TOP_BY], FOUR)\n        pass_turn(state)",
    ),
    "a challenge in vain costs four": ("SIX if action", "FOUR if action"),
    "a challenge in vain keeps the turn": (
        "else FOUR):\n        pass_turn(state)",
        "else FOUR):\n        if action == YIELD:\n            pass_turn(state)",
    ),
    "who draws four plays on": (
        "else FOUR):\n        pass_turn(state)",
        "else FOUR):\n        if action == CALL:\n            pass_turn(state)",
    ),
    "a wild draw four brings three": ("TWO, FOUR, SIX = 2, 4, 6", "TWO, FOUR, SIX = 2, 3, 6"),
    "skip only passes the turn": ("trait == SKIP or (", "(")
    ,
    "reverse skips": ("trait == SKIP or", "trait in (SKIP, REVERSE) or"),
    "reverse changes nothing": ("-state[DIRECTION]", "state[DIRECTION]"),
    "draw two brings one": ("TWO, FOUR, SIX = 2,", "TWO, FOUR, SIX = 1,"),
    "draw two keeps the turn": (
        "SKIP or (trait == DRAW_TWO and give(state, state[TO_MOVE], TWO)):",
        "SKIP or (trait == DRAW_TWO and not give(state, state[TO_MOVE], TWO)):",
    ),
    "the last card takes effect first": (
        "state[WINNERS] = 1 << seat\n    elif",
        "state[WINNERS] = 1 << seat\n        take_effect(state, trait_of(action))\n    elif",
    ),
    "one card left wins": ("state[hand_of(seat)] == 0:", "state[hand_of(seat)] <= 1:"),
    "the game ends with the last card of the pile": (
        "state[PILE] < count:",
        "state[PILE] <= count:",
    ),
    "a draw takes what there is": (
        "if state[PILE] < count:",
        "count = min(count, max(1, state[PILE]))\n    if state[PILE] < count:",
    ),
    "most cards win": ("size = state[hand", "size = -state[hand"),
    "one winner is enough": ("if size == least:", "if size == least and not seats:"),
}  # fmt: skip


def first_difference(engine: Any, games: int) -> str:
    tally = Tally()
    for seed in range(games):
        for seats in (2, 3, 7):
            try:
                lockstep(engine, seats, seed, tally)
            except IndexError:  # the engine's rules let an empty pile or hand be taken from
                return "the engine breaks"
            if tally.difference:
                return tally.difference
    return ""


@pytest.mark.parametrize("slip", SLIPS)
def test_a_planted_slip_is_caught(slip: str) -> None:
    assert first_difference(slipped(rules, *SLIPS[slip]), games=100)


def test_the_rules_as_plain_python_are_not_taken_for_a_slip() -> None:
    assert not first_difference(slipped(rules, "HAND = 7", "HAND = 7"), games=10)
