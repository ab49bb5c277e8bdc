"""Information for players with reflection: counts of the public moves, and advice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from gauntlet.games.base import Fact, Game
from gauntlet.games.capabilities import Advised
from gauntlet.games.rock_paper_scissors import RockPaperScissors
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.games.uno.arena import UnoArena
from gauntlet.games.uno.arena.rules import CARD, CHALLENGE, COLOUR
from gauntlet.games.uno.words import review, tally
from tests.games.cases import CASES, seeds, walk

HISTORY = (
    "player 0 drew a card",
    "player 1 played wild naming green",
    "player 0 drew and played green 5",
    "player 1 played green draw two",
    "player 1 played red draw two",
    "player 1 drew a card",
    "player 0 played wild draw four naming blue",
    "player 1 challenged wrongly and drew six cards",
    "player 0 played blue 5",
    "player 1 played wild draw four naming red",
    "player 0 challenged rightly and player 1 drew four cards",
    "player 0 played wild draw four naming blue",
    "player 1 drew four cards",
)
NOTHING_PLAYED = (0,) * 60


def test_a_review_of_uno_reads_so() -> None:
    played = list(NOTHING_PLAYED)
    played[7], played[15 + 5], played[15 + 12], played[13], played[14] = 1, 2, 1, 3, 4
    assert review(HISTORY, 20, seat=1, seats=2, played_counts=played) == (
        Fact(
            "Player 0",
            "played 1 green, 1 blue (5, 5, wild draw four, wild draw four); drew 2 times, on "
            "green; challenged rightly 1 time",
        ),
        Fact(
            "Player 1 (you)",
            "played 1 red, 1 green (draw two, draw two, wild, wild draw four); drew 1 time, on "
            "red; drew four cards unchallenged 1 time; challenged wrongly 1 time; was caught by a "
            "challenge 1 time",
        ),
        Fact("Played pile", "1 red, 3 green, 0 blue, 0 yellow"),
    )


def test_every_player_is_told_of_and_nothing_is_made_of_no_moves() -> None:
    names = [
        fact.name for fact in review(HISTORY, 20, seat=1, seats=3, played_counts=NOTHING_PLAYED)
    ]
    assert names == ["Player 2", "Player 0", "Player 1 (you)", "Played pile"]
    assert review(HISTORY, 20, 1, 3, NOTHING_PLAYED)[0].text == "did nothing"
    assert review((), 20, 1, 3, NOTHING_PLAYED) == ()
    assert review(HISTORY, 0, 1, 3, NOTHING_PLAYED) == ()


@settings(max_examples=10, deadline=None)
@given(seeds)
def test_all_cards_played_in_arena_are_counted_once(seed: int) -> None:
    """The played pile holds the cards named in the clauses, and those turned up at the start."""
    game = UnoArena(3)
    for state, (seat, *_), _ in [ply for ply in walk(game, seed) if ply[1]]:
        seen = game.observe(state, seat)
        counted = sum(sum(one.traits.values()) for one in tally(seen.history, 999).values())
        turned_up = sum(seen.view.table.played) - counted - (seen.view.phase == COLOUR)
        assert 1 <= turned_up < 12
        if not seen.history:
            start = turned_up
        assert turned_up == start


def test_arena_advises_on_what_is_to_be_decided() -> None:
    game, advice = UnoArena(2), {}
    for state, seats, _ in (ply for seed in range(5) for ply in walk(game, seed) if ply[1]):
        seen = game.observe(state, seats[0])
        advice[seen.view.phase] = " ".join(game.advice(seen))
    assert "fits" in advice[CARD]
    assert "Name the colour" in advice[COLOUR]
    assert "challenge in vain" in advice[CHALLENGE]


def test_a_review_of_tic_tac_toe_reads_so() -> None:
    """X.. over .O. over ..X: the other's mark closes the diagonal, a side is open to each."""
    game = TicTacToe()
    state = game.deal(np.random.default_rng(0))
    for cell in (0, 4, 8):
        state = game.play(state, [cell])
    assert game.review(game.observe(state, 1), 20) == (
        Fact("Player 0", "marked C1R1, C3R3; its best open line has 1 of 3 marks"),
        Fact("Player 1 (you)", "marked C2R2; its best open line has 1 of 3 marks"),
    )


def test_a_review_of_rock_paper_scissors_reads_so() -> None:
    game = RockPaperScissors(rounds=9)
    seen = game.observe(((0, 1), (0, 2), (2, 2)), 0)
    assert game.review(seen, 2) == (
        Fact("Player 1", "0 rock, 0 paper, 2 scissors"),
        Fact("Player 0 (you)", "1 rock, 0 paper, 1 scissors"),
    )


ADVISED = {name: game for name, game in CASES.items() if isinstance(game, Advised)}


@pytest.mark.parametrize("game", ADVISED.values(), ids=ADVISED.keys())
@settings(max_examples=3, deadline=None)
@given(seeds)
def test_reviews_and_advice_are_lines_of_text(game: Game[Any], seed: int) -> None:
    assert isinstance(game, Advised)
    for number, (state, seats, _) in enumerate(walk(game, seed)):
        for seat in seats if number < 60 else ():
            seen = game.observe(state, seat)
            facts, advice = game.review(seen, 20), game.advice(seen)
            assert bool(facts) == bool(seen.history)
            assert advice
            told = [part for fact in facts for part in (fact.name, fact.text)] + [*advice]
            assert all(text and text.strip() == text and "\n" not in text for text in told)
