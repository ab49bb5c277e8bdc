"""UNO as text: names of cards and actions, rules, history, facts.

Colour and trait are separate words, spelled the same everywhere.

Reviews of the public moves are parsed from their clauses, here and in `games.uno.arena.words`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gauntlet.games.base import Fact
from gauntlet.games.uno.rules import DRAW, WILD

COLOURS = ("red", "green", "blue", "yellow")
TRAITS = (*"0123456789", "skip", "reverse", "draw two", "wild", "wild draw four")

RULES = (
    "Everyone starts with seven cards; the first player without cards wins. On your turn play one "
    "card that matches the top card in colour, number or action. A wild may always be played and "
    "names the only colour to match next. A wild draw four does the same, but only when nothing "
    "else can be played. If nothing can, draw one card: one of the colour to match is played at "
    "once, a wild of either kind is played at once in a random colour without other effect, any "
    "other is kept and ends your turn. Skip: the next player loses the turn. Draw two, wild draw "
    "four: the next player draws two or four cards and loses the turn. Reverse: the order of play "
    "turns round, which changes nothing for two players."
)


def card_name(kind: int) -> str:
    """Return the name of a card: "red 7", or "wild", whose own colour is irrelevant."""
    colour, trait = divmod(kind, 15)
    return TRAITS[trait] if trait >= WILD else f"{COLOURS[colour]} {TRAITS[trait]}"


def move_name(action: int) -> str:
    """Return the name of an action: "red 7", "wild naming red", or "draw a card"."""
    if action == DRAW:
        return "draw a card"
    name = card_name(action)
    return f"{name} naming {COLOURS[action // 15]}" if action % 15 >= WILD else name


CARD_NAMES = tuple(card_name(kind) for kind in range(DRAW))
MOVE_NAMES = tuple(move_name(action) for action in range(DRAW + 1))


def clause(seat: int, action: int, played_as: int | None) -> str:
    """Return what `seat` did, in public: played `action`, or drew; `played_as` is the action as
    which the drawn card played itself, None if it was kept."""
    if action != DRAW:
        return f"player {seat} played {MOVE_NAMES[action]}"
    if played_as is None:
        return f"player {seat} drew a card"
    return f"player {seat} drew and played {MOVE_NAMES[played_as]}"


def top_card(kind: int, colour: int, seat: int) -> str:
    """Return the top card, the colour to match if the card does not show it, and who played it (-1:
    nobody, it was turned up)."""
    name = CARD_NAMES[kind]
    if kind % 15 >= WILD:
        name = f"{name}, colour now {COLOURS[colour]}"
    return f"{name}, played by player {seat}" if seat >= 0 else f"{name}, turned up at the start"


def hand(kinds: Iterable[int]) -> str:
    return ", ".join(CARD_NAMES[kind] for kind in kinds)


def holdings(sizes: Iterable[int], you: int) -> str:
    return ", ".join(
        f"player {seat}{' (you)' if seat == you else ''} holds {size}"
        for seat, size in enumerate(sizes)
    )


def order_of_play(you: int, direction: int, seats: int) -> str:
    """Return the order of play from `you` on; direction: 1 upwards, -1 downwards."""
    others = (f"player {(you + direction * step) % seats}" for step in range(1, seats))
    return ", ".join((f"player {you} (you)", *others))


def logged_next_player(history: Iterable[str], seat: int, seats: int) -> int:
    """Return the next player as published experiments stated it: seats go upwards at the start and
    turn at each reverse that was chosen, not at one turned up or drawn; when reversed, the second
    of two players is named as its own successor."""
    turns = sum(said.endswith(" reverse") and " drew " not in said for said in history)
    if turns % 2 == 0:
        return (seat + 1) % seats
    return seat if seats == 2 else (seat - 1) % seats


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

    drew: the known colours to match when no card fitted. yielded: wild draw fours not challenged.
    challenges: counts of right and wrong ones. caught: right challenges against it.
    """

    colours: Counter[str] = field(default_factory=Counter)
    traits: Counter[str] = field(default_factory=Counter)
    draws: int = 0
    drew: list[str] = field(default_factory=list)
    yielded: int = 0
    challenges: Counter[str] = field(default_factory=Counter)
    caught: int = 0


def review(
    history: Sequence[str], moves: int, seat: int, seats: int, played_counts: Sequence[int]
) -> tuple[Fact, ...]:
    """Return a fact per player over the last `moves` clauses, `seat` itself last; then the colours
    of the cards in the played pile. () before the first move.

    played_counts: cards in the pile by kind, 15 x colour + trait.
    """
    if not history or not moves:
        return ()
    tallies = tally(history, moves)
    order = [(seat + step) % seats for step in range(1, seats + 1)]
    facts = [
        Fact(f"Player {s}{' (you)' * (s == seat)}", _describe_tally(tallies[s])) for s in order
    ]
    return (*facts, Fact("Played pile", _by_colour(played_counts)))


def tally(history: Sequence[str], moves: int) -> defaultdict[int, Tally]:
    """Return what happened in the last `moves` clauses, by seat."""
    tallies: defaultdict[int, Tally] = defaultdict(Tally)
    colour, player = "", -1
    for number, clause in enumerate(history):
        _, seat, done = clause.split(" ", 2)
        card, _, naming = done.partition("played ")[2].partition(" naming ")
        if number >= len(history) - moves:
            _count(tallies[int(seat)], done, card, colour)
            if done.startswith("challenged rightly"):
                tallies[player].caught += 1
        if card:
            player = int(seat)
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


def _describe_tally(tallied: Tally) -> str:
    """Return as text: "played 2 red, 1 blue (7, 7, skip); drew 1 time, on green; challenged wrongly
    1 time"."""
    parts = []
    if tallied.traits:
        colours = _join(f"{tallied.colours[c]} {c}" for c in COLOURS if tallied.colours[c])
        traits = _join(trait for trait in TRAITS for _ in range(tallied.traits[trait]))
        parts.append(f"played {colours or 'no colour'} ({traits})")
    if tallied.draws:
        on = _join(c for c in COLOURS if c in tallied.drew)
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
    return _join(f"{count} {colour}" for colour, count in zip(COLOURS, counts, strict=True))


def _join(parts: Iterable[str]) -> str:
    return ", ".join(parts)


def _times(count: int) -> str:
    return f"{count} time{'s' * (count > 1)}"
