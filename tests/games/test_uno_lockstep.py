"""UNO against RLCard 1.2.0, step by step.

Both engines get the same deals: RLCard's random source is replaced by one that returns our shuffles
and colours. After every move all hands, the pile, the played cards (each in order), the card and
the colour to match, the direction, the seat to move, the list of legal actions with its duplicates,
and the winner must be equal. Where RLCard fails for want of cards, lockstep stops.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rlcard.games.uno.game import UnoGame
from rlcard.games.uno.utils import ACTION_LIST, ACTION_SPACE

from gauntlet.games.uno import rules
from gauntlet.games.uno.state import hand, listed_actions
from tests.games.slips import caught, planted


class Chance:
    """RLCard's random source, answering with the shuffles and colours of our deal `seed`."""

    def __init__(self, seed: int) -> None:
        self.array = rules.blank(2)
        self.array[rules.SEED] = seed

    def shuffle(self, deck: list[Any]) -> None:
        if not self.array[rules.SHUFFLES]:
            number_cards(deck)
        rules.whole_pile(self.array)
        place = {number: at for at, number in enumerate(stack(self.array.tolist(), rules.PILE))}
        deck.sort(key=lambda card: place[card.number])

    def choice(self, colours: list[str]) -> str:
        return colours[rules.chance_colour(self.array)]


def number_cards(deck: list[Any]) -> None:
    seen: set[int] = set()
    for card in deck:
        kind = ACTION_SPACE[card.str]
        card.number = kind + 64 * (kind in seen)
        seen.add(kind)


def stack(cells: list[int], at: int) -> list[int]:
    return cells[at + 1 : at + 1 + cells[at]]


def our_side(engine: Any, array: np.ndarray) -> dict[str, Any]:
    cells, seats = array.tolist(), int(array[rules.SEATS])
    mover = cells[rules.TO_MOVE]
    return {
        "hands": [stack(cells, rules.hand_of(seat)) for seat in range(seats)],
        "pile": stack(cells, rules.PILE),
        "played": stack(cells, rules.PLAYED),
        "target": cells[rules.TOP],
        "colour": "rgby"[cells[rules.COLOUR]],
        "direction": cells[rules.DIRECTION],
        "to move": mover,
        "legal": [ACTION_LIST[a] for a in listed_actions(engine.legal(array), hand(array, mover))],
        "winner": cells[rules.WINNER],
    }


def their_side(game: UnoGame) -> dict[str, Any]:
    return {
        "hands": [[card.number for card in player.hand] for player in game.players],
        "pile": [card.number for card in game.dealer.deck],
        "played": [card.number for card in game.round.played_cards],
        "target": game.round.target.number,
        "colour": game.round.target.color,
        "direction": game.round.direction,
        "to move": game.round.current_player,
        "legal": game.get_legal_actions(),
        "winner": game.round.winner[0] if game.round.winner else -1,
    }


def lockstep(engine: Any, seats: int, seed: int) -> Counter[str]:
    """Play one deal in both engines by random moves; return the outcome. Fails if they differ."""
    choose, tally = random.Random(seed), Counter(games=1)
    array = rules.blank(seats)
    engine.deal(array, seats, seed)
    theirs = UnoGame(num_players=seats)
    theirs.np_random = Chance(seed)
    theirs.init_game()
    assert our_side(engine, array) == their_side(theirs), f"deal {seed} of {seats}"
    while not theirs.is_over():
        action = choose.choice(theirs.get_legal_actions())
        try:
            theirs.step(action)
        except IndexError:
            tally["raised"] += 1
            break
        engine.step(array, ACTION_SPACE[action])
        tally["steps"] += 1
        assert our_side(engine, array) == their_side(theirs), f"deal {seed} of {seats}, {action}"
    tally["reshuffles"] += int(array[rules.SHUFFLES]) - 1
    return tally


FEW = [(2, 400), (3, 300), (4, 200), (10, 60)]
MANY = [pytest.param(*one, marks=pytest.mark.slow) for one in ((2, 9000), (3, 7000), (4, 4000))]
"""Games by number of seats."""


@pytest.mark.parametrize(("seats", "games"), FEW + MANY)
def test_every_state_equals_that_of_rlcard(
    seats: int, games: int, figure: Callable[[str], None]
) -> None:
    tally: Counter[str] = Counter()
    for seed in range(games):
        tally += lockstep(rules, seats, seed)
    figure(f"UNO in lockstep with RLCard, {seats} players: {dict(tally)}")
    assert tally["games"] == games
    assert tally["steps"] > 30 * games
    assert tally["reshuffles"] > 0


SLIPS = {
    "a drawn card that fits by trait alone plays itself": (
        "kind_of(card) // 15 != state[COLOUR]:",
        "kind_of(card) // 15 != state[COLOUR] and trait_of(card) != trait_of(state[TOP]):",
    ),
    "a wild draw four may be played beside other cards": (
        "actions == 0 and kinds & WILD_DRAW_FOURS:\n        actions =",
        "kinds & WILD_DRAW_FOURS:\n        actions |=",
    ),
    "draw two does not cost the turn": ("(SKIP, DRAW_TWO, WILD", "(SKIP, WILD"),
    "a pile that just suffices is reshuffled": ("state[PILE] < count", "state[PILE] <= count"),
    "the top card stays out of the new pile": (
        "whole_pile(state)\n    state[PILE] =",
        "whole_pile(state)\n    first |= 1 << kind_of(state[TOP])\n    state[PILE] =",
    ),
    "the last card wins only without an effect": (
        "state[hand_of(seat)] == 0:",
        "state[hand_of(seat)] == 0 and action % 15 < SKIP:",
    ),
}


def caught_in(old: str, new: str, games: int) -> bool:
    """Whether lockstep fails with this slip in the rules."""
    return caught(lambda own, n: lockstep(own, 2 + n % 2, n // 2), planted(rules, old, new), games)


@pytest.mark.parametrize("slip", SLIPS)
def test_a_planted_slip_is_caught(slip: str) -> None:
    assert caught_in(*SLIPS[slip], games=600)


def test_the_rules_as_plain_python_are_not_taken_for_a_slip() -> None:
    assert not caught_in("PLY_CAP = 5000", "PLY_CAP = 5000", games=40)
