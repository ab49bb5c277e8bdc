"""OpenSpiel's games: each meets the requirements on every game, plays as OpenSpiel does, and is
refused with a reason if it cannot be played."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
from scipy.stats import chisquare, kstest

from gauntlet.common.errors import IllegalAction
from gauntlet.games.base import Fact, TextAction, TextMove, default_text_move
from gauntlet.games.capabilities import nothing_hidden
from gauntlet.games.contract import values_with_score
from gauntlet.games.openspiel import OpenSpiel, engine
from gauntlet.games.openspiel.engine import GameNotes, entries, notes_of
from gauntlet.games.openspiel.game import catalogue, usual_seats
from gauntlet.games.openspiel.words import matching_name, move_spec, returns
from gauntlet.games.playouts import no_playouts_reason, sample
from gauntlet.pipeline.config.nodes import build as build_node
from gauntlet.pipeline.plan.identity import describe, node_of
from tests.games.adapters import CHECKS, Check, conforms, keeps_the_contract
from tests.games.cases import final, walk
from tests.games.openspiel_cases import SLOWEST, all_names, case, few


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS.keys())
@pytest.mark.parametrize("game", few().values(), ids=few().keys())
def test_a_game_of_each_kind_keeps_what_games_must(game: OpenSpiel, check: Check) -> None:
    conforms(game, check, range(2))


@pytest.mark.slow
@pytest.mark.parametrize("name", all_names())
def test_every_game_keeps_what_games_must(name: str) -> None:
    try:
        game = case(name)
    except ValueError as error:
        pytest.skip(str(error))
    keeps_the_contract(game, 0, but=SLOWEST.get(name, ()))


@pytest.mark.parametrize("name", ["leduc_poker", "bargaining", "hearts"])
def test_a_fact_that_tells_a_secret_is_found(name: str) -> None:
    check = CHECKS["test_what_is_hidden_cannot_be_read_off"]
    with pytest.raises(AssertionError):
        conforms(Talkative(name=name, num_seats=usual_seats(name)), check, range(5))


class Talkative(OpenSpiel):
    """Shows each seat what only a spectator may see."""

    def _facts(self, state: Any, seat: int, text: str) -> list[Fact]:
        return [*super()._facts(state, seat, text), Fact("Told by mistake", self.show(state))]


PUBLIC = [name for name, game in few().items() if game.notes.public]


@pytest.mark.parametrize("name", PUBLIC)
def test_moves_that_are_told_to_all_are_seen_by_all(name: str) -> None:
    told_apart(few()[name])


LIKE_CARDS = ("hanabi",)
"""Games of perfect information whose texts do not tell which of two equal cards was used."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name, one in entries().items() if one.public and name not in LIKE_CARDS]
)
def test_in_every_game_moves_that_are_told_to_all_are_seen_by_all(name: str) -> None:
    told_apart(case(name))


@pytest.mark.parametrize("name", ["battleship", "sheriff", "first_sealed_auction"])
def test_a_move_that_others_do_not_see_is_found(name: str) -> None:
    with pytest.raises(AssertionError):
        told_apart(case(name))


def told_apart(game: OpenSpiel, plies: int = 40) -> None:
    """After each move every other seat's text differs from that after any other move, unless the
    game is then over."""
    for seed in range(3):
        for state, seats, _ in islice(walk(game, seed), plies):
            for seat in seats:
                live, texts = game.live(state), Counter[tuple[int, str]]()
                actions = live.legal_actions(seat)
                going_on = [
                    after for each in actions if not (after := live.child(each)).is_terminal()
                ]
                for after in going_on:
                    for other in set(range(game.num_seats)) - {seat}:
                        texts[other, text_of(game, after, other)] += 1
                assert not texts or max(texts.values()) == 1, game.show(state)


def text_of(game: OpenSpiel, live: Any, seat: int) -> str:
    kind = game.engine.get_type()
    if kind.provides_information_state_string:
        return str(live.information_state_string(seat))
    return str(live.observation_string(seat))


