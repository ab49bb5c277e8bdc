"""Arctic Scavengers in lockstep with a referee written from the rule text, and planted slips."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from gauntlet.games.arctic_scavengers import ArcticScavengers, State, rules, state
from gauntlet.games.arctic_scavengers.state import CARDS, FIGHT, KIND, OVER, Card, strength, total
from tests.games.arctic_referee import FIRST, Referee, fight, people

GAMES = 60
MANY = 1000
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
    """What chance has brought: where a card is buried, what is drawn."""
    if referee.buried:
        referee.bury(names(state.junkyard))
    if referee.drawing:
        hands = [names(tribe.hand) for tribe in state.tribes]
        referee.begin(hands, [names(tribe.reserve) for tribe in state.tribes])


def lockstep(rounds: int, seed: int, first: Sequence[str] = FIRST) -> Counter[str]:
    """Plays a game by both; says which rules were met. Fails where they differ."""
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
    """Which rules were met in so many games, half of them with ARMED decks."""
    met: Counter[str] = Counter()
    for seed in range(offset, offset + games):
        met += lockstep((6, 7, 3)[seed % 3], seed, (FIRST, ARMED)[seed % 2])
    return met


def test_a_referee_from_the_rule_text_agrees_at_every_ply() -> None:
    met = played(GAMES)
    print(f"{GAMES} games of Arctic Scavengers in lockstep: {dict(met)}")
    assert {"respond snipe", "respond sabotage", "strike snipe", "strike sabotage"} <= met.keys()


@pytest.mark.slow
def test_a_referee_from_the_rule_text_agrees_at_every_ply_of_many_games() -> None:
    met = played(MANY, 10**6)
    print(f"{MANY:,} games of Arctic Scavengers in lockstep: {sum(met.values()):,} plies")


def changed(name: str, **values: Any) -> tuple[Card, ...]:
    return tuple(card._replace(**values) if card.name == name else card for card in CARDS)


SLIPS = {
    "a spear fights with 3": (state, "CARDS", changed("Spear", values=(-1, -1, 1, 3))),
    "a brawler costs 1 food": (rules, "CARDS", changed("Brawler", food=1)),
    "sled teams are one": (state, "CARDS", changed("Sled Team", people=1)),
    "all tools count in a fight": (rules, "strength", lambda hand, loose: total(hand, FIGHT)),
    "four cards are drawn": (rules, "HAND", 4),
    "pills are worth 2": (rules, "medicine", lambda cards: 2 * len(tuple(cards))),
    "any number of tools": (rules, "_allowed", lambda use, action, loose: total(use, action) > 0),
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
        played(GAMES)
    monkeypatch.undo()
    forget()


def forget() -> None:
    """What was worked out under other rules."""
    for cached in (strength, rules.uses, rules.payment, rules._actions, rules._hires):
        cached.cache_clear()
