"""What a seat remembers of a game: what truly happened is possible, and as likely as it was."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from gauntlet.games.uno import Uno, memory, posterior, rules

TABLES = [
    ("random", "random"),
    ("rule", "rule"),
    ("rule", "random", "rule"),
    ("saboteur", "helper", "random", "first"),
]


@pytest.mark.parametrize("quirks", [False, True])
@pytest.mark.parametrize("table", TABLES)
def test_what_truly_happened_is_possible_at_every_decision(
    table: Sequence[str], quirks: bool
) -> None:
    game, rng = Uno(len(table), quirks), np.random.default_rng(5)
    codes = game.codes(table)
    for deal in range(12):
        knower = deal % len(table)
        state = game.deal(rng)
        array = state.array.copy()
        notes, world = memory.make_memory(len(table)), posterior.make_world(len(table))
        memory.begin(notes, array)
        while seats := game.to_move(state):
            observation = game.observe(state, seats[0])
            chances = game.probabilities(table[seats[0]], observation)
            option = int(rng.choice(len(chances), p=chances))
            action = game.legal(state, seats[0])[option]
            memory.follow(notes, array, knower, codes, action, world.weights)
            if seats[0] != knower:
                own = sum(
                    chance
                    for other, chance in zip(observation.view.options, chances, strict=True)
                    if other == action
                )
                turn = notes.counts[memory.TURNS] - 1
                assert notes.chances[turn] == pytest.approx(own)
                assert notes.chances[turn] > 0
            state = game.play(state, (action,))
            assert np.array_equal(array, state.array)
            for seat in range(len(table)):
                at = rules.hand_of(seat)
                assert notes.tickets[at] == array[at]
