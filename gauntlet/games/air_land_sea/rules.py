"""Air, Land & Sea's transitions: cards played, abilities resolved in order, battles scored.

With paper bugs, strengths are tracked as in the published code of GameBench
(games/air_land_sea/game.py there). Every card has its own strength, set when it is played or
flipped and updated before each choice, but not when a battle is judged. Escalation and Cover Fire
raise nothing while they lie in the leftmost theatre, and what they raised falls back only once they
are gone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from gauntlet.games.air_land_sea import words
from gauntlet.games.air_land_sea.state import (
    AIR_DROP,
    CARDS,
    COVER_FIRE,
    DEPLOY,
    DISRUPT,
    DOWN,
    ESCALATION,
    FLIP,
    HAND,
    IMPROVISE,
    INSTANT,
    LAY,
    MOVE,
    NOTHING,
    RAISED,
    REINFORCE,
    RETURN,
    WITHDRAW,
    Column,
    LostCard,
    PlacedCard,
    Side,
    State,
    Task,
    destroyer,
    face_up,
    holders,
    options,
    strength,
    totals,
)


def with_updated_strengths(state: State) -> State:
    """Return the state with its strengths updated."""
    first, second = (tuple(_column(state, seat, at) for at in range(3)) for seat in range(2))
    return replace(state, columns=(first, second))


def _column(state: State, seat: int, at: int) -> Column:
    column, leftmost = state.columns[seat][at], state.order[0]
    mine, other = (face_up(state, side, ESCALATION) for side in (seat, 1 - seat))
    placed_cards = []
    for placed in column:
        worth = placed.worth
        if not placed.up and mine is None and other is None:
            worth = DOWN
        elif not placed.up and mine is not None and mine != leftmost:
            worth = RAISED
        placed_cards.append(placed._replace(worth=worth))
    if all(face_up(state, side, COVER_FIRE) is None for side in range(2)):
        return tuple(p._replace(worth=strength(p.card)) if p.up else p for p in placed_cards)
    if face_up(state, seat, COVER_FIRE) == at != leftmost:
        covers = next(n for n, p in enumerate(column) if p.up and p.card == COVER_FIRE)
        placed_cards[:covers] = [p._replace(worth=RAISED) for p in placed_cards[:covers]]
    return tuple(placed_cards)


WON = 6
"""Points for a battle that is fought to its end."""
FIRST, SECOND = (6, 6, 4, 3, 3, 2, 2), (6, 4, 3, 3, 2, 2, 2)
"""Points for the first and the second player when the other withdraws, by cards left in its hand.
"""

BARE: tuple[Side, Side] = (((), (), ()), ((), (), ()))

T = TypeVar("T")


def initial_state(seed: int, order: tuple[int, int, int], first: int) -> State:
    return _battle(seed, 1, order, first, (0, 0), ())


def _battle(
    seed: int,
    number: int,
    order: tuple[int, int, int],
    first: int,
    points: tuple[int, int],
    history: tuple[str, ...],
) -> State:
    cards = np.random.default_rng((seed, number)).permutation(len(CARDS)).tolist()
    return State(
        seed=seed,
        battle=number,
        order=order,
        first=first,
        points=points,
        turn=first,
        hands=(tuple(sorted(cards[:HAND])), tuple(sorted(cards[HAND : 2 * HAND]))),
        columns=BARE,
        deck=tuple(cards[2 * HAND :]),
        history=(*history, words.battle(number, first, order)),
    )


def withdrawal(state: State, seat: int) -> int:
    """Return the points that the other seat gets if `seat` withdraws."""
    return (SECOND if state.first == seat else FIRST)[len(state.hands[seat])]


def act(state: State, move: int, goal: int, paper_bugs: bool) -> State:
    """Return the state after one of its `options` is chosen."""
    if move == WITHDRAW:
        gained = withdrawal(state, state.turn)
        told = words.withdrew(state.turn)
        return _scored(state, 1 - state.turn, gained, told, goal, paper_bugs)
    if state.tasks:
        state = _carried_out(state, state.tasks[0], move, paper_bugs)
    else:
        state = _play_card(state, state.turn, move, paper_bugs)
    return _settled(state, goal, paper_bugs)


def _carried_out(state: State, task: Task, move: int, paper_bugs: bool) -> State:
    """Apply one choice of the first task, which is then done unless it has another step."""
    state = replace(state, tasks=state.tasks[1:])
    if move == NOTHING:
        return _add_history(state, words.nothing(task))
    if MOVE <= move < RETURN:
        return _move_card(state, task.owner, *divmod(move - MOVE, 3))
    if RETURN <= move < NOTHING:
        state = _returned(state, task.owner, move - RETURN)
        return replace(state, tasks=(task._replace(step=1), *state.tasks))
    if move >= LAY:
        assert task.drawn is not None
        clause = words.reinforced(task.owner, move - LAY)
        return _lay_card(state, task.owner, task.drawn, move - LAY, False, clause, not paper_bugs)
    if move < WITHDRAW:
        return _play_card(state, task.owner, move, paper_bugs)
    if task.card == DISRUPT:
        return _disrupted(state, task, move, paper_bugs)
    return _flipped(state, move, 0 if paper_bugs else len(state.tasks))


def _disrupted(state: State, task: Task, move: int, paper_bugs: bool) -> State:
    """Both flips happen before the flipped cards take effect. The published code resolves new
    abilities before older ones, but these two in order."""
    before = len(state.tasks)
    state = _flipped(state, move, task.waiting if paper_bugs else before)
    if task.step == 1:
        return state
    again = task._replace(step=1, waiting=len(state.tasks) - before)
    return replace(state, tasks=(again, *state.tasks))


def _play_card(state: State, seat: int, move: int, paper_bugs: bool) -> State:
    """Play a card from the hand, face up or down."""
    up = move < IMPROVISE
    card, at = divmod(move - (DEPLOY if up else IMPROVISE), 3)
    state = replace(
        state,
        hands=_with_item(state.hands, seat, _without_card(state.hands[seat], card)),
        drop=_with_item(state.drop, seat, False),
        shown=_with_item(state.shown, seat, _without_card(state.shown[seat], card))
        if up
        else state.shown,
    )
    state = _lay_card(state, seat, card, at, up, words.played(seat, card, at, up), True)
    if not up or any(one.card == card for one in state.lost):
        return state
    return _triggered(state, card, seat, at, 0 if paper_bugs else len(state.tasks))


def _lay_card(
    state: State, seat: int, card: int, at: int, up: bool, clause: str, stoppable: bool
) -> State:
    """Put a card on its column, or destroy it on its way."""
    reason = destroyer(state, at, up) if stoppable else None
    if reason is not None:
        lost = (*state.lost, LostCard(card, seat, up))
        return _add_history(replace(state, lost=lost), words.destroyed(clause, reason))
    column = (*state.columns[seat][at], PlacedCard(card, up, up, strength(card) if up else DOWN))
    return _add_history(_put(state, seat, at, column), clause)


def _flipped(state: State, move: int, place: int) -> State:
    """Flip the uncovered card of a column; its ability, if any, becomes the task at `place`."""
    seat, at = divmod(move - FLIP, 3)
    *below, top = state.columns[seat][at]
    up = not top.up
    turned = PlacedCard(top.card, up, True, strength(top.card) if up else DOWN)
    state = _put(state, seat, at, (*below, turned))
    known = _with_item(state.shown, seat, _without_card(state.shown[seat], top.card))
    state = _add_history(replace(state, shown=known), words.flipped(seat, top.card, at, up))
    return _triggered(state, top.card, seat, at, place) if up else state


def _triggered(state: State, card: int, seat: int, at: int, place: int) -> State:
    """Add the ability of a card that is now face up to the tasks."""
    if card == AIR_DROP:
        return replace(state, drop=_with_item(state.drop, seat, True))
    if card not in INSTANT:
        return state
    tasks = state.tasks
    return replace(state, tasks=(*tasks[:place], Task(card, seat, at), *tasks[place:]))


def _move_card(state: State, seat: int, card: int, theatre: int) -> State:
    at, placed = _find_card(state, seat, card)
    state = _put(state, seat, at, tuple(p for p in state.columns[seat][at] if p != placed))
    state = _put(state, seat, theatre, (*state.columns[seat][theatre], placed))
    return _add_history(state, words.moved(seat, placed, at, theatre))


def _returned(state: State, seat: int, card: int) -> State:
    at, placed = _find_card(state, seat, card)
    state = _put(state, seat, at, tuple(p for p in state.columns[seat][at] if p != placed))
    hand = tuple(sorted((*state.hands[seat], card)))
    shown = (*state.shown[seat], card) if placed.seen else state.shown[seat]
    state = replace(
        state,
        hands=_with_item(state.hands, seat, hand),
        shown=_with_item(state.shown, seat, tuple(sorted(shown))),
    )
    return _add_history(state, words.returned(seat, placed, at))


def _find_card(state: State, seat: int, card: int) -> tuple[int, PlacedCard]:
    return next(
        (at, placed)
        for at, column in enumerate(state.columns[seat])
        for placed in column
        if placed.card == card
    )


def _settled(state: State, goal: int, paper_bugs: bool) -> State:
    """Return the next state with a choice to make: abilities that can do nothing are skipped, and
    when all are done it is the other's turn or the battle is over."""
    while state.tasks:
        state = (
            with_updated_strengths(_draw_reinforcement(state))
            if paper_bugs
            else _draw_reinforcement(state)
        )
        if options(state):
            return state
        task, *rest = state.tasks
        second = task.card == DISRUPT and task.step == 0
        state = replace(state, tasks=(task._replace(step=1), *rest) if second else tuple(rest))
    if not any(state.hands):
        return _score_battle(state, goal, paper_bugs)
    state = replace(state, turn=1 - state.turn)
    return with_updated_strengths(state) if paper_bugs else state