@pytest.mark.parametrize("name", few())
def test_openspiel_comes_to_the_same_by_the_same_actions(name: str) -> None:
    """A state's actions, played in OpenSpiel alone, give the game's utilities."""
    game = few()[name]
    settings = {"rng_seed": 0} if game.secretive else {}
    for seed in range(3):
        last = final(game, seed)
        if game.secretive:
            settings = {"rng_seed": last.seed % 2**31}
        theirs = pyspiel.load_game(name, {**game.engine.get_parameters(), **settings})
        state, left = theirs.new_initial_state(), list(last.actions)
        while left:
            count = game.num_seats if state.is_simultaneous_node() else 1
            now, left = left[:count], left[count:]
            state.apply_actions(now) if count > 1 else state.apply_action(*now)
        assert state.is_terminal()
        assert values_with_score(game, last)["utility"] == tuple(state.returns())


def test_a_deal_is_the_same_whoever_plays_and_others_are_others() -> None:
    game = OpenSpiel(name="leduc_poker")
    deals = [game.deal(np.random.default_rng(seed)) for seed in range(30)]
    assert deals == [game.deal(np.random.default_rng(seed)) for seed in range(30)]
    assert len({deal.actions for deal in deals}) > 10
    for deal in deals:
        opened = set()
        for bets in ((1, 1), (2, 1), (1, 2, 1)):
            state = deal
            for bet in bets:
                state = game.play(state, [bet])
            opened.add(game.show(state).partition("Cards")[2].split()[3])
        assert len(opened) == 1, "the open card hangs on how the first round was bet"


def test_chance_is_as_likely_as_openspiel_says() -> None:
    shares = [engine.hashed_uniform(seed, number) for seed in range(100) for number in range(20)]
    assert kstest(shares, "uniform").pvalue > 1e-4
    game = OpenSpiel(name="liars_dice")
    dice = Counter(game.deal(np.random.default_rng(seed)).actions for seed in range(1800))
    assert len(dice) == 36
    assert chisquare(list(dice.values())).pvalue > 1e-4


def test_luck_drawn_in_secret_does_not_hang_on_what_else_was_tried() -> None:
    game = OpenSpiel(num_seats=3, name="tarok")
    plain = [state.actions for state, _, _ in walk(game, 3)]
    again = []
    for state, seats, moves in walk(game, 3):
        for action in game.legal(state, seats[0])[:3] if seats else ():
            game.play(state, [action])
        again.append(state.actions)
        if seats:
            assert game.show(pickle.loads(pickle.dumps(game.play(state, moves))))
    assert again == plain
    assert len({game.show(game.deal(np.random.default_rng(seed))) for seed in range(5)}) == 5


