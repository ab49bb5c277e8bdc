"""Air, Land & Sea: the Game class, with rules and facts as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from gauntlet.common.errors import IllegalAction
from gauntlet.games.air_land_sea import words
from gauntlet.games.air_land_sea.players import TOLD, chances, share, worth
from gauntlet.games.air_land_sea.rules import FIRST, SECOND, act, initial_state, withdrawal
from gauntlet.games.air_land_sea.state import (
    FACES,
    NAMES,
    THEATRES,
    State,
    decider,
    holders,
    options,
    redeal,
    seen_by,
    strength,
    theatre,
)
from gauntlet.games.base import Action, Fact, Observation
from gauntlet.games.capabilities import MATCH_SCORE, Measure, full_rules


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
        seats = self.to_move(state)
        if not seats or len(moves) != 1:
            raise IllegalAction(f"moves {list(moves)} for seats {seats} in\n{self.show(state)}")
        (move,) = moves
        if move not in options(state):
            raise IllegalAction(f"action {move} is not legal in\n{self.show(state)}")
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
