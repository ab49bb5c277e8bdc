"""Arctic Scavengers: published figures, quirks and secrets; the lockstep test has the rules."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from gauntlet.games.arctic_scavengers import ArcticScavengers, State
from gauntlet.games.arctic_scavengers.state import (
    CONTESTED,
    GATHER,
    JUNKYARD,
    KIND,
    LOOK,
    OVER,
    PILES,
    START,
    Tribe,
    known_cards,
    show,
)
from tests.games.cases import after, options, seeds, walk

GAME, PAPER = ArcticScavengers(), ArcticScavengers(quirks=True)
few = settings(max_examples=15, deadline=None)


def cards_of(*names: str) -> tuple[int, ...]:
    return tuple(sorted(KIND[name] for name in names))


def position(mine: tuple[str, ...], other: tuple[str, ...] = (), **fields: Any) -> State:
    """Player 0 to act in round 2 with a hand, and four refugees each in reserve."""
    state = GAME.deal(np.random.default_rng(0))
    reserve = cards_of(*["Refugee"] * 4)
    tribes = (Tribe(cards_of(*mine), reserve), Tribe(cards_of(*other), reserve))
    return state._replace(tribes=tribes, round=1, seat=0, phase=GATHER, **fields)


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


def test_by_quirk_digging_keeps_a_card_nobody_responds_and_snipers_need_a_net() -> None:
    hands = ("Scavenger", "Brawler", "Shovel"), ("Sniper Team", "Saboteur")
    dig = "dig 3 with Scavenger + Shovel"
    assert options(GAME, after(GAME, position(*hands), dig)) == (
        *("snipe Scavenger", "sabotage Shovel", "let it happen"),
    )
    paper = after(PAPER, position(*hands), dig)
    assert paper.phase == LOOK
    assert "keep none" not in options(PAPER, paper)
    fight = position(("Sniper Team", "Saboteur"), ("Brawler", "Spear", "Net"))
    fight = fight._replace(round=2, second=True, seat=1)
    ours, theirs = (after(game, fight, "stop gathering") for game in (GAME, PAPER))
    assert options(GAME, ours) == ("snipe Brawler", "sabotage Net", "sabotage Spear", "hold")
    assert options(PAPER, theirs) == ("sabotage Net", "sabotage Spear", "hold")
    assert options(PAPER, after(PAPER, theirs, "sabotage Net")) == ("sabotage Spear", "hold")


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
    assert "hire Thugs" in options(PAPER, state)
    assert not any(one.startswith("hire") for one in options(GAME, state))
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
