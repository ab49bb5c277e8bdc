"""Exact beliefs against enumerations that share no code with them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from gauntlet.games.capabilities import BeliefQuestion, Believable
from gauntlet.games.holdem import Holdem
from gauntlet.games.holdem.game import distinct
from gauntlet.games.holdem.rules import CARDS, State
from gauntlet.games.openspiel import engine
from gauntlet.games.openspiel.exploitability import best_response
from gauntlet.games.openspiel.game import OpenSpiel
from gauntlet.games.openspiel.tree import listed, tabular
from gauntlet.games.playouts import probabilities, scripted_move

KUHN, LEDUC = OpenSpiel(name="kuhn_poker"), OpenSpiel(name="leduc_poker")
HOLDEM = Holdem(mode="hands", hands=2)
GAMES: dict[str, tuple[Any, str]] = {
    "kuhn": (KUHN, "equilibrium"),
    "kuhn of 3": (OpenSpiel(name="kuhn_poker", num_seats=3), "random"),
    "leduc": (LEDUC, "equilibrium"),
    "holdem": (HOLDEM, "mixed"),
    "holdem tight": (HOLDEM, "tight"),
}
Asked = tuple[Any, int, int, BeliefQuestion]


def asked(game: Any, policy: str, deals: int) -> Iterator[Asked]:
    """Every question in matches between players of this policy."""
    for deal in range(deals):
        rng = np.random.default_rng(deal)
        state = game.deal(rng)
        while seats := game.to_move(state):
            (seat,) = seats
            move = scripted_move(game, state, seat, policy, rng)
            for question in game.questions(state, seat, move):
                yield state, seat, move, question
            state = game.play(state, [move])


@pytest.mark.parametrize("name", GAMES)
def test_questions_fit_and_tell_nothing_hidden(name: str) -> None:
    game, policy = GAMES[name]
    assert isinstance(game, Believable)
    for state, seat, move, question in asked(game, policy, 10):
        rng = np.random.default_rng(1)
        other = game.sample(game.observe(state, seat), rng)
        assert question in list(game.questions(other, seat, move))
        assert len(set(question.answers)) == len(question.answers) >= 2
        if question.kind == "hidden":
            assert 0 <= game.truth(state, question) < len(question.answers)
        elif question.kind == "move":
            after = game.play(state, [move])
            assert game.to_move(after) == (question.about,)
            assert game.observe(after, question.about).options == question.answers
        else:
            assert game.to_move(game.play(state, [move]))


def cards_and_moves(game: OpenSpiel, state: Any) -> tuple[list[int], list[int]]:
    """The cards of a state, and its moves with -1 where the open card comes."""
    live, cards, moves = game.engine.new_initial_state(), list[int](), list[int]()
    for action in state.actions:
        (cards if live.is_chance_node() else moves).append(action)
        if live.is_chance_node() and len(cards) > game.num_seats:
            moves.append(-1)
        live.apply_action(action)
    return cards, moves


def by_permutations(
    game: OpenSpiel, state: Any, seat: int, move: int, question: BeliefQuestion, policy: str | None
) -> np.ndarray:
    """All orders of the deck, by the cards that the seat sees, each weighed by the likelihood of
    the others' moves."""
    cards, moves = cards_and_moves(game, state)
    suits = 2 if game.name == "leduc_poker" else 1
    shares = np.zeros(len(question.answers))
    for deck in permutations(range(suits * (game.num_seats + 1)), len(cards)):
        if deck[seat] != cards[seat] or deck[game.num_seats :] != tuple(cards[game.num_seats :]):
            continue
        actions, weight, rest = list(deck[: game.num_seats]), 1.0, list(deck[game.num_seats :])
        for action in moves:
            if action < 0:
                actions.append(rest.pop(0))
                continue
            now = engine.state_of(game.engine, 0, actions)
            (mover,) = game.to_move(now)
            if policy and mover != seat:
                chances = probabilities(game, policy, game.observe(now, mover))
                weight *= chances[game.legal(now, mover).index(action)]
            actions.append(action)
        if question.kind == "hidden":
            shares[deck[question.about] // suits] += weight
        else:
            after = engine.state_of(game.engine, 0, [*actions, move])
            assert policy
            seen = game.observe(after, question.about)
            shares += weight * np.array(probabilities(game, policy, seen))
    return shares / shares.sum()


@pytest.mark.parametrize("name", ["kuhn", "kuhn of 3", "leduc"])
def test_the_posterior_of_openspiels_poker_is_that_of_all_orders_of_the_deck(name: str) -> None:
    game, policy = GAMES[name]
    told = 0.0
    for state, seat, move, question in asked(game, policy, 12):
        known, unknown = [policy] * game.num_seats, [None] * game.num_seats
        place = state, seat, move, question
        if question.kind == "win":
            assert game.posterior(*place, known) is None
            continue
        exact = game.posterior(*place, known)
        assert np.abs(exact - by_permutations(game, *place, policy)).max() < 1e-12
        deal = game.posterior(*place, unknown)
        if question.kind == "move":
            assert deal is None
        else:
            assert np.abs(deal - by_permutations(game, *place, None)).max() < 1e-12
            told = max(told, np.abs(deal - exact).max())
    assert (told > 0.2) == (policy == "equilibrium")


def by_pairs(state: State, seat: int, move: int, question: BeliefQuestion, policy: str) -> Any:
    """All pairs of cards that the seat does not see; the hand is played again with each, from its
    deal, by the Game protocol."""
    game, other = HOLDEM, 1 - seat
    hand = int(state.array[8])
    street, shares = int(state.array[11]), np.zeros(len(question.answers))
    shown = [0, 3, 4, 5][street]
    own = CARDS + 2 * seat
    seen = {*state.array[own : own + 2].tolist(), *state.array[35 : 35 + shown].tolist()}
    log = state.array[40 : 40 + int(state.array[12])].tolist()
    start = first_of_hand(state, hand)
    for pair in permutations(sorted(set(range(52)) - seen), 2):
        if pair[0] > pair[1]:
            continue
        array, weight = start.copy(), 1.0
        array[CARDS + 2 * other : CARDS + 2 * other + 2] = pair
        now = State(array, (), 0)
        for action in log:
            (mover,) = game.to_move(now)
            if mover == other:
                chances = probabilities(game, policy, game.observe(now, mover))
                weight *= chances[game.legal(now, mover).index(action)]
                if weight == 0:
                    break
            now = game.play(now, [action])
        if weight == 0:
            continue
        if question.kind == "hidden":
            ranks = sorted(card // 4 for card in pair)
            high = sum(rank >= 8 for rank in ranks)
            shares[0 if ranks[0] == ranks[1] else 3 - high] += weight
        else:
            after = game.play(now, [move])
            shares += weight * np.array(probabilities(game, policy, game.observe(after, other)))
    return shares / shares.sum()


def first_of_hand(state: State, hand: int) -> np.ndarray:
    """The array of this hand's first decision, with the cards that the state has."""
    game, rng = HOLDEM, np.random.default_rng(0)
    now = game.deal(rng)
    while int(now.array[8]) < hand:
        seat = game.to_move(now)[0]
        now = game.play(now, [game.legal(now, seat)[0]])
    array = now.array.copy()
    array[CARDS:40] = state.array[CARDS:40]
    return array


@pytest.mark.parametrize("name", ["holdem", "holdem tight"])
def test_the_posterior_of_holdem_is_that_of_all_pairs_of_cards(name: str) -> None:
    game, policy = GAMES[name]
    places = [one for one in asked(game, policy, 12) if one[3].kind != "win"]
    late = [one for one in places if one[0].array[12] > 0]
    assert len(late) > 4
    for place in late[:: max(1, len(late) // 5)]:
        exact = game.posterior(*place, [policy] * 2)
        assert np.abs(exact - by_pairs(*place, policy)).max() < 1e-12


def test_what_others_never_do_has_no_posterior() -> None:
    """TIGHT never goes all in."""
    state = HOLDEM.deal(np.random.default_rng(2))
    (first,) = HOLDEM.to_move(state)
    state = HOLDEM.play(state, [7])
    (seat,) = HOLDEM.to_move(state)
    assert seat != first
    move = distinct(state.array)[0]
    question = HOLDEM.questions(state, seat, move)[0]
    assert HOLDEM.posterior(state, seat, move, question, ["tight"] * 2) is None
    assert HOLDEM.posterior(state, seat, move, question, [None] * 2) is not None


def test_worths_in_kuhn_by_hand() -> None:
    """Player 1 has the queen (1) and player 0 has bet: folding loses 1, calling wins 2 from the
    jack and loses 2 to the king."""
    state = engine.state_of(KUHN.engine, 0, [0, 1, 1])
    (question, *_) = KUHN.questions(state, 1, 1)
    worths = KUHN.worths(state, 1, question, ["random", None])
    assert worths == pytest.approx(np.array([[-1, 2], [np.nan] * 2, [-1, -2]]), nan_ok=True)


@pytest.mark.parametrize("policy", ["random", "equilibrium"])
def test_worths_average_to_the_value_of_the_best_response(policy: str) -> None:
    """At player 0's first decision of Leduc, over its cards and the other's."""
    found = listed(LEDUC)

    def told(live: Any) -> dict[int, float]:
        state = engine.state_of(LEDUC.engine, 0, live.history())
        seen = LEDUC.observe(state, live.current_player())
        chances = probabilities(LEDUC, policy, seen)
        return dict(zip(live.legal_actions(), chances, strict=True))

    value, _ = best_response(found.tree, tabular(found, told), 0)
    best = []
    for card in range(6):
        state = engine.state_of(LEDUC.engine, 0, [card, (card + 1) % 6])
        (question, *_) = LEDUC.questions(state, 0, 1)
        known = [None, policy]
        chances = LEDUC.posterior(state, 0, 1, question, known)
        best.append(max(np.nan_to_num(LEDUC.worths(state, 0, question, known)).T @ chances))
    assert np.mean(best) == pytest.approx(value, abs=1e-12)
