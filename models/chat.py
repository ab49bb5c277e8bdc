"""A prompt as the messages that a chat template wraps."""

from __future__ import annotations

from collections.abc import Mapping

from gauntlet.models.base import Prompt

TODAY = "26 Jul 2024"
"""The date passed to templates that print one, so that a prompt is the same every day."""

Message = Mapping[str, str]
"""A role and a content, as in chat templates and OpenAI's protocol."""


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
