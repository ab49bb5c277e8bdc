"""Air, Land & Sea: the Game class, the scripted players and the evaluation of a state.

A seat's value combines its chance to win the battle with what that win is worth in the match. The
chance is computed theatre by theatre: a lead is weighed against what may still come, modelled as a
normal distribution; cards in hand count a fraction of their strength in their own theatre.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import erf, sqrt
from typing import ClassVar

import numpy as np

from gauntlet.games.air_land_sea import words
from gauntlet.games.air_land_sea.rules import (
    BARE,
    FIRST,
    SECOND,
    WON,
    act,
    initial_state,
    withdrawal,
)
from gauntlet.games.air_land_sea.state import (
    DOWN,
    FACES,
    FLIP,
    HIDDEN,
    IMPROVISE,
    LAY,
    MOVE,
    NAMES,
    NOTHING,
    REDEPLOY,
    RETURN,
    THEATRES,
    WITHDRAW,
    PlacedCard,
    State,
    decider,
    destroyer,
    holders,
    options,
    redeal,
    seen_by,
    strength,
    theatre,
    totals,
)
from gauntlet.games.base import Action, Fact, Observation, only_move
from gauntlet.games.capabilities import MATCH_SCORE, Measure, full_rules
from gauntlet.games.playouts import check_known_policy

TOLD = {
    "random": "takes any option",
    "greedy": "takes the option that leaves it most theatres, then the greatest lead in all "
    "strengths, by the strengths on the board alone; it never withdraws",
}
"""What each policy does, by name."""


def chances(policy: str, state: State, seat: int, paper_bugs: bool) -> tuple[float, ...]:
    """Return the probability of each option, in order. Raises ValueError for an unknown policy."""
    check_known_policy("air, land & sea", policy, TOLD)
    legal = options(state)
    best = list(legal)
    if policy == "greedy":
        values = [_value(_after(state, seat, move), seat, paper_bugs) for move in legal]
        best = [move for move, value in zip(legal, values, strict=True) if value == max(values)]
    return tuple((move in best) / len(best) for move in legal)


def _value(state: State | None, seat: int, paper_bugs: bool) -> tuple[int, int]:
    if state is None:
        return -1, 0
    sums = totals(state, paper_bugs)
    return holders(state, paper_bugs).count(seat), sum(sums[seat]) - sum(sums[1 - seat])


def _after(state: State, seat: int, move: int) -> State | None:
    """Return the board after an option, before any ability it triggers; None for options that
    greedy avoids."""
    if move == WITHDRAW:
        return None
    if move < WITHDRAW or move >= LAY:
        return _lay(state, seat, move)
    if FLIP <= move < MOVE:
        owner, at = divmod(move - FLIP, 3)
        top = state.columns[owner][at][-1]
        if top.card == HIDDEN:
            return None
        worth = DOWN if top.up else strength(top.card)
        flipped = PlacedCard(top.card, not top.up, True, worth)
        return _put(state, owner, at, (*state.columns[owner][at][:-1], flipped))
    if MOVE <= move < RETURN:
        card, theatre = divmod(move - MOVE, 3)
        moved = [p for column in state.columns[seat] for p in column if p.card == card]
        left = _remove(state, seat, card)
        return _put(left, seat, theatre, (*left.columns[seat][theatre], *moved))
    if RETURN <= move < NOTHING:
        return _remove(state, seat, move - RETURN)
    return state


def _lay(state: State, seat: int, move: int) -> State:
    up = move < IMPROVISE
    if move >= LAY:
        card, at = HIDDEN, move - LAY
    else:
        card, at = divmod(move % IMPROVISE, 3)
    if destroyer(state, at, up) is not None:
        return state
    placed = PlacedCard(card, up, up, strength(card) if up else DOWN)
    return _put(state, seat, at, (*state.columns[seat][at], placed))


def _remove(state: State, seat: int, card: int) -> State:
    for at, column in enumerate(state.columns[seat]):
        state = _put(state, seat, at, tuple(p for p in column if p.card != card))
    return state


def _put(state: State, seat: int, at: int, column: tuple[PlacedCard, ...]) -> State:
    columns = [list(side) for side in state.columns]
    columns[seat][at] = column
    first, second = map(tuple, columns)
    return replace(state, columns=(first, second))


HELD = 0.3
"""Fraction of its strength that a card in hand counts in its theatre."""
TEMPO = 1.0
"""Lead in every theatre per extra card in hand."""
SPREAD, SETTLED = 1.6, 0.2
"""Variance of a lead: per card in hand, and with none."""


def share(state: State) -> tuple[float, float]:
    """Return each seat's share of the points; half each while there are none."""
    both = sum(state.points)
    own = state.points[0] / both if both else 0.5
    return own, 1 - own