REFUSED = {
    "leduc_pokr": ("no game 'leduc_pokr'.*did you mean 'leduc_poker'", {}),
    "2048": ("for one player", {}),
    "mfg_garnet": ("mean-field", {}),
    "misere": ("cannot be loaded without parameters: game", {}),
    "hex": (r"no parameter 'bord_size'; did you mean 'board_size'", {"bord_size": 3}),
    "go": ("go's board_size is '9'; it must be like 19", {"board_size": "9"}),
    "goofspiel": ("players is not a parameter here", {"players": 3}),
    "tarok": ("rng_seed is not a parameter here", {"rng_seed": 3}),
    "zerosum": ("draws its chance in secret", {"game": "negotiation"}),
    "battleship": ("cannot load battleship: .*ship.length", {"board_width": 2, "board_height": 2}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_played_is_refused_with_the_reason(name: str) -> None:
    reason, parameters = REFUSED[name]
    with pytest.raises(ValueError, match=reason) as raised:
        OpenSpiel(name=name, parameters=parameters)
    assert "\n" not in str(raised.value)


def test_a_parameter_that_only_the_first_state_looks_at_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="cannot load go: The current Go implementation"):
        OpenSpiel(name="go", parameters={"board_size": 100})


def test_every_registered_game_is_played_or_refused_in_a_line() -> None:
    engine.kinds.cache_clear()  # a test that imported more of OpenSpiel registered more games
    found = catalogue()
    assert list(found) == sorted(pyspiel.registered_names())
    played = [name for name, game in found.items() if isinstance(game, OpenSpiel)]
    assert len(played) >= 100
    for why in (why for why in found.values() if isinstance(why, str)):
        assert why.strip() == why != ""
        assert "\n" not in why


@pytest.mark.parametrize(
    ("name", "seats"), [("hearts", 2), ("goofspiel", 1), ("goofspiel", 11), ("chess", 3)]
)
def test_seats_are_the_games(name: str, seats: int) -> None:
    with pytest.raises(ValueError, match=f"{name} seats .*, got {seats}$"):
        OpenSpiel(num_seats=seats, name=name)


def test_a_whole_number_passes_for_openspiels_share_and_a_name_for_its_game() -> None:
    assert OpenSpiel(name="go", parameters={"komi": 5}).engine.get_parameters()["komi"] == 5.0
    repeated = OpenSpiel(
        name="repeated_game", parameters={"stage_game": "matrix_pd", "num_repetitions": 3}
    )
    assert len([*walk(repeated, 0)]) == 4


def test_openspiels_version_is_a_setting_of_the_built_game() -> None:
    node = {"_target_": "games.openspiel.OpenSpiel", "name": "kuhn_poker", "version": None}
    told = describe(build_node(node, "game", ()))
    assert told["version"] == engine.installed()
    assert build_node(node_of(told), "game", ()) == build_node(node, "game", ())
    with pytest.raises(ValueError, match=r"version is 1\.0, and open_spiel .* is installed"):
        OpenSpiel(version="1.0")


def test_a_file_that_the_game_is_read_from_counts(tmp_path: Path) -> None:
    """A worker that finds other content under the path refuses it."""
    path, rows = tmp_path / "game.nfg", ("1 -1 2 -2 3 -3 0 0", "1 -1 2 -2 5 -5 0 0")
    opens = 'NFG 1 R "two" { "A" "B" } { 2 2 }\n'
    path.write_text(f"{opens}{rows[0]}\n")
    game = OpenSpiel(name="nfg_game", parameters={"filename": str(path)})
    sent = pickle.dumps(game)
    assert pickle.loads(sent) == game
    path.write_text(f"{opens}{rows[1]}\n")
    with pytest.raises(
        ValueError, match=f"^files is {game.files}; those that nfg_game reads have "
    ):
        pickle.loads(sent)
    other = OpenSpiel(name="nfg_game", parameters={"filename": str(path)})
    assert (game.engine.max_utility(), other.engine.max_utility()) == (3, 5)
    assert describe(game) != describe(other)


def test_a_typed_move_is_one_of_the_legal_ones_however_it_is_spaced() -> None:
    names = ("B d4", "bxc3", "Bxc3", "e4")
    assert [
        matching_name(text, names) for text in ("b D4", "bxc3", "Bxc3", "BXC3", " e4", "e5")
    ] == [*("B d4", "bxc3", "Bxc3", "", "e4", "")]
    assert move_spec(names).fault("e5") == "is none of the 4 legal moves"
    assert sorted(move_spec(names).examples) == sorted(names)


def test_moves_are_typed_where_they_are_many_and_taken_as_typed() -> None:
    game = OpenSpiel(name="go", parameters={"board_size": 9}, listed=80)
    state = game.deal(np.random.default_rng(0))
    (option,) = game.legal(state, 0)
    assert isinstance(option, TextAction)
    assert len(option.text.examples) == 82
    after = game.play(state, [TextMove(option, "b D4")])
    assert after.moves == ((0, "B d4"),)
    assert after == game.play(state, [TextMove(option, "B d4")])
    with pytest.raises(IllegalAction, match="is none of the 82 legal moves"):
        game.play(state, [TextMove(option, "d20")])
    listed = replace(game, listed=100)
    names = listed.observe(state, 0).options
    assert len(names) == 82
    same = listed.play(state, [listed.legal(state, 0)[names.index("B d4")]])
    assert same == after


def test_a_player_without_words_takes_each_typed_move_alike() -> None:
    game = OpenSpiel(name="tic_tac_toe", listed=0)
    state, rng = game.deal(np.random.default_rng(0)), np.random.default_rng(1)
    (option,) = game.legal(state, 0)
    taken = Counter(game.play(state, [default_text_move(option, rng)]).actions for _ in range(900))
    assert len(taken) == 9
    assert chisquare(list(taken.values())).pvalue > 1e-4


def test_hidden_moves_are_told_to_their_own_seat_alone() -> None:
    game = OpenSpiel(name="sheriff")
    state = game.play(game.deal(np.random.default_rng(0)), [2])
    state = game.play(state, game.legal(state, game.to_move(state)[0])[:1])
    told = {
        seat: {fact.name: fact.text for fact in game.observe(state, seat).facts} for seat in (0, 1)
    }
    assert "num_illegal_items" in told[0]["The situation"]
    assert "num_illegal_items" not in "".join(told[1].values())


RETURNS = {
    "leduc_poker": ((5.0, -5.0), (5 / 13, -5 / 13)),
    "tiny_hanabi": ((8.0, 8.0), (0.6, 0.6)),
    "matrix_pd": ((10.0, 0.0), (1.0, -1.0)),
    "bargaining": ((4.0, 4.0), (0.0, 0.0)),
}
"""Utilities, and their scores: zero-sum by the maximum, shared by the range, otherwise by rank."""


@pytest.mark.parametrize("name", RETURNS)
def test_returns_are_what_is_written(name: str) -> None:
    utilities, expected = RETURNS[name]
    assert returns(OpenSpiel(name=name).engine, utilities) == pytest.approx(expected)


def test_what_can_be_played_on_from_what_a_seat_knows() -> None:
    assert nothing_hidden(OpenSpiel(name="connect_four"))
    assert not nothing_hidden(OpenSpiel(name="backgammon"))
    assert (
        no_playouts_reason(OpenSpiel(name="backgammon"))
        == no_playouts_reason(OpenSpiel(name="leduc_poker"))
        == ""
    )
    assert "no `sample`" in no_playouts_reason(OpenSpiel(name="liars_dice"))


def test_luck_to_come_is_drawn_anew() -> None:
    """A search in backgammon does not know the dice of this deal."""
    game = OpenSpiel(name="pig")
    state = game.deal(np.random.default_rng(0))
    seen = game.observe(state, 0)
    rolled = {
        game.play(sample(game, seen, np.random.default_rng(seed)), [0]).actions
        for seed in range(40)
    }
    assert len(rolled) == 6


def test_rules_are_own_words_for_the_games_that_people_use_most() -> None:
    registered = set(pyspiel.registered_names())
    written = [name for name in registered if notes_of(name).rules]
    assert len(written) >= 60
    assert notes_of("nonsense") == GameNotes()
    assert set(entries()) <= registered


def test_no_note_on_a_game_is_cut_off() -> None:
    """An unquoted # in a YAML file begins a comment."""
    for name, notes in entries().items():
        for text in (notes.rules, notes.reading, notes.slip):
            assert text == "" or text.endswith("."), (name, text)


def test_settings_that_the_rules_do_not_know_are_told() -> None:
    def rules(**settings: Any) -> str:
        game = OpenSpiel(name="go", parameters=settings)
        return game.observe(game.deal(np.random.default_rng(0)), 0).rules

    assert "board_size is 9 (usually 19)" in rules(board_size=9)
    assert "usually" not in rules()