def _draw_reinforcement(state: State) -> State:
    """Draw the card of Reinforce if that is the next task and the deck is not empty."""
    task, *rest = state.tasks
    if task.card != REINFORCE or not state.deck:
        return state
    *deck, top = state.deck
    return replace(state, deck=tuple(deck), tasks=(task._replace(drawn=top), *rest))


def _score_battle(state: State, goal: int, paper_bugs: bool) -> State:
    """Score a battle that was fought to its end."""
    held = holders(state, paper_bugs)
    winner = int(held.count(1) >= 2)
    told = words.fought(state, totals(state, paper_bugs), held)
    return _scored(state, winner, WON, told, goal, paper_bugs)


def _scored(
    state: State, winner: int, gained: int, clause: str, goal: int, paper_bugs: bool
) -> State:
    """Give the winner its points and start the next battle. The published code rotates the theatres
    the other way."""
    points = _with_item(state.points, winner, state.points[winner] + gained)
    state = _add_history(replace(state, points=points), clause)
    state = _add_history(state, words.scored(winner, gained, points))
    if max(points) >= goal:
        return state
    left, middle, right = state.order
    order = (middle, right, left) if paper_bugs else (right, left, middle)
    return _battle(state.seed, state.battle + 1, order, 1 - state.first, points, state.history)


def _put(state: State, seat: int, at: int, column: Column) -> State:
    side = state.columns[seat]
    changed = (*side[:at], column, *side[at + 1 :])
    return replace(state, columns=_with_item(state.columns, seat, changed))


def _add_history(state: State, clause: str) -> State:
    return replace(state, history=(*state.history, clause))


def _with_item(pair: tuple[T, T], seat: int, new: T) -> tuple[T, T]:
    return (new, pair[1]) if seat == 0 else (pair[0], new)


def _without_card(cards: tuple[int, ...], card: int) -> tuple[int, ...]:
    return tuple(one for one in cards if one != card)
