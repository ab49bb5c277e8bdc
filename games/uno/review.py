"""What the public moves of UNO add up to, read from their clauses; and advice in words.

Works for every variant whose clauses are those of `games.uno.words` and `games.uno.arena.words`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from games.base import Fact
from games.uno.rules import WILD
from games.uno.words import COLOURS, TRAITS

CARD_ADVICE = (
    "Keep wilds of both kinds for turns on which no other card fits.",
    "Where several cards fit, play one of the colour that you hold most of.",
    "When the next player holds few cards, take the turn away with a skip or a draw card, or leave "
    "a colour on which that player had to draw.",
)
COLOUR_ADVICE = (
    "Name the colour that you hold most of.",
    "Of equal ones, name a colour on which the next player had to draw.",
)
CHALLENGE_ADVICE = (
    "A challenge in vain costs two cards more than none; a right one costs nothing and keeps your "
    "turn.",
    "The more cards its player holds, the likelier is one of the colour before.",
    "A player who lately had to draw on that colour is unlikely to hold it.",
)


@dataclass
class Tally:
    """What one player did.

    drew: the colours to match when no card fitted, as far as known. yielded: wild draw fours not
    challenged. challenges: how often rightly and wrongly. caught: challenges of it that were right.
    """

    colours: Counter[str] = field(default_factory=Counter)
    traits: Counter[str] = field(default_factory=Counter)
    draws: int = 0
    drew: list[str] = field(default_factory=list)
    yielded: int = 0
    challenges: Counter[str] = field(default_factory=Counter)
    caught: int = 0


def review(
    history: Sequence[str], moves: int, seat: int, seats: int, played: Sequence[int]
) -> tuple[Fact, ...]:
    """A fact a player over the last `moves` clauses, `seat` itself last; then the colours of the
    cards in the played pile. () before the first move.

    played: cards in the pile by kind, 15 x colour + trait.
    """
    if not history or not moves:
        return ()
    tallies = tally(history, moves)
    order = [(seat + step) % seats for step in range(1, seats + 1)]
    facts = [Fact(f"Player {s}{' (you)' * (s == seat)}", _told(tallies[s])) for s in order]
    return (*facts, Fact("Played pile", _by_colour(played)))


def tally(history: Sequence[str], moves: int) -> defaultdict[int, Tally]:
    """By seat, what happened in the last `moves` clauses."""
    tallies: defaultdict[int, Tally] = defaultdict(Tally)
    colour, by = "", -1
    for number, clause in enumerate(history):
        _, seat, done = clause.split(" ", 2)
        card, _, naming = done.partition("played ")[2].partition(" naming ")
        if number >= len(history) - moves:
            _count(tallies[int(seat)], done, card, colour)
            if done.startswith("challenged rightly"):
                tallies[by].caught += 1
        if card:
            by = int(seat)
            colour = naming or card.partition(" ")[0]
    return tallies


def _count(tallied: Tally, done: str, card: str, colour: str) -> None:
    if done.startswith(("drew a card", "drew and")):
        tallied.draws += 1
        tallied.drew += [colour] * bool(colour)
    tallied.yielded += done == "drew four cards"
    if done.startswith("challenged"):
        tallied.challenges[done.split()[1]] += 1
    if card in TRAITS:
        tallied.traits[card] += 1
    elif card:
        own, _, trait = card.partition(" ")
        tallied.colours[own] += 1
        tallied.traits[trait] += 1


def _told(tallied: Tally) -> str:
    """ "played 2 red, 1 blue (7, 7, skip); drew 1 time, on green; challenged wrongly 1 time"."""
    parts = []
    if tallied.traits:
        colours = _listed(f"{tallied.colours[c]} {c}" for c in COLOURS if tallied.colours[c])
        traits = _listed(trait for trait in TRAITS for _ in range(tallied.traits[trait]))
        parts.append(f"played {colours or 'no colour'} ({traits})")
    if tallied.draws:
        on = _listed(c for c in COLOURS if c in tallied.drew)
        parts.append(f"drew {_times(tallied.draws)}{', on ' + on if on else ''}")
    if tallied.yielded:
        parts.append(f"drew four cards unchallenged {_times(tallied.yielded)}")
    for way in ("rightly", "wrongly"):
        if tallied.challenges[way]:
            parts.append(f"challenged {way} {_times(tallied.challenges[way])}")
    if tallied.caught:
        parts.append(f"was caught by a challenge {_times(tallied.caught)}")
    return "; ".join(parts) or "did nothing"


def _by_colour(played: Sequence[int]) -> str:
    counts = [sum(played[15 * colour : 15 * colour + WILD]) for colour in range(len(COLOURS))]
    return _listed(f"{count} {colour}" for colour, count in zip(COLOURS, counts, strict=True))


def _listed(parts: Iterable[str]) -> str:
    return ", ".join(parts)


def _times(count: int) -> str:
    return f"{count} time{'s' * (count > 1)}"
