"""Hold'em as text: cards, actions and their meaning, rules, history."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from gauntlet.games.base import Action, Fact
from gauntlet.games.holdem import ranks
from gauntlet.games.holdem.rules import (
    AWARD,
    BACK,
    BETS,
    BIG,
    BOARD,
    CALL,
    CHECK,
    DEALER,
    FOLD,
    HAND,
    HANDS,
    LOG,
    MATCH,
    MODE,
    NEURON,
    PAID,
    PAPER_BUGS,
    PLAY,
    RIVER,
    SHOWN,
    SMALL,
    STACK,
    STACKS,
    STREET,
    TO_MOVE,
    board,
    cost,
    faceup,
    hole,
    hole_slice,
    pot,
)

NAMES = (
    *("FOLD", "CHECK", "CALL", "RAISE_3BB", "RAISE_HALF_POT", "RAISE_POT", "RAISE_2POT"),
    "ALL_IN",
)
STREETS = ("preflop", "flop", "turn", "river")
RANKS, SUITS = "23456789TJQKA", "cdhs"
CATEGORIES = (
    *("high card", "a pair", "two pairs", "three of a kind", "a straight", "a flush"),
    *("a full house", "four of a kind", "a straight flush"),
)
POLICIES = {
    "random": "takes any legal action alike",
    "neuron_random": "takes any legal action alike, but never ALL_IN or RAISE_3BB",
    "mixed": "decides each time as tight with a chance of three quarters, else as caller or maniac",
    "tight": "raises with a strong hand, bets half the pot with a good one where nobody has bet, "
    "calls where the hand is worth the price, else checks or folds",
    "caller": "checks or calls, whatever it holds",
    "maniac": "raises by the pot as often as it may, else calls",
}
"""What each policy does, by name."""

FORMAT = "|".join(name.replace("_", r"[\s_]*") for name in NAMES)
"""Matches every action's name, with or without spaces or underscores in it."""

ADVICE = (
    "Judge your hand by what the other player may hold: a pair is strong against any two cards, "
    "weaker on a board of higher cards, straights or flushes.",
    "Call where your chance to win is above the share that the call is of the pot after it.",
    "Bet or raise with hands that win against those which would call; fold weak ones to large bets "
    "early.",
    "Play more hands as the dealer, who acts last on the flop, the turn and the river.",
)


def parse(text: str) -> Action:
    """Return the action that a text names, ignoring case, spaces, underscores, < and >: "<call>",
    "Raise 3BB"; or its number, as `str` writes it. Raises ValueError for anything else."""
    cleaned = re.sub(r"[\s_<>]", "", text).upper()
    if re.fullmatch("[0-7]", cleaned):
        return int(cleaned)
    names = [name.replace("_", "") for name in NAMES]
    if cleaned not in names:
        raise ValueError(f"{text!r} is no action; the actions are {', '.join(NAMES)}")
    return names.index(cleaned)


def card(number: int) -> str:
    """Return a card as the rank, T for ten, and the first letter of the suit: "Ah" is one."""
    return RANKS[number >> 2] + SUITS[number & 3]


def cards(numbers: Iterable[int]) -> str:
    return " ".join(map(card, numbers))


def rules(settings: np.ndarray) -> str:
    """Return the rules; settings: any state of the game."""
    stack, hands = settings.item(STACK), settings.item(HANDS)
    count = "1 hand" if hands == 1 else f"{hands} hands"
    if settings.item(PLAY) == MATCH:
        how = (
            f"They begin with {stack} chips each and play on until one of them has all chips and "
            f"wins; after {count} whoever has more chips wins."
        )
    else:
        how = (
            f"They play {count}, each with fresh stacks of {stack} chips; whoever has won more "
            "chips in all wins."
        )
    shares = "by" if settings.item(MODE) == NEURON else "to"
    tie = "of equal ones player 0's take it" if settings.item(PAPER_BUGS) else "equal ones split it"
    return (
        f"Players 0 and 1 play no-limit Texas hold'em. {how} Player 0 deals the first hand, then "
        f"they take turns. The dealer posts a small blind of {settings.item(SMALL)} and acts first "
        f"before the flop, the other player posts a big blind of {settings.item(BIG)} and acts "
        "first in later rounds. Everyone holds two cards; the board shows three on the flop, a "
        "fourth on the turn, a fifth on the river. RAISE_3BB raises your bet of this round to "
        f"three big blinds; RAISE_HALF_POT, RAISE_POT and RAISE_2POT raise it {shares} half the "
        "pot, the pot and twice the pot, which is all chips bet in this hand. A player may raise "
        f"twice a round. The best five of seven cards take the pot, {tie}; who folds loses it. "
        "Chips that nobody called go back."
    )


