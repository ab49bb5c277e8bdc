"""What is said: texts that are wanted, and how questions and answers are understood."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from games.are_you_the_traitor.state import (
    EVIL_WIZARD,
    GOOD_WIZARD,
    GUARD,
    KEY_HOLDER,
    NAMES,
    TRAITOR,
)
from games.base import TextSpec

Claim = tuple[int, int] | None
"""Somebody's name and the role that he is said to have; None where no such thing is said."""

SELF, KEY, TREASON, WIZARDS = range(4)
"""What a question is about."""

QUESTIONS = (
    "Who are you?",
    "Who holds the key?",
    "Who is the traitor?",
    "Which wizard is the good one?",
)
"""A question about each topic."""

SILENCE = "I would rather not say."
ROLE_WORDS = {
    KEY_HOLDER: r"key",
    TRAITOR: r"traitor",
    GOOD_WIZARD: r"good (?:wizard|one)",
    EVIL_WIZARD: r"evil (?:wizard|one)",
    GUARD: r"guard",
}
SPEAKER = len(NAMES)
LINE = (
    r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f\u2028\u2029]*"
)
"""One line with something in it."""
MOST = 200
SUBJECT = "|".join(("I", *NAMES))
CLAIM = re.compile(
    rf"\b(?P<who>{SUBJECT})(?:'m|\s+(?:am|is|holds?|has|have|must be))\b(?P<what>[^.,;!?]*)"
)
NOT = re.compile(r"\b(?:not|never|no)\b|n't", re.IGNORECASE)


@cache
def question_spec() -> TextSpec:
    """What a question may be."""
    return TextSpec("a question that all will hear, in one line", QUESTIONS, LINE, MOST)


@cache
def answer_spec() -> TextSpec:
    """What an answer may be. Its examples are all that scripted players say."""
    own = [sentence((SPEAKER, role), SPEAKER) for role in (GUARD, KEY_HOLDER, GOOD_WIZARD)]
    others = [
        sentence((name, role), SPEAKER)
        for role in (KEY_HOLDER, TRAITOR, GOOD_WIZARD)
        for name in range(len(NAMES))
    ]
    return TextSpec(
        "an answer that all will hear, true or not, in one line",
        (SILENCE, *own, *others),
        LINE,
        MOST,
    )


def sentence(claim: Claim, speaker: int) -> str:
    """A claim in words."""
    if claim is None:
        return SILENCE
    name, role = claim
    own = name == speaker
    who = "I" if own else NAMES[name]
    if role == KEY_HOLDER:
        return f"{who} hold{'s' * (not own)} the key."
    what = {GUARD: "guard", TRAITOR: "traitor", GOOD_WIZARD: "good wizard"}[role]
    return f"{who} {'am' if own else 'is'} the {what}."


@lru_cache(maxsize=4096)
def topic(question: str) -> int:
    """What a question is about, by the words in it."""
    words = question.casefold()
    for about, word in ((KEY, "key"), (TREASON, "traitor"), (WIZARDS, "wizard")):
        if word in words:
            return about
    return SELF


@lru_cache(maxsize=4096)
def claimed(answer: str, speaker: int) -> Claim:
    """The first plain statement in an answer that somebody has a role ("I am the guard", "Dee must
    be the traitor"); one with a "not" is none."""
    for found in CLAIM.finditer(answer):
        if NOT.search(found["what"]):
            continue
        for role, word in ROLE_WORDS.items():
            if re.search(rf"\b{word}", found["what"], re.IGNORECASE):
                return (speaker if found["who"] == "I" else NAMES.index(found["who"])), role
    return None
