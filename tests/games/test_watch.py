"""Watched games: observations depend on the deal only, guesses are separate and scored."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from gauntlet.games.base import TextAction, TextMove, move_with
from gauntlet.games.contract import values_with_score
from gauntlet.games.playouts import policies_of
from gauntlet.games.rock_paper_scissors import RockPaperScissors
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.games.uno import Uno
from gauntlet.games.watch import State, Watch
from gauntlet.games.watch.transcript import WORST
from gauntlet.pipeline.plan.rng import stream

RPS = RockPaperScissors(rounds=16)
H_C = Watch(of=RPS, players=("H", "C"))
ANY = Watch(of=RPS)


def dealt(game: Watch, seed: int = 0) -> State:
    return game.deal(np.random.default_rng(seed))


def guessing(game: Watch, state: State, guesses: Sequence[str]) -> State:
    """The match after these guesses, of which the last one is said until the end."""
    for said in guesses:
        state = game.play(state, [TextMove(0, said)])
    while game.to_move(state):
        state = game.play(state, [TextMove(0, guesses[-1])])
    return state


@pytest.mark.parametrize("base", [RPS, TicTacToe(), Uno(num_seats=3)])
def test_all_observers_watch_the_same_moves(base: object) -> None:
    """Whatever is observed: the stream of a deal does not depend on the window."""
    games = [Watch(of=base, window=window, warmup=warm) for window, warm in ((50, 2), (None, 0))]
    first, other = (one.deal(stream(7, one, 3, 0)) for one in games)
    assert first.transcript.moves == other.transcript.moves
    assert first.transcript.players == other.transcript.players
    assert first.transcript.moves != games[0].deal(stream(7, games[0], 4, 0)).transcript.moves


def test_other_players_are_another_deal() -> None:
    assert H_C.deal_key != ANY.deal_key != Watch(of=RPS, catalogue=("H", "C")).deal_key
    assert H_C.deal_key == Watch(of=RockPaperScissors(rounds=9), players=("H", "C")).deal_key
    drawn = RockPaperScissors(rounds=16, react="iid")
    assert H_C.deal_key == Watch(of=drawn, players=("H", "C")).deal_key
    for players in (("D", "Y"), ()):
        by_rule, alone = (Watch(of=of, players=players).deal_key for of in (RPS, drawn))
        assert by_rule != alone


def test_players_are_drawn_alike_from_the_catalogue_or_are_those_given() -> None:
    game = Watch(of=RPS, catalogue=("A", "B", "X"))
    drawn = Counter(dealt(game, seed).transcript.players for seed in range(450))
    assert set(drawn) == set(product("ABX", repeat=2))
    assert max(drawn.values()) < 85
    assert dealt(H_C).transcript.players == ("H", "C")


@pytest.mark.parametrize(("rounds", "warmup", "guesses"), [(16, 10, 6), (10, 10, 1), (4, 10, 1)])
def test_every_step_after_the_warm_up_is_guessed_at(rounds: int, warmup: int, guesses: int) -> None:
    game = Watch(of=RockPaperScissors(rounds=rounds), players=("H", "C"), warmup=warmup)
    state, shown = dealt(game), []
    while game.to_move(state):
        shown.append(game.progress(game.observe(state, 0)))
        state = game.play(state, [TextMove(0, "H C")])
    assert shown == [(rounds - guesses + 1 + k, rounds) for k in range(guesses)]


def test_only_what_was_shown_is_told_and_only_the_window_of_it() -> None:
    game = Watch(of=RPS, players=("N", "G"), window=5)
    state = dealt(game)
    (rounds,) = state.transcript.moves
    for end in range(11, 17):
        seen = game.observe(state, 0)
        told = json.loads(seen.facts[0].text)
        assert [one["round"] for one in told] == list(range(end - 4, end + 1))
        hands = [("RPS".index(one["move1"]), "RPS".index(one["move2"])) for one in told]
        assert hands == list(rounds[end - 5 : end])
        assert [one["result"] for one in told] == [
            {0: 0, 1: 1, 2: -1}[(one - other) % 3] for one, other in hands
        ]
        assert len(seen.view.told) == 5
        state = game.play(state, [TextMove(0, "N G")])


def test_likelihoods_are_those_of_the_watched_game() -> None:
    game = Watch(of=RPS, catalogue=("B", "H", "X"), players=("H", "X"), warmup=0)
    state = guessing(game, dealt(game), ["H X"])
    (rounds,) = state.transcript.moves
    found = np.array([step.chances(game.of, game.policies) for step in state.transcript.steps])
    assert found.shape == (16, 2, 3)
    mix = {"B": (1, 0, 0), "H": (0.5, 0.25, 0.25)}
    for number, hands in enumerate(rounds):
        for seat, hand in enumerate(hands):
            before = rounds[number - 1][1 - seat] if number else None
            beats = 1 / 3 if before is None else float(hand == (before + 1) % 3)
            assert found[number, seat] == pytest.approx([mix["B"][hand], mix["H"][hand], beats])


def test_a_guess_is_read_in_upper_and_lower_case_and_may_be_none() -> None:
    state = dealt(H_C)
    for said, kept in (("H C", (7, 2)), ("h c", (7, 2)), ("-", ())):
        assert H_C.play(state, [TextMove(0, said)]).guesses == (kept,)
    (option,) = H_C.legal(state, 0)
    assert isinstance(option, TextAction)
    assert option.text.instead == "-"
    for wrong in ("H", "H C C", "H Q", "HC", "H  C", ""):
        assert option.text.fault(wrong)


def test_the_measures_of_a_match() -> None:
    """Six guesses: half, whole, none, alike in outcome, whole, wrong."""
    game, said = H_C, ["H B", "H C", "-", "J A", "h c", "A B"]
    figures = {
        n: own[0] for n, own in values_with_score(game, guessing(game, dealt(game), said)).items()
    }
    assert game.measures[0].name == "sir"
    assert (figures["sir"], figures["win"]) == (2 / 6, 0.0)
    assert (figures["sir_1"], figures["sir_2"], figures["null_rate"]) == (3 / 6, 2 / 6, 1 / 6)
    assert figures["lag"] == 1
    assert figures["alike"] == 15
    outlook = {pair: np.array(RPS.outlook(pair)) for pair in product("ABCHJ", repeat=2)}
    briers = [
        ((outlook[tuple(one.upper().split())] - outlook["H", "C"]) ** 2).sum()
        for one in said
        if one != "-"
    ]
    assert figures["brier"] == pytest.approx(np.mean(briers))
    assert figures["same_outcome"] == np.mean([b < 1e-9 for b in briers]) * 5 / 6
    assert figures["understood"] == 2
    right = values_with_score(game, guessing(game, dealt(game), ["H C"]))
    assert (right["win"], right["union"], right["spikes"]) == ((1.0,), (0.0,), (0.0,))


def test_a_match_without_any_guess_loses_most() -> None:
    figures = values_with_score(H_C, guessing(H_C, dealt(H_C), ["-"]))
    assert (figures["sir"], figures["null_rate"]) == ((0.0,), (1.0,))
    assert {name: figures[name][0] for name in WORST} == WORST
    assert figures["understood"] == (7.0,)


@pytest.mark.parametrize(
    ("players", "alike", "blind"), [("HC", 15, 0), ("NG", 6, 0), ("DY", 46, 1), ("XY", 46, 0)]
)
def test_pairs_that_no_loss_distinguishes_are_flagged(players: str, alike: int, blind: int) -> None:
    game = Watch(of=RPS, players=tuple(players))
    figures = values_with_score(game, guessing(game, dealt(game), ["A A"]))
    assert (figures["alike"], figures["blind"]) == ((alike,), (blind,))


def test_several_games_are_watched_one_after_the_other() -> None:
    game = Watch(of=TicTacToe(), games=3, warmup=2, window=None, players=("first", "careful"))
    state = guessing(game, dealt(game), ["first careful"])
    assert len(state.transcript.moves) == 3
    assert len(state.transcript.steps) == len(state.transcript) == len(state.guesses) + 2
    opened = [step.acted[0] for step in state.transcript.steps if not step.acted[0].seat]
    assert (
        sum(
            "Your marks: none" in f"{f.name}: {f.text}" for o in opened for f in o.observation.facts
        )
        == 3
    )


@pytest.mark.parametrize("size", [3, 4])
def test_tic_tac_toes_players_go_as_their_chances_say(size: int) -> None:
    """Against hand-made positions: a line to complete, one to block, and neither."""
    game = TicTacToe(size=size)
    state = game.deal(np.random.default_rng(0))
    for cell in (0, size, 1):  # seat 0 has two in the first row, seat 1 is to move
        state = game.play(state, [cell])
    seen = game.observe(state, 1)
    likely = {
        policy: dict(zip(seen.options, game.probabilities(policy, seen), strict=True))
        for policy in policies_of(game)
    }
    assert likely["careful"]["C3R1"] == 1
    assert likely["first"]["C3R1"] == 1
    assert likely["greedy"]["C3R1"] == pytest.approx(1 / (size**2 - 3))
    assert all(sum(own.values()) == pytest.approx(1) for own in likely.values())
    state = game.play(state, [move_with(size + 1, "")])
    seen = game.observe(state, 0)
    for policy in ("greedy", "careful"):
        assert game.probabilities(policy, seen)[seen.options.index("C3R1")] == 1
