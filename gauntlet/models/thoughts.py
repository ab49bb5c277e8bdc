"""Separates a model's thoughts from its answer, where both come as one text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

Tags = tuple[str, str]
"""A model's own tags: what begins its thoughts, and what ends them."""


class Pair(NamedTuple):
    """Tags around thoughts, as patterns. end: what ends thoughts that a prompt has opened; "": the
    opening tag with a slash."""

    opening: str
    closing: str
    end: str = ""


class Segment(NamedTuple):
    """A part of a text without tags. pair: the tags around it, if it is thoughts."""

    pair: Pair | None
    start: int
    stop: int


HEADER = r"(?:(?!<\|message\|>)[\s\S]){0,200}<\|message\|>"
"""The rest of a harmony message's header, from its channel on."""
HARMONY = Pair(
    rf"(?:<\|start\|>assistant)?<\|channel\|>\s*(?:analysis|commentary){HEADER}",
    rf"(?:<\|end\|>)?(?:<\|start\|>assistant)?<\|channel\|>\s*final{HEADER}",
    "<|channel|>final<|message|>",
)
"""The channels of OpenAI's gpt-oss, as the tokens that they are."""
HARMONY_TURN = "<|start|>assistant"
"""Where a harmony prompt ends: the model would begin a channel."""
HARMONY_TEXT = Pair(
    r"\A\s*(?:analysis|commentary)(?=[A-Z]|[\s\S]*assistantfinal)|assistant(?:analysis|commentary)",
    r"assistantfinal",
)
"""The same where a server has left out special tokens: "analysisWe play 2.assistantfinal2"."""
ENDS = re.compile(r"(?:<\|(?:end|return|call)\|>\s*)+\Z")
"""Tokens that end a harmony message."""
KNOWN = (
    Pair(r"(?i:[<\[](?:seed:)?think(?:ing)?[>\]])", r"(?i:[<\[]/(?:seed:)?think(?:ing)?[>\]])"),
    Pair(r"(?i:<thoughts?>)", r"(?i:</thoughts?>)"),
    Pair(r"(?i:<reasoning>)", r"(?i:</reasoning>)"),
    Pair("◁think▷", "◁/think▷"),
    Pair(
        r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>", "\n<|end_of_thought|>\n\n"
    ),  # OpenThinker
    Pair(
        r"<\|START_THINKING\|>", r"<\|END_THINKING\|>", "<|END_THINKING|><|START_RESPONSE|>"
    ),  # Command A
    Pair(r"<\|channel>(?:thought)?", r"<channel\|>", "\n<channel|>"),  # Gemma 4
    HARMONY,
    HARMONY_TEXT,
)
PARTS = ("<|start|>", "<|channel|>", "<|message|>")
"""Tokens of which harmony's tags are made."""
TAIL = 100
"""Characters at a prompt's end in which it may open thoughts."""


class Thoughts:
    """Finds thoughts between the known tags, and between a model's own."""

    def __init__(self, tags: Tags | None = None) -> None:
        """tags: the model's own."""
        self._special = tags or ()
        extra = []
        if tags:
            extra = [Pair(re.escape(tags[0]), re.escape(tags[1]), f"\n{tags[1]}\n\n")]
        self._pairs = (*extra, *KNOWN)
        self._tag = re.compile(
            "|".join(
                f"(?P<opening{number}>{pair.opening})|(?P<closing{number}>{pair.closing})"
                for number, pair in enumerate(self._pairs)
            )
        )

    def opened_by(self, prompt: str) -> Pair | None:
        """The tags that a rendered prompt has opened at its end."""
        pair, _ = self._opened(prompt)
        return pair

    def closed(self, prompt: str) -> str:
        """A rendered prompt, up to where the answer begins instead of thoughts."""
        pair, end = self._opened(prompt)
        if pair:
            return prompt.rstrip() + end
        return prompt + HARMONY.end if prompt.endswith(HARMONY_TURN) else prompt

    def split(self, text: str, opened: Pair | None = None) -> tuple[str, str]:
        """The thoughts and the answer.

        opened: the tags that the prompt has already opened.

        Thoughts may lack the opening tag, which some chat templates write into the prompt. Without
        a closing tag all text after the opening tag is thoughts, so there is no answer.
        """
        text = ENDS.sub("", text)
        segments = [*self.segments(text, opened)]
        thoughts = [text[part.start : part.stop].strip() for part in segments if part.pair]
        if not thoughts:
            return "", text
        answer = "".join(text[part.start : part.stop] for part in segments if not part.pair)
        return "\n".join(thoughts).strip(), answer.strip()

    def answer_start(self, text: str, opened: Pair | None = None) -> int | None:
        """Where the answer begins, after the last thoughts; None inside thoughts."""
        *before, last = self.segments(text, opened)
        if last.pair:
            return None
        blank = len(text) - len(text[last.start :].lstrip())
        return blank if any(part.pair for part in before) else 0

    def segments(self, text: str, opened: Pair | None = None) -> Iterator[Segment]:
        """The parts of a text between its tags, at least one. Other tags within thoughts are words
        of theirs."""
        inside, at = opened, 0
        for number, tag in enumerate(self._tag.finditer(text)):
            kind = str(tag.lastgroup)
            opens, pair = kind.startswith("opening"), self._pairs[int(kind[7:])]
            if number == 0 and not opens and inside is None:
                inside = pair  # which the prompt has opened, or a server has left out
            if inside is not None and (opens or pair != inside):
                continue
            yield Segment(inside, at, tag.start())
            inside, at = (pair if opens else None), tag.end()
        yield Segment(inside, at, len(text))

    def is_tag(self, token: str) -> bool:
        """Whether a special token is a tag or part of one, so that it belongs to a text."""
        if token and any(token in tag for tag in self._special):
            return True
        return token in PARTS or self._tag.fullmatch(token) is not None

    def _opened(self, prompt: str) -> tuple[Pair | None, str]:
        """The tags that a prompt has opened, and what ends these thoughts."""
        tail = prompt.rstrip()[-TAIL:]
        tags = [tag for tag in self._tag.finditer(tail) if tag.end() == len(tail)]
        if not tags or not str(tags[0].lastgroup).startswith("opening"):
            return None, ""
        pair, words = self._pairs[int(str(tags[0].lastgroup)[7:])], tags[0][0]
        return pair, pair.end or f"\n{words[0]}/{words[1:]}\n\n"


@lru_cache
def thoughts_of(tags: Tags | None) -> Thoughts:
    """The thoughts of a model with these tags beside the known ones. Raises ValueError."""
    if tags is not None and (not all(tag.strip() for tag in tags) or tags[0] == tags[1]):
        raise ValueError(f"thought_tags {list(tags)}: two different tags, neither of them blank")
    return Thoughts(tags)