def worth(state: State, seat: int, goal: int, paper_bugs: bool) -> float:
    """Return the share of all points that the seat can expect at the end, 0 to 1."""
    if max(state.points) >= goal:
        return share(state)[seat]
    if state.tasks and not (state.tasks[0].card == REDEPLOY and state.tasks[0].step):
        after = [
            worth(act(state, move, goal, paper_bugs), seat, goal, paper_bugs)
            for move in options(state)
        ]
        return max(after) if decider(state, paper_bugs) == seat else min(after)
    mine, other = state.points[seat], state.points[1 - seat]
    chance = win_probability(state, seat, paper_bugs)
    return chance * expected_share(mine + WON, other, goal) + (1 - chance) * expected_share(
        mine, other + WON, goal
    )


@cache
def expected_share(mine: int, other: int, goal: int) -> float:
    """Return the expected final share from these points if every battle to come is even and fought
    out."""
    if max(mine, other) >= goal:
        return mine / (mine + other)
    return (expected_share(mine + WON, other, goal) + expected_share(mine, other + WON, goal)) / 2


def win_probability(state: State, seat: int, paper_bugs: bool) -> float:
    """Return the probability that the seat wins the battle; a battle just dealt is even."""
    if state.columns == BARE and not state.lost:
        return 0.5
    sums = totals(state, paper_bugs)
    spread = sqrt(SPREAD * sum(map(len, state.hands)) + SETTLED)
    first, second, third = (
        _normal(_lead(state, seat, sums[seat][at] - sums[1 - seat][at], at) / spread)
        for at in range(3)
    )
    two = first * second + first * third + second * third
    return two - 2 * first * second * third


def _lead(state: State, seat: int, lead: int, at: int) -> float:
    own, other = state.hands[seat], state.hands[1 - seat]
    tie = 0.5 if state.first == seat else -0.5
    return (
        lead + tie + _hand_value(own, at) - _hand_value(other, at) + TEMPO * (len(own) - len(other))
    )


def _hand_value(hand: tuple[int, ...], at: int) -> float:
    return HELD * sum(strength(card) for card in hand if theatre(card) == at)


def _normal(value: float) -> float:
    return (1 + erf(value / sqrt(2))) / 2


def facts(state: State, seat: int, goal: int, paper_bugs: bool) -> tuple[Fact, ...]:
    other = 1 - seat
    mine, theirs = state.points[seat], state.points[other]
    place = "first: you win ties" if state.first == seat else "second: the opponent wins ties"
    shown_names = ", ".join(NAMES[card] for card in state.shown[other])
    count = len(state.hands[other])
    lost = [NAMES[one.card] for one in state.lost if one.seen or one.owner == seat]
    fact_list = [
        Fact("To decide", words.decision(state, seat), own=True),
        Fact("Points", f"you {mine}, opponent {theirs}; {goal} win"),
        Fact("You play", place, own=True),
        Fact("Theatres, left to right", words.board(state, seat, paper_bugs)),
        Fact("If the battle ended now", _standing(state, seat, paper_bugs)),
        Fact("Opponent's hand", f"{count} card{'s' * (count != 1)}"),
    ]
    if shown_names:
        fact_list.append(Fact("Opponent holds or hid", shown_names))
    if lost:
        fact_list.append(Fact("Destroyed", ", ".join(lost)))
    if state.drop[seat]:
        fact_list.append(Fact("Air Drop", "you may deploy your next card to any theatre", own=True))
    if not state.tasks:
        gained = f"the opponent gets {withdrawal(state, seat)} points"
        fact_list.append(Fact("If you withdraw", gained, own=True))
    return (*fact_list, Fact("Your hand", words.hand(state.hands[seat]), own=True))


def _standing(state: State, seat: int, paper_bugs: bool) -> str:
    held = holders(state, paper_bugs)
    own = ", ".join(THEATRES[at] for at in state.order if held[at] == seat)
    result = "win" if held.count(seat) >= 2 else "lose"
    return f"you would {result}, holding {own or 'no theatre'}"


def summary(goal: int) -> str:
    return (
        "Players 0 and 1 fight battles over three theatres in a row: air, land and sea. Holding "
        "two theatres when all cards are played wins a battle, and so does the other's withdrawal. "
        f"The game ends when a player has {goal} points; a player's score is its share of all "
        "points."
    )


def headings(paper_bugs: bool) -> Mapping[str, str]:
    order = (
        "New abilities are carried out before older ones."
        if paper_bugs
        else "Abilities are carried out in the order in which they came up."
    )
    spared = " A card that Reinforce plays is spared." * paper_bugs
    extra = {"Reckoning": _RECKONING, "Disrupt": _DISRUPT} if paper_bugs else {}
    return {
        "Battle": "There are 18 cards, each of a theatre and a strength from 1 to 6. Both players "
        "are dealt six; the rest is the deck. Turns alternate; on a turn you deploy, improvise or "
        "withdraw.",
        "Deploy": "Play a card face up to the theatre it belongs to. Its ability works at once.",
        "Improvise": "Play a card face down to any theatre. It has strength 2, no ability, and "
        "only you see it.",
        "Covering": "A card played or moved to a theatre covers your cards there. They still "
        "count, but only the last one, told last, is uncovered.",
        "Holding": "The greater sum of strengths holds a theatre. Ties, empty theatres too, go to "
        "the first player.",
        "Points": "A battle fought to its end brings 6 points. Who withdraws gives the other "
        f"points by the cards still in its own hand. The first player gives {_table(SECOND)}; the "
        f"second {_table(FIRST)}.",
        "Next battle": f"All cards are dealt anew, the {_rotation(paper_bugs)}, and the other "
        "player is first.",
        "Abilities": "An ability works when its card comes to lie face up, played or flipped, and "
        "serves the player on whose side it lies: once, or lasting while it is face up, covered "
        f"or not. {order} What is impossible is skipped.",
        "Flipping": "A card is turned over. While face down it has strength 2 and no ability.",
        "Destroying": f"A destroyed card leaves the battle before it takes effect.{spared}",
        **{f"{name.capitalize()} cards": _cards(at) for at, name in enumerate(THEATRES)},
        **extra,
    }


