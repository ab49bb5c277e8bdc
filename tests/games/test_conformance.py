"""Requirements on every game, checked for every game of conf/game.

A new game is tested here as soon as it has a YAML file; docs/adding_a_game.md has a list of them.
"""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest

from gauntlet.common.errors import IllegalAction
from gauntlet.games.base import Action, Game, TextAction, TextMove, parse_move
from tests.games.cases import BROKEN, CASES, NAMED, ONE_WINNER, Match, match_of
from tests.nodes import nodes

SEEDS: list[int] = np.random.SeedSequence().generate_state(4).tolist()
"""Other matches in every run."""


@pytest.fixture(scope="module", params=CASES.values(), ids=CASES.keys())
def game(request: pytest.FixtureRequest) -> Game[Any]:
    made: Game[Any] = request.param
    return made


@pytest.fixture
def matches(game: Game[Any]) -> list[Match]:
    """A few matches of the game, the same for all tests."""
    print("the seeds of its matches:", SEEDS)
    return [match_of(game, seed) for seed in SEEDS]


@pytest.mark.parametrize("name", nodes("game"))
def test_a_named_game_can_be_built(name: str) -> None:
    """With the settings of its YAML file and its own number of seats."""
    assert BROKEN.get(name) is None


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


def test_one_rng_deals_one_deal(game: Game[Any], matches: list[Match]) -> None:
    for match in matches:
        first, again = (game.deal(np.random.default_rng(match.seed)) for _ in range(2))
        assert first == again
        assert pickle.dumps(first) == pickle.dumps(again)


def test_seats_and_actions_come_in_a_fixed_order(game: Game[Any], matches: list[Match]) -> None:
    for state, seats, _ in (ply for match in matches for ply in match.plies):
        copy = pickle.loads(pickle.dumps(state))
        assert list(seats) == sorted(set(seats) & set(range(game.num_seats)))
        assert game.to_move(copy) == seats
        for seat in seats:
            actions = game.legal(state, seat)
            assert actions
            assert all(type(action) in (int, TextAction) for action in actions)
            assert game.legal(copy, seat) == actions
        for seat in set(range(game.num_seats)) - set(seats):
            assert game.legal(state, seat) == ()


def test_playing_leaves_the_old_state_as_it_was_and_a_move_can_be_read_back(
    game: Game[Any], matches: list[Match]
) -> None:
    for state, seats, moves in (ply for match in matches for ply in match.plies):
        before = pickle.dumps(state)
        read = [parse_move(str(move)) for move in moves]
        assert read == list(moves)
        if seats:
            after = game.play(state, moves)
            assert pickle.dumps(state) == before
            assert game.play(pickle.loads(before), read) == after != state
        assert pickle.loads(before) == state


def test_what_the_rules_forbid_is_refused(game: Game[Any], matches: list[Match]) -> None:
    """Actions that are legal at another ply or at none, and any after the end."""
    for match in matches:
        known = {int(action) for _, _, moves in match.plies for action in moves}
        for state, seats, moves in match.plies[:40]:
            for place, seat in enumerate(seats):
                legal = game.legal(state, seat)
                for action in (known | {-1, max(legal) + 1, 10**6}) - set(map(int, legal)):
                    wrong = (*moves[:place], action, *moves[place + 1 :])
                    with pytest.raises(IllegalAction):
                        game.play(state, wrong)
            with pytest.raises(ValueError):  # noqa: PT011 (one move more than there are seats)
                game.play(state, (*moves, *moves[:1], 0))
        with pytest.raises(IllegalAction):
            game.play(match.last, match.plies[-2][2])


def test_an_open_action_is_played_with_words_that_do(game: Game[Any], matches: list[Match]) -> None:
    for state, seats, moves in (ply for match in matches for ply in match.plies[:40]):
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


def test_options_name_the_legal_actions(game: Game[Any], matches: list[Match]) -> None:
    for state, seat, seen in (view for match in matches for view in match.views):
        actions, names = game.legal(state, seat), seen.options
        assert len(names) == len(actions)
        pairs = set(zip(actions, names, strict=True))
        assert len(set(names)) == len(set(actions)) == len(pairs)


WITHOUT_MOVES = ("Snake", "Surround")
"""TextArena's games in which the library reports the board, but not the moves."""


def test_an_observation_is_facts_in_plain_words(game: Game[Any], matches: list[Match]) -> None:
    for match in matches:
        for state, seat, seen in match.views:
            assert seen == game.observe(state, seat)
            assert seen.seat == seat
            assert len({fact.name for fact in seen.facts}) == len(seen.facts) > 0
            for text in (*seen.options, *seen.history, *(fact.name for fact in seen.facts)):
                assert text == text.strip() != ""
                assert "\n" not in text
            for fact in seen.facts:
                space = "\n" if "\n" in fact.text else None
                assert fact.text == fact.text.strip(space)
                assert fact.text.strip()
            assert hash((seen.game, seen.rules, seen.facts, seen.history, seen.options))
        told = any(seen.history for _, _, seen in match.views)
        assert told or len(match.plies) == 2 or silent(game)


def silent(game: Any) -> bool:
    return getattr(game, "name", "").startswith(WITHOUT_MOVES)


def test_title_rules_role_and_team_hold_for_the_match(
    game: Game[Any], matches: list[Match]
) -> None:
    for match in matches:
        assert len({(seen.game, seen.rules) for _, _, seen in match.views}) == 1
        places = {(seat, seen.role, seen.team) for _, seat, seen in match.views}
        assert len(places) == len({seat for seat, _, _ in places})
        returns = game.returns(match.last)
        for seat, _, team in places:
            assert list(team) == sorted(set(team) & set(range(game.num_seats)))
            assert seat in team or team == ()
            assert len({returns[member] for member in team}) <= 1
        for text in {t for _, _, s in match.views for t in (s.game, s.rules, s.role or "-")}:
            assert text == text.strip() != ""
            assert "\n" not in text


def test_the_history_only_grows(matches: list[Match]) -> None:
    for match in matches:
        before: tuple[str, ...] = ()
        for _, _, seen in match.views:
            assert seen.history[: len(before)] == before
            before = seen.history


def test_games_end_with_a_return_a_seat(game: Game[Any], matches: list[Match]) -> None:
    for match in matches:
        returns = game.returns(match.last)
        assert len(returns) == game.num_seats
        assert all(isinstance(worth, float) and -1 <= worth <= 1 for worth in returns)
        assert sum(worth > 0 for worth in returns) <= 1 or not isinstance(game, ONE_WINNER)
        assert game.show(match.last).strip()
