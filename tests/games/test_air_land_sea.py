"""Air, Land & Sea: a position for every rule."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from gauntlet.common.errors import IllegalAction
from gauntlet.games.air_land_sea import AirLandSea
from gauntlet.games.air_land_sea.rules import BARE
from gauntlet.games.air_land_sea.state import CARDS, NAMES, THEATRES, Placed, State, holders, totals
from gauntlet.games.capabilities import measured
from tests.games.cases import final, looked_at, seeds
from tests.games.duels import scores

GAME = AirLandSea()
QUIRKS = AirLandSea(quirks=True)
AIR, LAND, SEA = range(3)


def card(name: str) -> int:
    return NAMES.index(name)


def position(
    mine: dict[int, list[str]] | None = None,
    other: dict[int, list[str]] | None = None,
    hands: tuple[list[str], list[str]] = (["Heavy Tanks"], ["Super Battleship"]),
    **changes: Any,
) -> State:
    """Player 0 is first and to move; theatres lie as air, land, sea. A card that begins with a dash
    lies face down; the uncovered card is the last."""
    columns = [
        tuple(tuple(map(placed, side.get(at, []))) for at in range(3))
        for side in (mine or {}, other or {})
    ]
    used = {p.card for side in columns for column in side for p in column}
    held = tuple(tuple(sorted(map(card, hand))) for hand in hands)
    deck = tuple(one for one in CARDS if one not in used | {*held[0], *held[1]})
    state = State(
        seed=1,
        battle=1,
        order=(AIR, LAND, SEA),
        first=0,
        points=(0, 0),
        turn=0,
        hands=(held[0], held[1]),
        columns=(columns[0], columns[1]),
        deck=deck,
    )
    return replace(state, **changes)


def placed(name: str) -> Placed:
    down = name.startswith("-")
    number = card(name.lstrip("-"))
    return Placed(number, not down, not down, 2 if down else number % 6 + 1)


def options(state: State, game: AirLandSea = GAME) -> list[str]:
    (seat,) = game.to_move(state)
    return list(game.observe(state, seat).options)


def play(state: State, *names: str, game: AirLandSea = GAME) -> State:
    for name in names:
        (seat,) = game.to_move(state)
        state = game.play(state, [game.legal(state, seat)[options(state, game).index(name)]])
    return state


def test_cards_go_face_up_to_their_theatre_and_face_down_to_any() -> None:
    state = position(hands=(["Heavy Tanks", "Aerodrome"], ["Transport", "Ambush"]))
    assert sorted(options(state)) == sorted(
        ["deploy Heavy Tanks to land", "deploy Aerodrome to air", "withdraw"]
        + [f"improvise {name} to {at}" for name in ("Heavy Tanks", "Aerodrome") for at in THEATRES]
    )
    after = play(state, "improvise Heavy Tanks to sea", "deploy Ambush to land")
    assert totals(after, False) == ((0, 0, 2), (0, 2, 0))
    assert sorted(options(after)) == [
        "flip the opponent's hidden card in sea face up",
        "flip your Ambush in land face down",
    ]


def test_support_helps_in_adjacent_theatres_only() -> None:
    assert totals(position({AIR: ["Support"]}), False)[0] == (1, 3, 0)
    assert totals(position({LAND: ["Support"]}), False)[0] == (3, 1, 3)
    assert totals(position({AIR: ["-Support"]}), False)[0] == (2, 0, 0)


def test_escalation_and_cover_fire_raise_to_four() -> None:
    own = {AIR: ["-Ambush"], SEA: ["-Heavy Tanks", "Escalation"]}
    assert totals(position(own, {AIR: ["-Support"]}), False) == ((4, 0, 6), (2, 0, 0))
    covered = {LAND: ["Heavy Tanks", "-Support", "Cover Fire", "Reinforce"]}
    assert totals(position(covered), False)[0] == (0, 4 + 4 + 4 + 1, 0)


def test_ties_and_empty_theatres_are_the_first_players() -> None:
    state = position({LAND: ["Land Maneuver"]}, {LAND: ["-Support"], SEA: ["Transport"]})
    assert holders(state, False) == (0, 0, 1)
    assert holders(replace(state, first=1), False) == (1, 0, 1)
    tie = position({LAND: ["Ambush"]}, {LAND: ["-Support"]})
    assert holders(tie, False) == (0, 0, 0)


def test_air_drop_and_aerodrome_open_other_theatres() -> None:
    hands = (["Air Drop", "Heavy Tanks", "Transport"], ["Ambush", "Disrupt", "Escalation"])
    state = play(position(hands=hands), "deploy Air Drop to air", "improvise Ambush to sea")
    assert "deploy Heavy Tanks to air" in options(state)
    after = play(state, "improvise Transport to sea", "improvise Disrupt to sea")
    assert "deploy Heavy Tanks to air" not in options(after)
    own = position({AIR: ["Aerodrome"]}, hands=(["Land Maneuver", "Heavy Tanks"], ["Ambush"]))
    assert "deploy Land Maneuver to sea" in options(own)
    assert "deploy Heavy Tanks to sea" not in options(own)


def test_containment_destroys_what_is_played_face_down() -> None:
    state = position({AIR: ["Containment"]}, hands=(["Heavy Tanks"], ["Ambush", "Support"]))
    after = play(state, "improvise Heavy Tanks to land")
    assert after.columns[0][LAND] == ()
    assert [(one.card, one.seen) for one in after.lost] == [(card("Heavy Tanks"), False)]
    assert "Heavy Tanks" not in str(GAME.observe(after, 1).facts)


def test_blockade_destroys_what_comes_to_a_full_adjacent_theatre() -> None:
    full = {LAND: ["Ambush", "-Support"], SEA: ["Blockade"]}
    hands = (["Heavy Tanks"], ["Transport"])
    state = position(full, {LAND: ["-Disrupt"]}, hands)
    after = play(state, "deploy Heavy Tanks to land")
    assert len(after.columns[0][LAND]) == 2
    assert [one.seen for one in after.lost] == [True]
    fewer = position({**full, LAND: ["Ambush"]}, {LAND: ["-Disrupt"]}, hands)
    assert len(play(fewer, "deploy Heavy Tanks to land").columns[0][LAND]) == 2


def test_maneuver_flips_an_uncovered_card_next_to_it() -> None:
    own = {AIR: ["-Support", "Aerodrome"], SEA: ["Transport"]}
    hands = (["Land Maneuver", "Ambush"], ["Air Drop"])
    state = play(position(own, {AIR: ["-Disrupt"]}, hands), "deploy Land Maneuver to land")
    assert sorted(options(state)) == [
        "flip the opponent's hidden card in air face up",
        "flip your Aerodrome in air face down",
        "flip your Transport in sea face down",
    ]
    air = play(position(own, hands=(["Air Maneuver"], [])), "deploy Air Maneuver to air")
    assert air.battle == 2, "nothing lies next to air, so it is skipped and the battle is over"


def test_a_card_flipped_up_works_for_its_owner() -> None:
    state = position({}, {AIR: ["-Disrupt"], SEA: ["-Air Drop"]}, (["Ambush"], ["Support"]))
    air_drop = play(
        state, "deploy Ambush to land", "flip the opponent's hidden card in sea face up"
    )
    assert air_drop.drop == (False, True)
    disrupt = play(state, "deploy Ambush to land", "flip the opponent's hidden card in air face up")
    assert GAME.to_move(disrupt) == (1,)
    second = play(disrupt, "flip your Disrupt in air face down")
    assert GAME.to_move(second) == (0,)
    assert options(second) == ["flip your Ambush in land face down"]


@pytest.mark.parametrize(
    ("game", "second", "next_"),
    [
        (GAME, "flip your Sea Maneuver in sea face up", 1),
        (QUIRKS, "flip the opponent's hidden card in sea face up", 0),
    ],
)
def test_abilities_are_carried_out_in_their_order(
    game: AirLandSea, second: str, next_: int
) -> None:
    """Disrupt turns up a Maneuver of each player; what the first of them turns up has to wait for
    the second, with quirks not. There the owner of Disrupt chooses both."""
    own, other = {AIR: ["-Air Maneuver"], LAND: ["-Land Maneuver"]}, {SEA: ["-Sea Maneuver"]}
    state = position(own, other, (["Disrupt"], []), order=(LAND, AIR, SEA), drop=(True, False))
    state = play(
        state,
        "deploy Disrupt to sea",
        "flip your Air Maneuver in air face up",
        second,
        game=game,
    )
    assert [task.owner for task in state.tasks] == [0, 1]
    state = play(state, "flip your Land Maneuver in land face up", game=game)
    assert game.to_move(state) == (next_,)


def test_reinforce_plays_a_drawn_card_face_down() -> None:
    state = position(hands=(["Reinforce", "Ambush"], ["Disrupt"]), order=(LAND, AIR, SEA))
    drawn = state.deck[-1]
    state = play(state, "deploy Reinforce to land")
    assert NAMES[drawn] in GAME.observe(state, 0).facts[0].text
    assert options(state) == ["lay the drawn card in air"]
    after = play(state, "lay the drawn card in air")
    assert [(p.card, p.up, p.seen) for p in after.columns[0][AIR]] == [(drawn, False, False)]
    assert after.deck == state.deck
    assert GAME.to_move(after) == (1,)


@pytest.mark.parametrize(("game", "left"), [(GAME, 0), (QUIRKS, 1)])
def test_containment_stops_reinforce_but_not_with_quirks(game: AirLandSea, left: int) -> None:
    state = position({AIR: ["Containment"]}, hands=(["Reinforce"], ["Disrupt"]))
    after = play(state, "deploy Reinforce to land", "lay the drawn card in sea", game=game)
    assert len(after.columns[0][SEA]) == left


def test_transport_moves_any_own_card_on_top_or_nothing() -> None:
    own = {LAND: ["-Ambush", "Heavy Tanks"], AIR: ["Support"]}
    state = play(
        position(own, hands=(["Transport", "Aerodrome"], ["Disrupt"])), "deploy Transport to sea"
    )
    assert len(options(state)) == 4 * 2 + 1
    after = play(state, "move Ambush from land to air")
    assert [p.card for p in after.columns[0][AIR]] == [card("Support"), card("Ambush")]
    assert after.history[-1] == "player 0 moved a face-down card from land to air"
    assert play(state, "move nothing").columns == state.columns


def test_redeploy_takes_a_face_down_card_back_and_plays_one() -> None:
    own = {LAND: ["-Ambush", "Heavy Tanks"]}
    state = position(own, hands=(["Redeploy", "Aerodrome"], ["Disrupt"]))
    state = play(state, "deploy Redeploy to sea")
    assert options(state) == ["take back Ambush from land", "take back nothing"]
    again = play(state, "take back Ambush from land")
    assert GAME.to_move(again) == (0,)
    assert "withdraw" not in options(again)
    assert "improvise Ambush to air" in options(again)
    assert play(again, "improvise Aerodrome to sea").hands[0] == (card("Ambush"),)


def test_quirks_turn_the_theatres_the_other_way() -> None:
    assert play(position(), "withdraw", game=QUIRKS).order == (LAND, SEA, AIR)


@pytest.mark.parametrize("cards", range(1, 7))
def test_a_withdrawal_costs_points_by_the_cards_in_hand(cards: int) -> None:
    """The tables of the two commanders in appendix K of the paper."""
    by_first = {6: 2, 5: 2, 4: 3, 3: 3, 2: 4, 1: 6}
    by_second = {6: 2, 5: 2, 4: 2, 3: 3, 2: 3, 1: 4}
    hand = list(NAMES[:cards])
    for first, points in ((0, by_second[cards]), (1, by_first[cards])):
        after = play(position(hands=(hand, []), first=first), "withdraw")
        assert after.points == (0, points)
        assert after.first == 1 - first
        assert after.order == (SEA, AIR, LAND)
        assert after.columns == BARE


def test_a_battle_fought_to_its_end_brings_six_points_and_twelve_end_the_game() -> None:
    state = position({SEA: ["Blockade"]}, hands=(["Heavy Tanks"], []), points=(6, 11))
    last = play(state, "deploy Heavy Tanks to land")
    assert last.points == (12, 11)
    assert GAME.to_move(last) == ()
    assert measured(GAME, last)["match_score"] == (12 / 23, 11 / 23)
    with pytest.raises(IllegalAction):
        GAME.play(last, [0])


def test_quirks_judge_by_strengths_that_lag() -> None:
    """Escalation raises nothing in the leftmost theatre, nor when it is the last card played."""
    down = {AIR: ["-Ambush"], LAND: ["-Support"]}
    late = position(down, {AIR: ["Air Maneuver"], LAND: ["Land Maneuver"]}, (["Escalation"], []))
    assert play(late, "deploy Escalation to sea").points == (6, 0)
    assert play(late, "deploy Escalation to sea", game=QUIRKS).points == (0, 6)
    early = replace(late, hands=((card("Escalation"),), (card("Heavy Tanks"),)))
    seen = play(early, "deploy Escalation to sea", game=QUIRKS)
    assert totals(seen, True)[0] == (4, 4, 2)
    left = play(replace(early, order=(SEA, AIR, LAND)), "deploy Escalation to sea", game=QUIRKS)
    assert totals(left, True)[0] == (2, 2, 2)


@settings(max_examples=10, deadline=None)
@given(seeds)
def test_no_card_is_lost_or_doubled(seed: int) -> None:
    for game in (GAME, QUIRKS):
        for state, _, _ in looked_at(game, seed):
            lying = [p.card for side in state.columns for column in side for p in column]
            drawn = [task.drawn for task in state.tasks if task.drawn is not None]
            gone = [one.card for one in state.lost]
            held = [*state.hands[0], *state.hands[1]]
            assert sorted([*lying, *drawn, *gone, *held, *state.deck]) == list(CARDS)
        points = final(game, seed).points
        assert 12 <= max(points) <= 17
        assert min(points) < 12


def test_what_was_shown_stays_known_in_a_new_deal_of_the_rest() -> None:
    """A card that lay face up and went back to the hand is there, or face down, in every sample."""
    own = {LAND: ["-Ambush"], AIR: ["-Support"]}
    state = position({}, own, (["Heavy Tanks"], ["Disrupt", "Aerodrome"]), shown=((), (1,)))
    state = replace(state, hands=(state.hands[0], (1, card("Disrupt"))))
    seen, places = GAME.observe(state, 0), set()
    for seed in range(60):
        other = GAME.sample(seen, np.random.default_rng(seed))
        lying = [p.card for column in other.columns[1] for p in column]
        assert (1 in other.hands[1]) != (1 in lying)
        places.add(1 in lying)
    assert places == {True, False}


def test_greedy_beats_random_and_one_ply_beats_greedy() -> None:
    assert scores(GAME, "greedy", "random", 12).mean() > 0.85
    assert scores(GAME, "one_ply", "greedy", 4).mean() > 0.55
