"""Local best response in hold'em, against other ways to compute each of its parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gauntlet.agents.base import Agent, Decision, Goal, Turn
from gauntlet.agents.local_response import LocalBestResponse
from gauntlet.agents.rule import Rule
from gauntlet.games.capabilities import Ranged
from gauntlet.games.holdem import Holdem, State, response, rules
from gauntlet.games.holdem.playouts import believe, make_belief
from gauntlet.games.holdem.policies import HOLES, PAIRS, make_room
from gauntlet.games.holdem.ranks import share
from gauntlet.games.holdem.words import NAMES
from gauntlet.games.playouts import scripted_move
from tests.games.test_holdem_luck import CHECKED, NUTS, dealt

GAME = Holdem(mode="hands", hands=3)


def passed(policy: str, deals: int) -> list[list[State]]:
    """The states before each move of some matches between two players of a policy."""
    found = []
    for deal in range(deals):
        rng = np.random.default_rng(deal)
        states = [GAME.deal(rng)]
        while seats := GAME.to_move(states[-1]):
            move = scripted_move(GAME, states[-1], seats[0], policy, rng)
            states.append(GAME.play(states[-1], (move,)))
        found.append(states[:-1])
    return found


def held(state: State, seat: int) -> int:
    """The number of a seat's holding."""
    cards = sorted(state.array[rules.hole_slice(seat)].tolist())
    return int(np.flatnonzero((cards == PAIRS).all(1))[0])


def values(state: State, believed: str) -> np.ndarray:
    return np.array(decided(LocalBestResponse(believed), state).scores)


def decided(agent: Agent, state: State) -> Decision:
    """An agent's decision; it asks nothing."""
    (seat,) = GAME.to_move(state)
    turn = Turn(GAME, GAME.legal(state, seat), Goal(), lambda: GAME.observe(state, seat))
    with pytest.raises(StopIteration) as stop:
        next(agent.decide(turn, np.random.default_rng(5)))
    decision: Decision = stop.value.value
    return decision


def test_hold_em_is_ranged() -> None:
    assert isinstance(GAME, Ranged)


@pytest.mark.parametrize("policy", ["random", "mixed"])
def test_range_states_are_those_in_which_the_other_seat_moved(policy: str) -> None:
    """With its true cards, each past state shows what it saw, and each raise what it will."""
    compared = 0
    for states in passed(policy, 6):
        for number, state in enumerate(states):
            (seat,) = GAME.to_move(state)
            past, later = GAME.range_states(GAME.observe(state, seat))
            hand = state.array.item(rules.HAND)
            seen = [one for one in states[:number] if one.array.item(rules.HAND) == hand]
            true = [one for one in seen if GAME.to_move(one) != (seat,)]
            raises = [one for one in GAME.legal(state, seat) if one > rules.CALL]
            true += [GAME.play(state, (one,)) for one in raises]
            for asked, actual in zip([*past, *later], true, strict=True):
                given, was = (
                    GAME.observe(GAME.hold(one, 1 - seat, held(state, 1 - seat)), 1 - seat)
                    for one in (asked, actual)
                )
                assert (given.facts, given.options) == (was.facts, was.options)
                assert given.view.cells[: rules.LOG] == was.view.cells[: rules.LOG]
                compared += 1
    assert compared > 50


@pytest.mark.parametrize("policy", ["random", "caller", "maniac", "tight", "mixed"])
def test_shares_are_the_policy_with_each_hand(policy: str) -> None:
    rng = np.random.default_rng(1)
    for states in passed("mixed", 4):
        state = states[int(rng.integers(len(states)))]
        (seat,) = GAME.to_move(state)
        found = GAME.shares(policy, state)
        assert found.sum(1) == pytest.approx(1)
        able = np.flatnonzero(response.possible(_as_seen_by_nobody(state, seat)))
        for holding in rng.choice(able, 10, replace=False).tolist():
            seen = GAME.observe(GAME.hold(state, seat, holding), seat)
            options = list(GAME.legal(state, seat))
            assert found[holding, options] == pytest.approx(GAME.probabilities(policy, seen))


