"""A prompt as the messages that a chat template wraps, and what a template makes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

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
