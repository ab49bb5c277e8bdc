"""A prompt as the messages that a chat template wraps, what a template makes of them, and a model's
thoughts, which come with its answer as one text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import Any, NamedTuple

from jinja2 import TemplateError

from gauntlet.common.errors import ModelError, Stopped, extra
from gauntlet.models.base import Prompt

DATE = date(2024, 7, 26)
TODAY = "26 Jul 2024"
"""The date that templates print, so that a prompt is the same every day."""
NOW = "strftime_now"
"""The function with which a template formats the current time."""
DIRECTIVES = "aAbBdeFHIjmMpSuUwyYxX"
"""Those of `strftime` that a fixed date replaces, also without padding ("%-d")."""
WORDS = ("heron", "walnut")
"""Texts that a template is probed with."""
BROKEN = (TemplateError, TypeError, ValueError, LookupError, AttributeError, ModelError)
"""What a template, or a server that renders it, raises for messages that it does not take."""

Message = Mapping[str, Any]
"""A role and a content, as in chat templates and OpenAI's protocol."""
Render = Callable[[Sequence[Message]], str]
"""Wraps messages in a template, up to where the model writes. Raises one of `BROKEN`."""
Form = Callable[[Sequence[Message]], list[Message]]
"""Messages as a template takes them."""


def chat_messages(prompt: Prompt, has_system: bool = True) -> list[Message]:
    """The messages before the model's next turn; the cue opens each of its turns so far.

    has_system: whether the template knows a system role; else the system text opens the first
        message.
    """
    messages = [
        {"role": "assistant", "content": prompt.cue + text}
        if number % 2
        else {"role": "user", "content": text}
        for number, text in enumerate(prompt.messages)
    ]
    if prompt.system and has_system:
        return [{"role": "system", "content": prompt.system}, *messages]
    messages[0]["content"] = prompt.system + messages[0]["content"]
    return list(messages)


def as_texts(messages: Sequence[Message]) -> list[Message]:
    return list(messages)


def as_parts(messages: Sequence[Message]) -> list[Message]:
    """Messages whose content is a list of parts, as templates of models that also see take it."""
    return [
        {**message, "content": [{"type": "text", "text": message["content"]}]}
        for message in messages
    ]


def form_of(render: Render, who: str) -> Form:
    """The form in which a template shows a message's text: a template that loops over parts may
    show nothing of a plain text. Raises ModelError, for the model `who`, if it shows the text in
    neither form."""
    why = "does not show the text of a message"
    for form in (as_texts, as_parts):
        try:
            if _shows(render, form, ("user",)):
                return form
        except Stopped:
            raise
        except BROKEN as error:
            why = f"cannot be used ({(str(error).strip() or type(error).__name__).splitlines()[0]})"
    raise ModelError(f"{who}: its chat template {why}; set chat to false")


def shows(render: Render, form: Form, *roles: str) -> bool:
    """Whether a template accepts messages of these roles and shows the text of all."""
    try:
        return _shows(render, form, roles)
    except Stopped:
        raise
    except BROKEN:
        return False


def _shows(render: Render, form: Form, roles: Sequence[str]) -> bool:
    for word in WORDS:
        texts = [f"{word} {number}" for number in range(len(roles))]
        messages = [
            {"role": role, "content": text} for role, text in zip(roles, texts, strict=True)
        ]
        shown = render(form(messages))
        # A part that is printed as a mapping is shown by accident.
        if "{'type'" in shown or not all(text in shown for text in texts):
            return False
    return True


def dated(template: str, day: date = DATE) -> str:
    """A template that prints this day where it would print the current one."""
    if NOW not in template:
        return template
    fixed = {f"%{directive}": day.strftime(f"%{directive}") for directive in DIRECTIVES}
    fixed |= {f"%-{key[1]}": value.lstrip("0") or "0" for key, value in fixed.items()}
    replaced = "".join(f"|replace('{key}','{value}')" for key, value in fixed.items())
    # The line break is not printed, and leaves the template where its first line begins.
    return f"{{%- macro {NOW}(format) -%}}{{{{ format{replaced} }}}}{{%- endmacro %}}\n{template}"


def prints_date(template: str) -> bool:
    """Whether prompts in this template show the current date, unless it is `dated`. Llama's shows
    a date that is passed to it instead."""
    if NOW not in template:
        return False
    days = [dated(template, day) for day in (DATE, date(1999, 12, 31))]
    try:
        return (
            len({rendered(day, as_texts([{"role": "user", "content": "0"}])) for day in days}) > 1
        )
    except BROKEN:
        return True


def rendered(template: str, messages: Sequence[Message], **settings: Any) -> str:
    """The messages in a template, as transformers renders them. Raises one of `BROKEN`."""
    render: Any = extra("transformers.utils.chat_template_utils", "local").render_jinja_template
    blank = dict.fromkeys(("bos_token", "eos_token", "unk_token", "pad_token"), "")
    texts, _ = render(
        [list(messages)],
        chat_template=template,
        add_generation_prompt=True,
        **{**blank, "date_string": TODAY, **settings},
    )
    return str(texts[0])


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
