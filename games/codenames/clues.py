"""Which words will do as a clue, and what they bring to mind."""

from __future__ import annotations

from functools import lru_cache

from games.base import TextSpec
from games.codenames.nouns import BY_NOUN

LONGEST = 24
"""Characters of a clue."""

PARTS = {
    "airport": ("air", "port"),
    "bicycle": ("bike", "cycle"),
    "coconut": ("coco", "nut"),
    "microscope": ("micro", "scope"),
    "peacock": ("pea", "cock"),
    "submarine": ("sub", "marine"),
    "telephone": ("phone",),
    "telescope": ("scope",),
    "television": ("vision", "tv"),
    "thermometer": ("meter",),
}
"""Words that are part of one that may lie on the board, or short for it."""

IRREGULAR = {"foot": "feet", "goose": "geese", "mouse": "mice", "tooth": "teeth"}

ASK = (
    "one word of letters alone that neither begins nor ends with a word on the board, and is no "
    "form or part of one"
)
ASK_ANY = "a clue without a comma"
ANY = r"[^\s,]+( [^\s,]+)*"
"""With quirks nothing else is checked: the published code takes what stands before a comma."""


def forms(noun: str) -> tuple[str, ...]:
    """The noun, and what its other forms begin with where that is not the noun itself."""
    found = [noun, IRREGULAR.get(noun, noun)]
    for end, others in (("y", ("ie",)), ("fe", ("ve",)), ("f", ("ve",)), ("e", ("ing", "y"))):
        if noun.endswith(end):
            found += [noun.removesuffix(end) + other for other in others]
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=512)
def wanted(board: tuple[str, ...], quirks: bool) -> TextSpec:
    """The clue that a spymaster may give over this board, whatever lies open of it. Its examples
    are all associations of words on it that will do without quirks."""
    starts = "|".join(form for noun in board for form in forms(noun))
    parts = "|".join(part for noun in board for part in PARTS.get(noun, ())) or "-"
    ends = "|".join(board)
    barred = rf"(?!{starts})(?!(?:{parts})\Z)(?!\w*(?:{ends})\Z)"
    known = dict.fromkeys(clue for noun in board for clue in BY_NOUN[noun])
    begun = tuple(starts.split("|"))
    fit = [
        clue
        for clue in known
        if not clue.startswith(begun) and not clue.endswith(board) and clue not in parts.split("|")
    ]
    if quirks:
        return TextSpec(ASK_ANY, tuple(fit), ANY, LONGEST)
    return TextSpec(ASK, tuple(fit), rf"(?i){barred}[^\W\d_]{{2,}}", LONGEST, board)


@lru_cache(maxsize=512)
def associated(board: tuple[str, ...]) -> dict[str, int]:
    """For every association of words on the board their places, as bits."""
    found: dict[str, int] = {}
    for place, noun in enumerate(board):
        for clue in BY_NOUN[noun]:
            found[clue] = found.get(clue, 0) | 1 << place
    return found
