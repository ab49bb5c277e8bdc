"""Requirements on every game, checked for every game of conf/game.

A new game is tested here as soon as it has a YAML file; docs/extending.md lists the requirements.
"""

from __future__ import annotations

import dataclasses
import pickle
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from gauntlet.common.errors import IllegalAction
from gauntlet.games.base import Action, Game, TextAction, TextMove, parse_move
from tests.games.cases import BROKEN, CASES, NAMED, ONE_WINNER, final, looked_at, seeds, walk
from tests.nodes import nodes

every_game = pytest.mark.parametrize("game", CASES.values(), ids=CASES.keys())
few = settings(max_examples=8, deadline=None)


def every_game_and_seed(test: Callable[..., None]) -> Callable[..., None]:
    """A test of one game and one seed, run on every game with a few seeds."""
    return every_game(few(given(seeds)(test)))


@pytest.mark.parametrize("name", nodes("game"))
def test_a_named_game_can_be_built(name: str) -> None:
    """With the settings of its YAML file and its own number of seats."""
    assert BROKEN.get(name) is None


@every_game
def test_a_game_is_a_frozen_value(game: Game[Any]) -> None:
    fields = dataclasses.fields(game)
    assert fields[0].name == "num_seats"
    assert hash(game) == hash(pickle.loads(pickle.dumps(game)))
    assert game == dataclasses.replace(game)
    with pytest.raises(dataclasses.FrozenInstanceError):
        game.num_seats = 4


@pytest.mark.parametrize("name", NAMED)
def test_impossible_numbers_of_seats_are_refused(name: str) -> None:
    """For any number given, the game has that many seats, or refuses."""
    for seats in (-1, 0, *range(1, 13), 1000):
        said: int | str
        try:
            said = dataclasses.replace(NAMED[name], num_seats=seats).num_seats
        except ValueError as error:
            said = str(error)
        possible = seats in range(1, 1000) and said == seats
        assert possible or str(said).endswith(f", got {seats}"), said


@pytest.mark.parametrize("name", NAMED)
def test_a_yaml_file_says_what_it_is_and_every_setting(name: str) -> None:
    fields = {field.name for field in dataclasses.fields(NAMED[name])}
    assert nodes("game")[name].keys() - {"_target_"} == fields - {"num_seats"}


@every_game_and_seed
def test_one_rng_deals_one_deal(game: Game[Any], seed: int) -> None:
    first, again = (game.deal(np.random.default_rng(seed)) for _ in range(2))
    assert first == again
    assert pickle.dumps(first) == pickle.dumps(again)


@every_game_and_seed
def test_seats_and_actions_come_in_a_fixed_order(game: Game[Any], seed: int) -> None:
    for state, seats, _ in looked_at(game, seed):
        assert list(seats) == sorted(set(seats) & set(range(game.num_seats)))
        assert game.to_move(pickle.loads(pickle.dumps(state))) == seats
        for seat in seats:
            actions = game.legal(state, seat)
            assert actions
            assert all(type(action) in (int, TextAction) for action in actions)
            assert game.legal(pickle.loads(pickle.dumps(state)), seat) == actions
        for seat in set(range(game.num_seats)) - set(seats):
            assert game.legal(state, seat) == ()


@every_game_and_seed
def test_playing_leaves_the_old_state_as_it_was(game: Game[Any], seed: int) -> None:
    for state, seats, moves in looked_at(game, seed):
        before = pickle.dumps(state)
        if seats:
            after = game.play(state, moves)
            assert pickle.dumps(state) == before
            assert game.play(pickle.loads(before), moves) == after
            assert after != state
        assert pickle.loads(before) == state


@every_game_and_seed
def test_a_move_read_back_is_the_same_move(game: Game[Any], seed: int) -> None:
    for state, seats, moves in looked_at(game, seed):
        read = [parse_move(str(move)) for move in moves]
        assert read == list(moves)
        assert not seats or game.play(state, read) == game.play(state, moves)


@every_game_and_seed
def test_what_the_rules_forbid_is_refused(game: Game[Any], seed: int) -> None:
    """Actions that are legal at another ply or at none."""
    known = {int(action) for _, _, moves in looked_at(game, seed) for action in moves}
    for state, seats, moves in islice(walk(game, seed), 40):
        for place, seat in enumerate(seats):
            legal = game.legal(state, seat)
            for action in (known | {-1, max(legal) + 1, 10**6}) - set(map(int, legal)):
                wrong = (*moves[:place], action, *moves[place + 1 :])
                with pytest.raises(IllegalAction):
                    game.play(state, wrong)
        with pytest.raises(ValueError):  # noqa: PT011 (one move more than there are seats)
            game.play(state, (*moves, *moves[:1], 0))


