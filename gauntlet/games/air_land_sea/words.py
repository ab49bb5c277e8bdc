"""Air, Land & Sea as text: events, options, the board."""

from __future__ import annotations

from collections.abc import Sequence

from gauntlet.games.air_land_sea.state import (
    AMBUSH,
    DISRUPT,
    FACES,
    FLIP,
    HIDDEN,
    IMPROVISE,
    LAY,
    MANEUVERS,
    MOVE,
    NAMES,
    NOTHING,
    REINFORCE,
    RETURN,
    THEATRES,
    TRANSPORT,
    WITHDRAW,
    PlacedCard,
    State,
    Task,
    Totals,
    flipper,
    strength,
    strengths,
    theatre,
    totals,
)


def battle(number: int, first: int, order: Sequence[int]) -> str:
    return f"battle {number} begins: player {first} plays first; theatres {_row(order)}"


def _row(order: Sequence[int]) -> str:
    return ", ".join(THEATRES[at] for at in order) + " from left to right"


def played(seat: int, card: int, at: int, up: bool) -> str:
    if up:
        return f"player {seat} deployed {NAMES[card]} to {THEATRES[at]}"
    return f"player {seat} improvised a card to {THEATRES[at]}"


def reinforced(seat: int, at: int) -> str:
    return f"player {seat} laid the drawn card face down in {THEATRES[at]}"


def destroyed(clause: str, reason: int) -> str:
    return f"{clause}, and {NAMES[reason]} destroyed it"


def flipped(seat: int, card: int, at: int, up: bool) -> str:
    return f"player {seat}'s {NAMES[card]} in {THEATRES[at]} was flipped face {_way(up)}"


def moved(seat: int, placed: PlacedCard, at: int, to: int) -> str:
    return f"player {seat} moved {_public(placed)} from {THEATRES[at]} to {THEATRES[to]}"


def returned(seat: int, placed: PlacedCard, at: int) -> str:
    return f"player {seat} took {_public(placed)} back from {THEATRES[at]}"


def nothing(task: Task) -> str:
    done = "moved" if task.card == TRANSPORT else "took back"
    return f"player {task.owner} {done} nothing"


def withdrew(seat: int) -> str:
    return f"player {seat} withdrew"


def fought(state: State, sums: Totals, holders: Sequence[int]) -> str:
    parts = (
        f"{THEATRES[at]} {sums[0][at]} to {sums[1][at]}"
        f"{' (tie)' * (sums[0][at] == sums[1][at])} is held by player {holders[at]}"
        for at in state.order
    )
    return f"battle {state.battle} is over: {', '.join(parts)}"


def scored(winner: int, gained: int, points: tuple[int, int]) -> str:
    return f"player {winner} gets {gained} points; it stands {points[0]} to {points[1]}"


def _public(placed: PlacedCard) -> str:
    return NAMES[placed.card] if placed.seen else "a face-down card"


def _way(up: bool) -> str:
    return "up" if up else "down"


def option(state: State, seat: int, move: int) -> str:
    """Return the name of an action, as the seat that may choose it reads it."""
    if move < WITHDRAW:
        card, at = divmod(move % IMPROVISE, 3)
        verb = "deploy" if move < IMPROVISE else "improvise"
        return f"{verb} {NAMES[card]} to {THEATRES[at]}"
    if move == WITHDRAW:
        return "withdraw"
    if move < MOVE:
        return _flip(state, seat, *divmod(move - FLIP, 3))
    if move < RETURN:
        card, to = divmod(move - MOVE, 3)
        return f"move {NAMES[card]} from {_theatre_of(state, seat, card)} to {THEATRES[to]}"
    if move < NOTHING:
        card = move - RETURN
        return f"take back {NAMES[card]} from {_theatre_of(state, seat, card)}"
    if move == NOTHING:
        return "move nothing" if state.tasks[0].card == TRANSPORT else "take back nothing"
    return f"lay the drawn card in {THEATRES[move - LAY]}"


