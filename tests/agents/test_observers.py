"""Observers without a model: their guesses from given observations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gauntlet.agents.base import Decision
from gauntlet.agents.observers import Bayes, Constant, Likeliest, Nearest, Observer, posteriors
from gauntlet.agents.random import Random
from gauntlet.agents.search import Search
from gauntlet.games.base import TextMove
from gauntlet.games.rock_paper_scissors import RockPaperScissors
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.games.uno import Uno
from gauntlet.games.watch import State, Watch
from gauntlet.games.watch.guesses import Guess
from gauntlet.games.watch.transcript import Transcript
from tests.agents.play import drive, match, turn_at, unasked

PUBLISHED = {"HC": (0.486, 0.166), "NG": (0.674, 0.184), "DY": (0.575, 0.159)}
"""Our own reference runs of the ideal observer, 120 matches each: SIR and its deviation over
matches."""


def match_of(rounds: list[tuple[int, int]], **settings: Any) -> tuple[Watch, State]:
    """A match of these rounds before its last guess."""
    of = RockPaperScissors(rounds=len(rounds))
    game = Watch(of=of, warmup=len(rounds), **settings)
    return game, State(Transcript(of, ("D", "D"), ((),), (tuple(rounds),)))


def guess(agent: Observer, game: Watch, state: State, seed: int = 0) -> Decision:
    decision, _ = drive(agent, turn_at(game, state, 0), unasked, seed)
    return decision


def sir(agent: Observer, game: Watch, matches: int) -> tuple[np.ndarray, list[Guess]]:
    """The share of right guesses of each match, and all guesses."""
    shares, every = [], []
    for seed in range(matches):
        state = game.deal(np.random.default_rng((91, seed)))
        while game.to_move(state):
            said = guess(agent, game, state, len(state.guesses))
            state = game.play(state, [TextMove(0, said.text)])
        shares.append(state.guesses.count(game.truth(state)) / len(state.guesses))
        every += state.guesses
    return np.array(shares), every


def test_the_likeliest_follows_rules_and_mixes() -> None:
    """Player 2 beats what player 1 threw before, who never throws scissors: E, as often rock as
    paper, and X."""
    hands = [0, 0, 1, 1, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1]
    rounds = list(zip(hands, [2, *((hand + 1) % 3 for hand in hands)], strict=False))
    game, state = match_of(rounds)
    assert guess(Likeliest(), game, state).text == "E X"
    assert guess(Nearest(), game, state).text.startswith("E ")


def test_what_lies_before_the_window_does_not_count() -> None:
    rounds = [(0, 0)] * 20 + [(2, 1)] * 20
    for window, said in ((20, "A C"), (None, "F E")):
        game, state = match_of(rounds, window=window, catalogue=("A", "C", "E", "F"))
        assert guess(Likeliest(), game, state).text == said
        assert guess(Nearest(), game, state).text == said


def test_equal_policies_are_drawn_alike() -> None:
    """After one round X, Y, Z and D are as likely as each other, and G and E more so."""
    game, state = match_of([(1, 1)], catalogue=("X", "Y", "Z"))
    said = {guess(Likeliest(), game, state, seed).text for seed in range(80)}
    assert len(said) == 9


def test_a_player_that_does_what_no_policy_does_may_be_any() -> None:
    game, state = match_of([(0, 0), (1, 1), (2, 0)], catalogue=("A", "B"))
    assert len({guess(Likeliest(), game, state, seed).text for seed in range(60)}) == 4
    assert guess(Bayes(), game, state).notes == {"confidence": 0.25}


def test_posteriors_are_chances_in_proportion_to_likelihoods() -> None:
    logs = np.log([[0.2, 0.6], [1e-300, 1e-300]]) - 500
    assert posteriors(logs) == pytest.approx(np.array([[0.25, 0.75], [0.5, 0.5]]))
    nothing = np.array([[-np.inf, -np.inf], [-np.inf, 0]])
    assert posteriors(nothing) == pytest.approx(np.array([[0.5, 0.5], [0, 1]]))


def test_bayes_takes_the_least_expected_loss_and_tells_its_posterior() -> None:
    game, state = match_of([(0, 1)] * 6 + [(1, 1)] * 2, catalogue=("B", "C", "K"))
    decision = guess(Bayes(), game, state)
    likely = game.likelihoods(game.observe(state, 0)).prod(axis=0)
    likely /= likely.sum(axis=1, keepdims=True)
    joint = np.outer(*likely).ravel()
    losses = game.losses()
    assert losses is not None
    expected = losses @ joint
    names = [f"{one} {other}" for one in "BCK" for other in "BCK"]
    assert decision.text == names[expected.argmin()]
    assert decision.notes == {"confidence": round(float(joint[expected.argmin()]), 4)}


def test_of_guesses_that_lose_alike_bayes_takes_the_likeliest() -> None:
    """With D as the other player, the outcomes are the same for any guess of player 1."""
    game, state = match_of([(0, k % 3) for k in range(30)], catalogue=("A", "B", "D"))
    said = {guess(Bayes(), game, state, seed).text for seed in range(20)}
    assert said == {"B D"}


def test_a_constant_guess_is_the_first_code_or_the_one_given() -> None:
    game, state = match_of([(0, 1)])
    assert guess(Constant(), game, state).text == "A A"
    assert guess(Constant("D Y"), game, state).text == "D Y"
    for wrong in ("D", "D Q", "D Y Z"):
        with pytest.raises(ValueError, match="with a space between"):
            Constant(wrong).check(game)


def test_observers_play_games_of_watching_alone() -> None:
    for agent in (Constant(), Nearest(), Likeliest(), Bayes()):
        with pytest.raises(ValueError, match="TicTacToe has nobody to watch"):
            agent.check(TicTacToe())
    with pytest.raises(ValueError, match="Uno has no mixes"):
        Nearest().check(Watch(of=Uno()))
    Likeliest().check(Watch(of=Uno()))
    with pytest.raises(ValueError, match="sample"):
        Search().check(Watch(of=Uno()))


def test_a_random_observer_guesses_each_pair_alike() -> None:
    game, state = match_of([(0, 0)] * 30, catalogue=("A", "B", "C"), players=("A", "B"))
    said = {turn.game.guess for turn, _, _ in match(Random(), game, 0, unasked)}
    assert said
    assert len(game.legal(state, 0)[0].text.examples) == 9


def test_the_ideal_observer_is_as_good_as_published() -> None:
    """A few matches: within four standard errors; C is always known, and a Y that answers nothing
    never is."""
    game = Watch(of=RockPaperScissors(rounds=210), players=("H", "C"))
    shares, guesses = sir(Likeliest(), game, 6)
    mean, deviation = PUBLISHED["HC"]
    assert abs(shares.mean() - mean) < 4 * deviation / np.sqrt(6)
    assert {other for _, other in guesses} == {game.codes.index("C")}
    drawn = Watch(of=RockPaperScissors(rounds=210, react="iid"), players=("D", "Y"))
    assert sir(Likeliest(), drawn, 2)[0].tolist() == [0, 0]


@pytest.mark.slow
@pytest.mark.parametrize("players", PUBLISHED)
def test_the_ideal_observers_rates_come_out_again(players: str) -> None:
    """120 matches each, as published: the difference of two such means is within 3 errors."""
    game = Watch(of=RockPaperScissors(rounds=210), players=tuple(players))
    shares, _ = sir(Likeliest(), game, 120)
    mean, deviation = PUBLISHED[players]
    error = np.sqrt((deviation**2 + shares.var(ddof=1)) / 120)
    assert abs(shares.mean() - mean) < 3 * error
