"""Arctic Scavengers in lockstep with an independent referee; paper_bugs and hidden information."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from gauntlet.games.arctic_scavengers import ArcticScavengers, State, rules
from gauntlet.games.arctic_scavengers import state as sheet
from gauntlet.games.arctic_scavengers.state import (
    CARDS,
    CONTESTED,
    FIGHT,
    GATHER,
    JUNKYARD,
    KIND,
    LOOK,
    OVER,
    PILES,
    START,
    Card,
    Tribe,
    known_cards,
    show,
    strength,
    total,
)
from tests.games.arctic_referee import FIRST, Referee, fight, people
from tests.games.cases import after, options, seeds, walk

ARMED = ["Refugee", "Scavenger", "Hunter", "Saboteur", "Sniper Team", "Scout", "Spear", "Pills"]
"""A first deck with which snipers and saboteurs strike in many games."""


def names(kinds: Sequence[int]) -> list[str]:
    return [CARDS[kind].name for kind in kinds]


def chosen(options: Sequence[str], rng: np.random.Generator) -> int:
    """Mostly what brings about the rarer rules: to hire snipers and saboteurs, not to trash."""
    rare = [at for at, one in enumerate(options) if "hire S" in one or one.startswith(("sn", "sa"))]
    lasting = [at for at, one in enumerate(options) if not one.startswith(("trash", "stop"))]
    for some, share in ((rare, 0.6), (lasting, 0.8)):
        if some and rng.random() < share:
            return some[int(rng.integers(len(some)))]
    return int(rng.integers(len(options)))


def follow_chance(referee: Referee, state: State) -> None:
    """Return the random events: where a card is buried, what is drawn."""
    if referee.buried:
        referee.bury(names(state.junkyard))
    if referee.drawing:
        hands = [names(tribe.hand) for tribe in state.tribes]
        referee.begin(hands, [names(tribe.reserve) for tribe in state.tribes])


def lockstep(rounds: int, seed: int, first: Sequence[str] = FIRST) -> Counter[str]:
    """Play a game in both; return the rules met. Fails if they differ."""
    with pytest.MonkeyPatch.context() as patch:
        if first is not FIRST:
            patch.setattr(rules, "START", tuple(sorted(KIND[name] for name in first)))
        return compared(rounds, seed, first)


def compared(rounds: int, seed: int, first: Sequence[str]) -> Counter[str]:
    game, rng = ArcticScavengers(rounds=rounds), np.random.default_rng(seed)
    state = game.deal(rng)
    referee = Referee(list(first), names(state.junkyard), names(state.contested), rounds)
    follow_chance(referee, state)
    met: Counter[str] = Counter()
    while game.to_move(state):
        seen = game.observe(state, state.seat)
        options, hand = seen.options, referee.hand[state.seat]
        assert state.seat == referee.seat
        assert set(options) == referee.options()
        (told_strength,) = (f.text for f in seen.facts if f.name == "Your hand in a skirmish")
        assert told_strength.startswith(f"fight {fight(tuple(sorted(hand)))}, {people(hand)} pe")
        at = chosen(options, rng)
        met[f"{referee.what} {options[at].split()[0]}"] += 1
        state = game.play(state, [game.legal(state, state.seat)[at]])
        referee.choose(options[at])
        follow_chance(referee, state)
        assert names(state.junkyard) == referee.junkyard
        for seat, tribe in enumerate(state.tribes):
            assert Counter(names(tribe.hand)) == Counter(referee.hand[seat])
            assert names(tribe.reserve) == referee.reserve[seat]
            assert Counter(names(tribe.aside)) == Counter(referee.used[seat])
    assert state.phase == OVER
    assert referee.over
    assert game.returns(state) == referee.score()
    return met


def played(games: int, offset: int = 0) -> Counter[str]:
    """Return the rules met in this many games, half of them with ARMED decks."""
    met: Counter[str] = Counter()
    for seed in range(offset, offset + games):
        met += lockstep((6, 7, 3)[seed % 3], seed, (FIRST, ARMED)[seed % 2])
    return met


@pytest.mark.parametrize(
    ("games", "first"), [(60, 0), pytest.param(1000, 10**6, marks=pytest.mark.slow)]
)
def test_a_referee_from_the_rule_text_agrees_at_every_ply(games: int, first: int) -> None:
    met = played(games, first)
    print(f"{games:,} games of Arctic Scavengers in lockstep: {dict(met)}")
    assert {"respond snipe", "respond sabotage", "strike snipe", "strike sabotage"} <= met.keys()


def changed(name: str, **values: Any) -> tuple[Card, ...]:
    return tuple(card._replace(**values) if card.name == name else card for card in CARDS)


SLIPS = {
    "a spear fights with 3": (sheet, "CARDS", changed("Spear", values=(-1, -1, 1, 3))),
    "a brawler costs 1 food": (rules, "CARDS", changed("Brawler", food=1)),
    "sled teams are one": (sheet, "CARDS", changed("Sled Team", people=1)),
    "all tools count in a fight": (rules, "strength", lambda hand, loose: total(hand, FIGHT)),
    "four cards are drawn": (rules, "HAND", 4),
    "pills are worth 2": (rules, "medicine", lambda cards: 2 * len(tuple(cards))),
    "any number of tools": (
        rules,
        "_is_allowed",
        lambda use, action, loose: total(use, action) > 0,
    ),
    "a striker never tires": (
        rules,
        "targets",
        lambda asked, own, cards, struck=(), old=rules.targets: old(asked, own, cards),
    ),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_planted_slip_is_caught(slip: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, name, wrong = SLIPS[slip]
    forget()
    monkeypatch.setattr(module, name, wrong)
    with pytest.raises(AssertionError):
        played(60)
    monkeypatch.undo()
    forget()


def forget() -> None:
    """Clear caches computed under other rules."""
    for cached in (strength, rules.uses, rules.payment, rules._actions, rules._hires):
        cached.cache_clear()


GAME, PAPER = ArcticScavengers(), ArcticScavengers(paper_bugs=True)
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


def test_by_paper_bug_digging_keeps_a_card_nobody_responds_and_snipers_need_a_net() -> None:
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
def test_the_larger_tribe_wins_by_paper_bug_that_of_the_last_hand(
    hands: Any, returns: tuple[float, float], paper: tuple[float, float]
) -> None:
    state = position(*hands)._replace(phase=OVER)
    more = state.tribes[0]._replace(reserve=cards_of(*["Refugee"] * (4 + 2 * (returns[0] > 0))))
    state = state._replace(tribes=(more, state.tribes[1]))
    assert GAME.returns(state) == returns
    assert PAPER.returns(state) == paper
    assert [GAME.worth(state, seat) for seat in (0, 1)] == [(1 + one) / 2 for one in returns]


def test_by_paper_bug_hiring_is_free_and_five_rounds_are_played() -> None:
    state = position(("Refugee",))
    assert "hire Thugs" in options(PAPER, state)
    assert not any(one.startswith("hire") for one in options(GAME, state))
    assert ArcticScavengers(rounds=9, paper_bugs=True).settings.rounds == 5
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
