"""What every game must keep, checked on every game that conf/game names.

A new game is tested here as soon as it has its YAML file.
"""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import fisher_exact

from common.errors import IllegalAction
from games.base import Game
from games.capabilities import Sampled, nothing_hidden
from games.playouts import policies_of, probabilities, sample, simulate
from games.uno import State as UnoState
from games.uno import Uno
from games.uno.arena import UnoArena
from games.uno.playouts import redeal
from games.uno.rules import SEED
from tests.games.cases import CASES, NAMED, final, seeds, walk
from tests.nodes import nodes

every_game = pytest.mark.parametrize("game", CASES.values(), ids=CASES.keys())
few = settings(max_examples=15, deadline=None)
Rng = np.random.Generator


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
    for seats in (0, 1, 1000):
        with pytest.raises(ValueError, match=rf"seats 2 .*players, got {seats}$"):
            dataclasses.replace(NAMED[name], num_seats=seats)


@pytest.mark.parametrize("name", NAMED)
def test_a_yaml_file_says_what_it_is_and_every_setting(name: str) -> None:
    fields = {field.name for field in dataclasses.fields(NAMED[name])}
    assert nodes("game")[name].keys() - {"_target_"} == fields - {"num_seats"}


@every_game
@few
@given(seeds)
def test_one_rng_deals_one_deal(game: Game[Any], seed: int) -> None:
    first, again = (game.deal(np.random.default_rng(seed)) for _ in range(2))
    assert first == again
    assert pickle.dumps(first) == pickle.dumps(again)


@every_game
@few
@given(seeds)
def test_seats_and_actions_come_in_a_fixed_order(game: Game[Any], seed: int) -> None:
    for state, seats, _ in walk(game, seed):
        assert list(seats) == sorted(set(seats) & set(range(game.num_seats)))
        assert game.to_move(pickle.loads(pickle.dumps(state))) == seats
        for seat in seats:
            actions = game.legal(state, seat)
            assert actions
            assert all(type(action) is int for action in actions)
            assert game.legal(pickle.loads(pickle.dumps(state)), seat) == actions
        for seat in set(range(game.num_seats)) - set(seats):
            assert game.legal(state, seat) == ()


@every_game
@few
@given(seeds)
def test_playing_leaves_the_old_state_as_it_was(game: Game[Any], seed: int) -> None:
    for state, seats, moves in walk(game, seed):
        before = pickle.dumps(state)
        if seats:
            after = game.play(state, moves)
            assert pickle.dumps(state) == before
            assert game.play(pickle.loads(before), moves) == after
            assert after != state
        assert pickle.loads(before) == state


@every_game
@few
@given(seeds)
def test_what_the_rules_forbid_is_refused(game: Game[Any], seed: int) -> None:
    """Actions that are legal at another ply or at none."""
    known = {action for _, _, moves in walk(game, seed) for action in moves}
    for state, seats, moves in islice(walk(game, seed), 40):
        for place, seat in enumerate(seats):
            legal = game.legal(state, seat)
            for action in (known | {-1, max(legal) + 1, 10**6}) - set(legal):
                wrong = (*moves[:place], action, *moves[place + 1 :])
                with pytest.raises(IllegalAction):
                    game.play(state, wrong)
        with pytest.raises(ValueError):  # noqa: PT011 (one move more than there are seats)
            game.play(state, (*moves, *moves[:1], 0))


@every_game
@few
@given(seeds)
def test_nothing_is_played_after_the_end(game: Game[Any], seed: int) -> None:
    *_, (state, _, moves), (last, _, _) = walk(game, seed)
    assert game.to_move(last) == ()
    with pytest.raises(IllegalAction):
        game.play(last, moves)
    assert game.to_move(state) != ()


@every_game
@few
@given(seeds)
def test_options_name_the_legal_actions(game: Game[Any], seed: int) -> None:
    for state, seats, _ in walk(game, seed):
        for seat in seats:
            actions = game.legal(state, seat)
            names = game.observe(state, seat).options
            assert len(names) == len(actions)
            pairs = set(zip(actions, names, strict=True))
            assert len(set(names)) == len(set(actions)) == len(pairs)


@every_game
@few
@given(seeds)
def test_an_observation_is_facts_in_plain_words(game: Game[Any], seed: int) -> None:
    titles, rules, told = set(), set(), 0
    for state, seats, _ in walk(game, seed):
        for seat in seats:
            seen = game.observe(state, seat)
            assert seen == game.observe(state, seat)
            assert seen.seat == seat
            titles.add(seen.game)
            rules.add(seen.rules)
            told = max(told, len(seen.history))
            assert len({fact.name for fact in seen.facts}) == len(seen.facts) > 0
            words = [*seen.options, *seen.history]
            words += [text for fact in seen.facts for text in (fact.name, fact.text)]
            for text in words:
                assert text == text.strip() != ""
                assert "\n" not in text
            assert hash((seen.game, seen.rules, seen.facts, seen.history, seen.options))
    assert len(titles) == len(rules) == 1
    assert told > 0 or len(list(walk(game, seed))) == 2


@every_game
@few
@given(seeds)
def test_the_history_only_grows(game: Game[Any], seed: int) -> None:
    before: tuple[str, ...] = ()
    for state, seats, _ in walk(game, seed):
        for seat in seats:
            history = game.observe(state, seat).history
            assert history[: len(before)] == before
            before = history


