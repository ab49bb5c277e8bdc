"""What a seat of UNO Arena sees; a state is UNO's."""

from __future__ import annotations

from typing import NamedTuple

from games.uno import state as uno


class View(NamedTuple):
    """What a seat sees, in numbers.

    table: hand, sizes, played cards, top card and options, as in UNO. phase: what is to be
    decided (`games.uno.arena.rules`). before: the colour in force before the top card. by: who
    played the top card, -1 if it was turned up. under: the kind of the card under the top card, all
    wilds counted as in `table`; -1 if there is none.
    """

    table: uno.View
    phase: int
    before: int
    by: int
    under: int