def _as_seen_by_nobody(state: State, seat: int) -> np.ndarray:
    """The state for the seat that is not to move, whose cards the other's exclude."""
    array = state.array.copy()
    array[rules.TO_MOVE] = 1 - seat
    return array


@pytest.mark.parametrize("policy", ["tight", "mixed"])
def test_ranges_are_the_beliefs_of_the_playouts(policy: str) -> None:
    room, belief, compared = make_room(), make_belief(), 0
    for states in passed(policy, 5):
        for state in states:
            (seat,) = GAME.to_move(state)
            past, _ = GAME.range_states(GAME.observe(state, seat))
            able = response.possible(state.array)
            shares = [GAME.shares(policy, one) for one in past]
            believe(state.array, GAME.code(policy), room, belief)
            other = np.diff(belief.sums, prepend=0) / belief.sums[-1]
            assert response.weighed(state.array, able, shares) == pytest.approx(other)
            compared += len(past)
    assert compared > 10


def test_equities_on_the_turn_and_the_river_are_exact() -> None:
    for state in [one for states in passed("caller", 3) for one in states]:
        street = state.array.item(rules.STREET)
        if street < rules.TURN:
            continue
        (seat,) = GAME.to_move(state)
        found, own = response.equities(state.array, 3), rules.hole(state.array, seat)
        table = rules.board(state.array, rules.faceup(street))
        able = np.flatnonzero(response.possible(state.array))
        assert not found[~response.possible(state.array)].any()
        for at in able[::97].tolist():
            exact = share(own, HOLES[at], table, rules.RIVER - street)
            assert found[at] == pytest.approx(exact)


def test_against_a_caller_options_are_worth_what_playouts_win() -> None:
    """Once nobody folds and both check and call, the value is that of the callers' playouts."""
    callers, compared = ("caller", "caller"), 0
    for states in passed("random", 3):
        for state in states[::2]:
            (seat,) = GAME.to_move(state)
            if GAME.legal(state, seat)[0] != rules.FOLD:
                continue
            played = GAME.outcomes(state, callers, 4_000, 1, True, "bb_per_hand")[:, :, seat]
            won = 3 * (played - played[0])  # of three hands; folding is the first option
            error = won.std(1) / np.sqrt(4_000) + 0.05 * np.abs(won).max()
            assert (np.abs(values(state, "caller") - won.mean(1)) <= 4 * error).all()
            compared += 1
    assert compared > 2


def test_a_sure_hand_goes_all_in_against_a_caller() -> None:
    """On the river with the nuts and 4 chips in the pot, all in wins them and 198 more."""
    state: Any = dealt(NUTS)
    for move in CHECKED:
        state = GAME.play(state, (NAMES.index(move),))
    assert GAME.to_move(state) == (1,)
    worth = values(state, "caller")
    assert worth.max() == worth[-1] == pytest.approx((4 + 198) / 2)


def test_who_always_folds_to_a_bet_is_bet_at() -> None:
    """Whatever it holds, a raise wins the pot of 4 chips if the other folds for sure."""
    state: Any = dealt("Ah Kh 2c 7d Qh Jh Th 2s 3d")
    for move in CHECKED:
        state = GAME.play(state, (NAMES.index(move),))
    past, later = GAME.range_states(GAME.observe(state, 1))
    folding = np.zeros((len(PAIRS), rules.ACTIONS))
    folding[:, rules.FOLD] = 1
    shares = [GAME.shares("random", one) for one in past]
    worth = GAME.local_values(GAME.observe(state, 1), shares, [folding] * len(later), 1)
    assert worth[1:] == pytest.approx(4 / 2)
    assert worth[0] < 4 / 2


def test_asking_a_player_gives_the_belief_in_its_policy() -> None:
    for state in [one for states in passed("tight", 2) for one in states][::2]:
        asked = decided(LocalBestResponse(Rule("tight")), state)
        assert asked.scores == pytest.approx(decided(LocalBestResponse("tight"), state).scores)
