"""Hold'em against OpenSpiel's universal_poker, action by action.

It plays with full rules, so a raise that is too small for it is not chosen; all else that is legal
here is legal there, the seat to move is the same, and every hand ends with the same chips.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyspiel
import pytest

from gauntlet.games.holdem import rules
from gauntlet.games.holdem.words import NAMES
from tests.games.test_holdem_lockstep import Hand, named

SPIEL = (
    "universal_poker(betting=nolimit,numPlayers=2,numRounds=4,blind=1 2,firstPlayer=1 2 2 2,"
    "numSuits=4,numRanks=13,numHoleCards=2,numBoardCards=0 3 1 1,stack=200 200,"
    "bettingAbstraction=fullgame)"
)


@dataclass
class Spiel:
    """One hand in universal_poker, whose player 0 posts the small blind: our dealer. An action is
    0 to fold, 1 to check or call, else the chips that a player will have put in, in the hand."""

    state: Any
    cards: list[int]
    dealer: int

    def deal(self) -> None:
        while self.state.is_chance_node():
            self.state.apply_action(self.cards.pop(0))

    def code(self, array: np.ndarray, name: str) -> int:
        if name in ("FOLD", "CHECK", "CALL"):
            return int(name != "FOLD")
        cost = rules.cost(array, NAMES.index(name))
        return int(array[rules.PAID + array[rules.TO_MOVE]] + cost)


@pytest.mark.parametrize("hands", [200, pytest.param(20_000, marks=pytest.mark.slow)])
def test_hands_that_universal_poker_can_express_end_alike(
    hands: int, figure: Callable[[str], None]
) -> None:
    game, choose, left_out, actions = pyspiel.load_game(SPIEL), random.Random(1), 0, 0
    for seed in range(hands):
        hand = Hand(seed, (200, 200), (1, 2), seed % 2, neuron=seed // 2 % 2 == 1)
        array = hand.ours(rules)
        order, dealt = (hand.dealer, 1 - hand.dealer), array[rules.CARDS : rules.LOG].tolist()
        holes = [card for seat in order for card in dealt[2 * seat : 2 * seat + 2]]
        theirs = Spiel(game.new_initial_state(), [*holes, *dealt[4:]], hand.dealer)
        theirs.deal()
        while array[rules.TO_MOVE] >= 0:
            assert order[theirs.state.current_player()] == array[rules.TO_MOVE]
            names, known = named(rules.legal(array)), set(theirs.state.legal_actions())
            fit = [name for name in names if theirs.code(array, name) in known]
            assert ("FOLD" in fit) == (0 in known)
            assert 1 in known
            left_out, actions = left_out + len(names) - len(fit), actions + len(names)
            name = choose.choice(fit[1:] or fit) if choose.random() < 0.8 else choose.choice(fit)
            theirs.state.apply_action(theirs.code(array, name))
            rules.act(array, NAMES.index(name))
            theirs.deal()
        assert theirs.state.is_terminal()
        won = [array[rules.STACKS + seat] - 200 for seat in order]
        assert won == theirs.state.returns()
    figure(f"hold'em and universal_poker: {hands} hands, {left_out} of {actions} options too small")
    assert left_out < actions / 4
