"""Are You the Traitor?: every rule, the observations, and results of its scripted players."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet.games.are_you_the_traitor import AreYouTheTraitor, State
from gauntlet.games.are_you_the_traitor.game import PASSES, STOPS
from gauntlet.games.are_you_the_traitor.players import (
    KEY,
    TREASON,
    answer_spec,
    beliefs,
    claimed,
    sentence,
    suspects,
    topic,
    worlds,
)
from gauntlet.games.are_you_the_traitor.state import (
    ACCUSE,
    ANSWER,
    ASK,
    DECK,
    EVIL_WIZARD,
    GOOD_WIZARD,
    GUARD,
    KEY_HOLDER,
    KINDS,
    MOST_POINTS,
    RING,
    ROLES,
    STATUE,
    STOP,
    TRAITOR,
    Exchange,
    knowledge,
    points,
    use_rings,
)
from gauntlet.games.capabilities import points_of
from tests.games.cases import walk

GAME = AreYouTheTraitor()
EACH = AreYouTheTraitor(num_seats=5)
few = settings(max_examples=25, deadline=None)
seeds = st.integers(0, 2**32 - 1)
ADA, BO, CY, DEE, ELI = range(5)
FIXED = (ADA, BO, CY, DEE, ELI)
"""Ada the traitor, Bo and Cy the evil and the good wizard, Dee with the key, Eli on guard."""


def dealt(seed: int = 0, game: AreYouTheTraitor = GAME) -> State:
    return game.deal(np.random.default_rng(seed))


def accusing(role: int, piles: Any = ((),) * 5, game: AreYouTheTraitor = GAME) -> State:
    """A state in which a role accuses; silver lies on top of the deck."""
    deck = (3,) * 10
    return replace(
        dealt(), names=FIXED, phase=ACCUSE, actor=role, piles=piles, deck=deck, talk=(), order=()
    )


@pytest.mark.parametrize(
    ("accuser", "right"),
    [(EVIL_WIZARD, DEE), (GOOD_WIZARD, ADA), (KEY_HOLDER, CY), (GUARD, ADA)],
)
def test_the_right_target_brings_treasure_to_the_own_team_and_any_other_to_the_other(
    accuser: int, right: int
) -> None:
    state = accusing(accuser)
    for name in set(range(5)) - {accuser}:
        after = GAME.play(state, [name])
        own = ROLES.teams[accuser] if name == right else 1 - ROLES.teams[accuser]
        winners = [role for role in range(5) if ROLES.teams[role] == own]
        assert [role for role in range(5) if after.piles[role]] == winners
        assert len(after.deck) == len(state.deck) - len(winners)
        assert after.round == state.round + 1
        assert after.talk == ()


@few
@given(seeds)
def test_treasure_is_the_published_deck_and_none_is_lost_but_used_rings(seed: int) -> None:
    assert len(DECK) == 42
    assert [(cards, worth) for _, cards, worth in KINDS] == [
        (2, 5), (5, 4), (12, 3), (11, 2), (5, 1), (5, 1), (2, 0),
    ]  # fmt: skip
    for state, _, _ in walk(GAME, seed):
        held = sorted((*state.deck, *(kind for pile in state.piles for kind in pile)))
        gone = DECK.count(RING) - held.count(RING)
        assert sorted((*held, *[RING] * gone)) == list(DECK)


@few
@given(seeds)
def test_a_round_is_asked_answered_and_put_to_all_but_the_traitor(seed: int) -> None:
    asked: list[int] = []
    for state, seats, moves in walk(EACH, seed):
        if not seats:
            break
        assert seats == (state.actor,)
        if state.phase == ANSWER:
            asked = []
            assert state.talk[-1].answer == ""
            assert state.names[state.actor] == state.talk[-1].asked
        if state.phase == STOP:
            asked.append(state.actor)
            left = sorted((*asked, *state.order))
            assert left == [EVIL_WIZARD, GOOD_WIZARD, KEY_HOLDER, GUARD]
            last = state.exchange == EACH.exchanges - 1 and len(asked) == 4
            assert EACH.legal(state, state.actor) == ((STOPS,) if last else (PASSES, STOPS))
        if state.phase in (ASK, ACCUSE):
            own = state.names[state.actor]
            options = [int(move) for move in EACH.legal(state, state.actor)]
            assert options == [name for name in range(5) if name != own]
        assert state.phase != ACCUSE or state.actor != TRAITOR
        after = EACH.play(state, moves)
        if state.phase == STOP and moves == (PASSES,):
            assert after.history[: len(state.history)] == state.history
            assert len(after.history) - len(state.history) == (not state.order)


def test_who_is_asked_and_who_asks_is_anybody() -> None:
    starts = [dealt(seed) for seed in range(200)]
    assert {state.actor for state in starts} == set(range(5))
    for role in range(5):
        assert {state.names[role] for state in starts} == set(range(5))


def test_the_game_ends_with_ten_points_of_one_role_not_of_a_team() -> None:
    nine = ((2, 2, 2), (2, 2, 2), (2, 2, 2), (2, 2, 2), (2, 2, 2))
    on = GAME.play(accusing(GUARD, ((2, 2), (2, 2), (2, 2), (2, 2), (2, 2))), [ADA])
    assert GAME.to_move(on) != ()
    good = GAME.play(accusing(GUARD, nine), [ADA])
    assert GAME.to_move(good) == ()
    assert GAME.returns(good) == (-1.0, 1.0)
    evil = GAME.play(accusing(GUARD, nine), [DEE])
    assert GAME.returns(evil) == (1.0, -1.0)
    assert EACH.returns(evil) == (1.0, 1.0, -1.0, -1.0, -1.0)


def test_where_both_teams_have_the_points_the_richer_role_decides_and_by_paper_bug_evil() -> None:
    piles = ((0, 0, 4), (), (0, 0, 2), (), ())  # 11 and 13 points
    paper = AreYouTheTraitor(paper_bugs=True)
    assert GAME._winner(piles, 0) == 1
    assert paper._winner(piles, 1) == 0
    even = ((0, 0), (), (0, 0), (), ())
    assert [GAME._winner(even, team) for team in (0, 1)] == [0, 1]
    assert GAME._winner(((2, 2, 2), (), (), (), ()), 0) == -1


def test_a_ring_takes_a_card_of_the_other_team_and_a_statue_first() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        piles, told = use_rings(((RING,), (2,), (1, STATUE), (), ()), rng)
        assert piles == ((STATUE,), (2,), (1,), (), ())
        assert len(told) == 1
    robbed = {
        use_rings(((RING,), (), (0,), (1,), (3,)), np.random.default_rng(seed))[0]
        for seed in range(40)
    }
    assert {piles[0] for piles in robbed} == {(0,), (1,), (3,)}


def test_a_ring_with_nobody_to_rob_is_kept_and_a_stolen_one_is_not_used_at_once() -> None:
    alone = ((RING, 2), (3,), (), (), ())
    assert use_rings(alone, np.random.default_rng(0)) == (alone, ())
    piles, told = use_rings(((RING,), (), (RING,), (), ()), np.random.default_rng(0))
    assert sorted(kind for pile in piles for kind in pile) == [RING]
    assert len(told) == 1
    assert points((0, 1, 2)) == 12


def test_the_aim_is_to_win_whatever_is_needed_for_it() -> None:
    """`points` is a setting of this game, not the name of what its seats collect."""
    assert points_of(AreYouTheTraitor(points=10)) == ""


def test_the_deck_lasts_for_the_highest_goal() -> None:
    game = AreYouTheTraitor(points=MOST_POINTS)
    most = 5 * (MOST_POINTS - 1)
    assert sum(worth * cards for _, cards, worth in KINDS) - 5 - 2 * 5 > most
    for seed in range(10):
        state = [state for state, _, _ in walk(game, seed)][-1]
        assert max(map(points, state.piles)) >= MOST_POINTS


def test_what_each_role_knows() -> None:
    assert knowledge(FIXED, TRAITOR, True) == (ADA, -1, -1, DEE, ELI)
    assert knowledge(FIXED, TRAITOR, False) == (ADA, -1, -1, -1, -1)
    assert knowledge(FIXED, EVIL_WIZARD, True) == (-1, BO, CY, -1, -1)
    assert knowledge(FIXED, GOOD_WIZARD, True) == (-1, BO, CY, -1, -1)
    assert knowledge(FIXED, KEY_HOLDER, True) == (-1, -1, -1, DEE, -1)
    assert knowledge(FIXED, GUARD, True) == (-1, -1, -1, -1, ELI)


def told_to(game: AreYouTheTraitor, state: State) -> str:
    """Return the observation and the options of the acting role."""
    seen = game.observe(state, game.to_move(state)[0])
    facts = " ".join(f"{fact.name} {fact.text}" for fact in seen.facts)
    return " ".join((facts, *seen.history, *seen.options, repr(seen.view)))


@pytest.mark.parametrize("game", [GAME, EACH])
@few
@given(seed=seeds)
def test_names_that_a_role_cannot_tell_apart_can_be_exchanged(
    game: AreYouTheTraitor, seed: int
) -> None:
    """In every state: with the unknown roles dealt differently, the acting role's observation is
    the same, word for word; so seat numbers reveal no names."""
    for state, seats, _ in walk(game, seed):
        if not seats:
            break
        view = game.view(state)
        told = told_to(game, state)
        count = 0
        for names in worlds(view.wizards):
            if knowledge(names, view.role, True) == view.known:
                assert told_to(game, replace(state, names=names)) == told
                count += 1
        assert (
            count
            == {TRAITOR: 2, EVIL_WIZARD: 6, GOOD_WIZARD: 6, KEY_HOLDER: 4, GUARD: 4}[view.role]
        )


def test_a_redeal_reaches_every_world_that_fits() -> None:
    state = replace(dealt(), names=FIXED, phase=STOP, actor=GUARD, order=(KEY_HOLDER,), talk=())
    seen = GAME.observe(state, 1)
    found = [GAME.sample(seen, np.random.default_rng(seed)) for seed in range(200)]
    assert len({other.names for other in found}) == 4
    assert {len(other.order) for other in found} == {0, 1, 2, 3}
    assert len({other.deck for other in found}) > 190
    assert len({other.seed for other in found}) == 200


def test_by_paper_bug_the_names_are_those_of_the_published_code() -> None:
    paper = AreYouTheTraitor(paper_bugs=True)
    assert {state.names for state, _, _ in walk(paper, 3)} == {FIXED}
    assert len({state.names for state, _, _ in walk(GAME, 3)}) > 1
    assert "Dee is the key holder" not in told_to(paper, replace(dealt(0, paper), actor=TRAITOR))


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("I am the guard.", (BO, GUARD)),
        ("Well, I hold the key", (BO, KEY_HOLDER)),
        ("I think Dee has the magic key!", (DEE, KEY_HOLDER)),
        ("Ada must be the traitor, surely", (ADA, TRAITOR)),
        ("Cy is the good wizard", (CY, GOOD_WIZARD)),
        ("I am not the traitor. I'm the guard", (BO, GUARD)),
        ("Dee isn't the traitor", None),
        ("Hm.", None),
    ],
)
def test_plain_statements_are_understood(text: str, claim: Any) -> None:
    assert claimed(text, BO) == claim


def test_all_that_scripted_players_say_is_understood_as_meant() -> None:
    for text in answer_spec().examples:
        found = claimed(text, BO)
        assert sentence(found, BO) == text or found == (BO, found[1] if found else 0)
    assert topic("Who holds the KEY?") == KEY
    assert topic("Is Ada the traitor?") == TREASON


def test_talk_moves_beliefs_as_bayes_has_it() -> None:
    said = (Exchange(CY, ADA, "Who holds the key?", "Dee holds the key."),)
    before = suspects(GUARD, knowledge(FIXED, GUARD, True), (BO, CY), (), True)
    after = suspects(GUARD, knowledge(FIXED, GUARD, True), (BO, CY), said, True)
    assert before == pytest.approx((0.5, 0, 0, 0.5, 0))
    assert after[ADA] > 0.9
    _, chances = beliefs(knowledge(FIXED, KEY_HOLDER, True), (BO, CY), said, True)
    assert sum(chances) == pytest.approx(1)


def test_the_greedy_accuse_who_is_given_away_and_wait_for_that() -> None:
    said = (Exchange(CY, ADA, "Who holds the key?", "Dee holds the key."),)
    for role, target in ((EVIL_WIZARD, "accuse Dee"), (GUARD, "accuse Ada")):
        base = replace(dealt(), names=FIXED, actor=role, order=(KEY_HOLDER,), talk=said)
        for talk, best in ((said, "say STOP"), ((), "pass")):
            seen = GAME.observe(replace(base, phase=STOP, talk=talk), ROLES.teams[role])
            chances = GAME.probabilities("greedy", seen)
            assert seen.options[int(np.argmax(chances))] == best
        seen = GAME.observe(replace(base, phase=ACCUSE), ROLES.teams[role])
        chances = GAME.probabilities("greedy", seen)
        assert seen.options[int(np.argmax(chances))] == target