def _flip(state: State, seat: int, owner: int, at: int) -> str:
    placed = state.columns[owner][at][-1]
    owner_word = "your" if owner == seat else "the opponent's"
    known = placed.seen or owner == seat
    name = NAMES[placed.card] if known else "hidden card"
    return f"flip {owner_word} {name} in {THEATRES[at]} face {_way(not placed.up)}"


def _theatre_of(state: State, seat: int, card: int) -> str:
    return next(
        THEATRES[at]
        for at, column in enumerate(state.columns[seat])
        if any(p.card == card for p in column)
    )


def decision(state: State, seat: int) -> str:
    if not state.tasks:
        return "your turn: play a card, or withdraw"
    task = state.tasks[0]
    name, at = NAMES[task.card], THEATRES[task.theatre]
    if task.card in MANEUVERS:
        return f"{name} in {at}: flip an uncovered card in an adjacent theatre"
    if task.card == AMBUSH:
        return f"{name}: flip any uncovered card"
    if task.card == DISRUPT:
        whose = "your" if task.owner == seat else "the opponent's"
        of = "your own" if flipper(task) == seat else "the opponent's"
        return f"{whose} {name}: flip an uncovered card of {of}"
    if task.card == REINFORCE:
        drawn = "" if task.drawn is None else f"you drew {_card_text(task.drawn)}; "
        return f"{name}: {drawn}it goes face down to an adjacent theatre"
    if task.card == TRANSPORT:
        return f"{name}: move a card of yours, or nothing"
    if task.step == 0:
        return f"{name}: take back a face-down card and then play one, or leave it"
    return f"{name}: play a card"


def face(card: int) -> str:
    """Return a card as its holder reads it: "Support (air 1): while face up, ..."."""
    return _card_text(card) + f": {FACES[card].text}" * bool(FACES[card].text)


def _card_text(card: int) -> str:
    return f"{NAMES[card]} ({THEATRES[theatre(card)]} {strength(card)})"


def hand(cards: Sequence[int]) -> str:
    return "\n".join(map(face, cards)) or "empty"


def board(state: State, seat: int, paper_bugs: bool) -> str:
    """Return the theatres from left to right, one line each, as the seat sees them; the last card
    of a side is uncovered."""
    return "\n".join(
        f"{THEATRES[at]}: you {side(state, seat, at, True, paper_bugs)}; "
        f"opponent {side(state, 1 - seat, at, False, paper_bugs)}"
        for at in state.order
    )


def side(state: State, owner: int, at: int, all_known: bool, paper_bugs: bool) -> str:
    """Return a side of a theatre: its strength, and its cards with theirs. all_known: whether the
    reader knows them all."""
    total = totals(state, paper_bugs)[owner][at]
    column = state.columns[owner][at]
    worths = [p.worth for p in column] if paper_bugs else strengths(state, owner, at)
    cards = ", ".join(
        f"{_lying(placed, all_known)} {worth}" for placed, worth in zip(column, worths, strict=True)
    )
    return f"{total} ({cards})" if cards else str(total)


def _lying(placed: PlacedCard, all_known: bool) -> str:
    known = (all_known or placed.seen) and placed.card != HIDDEN
    name = NAMES[placed.card] if known else ""
    return name if placed.up else f"{name} face down".strip()


def show_state(state: State, paper_bugs: bool) -> str:
    first, second = state.points
    lines = [f"battle {state.battle}, player {state.first} is first; points {first} to {second}"]
    lines += [
        f"{THEATRES[at]}: player 0 {side(state, 0, at, True, paper_bugs)}; "
        f"player 1 {side(state, 1, at, True, paper_bugs)}"
        for at in state.order
    ]
    lines += [f"hand of player {seat}: {_list(state.hands[seat])}" for seat in range(2)]
    lines.append(f"deck: {_list(state.deck[::-1])}")
    lost = _list([one.card for one in state.lost])
    return "\n".join((*lines, f"destroyed: {lost}") if state.lost else lines)


def _list(cards: Sequence[int]) -> str:
    return ", ".join(NAMES[card] for card in cards) or "none"
