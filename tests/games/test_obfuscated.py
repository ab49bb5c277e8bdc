"""Renamed games: no old name appears, and only names change."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet.agents.minimax import Minimax
from gauntlet.games.base import Game, Observation, TextAction, TextMove, default_text_move
from gauntlet.games.obfuscated import Obfuscated
from gauntlet.games.obfuscated.vocabulary import renaming, vocabulary_of
from gauntlet.games.pit import Pit
from gauntlet.games.playouts import policies_of, probabilities
from gauntlet.games.rock_paper_scissors import RockPaperScissors
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.games.uno import Uno
from gauntlet.pipeline.plan.rng import deal_key, stream
from tests.games.bare import SumGuess
from tests.games.cases import seeds, walk

NAMED: dict[str, Game[Any]] = {
    "tic_tac_toe": TicTacToe(),
    "uno": Uno(),
    "rock_paper_scissors": RockPaperScissors(rounds=3),
    "pit": Pit(turns=20, deal_turns=10),
}
every_game = pytest.mark.parametrize("base", NAMED.values(), ids=NAMED.keys())
few = settings(max_examples=3, deadline=None)


def under(base: Game[Any], seed: int = 1) -> Obfuscated:
    return Obfuscated(base.num_seats, of=base, seed=seed)


def texts(game: Obfuscated, observation: Observation) -> list[str]:
    """Return all text shown at a decision, and the game's other texts."""
    facts = [part for fact in observation.facts for part in (fact.name, fact.text)]
    more = [*getattr(game, "rules_headings", {}).values(), getattr(game, "rules_summary", "")]
    if hasattr(game, "advice"):
        more += [*game.advice(observation), *(fact.text for fact in game.review(observation, 5))]
    return [
        observation.game,
        observation.rules,
        observation.role,
        *facts,
        *observation.history,
        *observation.options,
        *more,
    ]


def tells(text: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE) is not None


@every_game
@few
@given(seeds)
def test_no_word_of_the_old_game_is_told(base: Game[Any], seed: int) -> None:
    game, known = under(base, seed % 5), vocabulary_of(base)
    assert known is not None
    for state, seats, _ in walk(game, seed):
        for seat in seats:
            for text in texts(game, game.observe(state, seat)):
                assert not [word for word in known.words if tells(text, word)], text
        assert not [word for word in known.words if tells(game.show(state), word)]


def test_a_word_that_is_left_would_be_found() -> None:
    told = "\n".join(texts(under(TicTacToe()), TicTacToe().observe(TicTacToe().deal(RNG), 0)))
    assert tells(told, "C2R2")


RNG = np.random.default_rng(0)


@every_game
@few
@given(seeds)
def test_the_same_moves_make_the_same_match(base: Game[Any], seed: int) -> None:
    """Options are the same actions in another order, and scripted players take each as often."""
    game = under(base)
    moved = False
    for (state, seats, moves), (after, _, _) in pairwise(walk(game, seed)):
        for seat in seats:
            legal, before = game.legal(state, seat), base.legal(state, seat)
            assert sorted(legal) == sorted(before)
            moved = moved or legal != before
            seen, plain = game.observe(state, seat), base.observe(state, seat)
            for policy in policies_of(base):
                here = dict(zip(legal, probabilities(game, policy, seen), strict=True))
                there = dict(zip(before, probabilities(base, policy, plain), strict=True))
                assert here == pytest.approx(there)
        assert base.play(state, moves) == after
        assert game.to_move(after) == base.to_move(after)
    assert game.returns(after) == base.returns(after)
    assert moved


@every_game
def test_names_are_told_apart_and_found_again(base: Game[Any]) -> None:
    game = under(base)
    for state, seats, _ in walk(game, 7):
        for seat in seats:
            seen, plain = game.observe(state, seat), base.observe(state, seat)
            by_action = dict(zip(base.legal(state, seat), plain.options, strict=True))
            for action, option in zip(game.legal(state, seat), seen.options, strict=True):
                assert game._words.restore(option) == by_action[action]
            assert [game._words.restore(said) for said in seen.history] == list(plain.history)


@settings(max_examples=40)
@given(st.lists(st.text("abcdxyz", min_size=1, max_size=4), unique=True, max_size=20), seeds)
def test_renaming_is_injective_and_comes_back(words: list[str], seed: int) -> None:
    made = renaming(words, "one two " + " ".join(words), seed)
    assert len(set(made.new)) == len(words)
    assert not set(map(str.casefold, made.new)) & set(words)
    text = " and ".join([*words, "one two"])
    assert made.restore(made.rename(text)) == text


def test_another_seed_is_another_game_under_the_same_deals() -> None:
    one, other = under(Uno(), 1), under(Uno(), 2)
    state = one.deal(np.random.default_rng(3))
    assert one.observe(state, 0).game != other.observe(state, 0).game != "UNO"
    assert one.legal(state, 0) != other.legal(state, 0)
    assert deal_key(one) == deal_key(other) == deal_key(Uno())
    dealt = [game.deal(stream(1, game, 5)) for game in (one, Uno())]
    assert dealt[0] == dealt[1]


def test_cells_of_a_grid_are_told_in_their_order() -> None:
    """A player who does not know the old names can still tell which cells make a line."""
    game = under(TicTacToe())
    seen = game.observe(game.deal(RNG), 0)
    names = [game._words.rename(f"C{column}R{row}") for row in "123" for column in "123"]
    assert f"row by row, 3 in a row: {', '.join(names)}." in seen.rules


def test_a_perfect_player_plays_on() -> None:
    game = under(TicTacToe())
    Minimax().check(game)


def test_words_are_typed_in_the_new_names() -> None:
    """A game without a vocabulary is renamed in its title alone, and takes words as before."""
    game = under(SumGuess())
    state = game.deal(np.random.default_rng(0))
    open_option = next(o for o in game.legal(state, 0) if isinstance(o, TextAction))
    assert game.observe(state, 0).game != "SumGuess"
    assert game.play(state, [default_text_move(open_option, RNG)])[1] in ("high", "low")
    assert open_option.text.fault("x" * 99)
    title = game._words.new[0]
    assert game.base_move(TextMove(1, title)) == TextMove(1, "SumGuess")
