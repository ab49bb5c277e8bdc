"""JSON answers: the request for one, and the option that a reply names.

The parsing follows UNO Arena (Qin et al. 2024) and its published code: only the first object of a
reply counts, text around it is ignored, and nothing is asked again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gauntlet.agents.base import Status
from gauntlet.agents.prompting.wording import PLAIN


def listed(options: Sequence[str], above: str = PLAIN.options) -> str:
    """The options numbered from 1, one per line."""
    lines = (f"{number}) {option}\n" for number, option in enumerate(options, 1))
    return above + "".join(lines)


def json_request(reasoning: str) -> str:
    """The request for a JSON object with `reasoning` ("thoughts") and an action."""
    return (
        f'Reply with one JSON object: {{"{reasoning}": "one or two short sentences", '
        '"action": "the number of your option"}\n'
    )


def parse_option(reply: str, options: Sequence[str]) -> int | Status:
    """The index of the option that a reply names by number (from 1) or by name; or the error.

    "malformed": there is no JSON object between the first opening and the first closing brace, or
    its action is not a string or an integer. "illegal": the action is none of the options. Among
    equal options the first is meant; a number that is also a name is read as a number.
    """
    action = _action(reply)
    return "malformed" if action is None else option_called(action, options)


def option_called(action: str, options: Sequence[str]) -> int | Status:
    """The index of the option with this number (from 1) or name (case-insensitive); else "illegal".
    Among equal options the first is meant; a number that is also a name is read as a number."""
    numbers = {str(index + 1): index for index in range(len(options))}
    if action in numbers:
        return numbers[action]
    names = [option.casefold() for option in options]
    return names.index(action.casefold()) if action.casefold() in names else "illegal"


def first_object(reply: str) -> Mapping[str, Any] | None:
    """The JSON object that starts at a reply's first brace; None if there is none."""
    try:
        answer, _ = json.JSONDecoder(strict=False).raw_decode(reply[max(reply.find("{"), 0) :])
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None


def writable(text: str) -> str:
    """The text stripped, with lone surrogates, which no file can hold, replaced by question
    marks."""
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
