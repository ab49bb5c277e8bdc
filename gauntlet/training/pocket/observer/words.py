"""The replies to teach: a JSON object, sometimes with reasons in fixed phrases."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gauntlet.games.rock_paper_scissors.strategies import ANSWERS, CODES, MIXES

HANDS = ("rock", "paper", "scissors")
ANSWERING = ("copies", "beats", "loses to")
"""How a reactive strategy answers the other's last hand, by the offset it adds."""
STEPS = 20
"""Number of confidence levels."""
SURE, UNSURE = 0.8, 0.4
EVIDENCE = ("the evidence is clear", "few strategies remain", "other strategies fit as well")


def reply(guess: Sequence[str], chance: float, reasons: Sequence[str] = ()) -> str:
    """The whole reply: codes in seat order, the probability that both are right, and reasons."""
    said = {f"guess_s{seat}": code for seat, code in enumerate(guess, start=1)}
    why = {"reasoning": "; ".join(reasons)} if reasons else {}
    return " " + json.dumps({**said, "confidence": round(chance * STEPS) / STEPS, **why})


def reasons(hands: NDArray[np.int64], guess: Sequence[str], chance: float) -> tuple[str, ...]:
    """Return five phrases: what each player did in these rounds, (rounds, 2), what the guessed
    strategies do, and how certain that is."""
    counts = [np.bincount(column, minlength=len(HANDS)) for column in hands.T]
    sure = EVIDENCE[(chance < SURE) + (chance < UNSURE)]
    seen = (seat_phrase(seat, observed(row)) for seat, row in enumerate(counts, start=1))
    fits = (seat_phrase(seat, habit(code)) for seat, code in enumerate(guess, start=1))
    return (*seen, *fits, sure)


def seat_phrase(seat: int, phrase: str) -> str:
    return f"player {seat} {phrase}".replace("the other", f"player {3 - seat}")


def observed(counts: NDArray[np.int64]) -> str:
    """Describe a player's hands from their counts."""
    most = counts.max()
    if most == counts.sum():
        return f"threw nothing but {HANDS[counts.argmax()]}"
    if (counts == most).sum() > 1:
        return "threw no hand most often"
    return f"threw {HANDS[counts.argmax()]} most often"


def habit(code: str) -> str:
    """Describe a strategy."""
    if code in ANSWERS:
        return f"{ANSWERING[ANSWERS[code]]} the last hand of the other"
    mix = MIXES[code]
    order = sorted(range(len(HANDS)), key=lambda hand: -mix[hand])
    if max(mix) == 1:
        return "never changes"
    if min(mix) == max(mix):
        return "has no favourite"
    if min(mix) == 0:
        return f"avoids {HANDS[order[-1]]}"
    second, third = mix[order[1]], mix[order[2]]
    then = f", then {HANDS[order[1]]}" if second > third else ""
    return f"leans to {HANDS[order[0]]}{then}"


def phrases() -> tuple[str, ...]:
    """Return all phrases that a reason may contain."""
    one = np.eye(len(HANDS), dtype=np.int64)
    seen = [observed(counts) for counts in (*one, *(one + 1), one[0] + one[1])]
    told = dict.fromkeys([*seen, *map(habit, CODES)])
    return (*(seat_phrase(seat, what) for what in told for seat in (1, 2)), *EVIDENCE)


CUTS = (
    r' \{"guess_s1": "\w+"',
    r', "guess_s2": "\w+"',
    r', "confidence": [\d.]+',
    rf"(?:; )?(?:{'|'.join(sorted(map(re.escape, phrases()), key=len, reverse=True))})",
    r" [A-Z]: (?:always |plays |repeats )[^;]*;",  # a strategy of the catalogue
)
"""Where replies and the catalogue are split: the parts that vary are single tokens."""
DROPPED = r'\{"round":\d+,'
"""The beginning of a round's line; no strategy depends on its number, so it is dropped."""