def meaning(state: np.ndarray, action: Action) -> str:
    """Return the meaning of a legal action here, in one line."""
    seat, chips = state.item(TO_MOVE), cost(state, action)
    if action == FOLD:
        return "give up this hand and the pot"
    if action == CHECK:
        return "stay in without a bet"
    all_in = chips == state.item(STACKS + seat)
    if action == CALL:
        return f"match the bet with {chips}{', all that you have' if all_in else ''}"
    up_to = state.item(BETS + seat) + chips
    return (
        f"raise to {up_to} in this round by adding {chips}{', all that you have' if all_in else ''}"
    )


def blinds(state: np.ndarray) -> str:
    """Return who deals and the posted blinds, for a hand just dealt."""
    dealer, hand = state.item(DEALER), state.item(HAND) + 1
    posted = (min(state.item(PAID + seat), state.item(SMALL if seat == dealer else BIG))
              for seat in (dealer, 1 - dealer))  # fmt: skip
    small, big = posted
    return f"hand {hand}: player {dealer} deals and posts {small}, player {1 - dealer} posts {big}"


def taken(before: np.ndarray, action: Action) -> str:
    seat, chips = before.item(TO_MOVE), cost(before, action)
    done = f"player {seat}: {NAMES[action]}"
    if action <= CHECK:
        return done
    if action == CALL:
        return f"{done} {chips}"
    return f"{done} to {before.item(BETS + seat) + chips}"


def faced(state: np.ndarray, street: int) -> str:
    """Return the cards that a betting round turned up."""
    turned = state[BOARD + faceup(street - 1) : BOARD + faceup(street)].tolist()
    return f"{STREETS[street]}: {cards(turned)}"


def hand_end(state: np.ndarray, street: int) -> Iterable[str]:
    """Yield how a hand ended whose last betting round was `street`: what was shown and who got
    what."""
    if state.item(SHOWN):
        yield from (faced(state, later) for later in range(street + 1, RIVER + 1))
        shown = (f"player {seat} shows {hand_text(state, seat)}" for seat in range(2))
        yield ", ".join(shown)
    winnings = [state.item(AWARD + seat) for seat in range(2)]
    parts = [f"player {seat} wins {chips}" for seat, chips in enumerate(winnings) if chips]
    if all(winnings):
        parts = [f"the pot is split, {winnings[0]} to player 0 and {winnings[1]} to player 1"]
    backs = (state.item(BACK + seat) for seat in range(2))
    parts += [f"{chips} uncalled go back to player {seat}"
              for seat, chips in enumerate(backs) if chips]  # fmt: skip
    yield "; ".join(parts)


def hand_text(state: np.ndarray, seat: int) -> str:
    """Return a seat's cards and their category with the whole board."""
    worth = ranks.worth(hole(state, seat) | board(state, 5), 7)
    return f"{cards(state[hole_slice(seat)].tolist())} ({CATEGORIES[worth >> ranks.CATEGORY]})"


def table(state: np.ndarray) -> str:
    """Return the face-up cards of the board."""
    return cards(state[BOARD : BOARD + faceup(state.item(STREET))].tolist()) or "none yet"


def to_come(state: np.ndarray) -> str:
    """Return the face-down cards of the board, for an all-seeing viewer."""
    down = cards(state[BOARD + faceup(state.item(STREET)) : LOG].tolist())
    return f"; still face down: {down}" if down else ""


def by_round(clauses: Sequence[str]) -> list[str]:
    """Return the clauses of one hand as lines: the blinds, then each betting round after its
    cards."""
    lines: list[str] = []
    for clause in clauses:
        if not lines or clause.startswith(STREETS):
            lines.append(clause)
        else:
            lines[-1] += f"; {clause}"
    return lines


def chips(state: np.ndarray, field: int, seat: int) -> str:
    """Return every seat's chips in a field: STACKS, what it has left; BETS, what it has bet in this
    betting round."""
    return ", ".join(
        f"player {one}{' (you)' if one == seat else ''} {state.item(field + one)}"
        for one in range(2)
    )


def review(history: Sequence[str], moves: int, seat: int) -> tuple[Fact, ...]:
    """Return each seat's action counts among the last actions, or a note that there are none
    yet."""
    done = [clause.removeprefix("player ") for clause in history if clause[8:9] == ":"]
    facts = []
    for player in (1 - seat, seat):
        acts = [act.split()[1] for act in done[len(done) - moves :] if int(act[0]) == player]
        counts = Counter(acts)
        told = ", ".join(f"{name} {counts[name]}" for name in NAMES if counts[name])
        if told:
            facts.append(Fact(f"Player {player}{' (you)' * (player == seat)}", told))
    nothing = (Fact("Actions", "none yet"),) if history else ()
    return tuple(facts) or nothing


def position(state: np.ndarray, seat: int) -> str:
    if state.item(DEALER) == seat:
        return "dealer and small blind: first to act before the flop, last afterwards"
    return "big blind: last to act before the flop, first afterwards"


def total(state: np.ndarray) -> str:
    return f"{pot(state)} chips"
