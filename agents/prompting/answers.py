"""Answers in JSON: the question for one, and the option that a reply names.

Source of the reading: UNO Arena (Qin et al. 2024) and its published code: a reply's first object
counts, text around it does not, and nothing is asked again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gauntlet.agents.base import Status
from gauntlet.agents.prompting.wording import PLAIN


def listed(options: Sequence[str], above: str = PLAIN.options) -> str:
    """The options under their numbers, from 1, a line each."""
    lines = (f"{number}) {option}\n" for number, option in enumerate(options, 1))
    return above + "".join(lines)


def wanted(reasoning: str) -> str:
    """Asks for an object of `reasoning` ("thoughts") and an action."""
    return (
        f'Reply with one JSON object: {{"{reasoning}": "one or two short sentences", '
        '"action": "the number of your option"}\n'
    )


def named(reply: str, options: Sequence[str]) -> int | Status:
    """The index of the option that a reply names by its number, from 1, or by its name; or what is
    wrong with the reply.

    "malformed": from the first opening to the first closing brace there is no JSON object with an
    action that is text or an integer. "illegal": the action is none of the options. Of equal
    options the first is meant; a number that is also a name is meant as a number.
    """
    action = _action(reply)
    return "malformed" if action is None else option_called(action, options)


def option_called(action: str, options: Sequence[str]) -> int | Status:
    """The index of the option of this number, from 1, or of this name in upper or lower case; else
    "illegal". Of equal options the first is meant; a number that is also a name is a number."""
    numbers = {str(index + 1): index for index in range(len(options))}
    if action in numbers:
        return numbers[action]
    names = [option.casefold() for option in options]
    return names.index(action.casefold()) if action.casefold() in names else "illegal"


def first_object(reply: str) -> Mapping[str, Any] | None:
    """The JSON object that begins with a reply's first brace; None where there is none."""
    try:
        answer, _ = json.JSONDecoder(strict=False).raw_decode(reply[max(reply.find("{"), 0) :])
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None


def writable(text: str) -> str:
    """A text without space around it, half a character, which no file can hold, as a question
    mark."""
    return text.encode(errors="replace").decode().strip()


def _action(reply: str) -> str | None:
    start = reply.find("{")
    end = reply.find("}", start)
    if start < 0 or end < 0:
        return None
    try:
        answer = json.loads(reply[start : end + 1], strict=False)
    except (ValueError, RecursionError):
        return None
    action = answer.get("action")
    if isinstance(action, bool) or not isinstance(action, (str, int)):
        return None
    return str(action).strip()
