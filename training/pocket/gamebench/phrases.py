"""How the fourth pocket model's tokenizer cuts the prompts of `base`.

Lines that stand in every prompt are one token each. In the others squares, numbers and the phrases
between them stand alone, each spelled the same wherever it stands, so that what a prompt tells of
a square, or an option's number in the reply, is found again. The rules are the same at every turn
of a game, which its name tells: they are no tokens.
"""

from __future__ import annotations

import json
import re

from agents.prompting.acting import ABOVE, FORM, PLAIN_OBJECT, WORDED_OBJECT
from agents.prompting.gamebench import HEADINGS, WIN

REPLY, WORDS, CLOSE = ' {"action": "', '", "openended_response": "', '"}'
"""A reply's parts around the number and the words."""
OBJECTS = (PLAIN_OBJECT, WORDED_OBJECT, f"{PLAIN_OBJECT}; with words {WORDED_OBJECT}")
LINES = (WIN, HEADINGS, ABOVE, *(FORM.format(object=told) for told in OBJECTS))

SQUARE = r"[A-Z]\d{1,2}(?![A-Za-z])"
CUTS = (
    *(re.escape(text) for text in (*LINES, REPLY, WORDS, CLOSE)),
    SQUARE,
    r" ?[-+]?\d+",
    r'"',
    rf'(?:(?!{SQUARE}| ?[-+]?\d)[^.;:()"\n])+[.;:)]*\n?',
)
DROPPED = "|".join(
    (
        r"^Rules: .*\n",
        r"^H\d+ .*\n",
        r"(?<=[0123456789])\) ",  # behind an option's number
        r"[,;](?= [a-z0-9(])|[,;] (?=[A-Z])",
    )
)


def spoken(number: int, words: str) -> str:
    """The reply that takes the option of this number, from 1, with these words, "" for none."""
    said = WORDS + json.dumps(words)[1:-1] if words else ""
    return f"{REPLY}{number}{said}{CLOSE}"