@every_game_and_seed
def test_an_open_action_is_played_with_words_that_do(game: Game[Any], seed: int) -> None:
    for state, seats, moves in islice(walk(game, seed), 40):
        for place, seat in enumerate(seats):
            for option in game.legal(state, seat):
                if isinstance(option, TextAction):
                    for text in option.text.examples:
                        said = TextMove(option, text)
                        game.play(state, (*moves[:place], said, *moves[place + 1 :]))
                    for wrong in unfit(option):
                        with pytest.raises(IllegalAction):
                            game.play(state, (*moves[:place], wrong, *moves[place + 1 :]))


def unfit(option: TextAction) -> list[Action]:
    """Yield the action without text, and with every kind of invalid text."""
    text = option.text
    tried = ("", "\n", "x" * (text.max_chars + 1), *text.forbidden)
    return [int(option), *(TextMove(option, words) for words in tried if text.fault(words))]


@every_game_and_seed
def test_nothing_is_played_after_the_end(game: Game[Any], seed: int) -> None:
    (_, _, moves), (last, _, _) = deque(walk(game, seed), maxlen=2)
    with pytest.raises(IllegalAction):
        game.play(last, moves)


@every_game_and_seed
def test_options_name_the_legal_actions(game: Game[Any], seed: int) -> None:
    for state, seats, _ in looked_at(game, seed):
        for seat in seats:
            actions = game.legal(state, seat)
            names = game.observe(state, seat).options
            assert len(names) == len(actions)
            pairs = set(zip(actions, names, strict=True))
            assert len(set(names)) == len(set(actions)) == len(pairs)


WITHOUT_MOVES = ("Snake", "Surround")
"""TextArena's games in which the library reports the board, but not the moves."""


@every_game_and_seed
def test_an_observation_is_facts_in_plain_words(game: Game[Any], seed: int) -> None:
    told, plies = 0, 0
    for state, seats, _ in looked_at(game, seed):
        plies += bool(seats)
        for seat in seats:
            seen = game.observe(state, seat)
            assert seen == game.observe(state, seat)
            assert seen.seat == seat
            told = max(told, len(seen.history))
            assert len({fact.name for fact in seen.facts}) == len(seen.facts) > 0
            for text in (*seen.options, *seen.history, *(fact.name for fact in seen.facts)):
                assert text == text.strip() != ""
                assert "\n" not in text
            for fact in seen.facts:
                space = "\n" if "\n" in fact.text else None
                assert fact.text == fact.text.strip(space)
                assert fact.text.strip()
            assert hash((seen.game, seen.rules, seen.facts, seen.history, seen.options))
    assert told > 0 or plies == 1 or getattr(game, "name", "").startswith(WITHOUT_MOVES)


@every_game_and_seed
def test_title_rules_role_and_team_hold_for_the_match(game: Game[Any], seed: int) -> None:
    titles, places = set(), set()
    for state, seats, _ in looked_at(game, seed):
        for seat in seats:
            seen = game.observe(state, seat)
            titles.add((seen.game, seen.rules))
            places.add((seat, seen.role, seen.team))
            assert list(seen.team) == sorted(set(seen.team) & set(range(game.num_seats)))
            assert seat in seen.team or seen.team == ()
            for text in (seen.game, seen.rules, seen.role or "-"):
                assert text == text.strip() != ""
                assert "\n" not in text
    assert len(titles) == 1
    assert len(places) == len({seat for seat, _, _ in places})
    returns = game.returns(state)
    for _, _, team in places:
        assert len({returns[seat] for seat in team}) <= 1


@every_game_and_seed
def test_the_history_only_grows(game: Game[Any], seed: int) -> None:
    before: tuple[str, ...] = ()
    for state, seats, _ in looked_at(game, seed):
        for seat in seats:
            history = game.observe(state, seat).history
            assert history[: len(before)] == before
            before = history


@pytest.mark.parametrize("name", CASES)
@few
@given(seeds)
def test_games_end_with_a_return_a_seat(name: str, seed: int) -> None:
    game = CASES[name]
    last = final(game, seed)
    returns = game.returns(last)
    assert len(returns) == game.num_seats
    assert all(isinstance(worth, float) and -1 <= worth <= 1 for worth in returns)
    if name.partition("-")[0] in ONE_WINNER:
        assert sum(worth > 0 for worth in returns) <= 1
    assert game.show(last).strip()
