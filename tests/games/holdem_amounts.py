"""The cost of every action in both raise modes, written down for comparison with the paper's text
(TALAGA, OpenReview iS3fQooCaa, appendix B) and with neuron_poker.

`python -m tests.games.holdem_amounts` rewrites holdem_amounts.txt; review the diff.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gauntlet.games.holdem import rules
from gauntlet.games.holdem.words import NAMES

FILE = Path(__file__).with_suffix(".txt")

HEAD = """\
Hold'em's raises, amount by amount. Blinds 1/2, stacks 200 unless said. The paper's appendix B:

  FOLD      gives the hand up
  CHECK     no bet, where none is to be met
  CALL      meets the highest bet
  3BB       raises the bet to three big blinds: 6
  HALF_POT  paper: raises to half the pot          neuron: adds half the pot
  POT       paper: raises to the pot               neuron: adds the pot
  2POT      paper: raises to twice the pot         neuron: adds twice the pot
  ALL_IN    bets all chips

The pot is all chips put in so far, this round's too; half of an odd one is rounded down. A raise
that comes to no more than a call is not legal (-), and none costs more than the stack. Each cell:
the bet of this round that it comes to, and in brackets the chips that it adds.
"""

LINES = (
    ("before the flop, the dealer to act", (200, 200), ()),
    ("after the dealer's call", (200, 200), ("CALL",)),
    ("after a raise to 6", (200, 200), ("RAISE_3BB",)),
    ("after a raise to 6 and a raise of the pot", (200, 200), ("RAISE_3BB", "RAISE_POT")),
    ("on the flop, pot 4", (200, 200), ("CALL", "CHECK")),
    ("on the flop, pot 4, half of it bet", (200, 200), ("CALL", "CHECK", "RAISE_HALF_POT")),
    ("on the flop, pot 4, twice of it bet", (200, 200), ("CALL", "CHECK", "RAISE_2POT")),
    ("on the flop, pot 12", (200, 200), ("RAISE_3BB", "CALL")),
    ("on the flop, pot 12, the pot bet", (200, 200), ("RAISE_3BB", "CALL", "RAISE_POT")),
    ("the same, and raised by the pot", (200, 200),
     ("RAISE_3BB", "CALL", "RAISE_POT", "RAISE_POT")),
    ("the same, raised twice by both: no raise is left", (200, 200),
     ("CALL", "CHECK", "RAISE_3BB", "RAISE_POT", "RAISE_POT", "RAISE_POT")),
    ("a dealer with 5 chips", (5, 200), ()),
    ("a dealer with 2 chips", (2, 200), ()),
    ("against a big blind of 2 that is all in", (200, 2), ()),
    ("a big blind of 9 against a raise to 6", (200, 9), ("RAISE_3BB",)),
    ("all in against a shorter stack of 30", (200, 30), ("ALL_IN",)),
)  # fmt: skip
"""The situation in words; the stacks before the hand, the dealer's first; the actions."""


def table() -> str:
    """The whole file."""
    parts = [HEAD]
    for told, stacks, actions in LINES:
        parts.append(f"\n{told}\n")
        for mode, name in ((rules.PAPER, "paper"), (rules.NEURON, "neuron")):
            parts.append(f"  {name:7}{line(hand(stacks, actions, mode))}\n")
    return "".join(parts)


def hand(stacks: tuple[int, int], actions: tuple[str, ...], mode: int) -> np.ndarray:
    """Seat 0's hand as dealer after these actions."""
    array = rules.blank()
    array[rules.PLAY : rules.PAPER_BUGS] = (rules.MATCH, 1, 200, 1, 2, mode)
    rules.begin(array, 1)
    array[rules.STACKS : rules.STACKS + 2] = stacks
    rules.next_hand(array)
    for name in actions:
        rules.act(array, NAMES.index(name))
    return array


def line(array: np.ndarray) -> str:
    """Return the situation of the seat to move, and the amount of each action."""
    seat, legal = array[rules.TO_MOVE], rules.legal(array)
    bet, cells = array[rules.BETS + seat], []
    for action, name in enumerate(NAMES):
        cost = rules.cost(array, action)
        short = name.removeprefix("RAISE_")
        named = short if action <= rules.CHECK else f"{short} {bet + cost} ({cost})"
        cells.append(named if legal >> action & 1 else f"{short} -")
    chips = f"pot {rules.pot(array)}, own bet {bet}, to call {rules.to_call(array)}"
    return f"{chips}, stack {array[rules.STACKS + seat]}: {', '.join(cells)}"


if __name__ == "__main__":
    FILE.write_text(table(), encoding="utf-8")
