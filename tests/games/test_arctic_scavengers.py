"""Arctic Scavengers: rules by positions, what is hidden, and how its scripted players fare. The
whole game is compared with a referee in test_arctic_lockstep."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet.games.arctic_scavengers import ArcticScavengers, State
from gauntlet.games.arctic_scavengers.rules import payment, uses
from gauntlet.games.arctic_scavengers.state import (
    CONTESTED,
    DIG,
    GATHER,
    HIRE,
    HUNT,
    JUNKYARD,
    KIND,
    LOOK,
    OVER,
    PILES,
    RESPOND,
    SKIRMISH,
    START,
    Action,
    Tribe,
    known_cards,
    show,
    strength,
)
from tests.games.cases import walk
from tests.games.duels import scores

GAME, PAPER = ArcticScavengers(), ArcticScavengers(quirks=True)
few = settings(max_examples=15, deadline=None)
seeds = st.integers(0, 2**32 - 1)


def cards_of(*names: str) -> tuple[int, ...]:
    return tuple(sorted(KIND[name] for name in names))


def position(mine: tuple[str, ...], other: tuple[str, ...] = (), **fields: Any) -> State:
    """Player 0 to act in round 2 with a hand, and four refugees each in reserve."""
    state = GAME.deal(np.random.default_rng(0))
    reserve = cards_of(*["Refugee"] * 4)
    tribes = (Tribe(cards_of(*mine), reserve), Tribe(cards_of(*other), reserve))
    return state._replace(tribes=tribes, round=1, seat=0, phase=GATHER, **fields)


def names(state: State, game: ArcticScavengers = GAME) -> tuple[str, ...]:
    return game.observe(state, state.seat).options


def after(state: State, *options: str, game: ArcticScavengers = GAME) -> State:
    for option in options:
        at = names(state, game).index(option)
        state = game.play(state, [game.legal(state, state.seat)[at]])
    return state


def test_the_published_cards() -> None:
    assert (len(START), len(JUNKYARD), len(CONTESTED), len(PILES)) == (10, 42, 5, 61)


@few
@given(seeds)
def test_no_card_is_made_or_lost(seed: int) -> None:
    whole = Counter((*START, *START, *JUNKYARD, *CONTESTED, *PILES))
    for game in (GAME, PAPER):
        for state, _, _ in walk(game, seed):
            owned = [kind for tribe in state.tribes for kind in tribe.cards]
            assert Counter((*owned, *state.junkyard, *state.contested, *state.piles)) == whole


@few
@given(seeds)
def test_rounds_take_turns_to_begin_and_the_first_has_no_skirmish(seed: int) -> None:
    last = [state for state, _, _ in walk(GAME, seed)][-1]
    begins = [clause for clause in last.history if "begins" in clause]
    assert begins == [f"round {n + 1}: player {n % 2} begins" for n in range(6)]
    assert "round 1 has no skirmish" in last.history
    assert sum("fight " in clause for clause in last.history) == 5
    assert last.contested == ()


def test_a_tool_needs_a_card_to_use_it_and_one_that_adds_nothing_is_left_out() -> None:
    hand = cards_of("Refugee", "Refugee", "Scavenger", "Shovel", "Pickaxe")
    found = uses(hand, DIG, False)
    assert cards_of("Shovel") not in found
    assert cards_of("Refugee", "Shovel") in found
    assert cards_of("Scavenger", "Shovel", "Pickaxe") not in found
    assert cards_of("Refugee", "Scavenger", "Shovel", "Pickaxe") in found
    assert cards_of("Refugee", "Scavenger") not in found
    assert cards_of("Refugee") not in found
    assert cards_of("Scavenger", "Shovel", "Pickaxe") in uses(hand, DIG, True)
    assert uses(cards_of("Junk", "Pills", "Net"), HUNT, False) == ()


def test_group_leaders_help_beside_a_tool() -> None:
    hand = cards_of("Scavenger", "Group Leaders", "Spear", "Net")
    assert cards_of("Scavenger", "Group Leaders", "Net") in uses(hand, HUNT, False)
    assert cards_of("Scavenger", "Spear", "Net") not in uses(hand, HUNT, False)


def test_fight_values() -> None:
    assert strength(cards_of("Refugee", "Spear"), False) == 0
    assert strength(cards_of("Scavenger", "Spear", "Shovel"), False) == 3
    assert strength(cards_of("Scavenger", "Brawler", "Spear", "Shovel"), False) == 6
    assert strength(cards_of("Brawler", "Group Leaders", "Grenade"), False) == 7
    assert strength(cards_of("Tribe Family", "Wolf Pack"), False) == 2
    assert strength(cards_of("Refugee", "Spear", "Shovel"), True) == 3


def test_medicine_is_paid_with_as_little_too_much_as_can_be() -> None:
    assert payment(cards_of("Medkit", "Pills", "Pills"), 1) == cards_of("Pills")
    assert payment(cards_of("Medkit", "Pills", "Pills"), 2) == cards_of("Medkit")
    assert payment(cards_of("Medkit"), 1) == cards_of("Medkit")
    assert payment(cards_of("Pills"), 2) is None
    assert payment(cards_of("Junk"), 0) == ()


def test_hunting_pays_a_mercenary_once_a_round() -> None:
    state = position(("Scavenger", "Scavenger", "Refugee", "Spear", "Pills"))
    hires = [one for one in names(state) if one.startswith("hire")]
    assert hires == ["hire Hunter for Pills"]
    state = after(state, "hunt 2 with 2 Scavenger")
    hires = [one for one in names(state) if one.startswith("hire")]
    assert hires == [
        "hire Scavenger for 1 food",
        "hire Brawler for 2 food",
        "hire Hunter for Pills",
        "hire Saboteur for 1 food + Pills",
        "hire Scout for 2 food + Pills",
    ]
    assert not any(one.startswith("hunt") for one in names(state))
    hired = after(state, "hire Saboteur for 1 food + Pills")
    assert hired.food == 1
    assert hired.piles.count(KIND["Saboteur"]) == 7
    assert KIND["Saboteur"] in hired.tribes[0].reserve
    assert hired.tribes[0].aside == cards_of("Scavenger", "Scavenger", "Pills")
    assert not any(one.startswith("hire") for one in names(hired))


def test_a_digger_keeps_one_or_none_and_the_rest_goes_to_the_bottom() -> None:
    state = position(("Scavenger", "Shovel", "Refugee"))
    top, rest = state.junkyard[:3], state.junkyard[3:]
    state = after(state, "dig 3 with Scavenger + Shovel")
    assert state.phase == LOOK
    none = after(state, "keep none")
    assert none.junkyard == (*rest, *top)
    kept = GAME.play(state, [GAME.legal(state, 0)[0]])
    assert len(kept.junkyard) == 41
    assert len(kept.tribes[0].secret) == 1
    paper = after(
        position(("Scavenger", "Shovel", "Refugee")), "dig 3 with Scavenger + Shovel", game=PAPER
    )
    assert "keep none" not in names(paper, PAPER)


def test_drawing_takes_from_the_reserve() -> None:
    state = after(position(("Scout", "Junk")), "draw 2 with Scout")
    assert state.tribes[0].hand == cards_of("Refugee", "Refugee", "Junk")
    assert len(state.tribes[0].reserve) == 2


def test_trash_is_gone_into_the_junkyard() -> None:
    state = after(position(("Junk", "Refugee", "Junk")), "trash Junk", "trash Junk")
    assert state.tribes[0].cards == cards_of(*["Refugee"] * 5)
    assert state.junkyard.count(KIND["Junk"]) == 9


def test_a_sniper_stops_people_and_a_saboteur_the_rest_at_the_cost_of_a_card() -> None:
    state = position(("Scavenger", "Brawler", "Shovel"), ("Sniper Team", "Saboteur"))
    state = after(state, "dig 3 with Scavenger + Shovel")
    assert (state.phase, state.seat) == (RESPOND, 1)
    assert names(state) == ("snipe Scavenger", "sabotage Shovel", "let it happen")
    assert after(state, "let it happen").phase == LOOK
    stopped = after(state, "snipe Scavenger")
    assert (stopped.phase, stopped.seat, stopped.taken) == (GATHER, 0, ())
    assert stopped.tribes[0].hand == cards_of("Brawler", "Shovel")
    assert stopped.tribes[0].aside == cards_of("Scavenger")
    assert stopped.tribes[1].hand == cards_of("Saboteur")
    assert stopped.tribes[1].aside == cards_of("Sniper Team")
    assert after(stopped, "dig 3 with Brawler + Shovel").phase == RESPOND
    paper = position(("Scavenger", "Brawler", "Shovel"), ("Sniper Team", "Saboteur"))
    assert after(paper, "dig 3 with Scavenger + Shovel", game=PAPER).phase == LOOK


def test_strikes_in_a_skirmish_leave_the_striker() -> None:
    state = position(("Sniper Team", "Saboteur"), ("Brawler", "Spear", "Net"))
    state = after(state._replace(round=2, second=True, seat=1), "stop gathering")
    assert (state.phase, state.seat) == (SKIRMISH, 0)
    assert names(state) == ("snipe Brawler", "sabotage Net", "sabotage Spear", "hold")
    state = after(state, "sabotage Spear")
    assert names(state) == ("snipe Brawler", "hold")
    done = after(state, "snipe Brawler")
    assert "fight 1 to 0: player 0 wins" in " ".join(done.history)
    paper = position(("Sniper Team", "Saboteur"), ("Brawler", "Spear", "Net"))
    paper = after(paper._replace(round=2, second=True, seat=1), "stop gathering", game=PAPER)
    assert names(paper, PAPER) == ("sabotage Net", "sabotage Spear", "hold")
    assert names(after(paper, "sabotage Net", game=PAPER), PAPER) == ("sabotage Spear", "hold")


@pytest.mark.parametrize(
    ("mine", "other", "winner"),
    [
        (("Brawler",), ("Scavenger",), 0),
        (("Scavenger",), ("Scavenger", "Refugee"), 1),
        (("Scavenger",), ("Scavenger",), None),
        (("Refugee", "Spear"), ("Scavenger",), 1),
    ],
)
def test_who_wins_a_contested_card(
    mine: tuple[str, ...], other: tuple[str, ...], winner: int | None
) -> None:
    state = position(mine, other, second=True)._replace(seat=1)
    prize = state.contested[0]
    done = after(state, "stop gathering")
    holders = [seat for seat in (0, 1) if prize in done.tribes[seat].cards]
    assert holders == ([] if winner is None else [winner])
    assert (prize in done.junkyard) == (winner is None)


@pytest.mark.parametrize(
    ("hands", "returns", "paper"),
    [
        ((("Brawler",), ("Scavenger", "Refugee")), (1.0, -1.0), (-1.0, 1.0)),
        ((("Junk",), ("Pills",)), (0.0, 0.0), (-1.0, 1.0)),
    ],
)
def test_the_larger_tribe_wins_by_quirk_that_of_the_last_hand(
    hands: Any, returns: tuple[float, float], paper: tuple[float, float]
) -> None:
    state = position(*hands)._replace(phase=OVER)
    more = state.tribes[0]._replace(reserve=cards_of(*["Refugee"] * (4 + 2 * (returns[0] > 0))))
    state = state._replace(tribes=(more, state.tribes[1]))
    assert GAME.returns(state) == returns
    assert PAPER.returns(state) == paper
    assert [GAME.worth(state, seat) for seat in (0, 1)] == [(1 + one) / 2 for one in returns]


def test_by_quirk_hiring_is_free_and_five_rounds_are_played() -> None:
    state = position(("Refugee",))
    assert "hire Thugs" in names(state, PAPER)
    assert not any(one.startswith("hire") for one in names(state))
    assert ArcticScavengers(rounds=9, quirks=True).settings.rounds == 5
    assert (ArcticScavengers(rounds=9).settings.peaceful, PAPER.settings.peaceful) == (4, 0)


def test_what_was_dug_is_a_secret_until_it_is_shown() -> None:
    tribe = Tribe(
        cards_of("Spear", "Net"), cards_of("Spear"), cards_of("Refugee"), cards_of("Net", "Spear")
    )
    assert known_cards(tribe) == cards_of("Refugee", "Spear")
    assert show(tribe, cards_of("Spear")).secret == cards_of("Net", "Spear")
    assert show(tribe, cards_of("Net")).secret == cards_of("Spear")
    assert show(tribe, cards_of("Net", "Spear")).secret == cards_of("Spear")
    used = tribe._replace(
        hand=cards_of("Net"), aside=cards_of("Refugee", "Spear"), reserve=cards_of("Spear")
    )
    assert show(used, cards_of("Net")).secret == cards_of("Spear")
    both = Tribe(cards_of("Spear", "Spear"), (), (), cards_of("Spear"))
    assert show(both, cards_of("Spear", "Spear")).secret == ()


@few
@given(seeds)
def test_a_redeal_changes_what_is_hidden_and_nothing_that_is_known(seed: int) -> None:
    rng = np.random.default_rng(seed)
    varied = 0
    for state, seats, _ in walk(GAME, seed):
        for seat in seats:
            other = GAME.sample(GAME.observe(state, seat), rng)
            mine, theirs = other.tribes[seat], other.tribes[1 - seat]
            assert mine.cards == state.tribes[seat].cards
            assert known_cards(theirs) == known_cards(state.tribes[1 - seat])
            assert Counter(theirs.cards) - Counter(known_cards(theirs)) == Counter(theirs.secret)
            owned = [kind for tribe in other.tribes for kind in tribe.cards]
            before = [kind for tribe in state.tribes for kind in tribe.cards]
            assert Counter((*owned, *other.junkyard)) == Counter((*before, *state.junkyard))
            assert other.seed != state.seed
            varied += other.junkyard != state.junkyard
    assert varied > 5


def test_actions_are_named_by_what_they_do() -> None:
    assert Action(HIRE, cards_of("Pills"), KIND["Hunter"]).hired == KIND["Hunter"]
    told = GAME.observe(position(("Refugee", "Spear", "Scavenger")), 0)
    facts = {fact.name: fact.text for fact in told.facts}
    assert facts["Your hand in a skirmish"] == "fight 3, 2 people"
    assert facts["People"] == "you 6, player 1 4"
    assert told.options[:3] == (
        "dig 1 with Scavenger",
        "draw 1 with Scavenger",
        "hunt 1 with Scavenger",
    )


@pytest.mark.parametrize("rounds", [0, 21])
def test_impossible_settings_are_refused(rounds: int) -> None:
    with pytest.raises(ValueError, match=str(rounds)):
        ArcticScavengers(rounds=rounds)


def test_greedy_beats_random_and_one_ply_beats_greedy() -> None:
    assert scores(GAME, "greedy", "random", 20).mean() > 0.9
    assert scores(GAME, "one_ply", "greedy", 12).mean() > 0.55
