"""Separates a model's thoughts from its answer, where both come as one text."""

from __future__ import annotations

import re

TAG = re.compile(r"[<\[](/?)think(?:ing)?[>\]]", re.IGNORECASE)
"""A tag that begins or ends thoughts."""


def opens_thoughts(prompt: str) -> bool:
    """Whether a rendered prompt ends with the tag that begins thoughts."""
    tag = next((tag for tag in reversed([*TAG.finditer(prompt)])), None)
    return tag is not None and not tag[1] and not prompt[tag.end() :].strip()


def split_thoughts(text: str, opened: bool = False) -> tuple[str, str]:
    """The thoughts and the answer.

    opened: whether the prompt has already opened the thoughts.

    Thoughts may lack the opening tag, which some chat templates write into the prompt. Without a
    closing tag all text after the opening tag is thoughts, so there is no answer.
    """
    thoughts: list[str] = []
    answer: list[str] = []
    first, at = TAG.search(text), 0
    inside = opened or bool(first and first[1])
    for tag in TAG.finditer(text):
        (thoughts if inside else answer).append(text[at : tag.start()])
        inside, at = not tag[1], tag.end()
    (thoughts if inside else answer).append(text[at:])
    if not thoughts:
        return "", text
    return "\n".join(part.strip() for part in thoughts).strip(), "".join(answer).strip()
