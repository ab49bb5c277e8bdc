"""What may be asked and answered, and what scripted players understand of it."""

from __future__ import annotations

import re

from games.base import TextSpec

LINE = r"(?=.*\S)[^\x00-\x1f\x7f-\x9f\u2028\u2029]+"
"""One line that is not blank."""
LONGEST = 120

QUESTION = TextSpec(
    "one line, a short question",
    (
        "Who are you?",
        "Which team are you on?",
        "Are you the president?",
        "Are you the bomber?",
    ),
    LINE,
    LONGEST,
)

KINDS = ("blue", "red", "president", "bomber")
"""What a person may be, or claim to be: the first two are neither president nor bomber."""
ADMIT = ("I am blue.", "I am red.", "I am the president.", "I am the bomber.")
"""How scripted players say each."""

ANSWER = TextSpec("one line, a short answer", (*ADMIT, "I will not tell."), LINE, LONGEST)

_CLAIM = re.compile(
    r"\bI(?:['\N{RIGHT SINGLE QUOTATION MARK}]m| am)(?: on| of| in| a| the| team)* "
    r"(blue|red|president|bomber)\b",
    re.IGNORECASE,
)


def claimed(answer: str) -> int | None:
    """The index in KINDS of what somebody says to be; the last one of several, None of none."""
    found = _CLAIM.findall(answer)
    return KINDS.index(found[-1].lower()) if found else None
