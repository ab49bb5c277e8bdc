"""UNO Arena's engine against a slow referee written from the rule text, step by step.

Both get the same shuffled deck and the same random choices. At every decision all hands, the pile
and the played cards (each in order), the colour in force, the direction, the decision and its seat,
the options and the winners must be equal.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gauntlet.games.uno import State
from gauntlet.games.uno import rules as cards
from gauntlet.games.uno.arena import UnoArena, game, rules
from gauntlet.games.uno.words import CARD_NAMES, COLOURS
from tests.games import test_uno_rules as layout
from tests.games.arena_referee import Referee
from tests.games.slips import caught, slipped

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


def lockstep(engine: Any, seats: int, seed: int) -> Counter[str]:
    """Play one deal in both by random choices; return the outcome. Fails if they differ."""
    choose, tally = random.Random(seed), Counter(games=1)
    array = cards.blank(seats)
    engine.deal(array, seats, seed)
    referee = Referee(seats, shuffled_deck(seed))
    last = "the deal"
    while True:
        ours = our_side(array)
        place = f"{seats} players, deal {seed}, after {last}"
        assert ours == their_side(referee), place
        actions = {} if ours["winners"] else legal(engine, array)
        assert actions.keys() == (set() if referee.winners else referee.options()), place
        if not actions:
            break
        last = choose.choice(sorted(actions))
        tally["plies"] += 1
        tally["challenges"] += last == "challenge"
        engine.step(array, actions[last])
        referee.say(last)
    tally["ended by the pile"] += all(referee.hands)
    tally["shared"] += len(referee.winners) > 1
    return tally


def legal(engine: Any, array: np.ndarray) -> dict[str, int]:
    """The engine's legal actions by name; fails where two have one name."""
    phase, mask = array.item(rules.PHASE), engine.legal(array)
    numbers = [action for action in range(61) if mask >> action & 1]
    found = {game.option(phase, action): action for action in numbers}
    assert len(found) == len(numbers)
    return found


@pytest.mark.parametrize("most", [40, pytest.param(2000, marks=pytest.mark.slow)])
def test_every_state_equals_that_of_the_referee(most: int, figure: Callable[[str], None]) -> None:
    """From two to ten players."""
    tally: Counter[str] = Counter()
    for seats in range(2, 11):
        for seed in range(most):
            tally += lockstep(rules, seats, 1000 * seats + seed * 10_007)
    figure(f"UNO Arena in lockstep with its referee: {dict(tally)}")
    assert tally["games"] == 9 * most
    assert min(tally[what] for what in ("challenges", "ended by the pile", "shared")) > 5


SLIPS = {
    "six cards are dealt": ("HAND = 7", "HAND = 6"),
    "a function may be turned up": ("state[TRAIT] >= SKIP:", "state[TRAIT] >= 13:"),
    "the colour must fit": ("if state[TRAIT] < WILD:", "if False:"),
    "a draw is open to all": ("return actions if actions else", "return actions |"),
    "a wild can be challenged": ("== WILD_DRAW_FOUR:", ">= WILD:"),
    "a challenge looks for the new colour": ("15 * state[BEFORE]", "15 * state[IN_FORCE]"),
    "a bluff costs six": ("state[TOP_BY], FOUR)", "state[TOP_BY], SIX)"),
    "reverse skips": ("trait == SKIP or", "trait in (SKIP, REVERSE) or"),
    "draw two keeps the turn": (
        "SKIP or (trait == DRAW_TWO and give(state, state[TO_MOVE], TWO)):",
        "SKIP or (trait == DRAW_TWO and not give(state, state[TO_MOVE], TWO)):",
    ),
    "the last card takes effect first": (
        "state[WINNERS] = 1 << seat\n    elif",
        "state[WINNERS] = 1 << seat\n        take_effect(state, trait_of(action))\n    elif",
    ),
    "the game ends with the last card of the pile": (
        "state[PILE] < count:",
        "state[PILE] <= count:",
    ),
    "one winner is enough": ("if size == least:", "if size == least and not seats:"),
}  # fmt: skip


def caught_in(old: str, new: str, games: int) -> bool:
    """Whether lockstep fails with this slip in the rules."""
    seats = (2, 3, 7)
    return caught(lambda own, n: lockstep(own, seats[n % 3], n), slipped(rules, old, new), games)


@pytest.mark.parametrize("slip", SLIPS)
def test_a_planted_slip_is_caught(slip: str) -> None:
    assert caught_in(*SLIPS[slip], games=300)


def test_the_rules_as_plain_python_are_not_taken_for_a_slip() -> None:
    assert not caught_in("HAND = 7", "HAND = 7", games=30)


def position(top: str, *hands: str, pile: str = "", colour: str = "", direction: int = 1) -> State:
    """A position with player 0 to choose a card; `pile` lists the next card first."""
    state = layout.position(top, *hands, pile=pile, colour=colour, direction=direction)
    state.array[rules.BEFORE] = state.array[rules.IN_FORCE]
    return state


def options(state: State) -> list[str]:
    game = UnoArena(int(state.array[cards.SEATS]))
    return list(game.observe(state, layout.mover(state)).options)


def play(state: State, *moves: str) -> State:
    game = UnoArena(int(state.array[cards.SEATS]))
    for move in moves:
        names = options(state)
        assert move in names, f"{move} is not among {names}"
        state = game.play(state, (game.legal(state, layout.mover(state))[names.index(move)],))
    return state


def winners(state: State) -> list[int]:
    game = UnoArena(int(state.array[cards.SEATS]))
    assert game.to_move(state) == ()
    return [seat for seat, worth in enumerate(game.returns(state)) if worth > 0]


PILE = ", ".join(f"green {number}" for number in range(8))
YELLOW = PILE.replace("green", "yellow")


def test_the_rule_player_takes_number_then_colour_then_wild_then_wild_draw_four() -> None:
    for held, expected in (
        ("red 3, blue 7, wild", {"blue 7"}),
        ("red 3, blue 8, wild", {"red 3"}),
        ("blue 8, wild, wild draw four", {"wild"}),
        ("blue 8, wild draw four", {"wild draw four"}),
        ("blue 8", {"draw a card"}),
    ):
        assert rule_takes(position("red 7", held, "red 1")) == expected
    state = play(position("red 7", "wild, blue 8, blue 9, green 1, green 2", "red 1"), "wild")
    assert rule_takes(state) == {"green", "blue"}


def rule_takes(state: State) -> set[str]:
    seen = UnoArena().observe(state, layout.mover(state))
    chances = UnoArena().probabilities("rule", seen)
    return {name for name, chance in zip(seen.options, chances, strict=True) if chance > 0}


def test_playouts_value_a_winning_card_at_one_and_know_the_true_cards() -> None:
    """Player 1 holds one card. Played on from the true cards, naming its colour loses at once."""
    state = position("red 7", "wild, blue 8, blue 9", "green 1", pile=YELLOW)
    state = play(state, "wild")
    true = UnoArena().winners(state, ("random", "random"), 200, 1, False)
    named = dict(zip(options(state), (true & 1).mean(axis=1), strict=True))
    assert named["green"] == 0
    assert named["blue"] == 1
    seen = UnoArena().winners(state, ("random", "random"), 200, 1, True)
    assert (seen[1] & 1).mean() > 0
    one = position("red 7", "red 3", "green 1", pile=YELLOW)
    assert (UnoArena().winners(one, ("random", "random"), 20, 1, True) == 1).all()
