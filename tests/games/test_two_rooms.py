"""Two Rooms and a Boom rule by rule, what is heard and what stays hidden, and its players."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings

from gauntlet.common.errors import IllegalAction
from gauntlet.games.base import TextMove
from gauntlet.games.two_rooms import TwoRooms, rules
from gauntlet.games.two_rooms.rules import (
    ADMIT,
    BLUE,
    KINDS,
    RED,
    Exchange,
    State,
    claimed,
    deals,
    known_kin,
)
from tests.games.cases import seeds, walk

GAME, SIX, PAPER_BUGS = TwoRooms(), TwoRooms(6), TwoRooms(6, paper_bugs=True)
few = settings(max_examples=25, deadline=None)
START = State(tuple(range(6)), 0, 3, (1, 4), ((0, 0, 1, 0, 1, 1),))
"""0, 1 and 3 are in room 0, led by 1; 2, 4 and 5 in room 1, led by 4. Person i has role i."""


def talked(game: TwoRooms, state: State, most: int = 99) -> State:
    """The state after the questions of a round: everybody asks the first who can be asked."""
    for _ in range(most):
        if rules.trading(state):
            break
        (seat,) = game.to_move(state)
        state = game.play(state, (TextMove(int(game.legal(state, seat)[0]), "So what?"),))
    return state


# The deal


@few
@given(seeds)
def test_a_deal_has_three_of_each_team_and_of_each_room_and_a_leader_in_each(seed: int) -> None:
    for game in (GAME, PAPER_BUGS):
        state = game.deal(np.random.default_rng(seed))
        assert sorted(state.roles) == list(range(6))
        assert sorted(state.rooms[0]) == [0, 0, 0, 1, 1, 1]
        assert rules.team(state, state.president) == BLUE
        assert rules.team(state, state.bomber) == RED
        assert [state.rooms[0][leader] for leader in state.leaders] == [0, 1]


def test_everybody_may_be_president_wherever_it_is() -> None:
    dealt = [GAME.deal(np.random.default_rng(seed)) for seed in range(400)]
    for person in range(6):
        assert 30 < sum(state.president == person for state in dealt) < 110
        assert 30 < sum(state.bomber == person for state in dealt) < 110
    apart = np.mean([not rules.together(state) for state in dealt])
    assert abs(apart - 0.6) < 0.1  # 3 of 5 others are in the other room


# Rounds


def test_everybody_asks_once_a_round_room_0_first() -> None:
    state, asking = START, []
    while not rules.trading(state):
        if not rules.unanswered(state):
            asking.append(rules.acting(state))
        state = talked(SIX, state, 1)
    assert asking == [0, 1, 3, 2, 4, 5]


def test_one_asks_people_of_its_own_room_and_they_answer() -> None:
    assert [int(option) for option in SIX.legal(START, 0)] == [1, 3]
    state = SIX.play(START, (TextMove(3, "Who are you?"),))
    assert SIX.to_move(state) == (3,)
    assert [int(option) for option in SIX.legal(state, 3)] == [0]
    state = SIX.play(state, (TextMove(0, "Guess."),))
    assert state.talk == (Exchange(0, 3, "Who are you?", "Guess."),)
    for wrong in ((TextMove(2, "You there?"),), (TextMove(3, " "),), (3,), (TextMove(3, "a\nb"),)):
        with pytest.raises(IllegalAction):
            SIX.play(START, wrong)


def test_leaders_send_one_of_the_others_and_the_two_change_places() -> None:
    state = talked(SIX, START)
    assert (SIX.to_move(state), SIX.legal(state, 1)) == ((1,), (0, 3))
    state = SIX.play(state, (3,))
    assert state.rooms == START.rooms
    assert (SIX.to_move(state), SIX.legal(state, 4)) == ((4,), (2, 5))
    state = SIX.play(state, (5,))
    assert state.rooms[-1] == (0, 0, 1, 1, 1, 0)
    assert SIX.observe(state, 0).history[-1] == "round 1: Dan and Finn changed rooms"


@few
@given(seeds)
def test_leaders_stay_and_rooms_stay_full(seed: int) -> None:
    for state, _, _ in walk(GAME, seed):
        assert [state.rooms[-1][leader] for leader in state.leaders] == [0, 1]
        assert sum(state.rooms[-1]) == 3
    assert len(state.rooms) == 4
    assert len(state.talk) == 18


@few
@given(seeds)
def test_red_wins_with_president_and_bomber_in_one_room(seed: int) -> None:
    *_, (state, _, _) = walk(SIX, seed)
    same = state.rooms[-1][state.president] == state.rooms[-1][state.bomber]
    assert SIX.returns(state) == ((-1.0,) * 3 + (1.0,) * 3 if same else (1.0,) * 3 + (-1.0,) * 3)


# Observations


def test_all_in_the_room_hear_what_is_said_and_nobody_else() -> None:
    state = talked(SIX, START, 2)
    assert [rules.hears(state, person, 0, False) for person in range(6)] == [
        *(True, True, False, True, False, False)
    ]


def test_with_paper_bugs_two_hear_it_and_the_leader_of_the_askers_team() -> None:
    state = talked(PAPER_BUGS, START)
    heard = [[p for p in range(6) if rules.hears(state, p, at, True)] for at in range(6)]
    assert [(one.asker, one.target) for one in state.talk] == [
        *((0, 1), (1, 0), (3, 0), (2, 4), (4, 2), (5, 2))
    ]
    assert heard == [[0, 1], [0, 1], [0, 3], [2, 4], [2, 4], [2, 4, 5]]
    assert known_kin(state, 1, True) == ((3, False),)
    assert known_kin(state, 4, True) == ((5, True),)
    assert known_kin(state, 4, False) == ()


def test_one_knows_its_own_card_and_with_paper_bugs_its_team_alone() -> None:
    assert SIX.observe(START, 0).facts[0].text == "Ada, blue, the president"
    assert PAPER_BUGS.observe(START, 0).facts[0].text == "Ada, blue"
    assert GAME.observe(START, 0).facts[0].text == "Ada, blue, the president"
    assert SIX.observe(START, 0).role == "a player of blue"


@few
@given(seeds)
def test_a_redeal_changes_what_is_not_known(seed: int) -> None:
    rng, unlike = np.random.default_rng(seed), np.zeros(3)
    for state, seats, _ in walk(GAME, seed):
        for seat in seats:
            other = GAME.sample(GAME.observe(state, seat), rng)
            known = rules.acting(state)
            assert other.roles[known] == state.roles[known]
            unlike += [
                other.roles != state.roles,
                other.president != state.president,
                other.talk != state.talk,
            ]
    assert unlike.all()


def test_all_deals_that_fit_are_thought_of() -> None:
    """By brute force over all cards."""
    for seat, person in ((0, 0), (1, 1)):
        game = SIX
        state = replace(START, rooms=((0, 0, 1, 0, 1, 1),))
        while rules.acting(state) != person:
            state = talked(game, state, 1)
        view = game.observe(state, seat).view
        expected = {
            (teams, president, bomber)
            for teams in set(permutations((0, 0, 0, 1, 1, 1)))
            for president, bomber in product(range(6), repeat=2)
            if (teams[president], teams[bomber], teams[person]) == (BLUE, RED, BLUE)
            and (president == person) == (person == 0)
        }
        assert set(deals(view)) == expected


def test_a_choice_of_the_other_room_is_not_known() -> None:
    state = SIX.play(talked(SIX, START), (3,))
    seen, rng = SIX.observe(state, 4), np.random.default_rng(0)
    assert {SIX.sample(seen, rng).chosen for _ in range(40)} == {0, 3}


# Players


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        *zip(ADMIT, KINDS, strict=True),
        ("I'm on team red, friend", "red"),
        ("I am in the blue team", "blue"),
        ("I am not the bomber", None),
        ("You are red", None),
        ("I will not tell.", None),
    ],
)
def test_claims_are_understood(answer: str, kind: str | None) -> None:
    assert claimed(answer) == (None if kind is None else KINDS.index(kind))


def test_what_a_team_may_hope_for_is_its_share_of_all_ways_to_swap() -> None:
    """By brute force over all choices of all leaders."""

    def share(state: State, left: int) -> float:
        if left == 0:
            return float(rules.together(state))
        found = []
        for first, second in product(*(hostages(state, room) for room in (0, 1))):
            after = rules.with_hostage(rules.with_hostage(state, first), second)
            found.append(share(after, left - 1))
        return sum(found) / len(found)

    def hostages(state: State, room: int) -> list[int]:
        return [p for p in rules.within(state.rooms[-1], room) if p != state.leaders[room]]

    for president, bomber in permutations(range(6), 2):
        state = replace(START, president=president, bomber=bomber)
        for rounds in (1, 2, 3):
            assert rules.worth(state, RED, rounds) == pytest.approx(share(state, rounds))


def test_greedy_tells_the_truth_and_a_president_sends_the_bomber_away() -> None:
    state = replace(START, president=1)
    state = SIX.play(state, (TextMove(3, "Who are you?"),))
    seen = SIX.observe(state, 3)
    assert SIX.words("greedy", seen, 0, np.random.default_rng(0)) == "I am the bomber."
    state = talked(SIX, SIX.play(state, (TextMove(0, "I am the bomber."),)))
    assert SIX.probabilities("greedy", SIX.observe(state, 1)) == (0.0, 1.0)