def unseen_by(seat: int, state: Any, rng: Rng) -> Any:
    """A UNO state with other cards in the pile and in the other hands, and other luck to come."""
    array = state.array.copy()
    redeal(array, seat, np.empty(len(array), np.int64), rng.integers(2**63, dtype=np.uint64))
    array[SEED] = rng.integers(2**63)
    return UnoState(array, state.history)


HIDDEN: dict[type, Callable[[int, Any, Rng], Any]] = {Uno: unseen_by}
"""For a game without `sample`: another state that the seat cannot tell from this one."""


@every_game
@few
@given(seeds)
def test_what_is_hidden_cannot_be_read_off(game: Game[Any], seed: int) -> None:
    """Exchanging all that a seat cannot see changes nothing of what it is told or may do."""
    rng = np.random.default_rng(seed)
    for state, seats, _ in walk(game, seed):
        for seat in seats:
            seen = game.observe(state, seat)
            if nothing_hidden(game):
                other = sample(game, seen, rng)
                assert other == state
            elif isinstance(game, Sampled):
                other = game.sample(seen, rng)
            elif type(game) in HIDDEN:
                other = HIDDEN[type(game)](seat, state, rng)
            else:
                pytest.skip("HIDDEN does not say how to exchange what this game hides")
            assert game.observe(other, seat) == seen
            assert game.legal(other, seat) == game.legal(state, seat)
            assert seat in game.to_move(other)


def test_the_exchange_of_hidden_cards_really_exchanges_them() -> None:
    game = Uno()
    state = game.deal(np.random.default_rng(0))
    assert game.show(unseen_by(0, state, np.random.default_rng(1))) != game.show(state)


def most_winners(game: Game[Any]) -> int:
    """How many seats may win one game."""
    return game.num_seats if isinstance(game, UnoArena) else 1


@every_game
@few
@given(seeds)
def test_games_end_with_a_return_a_seat(game: Game[Any], seed: int) -> None:
    last = final(game, seed)
    returns = game.returns(last)
    assert len(returns) == game.num_seats
    assert all(isinstance(worth, float) and -1 <= worth <= 1 for worth in returns)
    assert sum(worth > 0 for worth in returns) <= most_winners(game)
    assert game.show(last).strip()


@every_game
@few
@given(seeds)
def test_scripted_players_choose_among_the_options(game: Game[Any], seed: int) -> None:
    assert policies_of(game)[0] == "random"
    for state, seats, _ in walk(game, seed):
        for seat in seats:
            seen = game.observe(state, seat)
            for policy in policies_of(game):
                chances = probabilities(game, policy, seen)
                assert len(chances) == len(seen.options)
                assert min(chances) >= 0
                assert sum(chances) == pytest.approx(1, abs=1e-12)


@every_game
def test_an_unknown_policy_is_refused(game: Game[Any]) -> None:
    state = game.deal(np.random.default_rng(0))
    seen = game.observe(state, game.to_move(state)[0])
    with pytest.raises(ValueError, match="clever"):
        probabilities(game, "clever", seen)
    with pytest.raises(ValueError, match="clever"):
        simulate(game, ["clever"] * game.num_seats, 1, 0)
    for wrong in (game.num_seats - 1, game.num_seats + 1):
        with pytest.raises(ValueError, match=f"{game.num_seats}.*{wrong}|random"):
            simulate(game, ["random"] * wrong, 1, 0)


@every_game
def test_simulated_games_add_up(game: Game[Any]) -> None:
    for policy in policies_of(game):
        players = [policy] * game.num_seats
        counts = simulate(game, players, 300, seed=11)
        assert counts.dtype == np.int64
        assert counts.shape == (game.num_seats + 1,)
        assert counts.min() >= 0
        assert 300 <= counts.sum() <= 300 * most_winners(game)
        assert counts.max() <= 300
        assert (simulate(game, players, 300, seed=11) == counts).all()
        assert simulate(game, players, 0, seed=11).sum() == 0


PLAYED, SIMULATED = 300, 20000


@pytest.mark.parametrize("lead", ["first", "last"])
@pytest.mark.parametrize("name", CASES)
def test_simulated_games_go_as_played_ones(name: str, lead: str) -> None:
    """Games by `simulate` and games played move by move come from one distribution: for no count
    does Fisher's exact test say otherwise. The first or the last policy takes the even seats."""
    game = CASES[name]
    names = policies_of(game) if lead == "first" else policies_of(game)[::-1]
    players = [names[seat % len(names)] for seat in range(game.num_seats)]
    played = np.zeros(game.num_seats + 1, np.int64)
    for seed in range(PLAYED):
        played[winners_of_scripted(game, players, seed)] += 1
    simulated = simulate(game, players, SIMULATED, seed=7)
    for mine, theirs in zip(played.tolist(), simulated.tolist(), strict=True):
        table = [[mine, PLAYED - mine], [theirs, SIMULATED - theirs]]
        assert fisher_exact(table).pvalue > 1e-4, (players, played, simulated)


def winners_of_scripted(game: Any, players: list[str], seed: int) -> list[int]:
    """The seats that win a game of scripted players, num_seats if nobody does."""
    rng = np.random.default_rng(seed)
    state = game.deal(rng)
    while seats := game.to_move(state):
        moves = []
        for seat in seats:
            chances = probabilities(game, players[seat], game.observe(state, seat))
            moves.append(game.legal(state, seat)[rng.choice(len(chances), p=chances)])
        state = game.play(state, moves)
    winners = [seat for seat, worth in enumerate(game.returns(state)) if worth > 0]
    return winners or [game.num_seats]
