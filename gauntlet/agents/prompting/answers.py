"""Parsers of written answers: an option in JSON, with the request for one; a move, a vote, a
percentage in prose.

JSON follows UNO Arena (Qin et al. 2024) and its published code: only the first object of a reply
counts, text around it is ignored, and nothing is asked again. Prose follows TALAGA (ICLR 2024
submission iS3fQooCaa), Appendix A, and the code of GTBench (Duan et al. 2024): the last move that
an answer mentions counts.
"""

from __future__ import annotations

import json
import re
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


WRAPPED = "<([^<>]*)>"
AFTER = "(?i)move:"
CHOSEN = "(?i)best choice is"
NUMBER = r"-?\d+(?:\.\d+)?"


def move_in(reply: str, options: Sequence[str], form: str | None = None) -> int | Status:
    """The index of the option that a reply names last, or the error.

    Case, whitespace and underscores are ignored; among equal options the first is meant.

    form: a regular expression for moves, for games whose moves can be told from other words.
        Without it a move stands between < and >, or alone after the last "Move:" or on the last
        line.

    "malformed": no move at all. "illegal": a move that is none of the options.
    """
    names = [folded(option) for option in options]
    if form is not None:
        said = [found.group() for found in re.finditer(form, reply, re.IGNORECASE)]
    else:
        said = re.findall(WRAPPED, reply) or [
            bare for bare in _bare(reply) if folded(bare) in names
        ]
    if not said:
        return "malformed"
    return names.index(folded(said[-1])) if folded(said[-1]) in names else "illegal"


def folded(name: str) -> str:
    """The name without case, whitespace and underscores."""
    return re.sub(r"[\s_]+", "", name).casefold()


def _bare(reply: str) -> list[str]:
    """Where an unmarked move may stand; the last entry takes precedence."""
    lines = [
        line.strip(" .*\t") for line in re.split(AFTER, reply)[-1].splitlines() if line.strip()
    ]
    return [*lines[-1:], *lines[:1]]


def vote_in(reply: str, candidates: int) -> int | None:
    """The index of the candidate that a reply votes for; None if there is none. It is the last
    integer after "best choice is", counted from 1."""
    behind = re.split(CHOSEN, reply, maxsplit=1)[1:]
    numbers = re.findall(r"\d+", "".join(behind))
    place = int(numbers[-1][:9]) if numbers else 0
    return place - 1 if 1 <= place <= candidates else None


def share_in(reply: str) -> float | None:
    """The percentage in a reply's last line as a share from 0 to 1; None if there is none in range.
    It is the first number after the line's last "is"."""
    lines = [line for line in reply.splitlines() if line.strip()]
    found = re.search(NUMBER, lines[-1].rpartition(" is ")[2]) if lines else None
    figure = float(found.group()) if found else -1.0
    return figure / 100 if 0 <= figure <= 100 else None