def _rotation(paper_bugs: bool) -> str:
    start, end = ("leftmost", "right") if paper_bugs else ("rightmost", "left")
    return f"{start} theatre goes to the far {end}"


_RECKONING = (
    "Escalation and Cover Fire raise nothing while they lie in the leftmost theatre. Strengths are "
    "brought up to date before every choice, but not after the last one of a battle."
)

_DISRUPT = "The player whom Disrupt serves chooses both cards."


def _table(points: tuple[int, ...]) -> str:
    """Return the points by cards in hand: "2 with 5 or 6 cards, 3 with 3 or 4, ..."."""
    parts = []
    for gained in sorted(set(points)):
        cards = [str(count) for count, own in enumerate(points) if own == gained]
        many = f"{cards[0]} to {cards[-1]}" if len(cards) > 2 else " or ".join(cards)
        parts.append(f"{gained} with {many}")
    return ", ".join(parts)


def _cards(at: int) -> str:
    own = [card for card in range(len(FACES)) if theatre(card) == at]
    parts = (f"{strength(card)} {FACES[card].name}, {FACES[card].text or 'plain'}" for card in own)
    return "; ".join(parts) + "."


@dataclass(frozen=True)
class AirLandSea:
    """Two seats fight battles with eighteen cards over three theatres until one has enough points.

    goal: victory points that end the game, 1 to 100.
    paper_bugs: True plays as the published code of GameBench does where that differs from the rules
        (docs/games/air_land_sea.md).

    Every choice that an ability offers is a separate move. Raises ValueError for invalid settings.
    """

    num_seats: int = 2
    goal: int = 12
    paper_bugs: bool = False

    measures: ClassVar[tuple[Measure, ...]] = (MATCH_SCORE,)
    policies: ClassVar[tuple[str, ...]] = tuple(TOLD)
    told_policies: ClassVar[Mapping[str, str]] = TOLD

    def __post_init__(self) -> None:
        if self.num_seats != 2:
            raise ValueError(f"air, land & sea seats 2 players, got {self.num_seats}")
        if not 1 <= self.goal <= 100:
            raise ValueError(f"goal is {self.goal}; a game ends at 1 to 100 victory points")

    def deal(self, rng: np.random.Generator) -> State:
        left, middle, right = rng.permutation(3).tolist()
        return initial_state(int(rng.integers(2**63)), (left, middle, right), int(rng.integers(2)))

    def to_move(self, state: State) -> tuple[int, ...]:
        return () if max(state.points) >= self.goal else (decider(state, self.paper_bugs),)

    def legal(self, state: State, seat: int) -> tuple[Action, ...]:
        return options(state) if self.to_move(state) == (seat,) else ()

    def play(self, state: State, moves: Sequence[Action]) -> State:
        move = only_move(self, state, moves, options(state))
        return act(state, int(move), self.goal, self.paper_bugs)

    def observe(self, state: State, seat: int) -> Observation:
        return Observation(
            game="Air, Land & Sea",
            seat=seat,
            rules=full_rules(self),
            facts=facts(state, seat, self.goal, self.paper_bugs),
            history=state.history,
            options=tuple(words.option(state, seat, move) for move in self.legal(state, seat)),
            view=seen_by(state, seat),
        )

    def returns(self, state: State) -> tuple[float, ...]:
        """Twice the share of all victory points, minus one."""
        return tuple(2 * own - 1 for own in share(state))

    def measure(self, state: State) -> Mapping[str, Sequence[float]]:
        return {MATCH_SCORE.name: share(state)}

    def sample(self, observation: Observation, rng: np.random.Generator) -> State:
        return redeal(observation.view, observation.seat, rng)

    def redealt(self, state: State, rng: np.random.Generator) -> State:
        deck = tuple(rng.permutation(sorted(state.deck)).tolist())
        return replace(state, seed=int(rng.integers(2**63)), deck=deck)

    def probabilities(self, policy: str, observation: Observation) -> tuple[float, ...]:
        return chances(policy, observation.view, observation.seat, self.paper_bugs)

    def worth(self, state: State, seat: int) -> float:
        return worth(state, seat, self.goal, self.paper_bugs)

    @property
    def rules_summary(self) -> str:
        return summary(self.goal)

    @property
    def rules_headings(self) -> Mapping[str, str]:
        return headings(self.paper_bugs)

    def show(self, state: State) -> str:
        return words.show_state(state, self.paper_bugs)
