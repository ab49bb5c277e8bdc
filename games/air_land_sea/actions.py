"""The actions of Air, Land & Sea by number, and those that are open in a state.

A flip names a place, not a card: who flips may not know what lies there.
"""

from __future__ import annotations

from collections.abc import Iterator

from games.air_land_sea.board import adjacent, deployable, uncovered
from games.air_land_sea.cards import (
    AMBUSH,
    CARDS,
    DISRUPT,
    MANEUVERS,
    REDEPLOY,
    REINFORCE,
    TRANSPORT,
)
from games.air_land_sea.state import State, Task

DEPLOY = 0  # + 3 * card + theatre
IMPROVISE = DEPLOY + 3 * len(CARDS)  # + 3 * card + theatre
WITHDRAW = IMPROVISE + 3 * len(CARDS)
FLIP = WITHDRAW + 1  # + 3 * seat + theatre
MOVE = FLIP + 6  # + 3 * card + theatre
RETURN = MOVE + 3 * len(CARDS)  # + card
NOTHING = RETURN + len(CARDS)
LAY = NOTHING + 1  # + theatre
LAST = LAY + 2


def decider(state: State, quirks: bool) -> int:
    """The seat whose choice it is; in the published code its owner has both of Disrupt."""
    if not state.tasks:
        return state.turn
    task = state.tasks[0]
    return task.owner if quirks else flipper(task)


def flipper(task: Task) -> int:
    """The seat of whose cards Disrupt flips one; the owner of any other ability."""
    return 1 - task.owner if task.card == DISRUPT and task.step == 1 else task.owner


def options(state: State) -> tuple[int, ...]:
    """What may be chosen; () where the ability in hand leaves nothing to choose."""
    if not state.tasks:
        return (*_plays(state, state.turn), WITHDRAW)
    return tuple(_ability(state, state.tasks[0]))


def _plays(state: State, seat: int) -> tuple[int, ...]:
    hand = state.hands[seat]
    up = [DEPLOY + 3 * card + at for card in hand for at in deployable(state, seat, card)]
    return (*up, *(IMPROVISE + 3 * card + at for card in hand for at in range(3)))


def _ability(state: State, task: Task) -> Iterator[int]:
    if task.card in MANEUVERS:
        yield from _flips(state, (0, 1), adjacent(state.order, task.theatre))
    elif task.card == AMBUSH:
        yield from _flips(state, (0, 1), state.order)
    elif task.card == DISRUPT:
        yield from _flips(state, (flipper(task),), state.order)
    elif task.card == REINFORCE and task.drawn is not None:
        yield from (LAY + at for at in adjacent(state.order, task.theatre))
    elif task.card == TRANSPORT:
        yield from _moves(state, task.owner)
    elif task.card == REDEPLOY and task.step == 0:
        yield from _returns(state, task.owner)
    elif task.card == REDEPLOY:
        yield from _plays(state, task.owner)


def _flips(state: State, seats: tuple[int, ...], theatres: tuple[int, ...]) -> Iterator[int]:
    for seat in seats:
        for at in theatres:
            if uncovered(state, seat, at):
                yield FLIP + 3 * seat + at


def _moves(state: State, seat: int) -> Iterator[int]:
    for at in state.order:
        for placed in state.columns[seat][at]:
            yield from (MOVE + 3 * placed.card + to for to in state.order if to != at)
    if any(state.columns[seat]):
        yield NOTHING


def _returns(state: State, seat: int) -> Iterator[int]:
    down = [p.card for column in state.columns[seat] for p in column if not p.up]
    yield from (RETURN + card for card in down)
    if down:
        yield NOTHING
