"""Codenames rule by rule, its word lists and its players."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from gauntlet.common.errors import IllegalAction
from gauntlet.games.base import Action, TextMove
from gauntlet.games.codenames import Codenames, rules
from gauntlet.games.codenames.clues import ASSOCIATIONS, BY_NOUN, NOUNS, PARTS, clue_spec
from gauntlet.games.codenames.players import sample_key
from gauntlet.games.codenames.rules import ASSASSIN, BLUE, NEUTRAL, RED, STOP, State
from gauntlet.games.playouts import play_game
from tests.games.cases import seeds, walk

GAME, FOUR, PAPER_BUGS = Codenames(), Codenames(4), Codenames(paper_bugs=True)
few = settings(max_examples=25, deadline=None)
KEY = (RED,) * 9 + (BLUE,) * 8 + (NEUTRAL,) * 3 + (ASSASSIN,)
"""Red's words are at 0 to 8, blue's at 9 to 16, neutral ones at 17 to 19, the assassin at 20."""
START = State(NOUNS[:21], KEY)


def after(game: Codenames, *moves: Action | tuple[int, str], start: State = START) -> State:
    """The state after guesses, and clues as a number and a word."""
    state = start
    for move in moves:
        state = game.play(state, (TextMove(*move) if isinstance(move, tuple) else move,))
    return state


def clue(number: int) -> tuple[int, str]:
    return number, "zzz"


# The board and the words on it


def test_the_nouns_are_many_and_each_brings_several_things_to_mind() -> None:
    assert 380 <= len(NOUNS) == len(set(NOUNS)) <= 450
    assert not set(NOUNS) & set(ASSOCIATIONS)
    assert all(len(clues) >= 3 for clues in BY_NOUN.values())
    assert all(len(nouns) >= 4 and len(set(nouns)) == len(nouns) for nouns in ASSOCIATIONS.values())
    assert all(noun.isascii() and noun.isalpha() and noun.islower() for noun in NOUNS)
    assert set(PARTS) <= set(NOUNS)


# Clues


BOARD = ("cherry", "knife", "mouse", "stone", "rocket", "television", *NOUNS[:15])


@pytest.mark.parametrize(
    "text",
    [
        *("knife", "KNIFE", "knives", "mice", "stony", "rockets", "skyrocket", "cherries"),
        *("vision", "TV", "two words", "semi-colon", "3", "", "a", "x" * 25, "rocket\n"),
    ],
)
def test_a_clue_that_is_a_board_word_its_form_or_part_is_refused(text: str) -> None:
    state = State(BOARD, KEY)
    assert clue_spec(BOARD, False).fault(text)
    with pytest.raises(IllegalAction):
        GAME.play(state, (TextMove(1, text),))


@pytest.mark.parametrize("text", ["planet", "Cutlery", "été", "pebble"])
def test_any_other_word_will_do_in_the_table_or_not(text: str) -> None:
    state = GAME.play(State(("knife", "mouse", *NOUNS[-19:]), KEY), (TextMove(2, text),))
    assert state.turns[0].clue == text


def test_a_clue_counts_from_none_to_all_words_that_the_team_has_hidden() -> None:
    assert [int(option) for option in GAME.legal(START, 0)] == list(range(10))
    state = after(GAME, clue(2), 0, 1, STOP)
    assert [int(option) for option in GAME.legal(state, 1)] == list(range(9))
    again = after(GAME, clue(1), 9, STOP, start=state)
    assert [int(option) for option in GAME.legal(again, 0)] == list(range(8))


def test_with_paper_bugs_any_clue_goes() -> None:
    for text in (START.words[0], "two words", "9"):
        assert after(PAPER_BUGS, (1, text)).turns[0].clue == text
    with pytest.raises(IllegalAction):
        after(PAPER_BUGS, (1, "a, b"))


# Guesses


def test_the_spymaster_acts_and_then_the_operative_of_the_same_team() -> None:
    assert FOUR.to_move(START) == (0,)
    assert FOUR.to_move(after(FOUR, clue(1))) == (1,)
    assert FOUR.to_move(after(FOUR, clue(1), 0)) == (1,)
    assert FOUR.to_move(after(FOUR, clue(1), 0, STOP)) == (2,)
    assert FOUR.to_move(after(FOUR, clue(1), 0, STOP, clue(1))) == (3,)
    assert GAME.to_move(after(GAME, clue(1), 0, STOP, clue(1))) == (1,)


@pytest.mark.parametrize("number", range(1, 6))
def test_a_turn_has_as_many_guesses_as_the_number_and_one(number: int) -> None:
    state = after(FOUR, clue(number), *range(number))
    assert FOUR.to_move(state) == (1,)
    assert FOUR.to_move(after(FOUR, number, start=state)) == (2,)


def test_the_number_nought_allows_any_number_of_guesses() -> None:
    assert FOUR.to_move(after(FOUR, clue(0), *range(8))) == (1,)
    assert rules.winner(after(FOUR, clue(0), *range(9)), False) == RED
    paper_bugs = Codenames(4, paper_bugs=True)
    assert paper_bugs.to_move(after(paper_bugs, clue(0), 0)) == (2,)


def test_an_operative_guesses_at_least_once_and_no_open_word() -> None:
    options = GAME.legal(after(GAME, clue(2)), 0)
    assert options == tuple(range(21))
    assert GAME.legal(after(GAME, clue(2), 4), 0) == (*range(4), *range(5, 21), STOP)
    assert STOP in PAPER_BUGS.legal(after(PAPER_BUGS, clue(2)), 0)


# The end


def test_who_finds_all_its_words_wins_though_the_other_team_guesses_the_last() -> None:
    most = after(GAME, clue(0), *range(8), STOP)
    assert GAME.to_move(after(GAME, clue(1), 8, start=most)) == ()
    given = after(GAME, clue(1), 8, start=most)
    assert rules.winner(given, False) == RED
    assert GAME.measure(given)["match_score"] == (1.0, 0.0)


def test_the_score_is_the_share_of_points_and_the_winner_has_three_more() -> None:
    state = after(GAME, clue(0), *range(8), 9, clue(1), 10, 17, clue(1), 8)
    assert GAME.measure(state)["match_score"] == pytest.approx((12 / 14, 2 / 14))
    assert GAME.returns(state) == pytest.approx((10 / 14, -10 / 14))
    assert FOUR.measure(state)["match_score"] == pytest.approx((12 / 14,) * 2 + (2 / 14,) * 2)


def test_who_meets_the_assassin_has_nothing() -> None:
    state = after(GAME, clue(0), *range(5), 20)
    assert GAME.to_move(state) == ()
    assert GAME.measure(state)["match_score"] == (0.0, 1.0)


def test_with_paper_bugs_the_assassin_by_the_last_guess_wins() -> None:
    """The published code has passed the turn on before it checks whose it was."""
    assert rules.winner(after(PAPER_BUGS, clue(1), 0, 20), True) == RED
    assert rules.winner(after(PAPER_BUGS, clue(2), 0, 20), True) == BLUE
    assert rules.winner(after(PAPER_BUGS, clue(0), 20), True) == BLUE
    assert rules.winner(after(GAME, clue(1), 0, 20), False) == BLUE


def test_with_paper_bugs_teams_that_only_stop_share_the_points_after_fifty_turns() -> None:
    state = START
    for _ in range(rules.MOST_TURNS):
        assert PAPER_BUGS.to_move(state)
        state = after(PAPER_BUGS, clue(1), STOP, start=state)
    assert PAPER_BUGS.to_move(state) == ()
    assert PAPER_BUGS.measure(state)["match_score"] == (0.5, 0.5)


@few
@given(seeds)
def test_a_game_is_over_after_21_turns_at_most_and_shares_add_up(seed: int) -> None:
    for state, seats, _ in walk(GAME, seed):
        assert len(state.turns) <= 21
        if seats:
            assert rules.winner(state, False) is None
    assert sum(GAME.measure(state)["match_score"]) == pytest.approx(1)
    won = rules.winner(state, False)
    assert won is not None
    assert GAME.returns(state)[won] > 0


# Observations and guesses


@few
@given(seeds)
def test_a_redeal_for_an_operative_keeps_what_lies_open_and_all_counts(seed: int) -> None:
    rng, changed = np.random.default_rng(seed), False
    for state, seats, _ in walk(FOUR, seed):
        for seat in seats:
            other = FOUR.sample(FOUR.observe(state, seat), rng)
            assert sorted(other.key) == sorted(state.key)
            assert all(other.key[p] == state.key[p] for p in rules.guessed(state.turns))
            assert (other == state) or seat in (1, 3)
            changed |= other != state
    assert changed


def test_an_operative_is_told_no_hidden_kind() -> None:
    state = after(FOUR, clue(1))
    seen = FOUR.observe(state, 1)
    assert set(seen.view.seen) == {-1}
    assert FOUR.observe(START, 0).view.seen == KEY


def test_a_key_leans_to_what_the_clues_say() -> None:
    """A number that is all words which go with a clue makes them the team's in nearly every key."""
    words = ("lion", "tiger", "zebra", *[n for n in NOUNS if "safari" not in BY_NOUN[n]][:18])
    safari = [place for place in range(21) if "safari" in BY_NOUN[words[place]]]
    state = State(words, KEY)
    state = after(FOUR, (len(safari), "safari"), start=state)
    rng, seen = np.random.default_rng(0), [-1] * 21
    keys = [sample_key(words, seen, state.turns, rng) for _ in range(200)]
    share = np.mean([[key[place] == RED for place in safari] for key in keys])
    assert share > 0.85
    assert all(sorted(key) == sorted(KEY) for key in keys)


# Players


def test_greedy_clues_go_with_as_many_own_words_as_they_say_and_not_the_assassin() -> None:
    for number in range(40):
        end, _ = play_game(GAME, ["greedy", "greedy"], 8, number)
        before: set[int] = set()
        for turn in end.turns:
            fits = {p for p, word in enumerate(end.words) if word in ASSOCIATIONS[turn.clue]}
            hidden = fits - before
            assert sum(end.key[place] == turn.team for place in hidden) == turn.number
            assert all(end.key[place] != ASSASSIN for place in hidden)
            before |= set(turn.guesses)
