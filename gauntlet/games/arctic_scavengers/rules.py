"""The rules of Arctic Scavengers as functions of a state: legal actions and transitions.

`Rules` holds the settings that they depend on; `words` has the texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from types import MappingProxyType

import numpy as np

from gauntlet.games.arctic_scavengers import words
from gauntlet.games.arctic_scavengers.state import (
    BLOCK,
    CARDS,
    CONTESTED,
    DIG,
    DRAW,
    GATHER,
    HIRE,
    HUNT,
    JUNKYARD,
    LOOK,
    NOT,
    OVER,
    PILES,
    RESPOND,
    SABOTEUR,
    SKIRMISH,
    SNIPER,
    START,
    STOP,
    TRASH,
    Action,
    Hand,
    State,
    Tribe,
    exchanged,
    medicine,
    people,
    remove_cards,
    show,
    shuffled,
    strength,
    striker,
    total,
    with_tribe,
)

Use = tuple[int, ...]
"""The cards used, sorted."""


@lru_cache(maxsize=1 << 15)
def uses(hand: Hand, action: int, loose: bool) -> tuple[Use, ...]:
    """Return all sets of cards with which a hand can dig, draw or hunt, fewest cards first.

    At least one card acts itself. An acting card may use one tool and one pair of group leaders; if
    `loose`, any number. Cards that add nothing are left out: one of value 0 acts only if it is
    needed to use a tool.
    """
    fit = sorted({kind for kind in hand if CARDS[kind].values[action] != NOT})
    counts = (range(hand.count(kind) + 1) for kind in fit)
    candidates = [
        tuple(kind for kind, count in zip(fit, chosen, strict=True) for _ in range(count))
        for chosen in product(*counts)
    ]
    return tuple(
        sorted(
            (use for use in candidates if _is_allowed(use, action, loose)),
            key=lambda use: (len(use), use),
        )
    )


def _is_allowed(use: Use, action: int, loose: bool) -> bool:
    acting = [kind for kind in use if not CARDS[kind].adds]
    if not acting or total(use, action) == 0:
        return False
    tools = sum(CARDS[kind].is_tool for kind in use)
    leaders = len(use) - len(acting) - tools
    idle = sum(CARDS[kind].values[action] == 0 for kind in acting)
    needed = min(1, tools + leaders) if loose else max(tools, leaders)
    fits = loose or max(tools, leaders) <= len(acting)
    return fits and idle <= max(0, needed - (len(acting) - idle))


@lru_cache(maxsize=1 << 12)
def payment(hand: Hand, cure: int) -> Use | None:
    """Return the medicine cards of a hand that pay a cost with the least overpayment, then the
    fewest cards; None if there is not enough."""
    cards = tuple(kind for kind in hand if CARDS[kind].medicine)
    if medicine(cards) < cure:
        return None
    kinds = sorted(set(cards))
    choices = [
        tuple(kind for kind, count in zip(kinds, chosen, strict=True) for _ in range(count))
        for chosen in product(*(range(cards.count(kind) + 1) for kind in kinds))
    ]
    enough = (use for use in choices if medicine(use) >= cure)
    return min(enough, key=lambda use: (medicine(use), len(use)))


ROUND, JUNK, TIE = range(3)
"""The purpose of a random stream."""

HAND = 5
"""Cards drawn for a round."""


@dataclass(frozen=True)
class Rules:
    """rounds: the number of rounds. loose: whether the bugs of the published code apply."""

    rounds: int
    loose: bool

    @property
    def peaceful(self) -> int:
        """The number of initial rounds without a skirmish: contested cards last for the final
        rounds."""
        return max(0, self.rounds - len(CONTESTED))


def initial_state(rules: Rules, rng: np.random.Generator) -> State:
    seed = int(rng.integers(2**63))
    tribe = Tribe((), START)
    state = State(seed, (tribe, tribe), shuffled(JUNKYARD, rng), shuffled(CONTESTED, rng), PILES)
    return _round(rules, state)


def _round(rules: Rules, state: State) -> State:
    """Return the state with new hands drawn from all cards of each tribe."""
    rng = chance(state, ROUND)
    tribes = []
    for tribe in state.tribes:
        cards = shuffled(tribe.cards, rng)
        tribes.append(Tribe(tuple(sorted(cards[:HAND])), cards[HAND:], (), tribe.secret))
    seat = state.round % 2
    told = words.begins(state.round, seat)
    state = state._replace(tribes=(tribes[0], tribes[1]), history=(*state.history, told))
    return _turn(rules, state, seat, False)


def _turn(rules: Rules, state: State, seat: int, second: bool) -> State:
    """Return the state in which `seat` begins to gather."""
    return _gathering(
        rules, state._replace(phase=GATHER, seat=seat, second=second, food=0, taken=())
    )


def _gathering(rules: Rules, state: State) -> State:
    """Return the state, or the one after it if the seat can only stop."""
    state = state._replace(phase=GATHER, pending=None, looking=0)
    idle = not state.tribes[state.seat].hand and (HIRE in state.taken or not hires(rules, state))
    return stop_gathering(rules, state) if idle else state


def actions(rules: Rules, state: State) -> Mapping[int, Action]:
    """Return what the gathering seat may do, in order, by number: the verb times BLOCK, plus the
    index among the usable sets of cards, or the kind of the card."""
    hand, bare = state.tribes[state.seat].hand, not state.junkyard
    return _actions(hand, state.food, state.taken, state.piles, bare, rules.loose)


@lru_cache(maxsize=1 << 15)
def _actions(
    hand: Hand, food: int, taken_verbs: tuple[int, ...], piles: Hand, bare: bool, loose: bool
) -> Mapping[int, Action]:
    actions = {
        verb * BLOCK + place: Action(verb, use)
        for verb in (DIG, DRAW, HUNT)
        if verb not in taken_verbs and not (verb == DIG and bare)
        for place, use in enumerate(uses(hand, verb, loose))
    }
    if HIRE not in taken_verbs:
        actions |= {HIRE * BLOCK + one.hired: one for one in _hires(hand, food, piles, loose)}
    actions |= {TRASH * BLOCK + kind: Action(TRASH, (kind,)) for kind in sorted(set(hand))}
    return MappingProxyType({**actions, STOP * BLOCK: Action(STOP)})


def hires(rules: Rules, state: State) -> tuple[Action, ...]:
    """Return the mercenaries that the gathering seat can afford, with the medicine it would pay."""
    return _hires(state.tribes[state.seat].hand, state.food, state.piles, rules.loose)


@lru_cache(maxsize=1 << 15)
def _hires(hand: Hand, food: int, piles: Hand, loose: bool) -> tuple[Action, ...]:
    hires = []
    for kind in sorted(set(piles)):
        card = CARDS[kind]
        paid = () if loose else payment(hand, card.cure)
        if paid is not None and (loose or card.food <= food):
            hires.append(Action(HIRE, paid, kind))
    return tuple(hires)


def announced(rules: Rules, state: State, action: Action) -> State:
    """Return the state after the gathering seat announces an action. The other seat may respond if
    it can (never under loose rules); otherwise the action takes effect."""
    seat = state.seat
    if action.verb == STOP:
        return stop_gathering(rules, state)
    told = (*state.history, words.does(seat, action))
    tribe = show(state.tribes[seat], action.cards)
    state = with_tribe(state, seat, tribe)._replace(history=told)
    answers = action.verb != TRASH and not rules.loose
    if answers and targets(rules, state.tribes[1 - seat].hand, action.cards):
        return state._replace(phase=RESPOND, seat=1 - seat, pending=action)
    return apply_action(rules, state, action)


def targets(rules: Rules, hand: Hand, cards: Sequence[int], struck: Hand = ()) -> tuple[int, ...]:
    """Return the cards that a hand can snipe or sabotage. struck: its strikers already used.

    A Sniper Team strikes people, a Saboteur other cards. Loose rules have no snipers.
    """
    snipes = hand.count(SNIPER) > struck.count(SNIPER) and not rules.loose
    sabotages = hand.count(SABOTEUR) > struck.count(SABOTEUR)
    return tuple(
        kind for kind in sorted(set(cards)) if (snipes if CARDS[kind].people else sabotages)
    )


def apply_action(rules: Rules, state: State, action: Action) -> State:
    """Return the state after an action of the gathering seat that nobody stopped."""
    tribe = state.tribes[state.seat]
    hand = remove_cards(tribe.hand, action.cards)
    if action.verb == TRASH:
        return _trashed(rules, with_tribe(state, state.seat, tribe._replace(hand=hand)), action)
    tribe = tribe._replace(hand=hand, aside=_add_cards(tribe.aside, action.cards))
    state = with_tribe(state, state.seat, tribe)._replace(taken=(*state.taken, action.verb))
    if action.verb == DIG:
        look = min(total(action.cards, DIG), len(state.junkyard))
        return state._replace(phase=LOOK, looking=look, pending=None)
    if action.verb == DRAW:
        count = total(action.cards, DRAW)
        new_tribe = tribe._replace(
            hand=_add_cards(tribe.hand, tribe.reserve[:count]), reserve=tribe.reserve[count:]
        )
        return _gathering(rules, with_tribe(state, state.seat, new_tribe))
    if action.verb == HUNT:
        return _gathering(rules, state._replace(food=state.food + total(action.cards, HUNT)))
    hired = tribe._replace(reserve=(*tribe.reserve, action.hired))
    cost = 0 if rules.loose else CARDS[action.hired].food
    state = state._replace(piles=remove_cards(state.piles, (action.hired,)), food=state.food - cost)
    return _gathering(rules, with_tribe(state, state.seat, hired))


def _trashed(rules: Rules, state: State, action: Action) -> State:
    junkyard = _buried(state, action.cards[0], JUNK, state.trashed)
    return _gathering(rules, state._replace(junkyard=junkyard, trashed=state.trashed + 1))


def _buried(state: State, kind: int, purpose: int, number: int) -> tuple[int, ...]:
    """Return the junkyard with a card inserted at a random place."""
    at = int(chance(state, purpose, number).integers(len(state.junkyard) + 1))
    return (*state.junkyard[:at], kind, *state.junkyard[at:])


def keep_card(rules: Rules, state: State, kind: int | None) -> State:
    """Return the state after a digger keeps one of the cards it looked at, or none; the others go
    to the bottom of the junkyard."""
    top, rest = state.junkyard[: state.looking], state.junkyard[state.looking :]
    tribe = state.tribes[state.seat]
    if kind is not None:
        top = remove_cards(top, (kind,))
        tribe = tribe._replace(
            reserve=(*tribe.reserve, kind), secret=_add_cards(tribe.secret, (kind,))
        )
    told = (*state.history, words.keeps(state.seat, kind is not None))
    state = state._replace(junkyard=(*rest, *top), history=told)
    return _gathering(rules, with_tribe(state, state.seat, tribe))


def responded(rules: Rules, state: State, kind: int | None) -> State:
    """Return the state after the other seat lets the pending action happen, or stops it by striking
    one of its cards: that card and the striker are used up for the round, the others stay."""
    seat, action = state.turn, state.pending
    assert action is not None
    back = state._replace(phase=GATHER, seat=seat, pending=None)
    if kind is None:
        return apply_action(rules, back, action)
    own = _use_card(show(state.tribes[1 - seat], (striker(kind),)), striker(kind))
    tribes = exchanged(back.tribes, 1 - seat, own)
    tribes = exchanged(tribes, seat, _use_card(tribes[seat], kind))
    told = (*state.history, words.stops(1 - seat, kind))
    return _gathering(rules, back._replace(tribes=tribes, history=told))


def _use_card(tribe: Tribe, kind: int) -> Tribe:
    return tribe._replace(
        hand=remove_cards(tribe.hand, (kind,)), aside=_add_cards(tribe.aside, (kind,))
    )


def stop_gathering(rules: Rules, state: State) -> State:
    """Return the state after the gathering seat stops: the other gathers, or hands are compared."""
    history = (*state.history, words.rests(state.seat, len(state.tribes[state.seat].hand)))
    state = state._replace(history=history, pending=None, looking=0)
    if not state.second:
        return _turn(rules, state, 1 - state.seat, True)
    if state.round < rules.peaceful:
        return _next(rules, state._replace(history=(*history, words.peace(state.round))))
    tribes = tuple(show(tribe, tribe.hand) for tribe in state.tribes)
    hands = [words.brings(seat, tribe.hand) for seat, tribe in enumerate(tribes)]
    state = state._replace(tribes=(tribes[0], tribes[1]), history=(*history, *hands))
    return _skirmish(rules, state, state.round % 2, False)


def _skirmish(rules: Rules, state: State, seat: int, second: bool) -> State:
    """Return the state in which `seat` may strike, or the one after it if it cannot."""
    state = state._replace(phase=SKIRMISH, seat=seat, second=second, struck=(), food=0, taken=())
    return state if strikes(rules, state) else end_strikes(rules, state)


def strikes(rules: Rules, state: State) -> tuple[int, ...]:
    """Return which cards of the other hand the acting seat can strike in a skirmish."""
    struck = () if rules.loose else state.struck
    own, other = state.tribes[state.seat], state.tribes[1 - state.seat]
    return targets(rules, own.hand, other.hand, struck)


def struck(rules: Rules, state: State, kind: int) -> State:
    """Return the state after the acting seat strikes a card in a skirmish; the striker stays."""
    seat = state.seat
    other = _use_card(state.tribes[1 - seat], kind)
    history = (*state.history, words.strikes(seat, kind))
    state = with_tribe(state, 1 - seat, other)._replace(
        struck=_add_cards(state.struck, (striker(kind),)),
        history=history,
    )
    return state if strikes(rules, state) else end_strikes(rules, state)


def end_strikes(rules: Rules, state: State) -> State:
    """Return the state after the acting seat stops striking: the other may strike, or the skirmish
    is decided."""
    if not state.second:
        return _skirmish(rules, state, 1 - state.seat, True)
    scores = [(strength(t.hand, rules.loose), people(t.hand)) for t in state.tribes]
    card, left = state.contested[0], state.contested[1:]
    told = (*state.history, words.decided(scores, card))
    state = state._replace(contested=left, history=told)
    if scores[0] == scores[1]:
        return _next(rules, state._replace(junkyard=_buried(state, card, TIE, 0)))
    winner = int(scores[1] > scores[0])
    tribe = state.tribes[winner]
    tribe = tribe._replace(reserve=(*tribe.reserve, card))
    return _next(rules, with_tribe(state, winner, tribe))


def _next(rules: Rules, state: State) -> State:
    if state.round + 1 == rules.rounds:
        return state._replace(phase=OVER, food=0, taken=(), struck=())
    return _round(rules, state._replace(round=state.round + 1))


def tribes_count(rules: Rules, state: State) -> tuple[int, int]:
    """Return what decides the game: the people of each tribe; under loose rules only those of the
    last hands."""
    first, second = (people(tribe.hand if rules.loose else tribe.cards) for tribe in state.tribes)
    return first, second


def chance(state: State, purpose: int, number: int = 0) -> np.random.Generator:
    """Return the random generator of an event of this round."""
    return np.random.default_rng((state.seed, state.round, purpose, number))


def _add_cards(cards: Hand, new: Sequence[int]) -> Hand:
    return tuple(sorted((*cards, *new)))
