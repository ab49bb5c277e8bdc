"""Actions as JSON, with free text for text actions: the prompt and the parser."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gauntlet.agents.base import Turn
from gauntlet.agents.lookahead import Note
from gauntlet.agents.prompting.answers import first_object, listed, option_called, writable
from gauntlet.games.base import TextAction, TextSpec

ABOVE = "Actions:\n"
FORM = "Choose one. Reply with one JSON object: {object}\n"
PLAIN_OBJECT = '{"action": "number"}'
WORDED_OBJECT = '{"action": "number", "openended_response": "your words"}'
NO_ACTION = "\nThat is not one JSON object with an action.\n"
NO_OPTION = "\nNone of the actions is called that.\n"
NO_HEADING = "\nThere is no such heading; they are {headings}.\n"
NO_WORDS = "\nThat action wants words, as openended_response.\n"
UNSAID = "was left out"
SHOWN = 3
"""Number of example texts in a prompt."""
EXPLAIN = re.compile(r"explain\s*\(\s*(.*?)\s*\)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reading:
    """A parsed reply.

    note: the option, "ok" for an explanation, or what is wrong.
    told: the message to send back, "" if there is nothing more to ask.
    option: the chosen option, even if its text is invalid.
    text: the text of the action.
    explained: the heading it asks about.
    fault: what is wrong with the text.
    """

    note: Note
    told: str = ""
    option: int | None = None
    text: str = ""
    explained: str = ""
    fault: str = ""

    @property
    def is_final(self) -> bool:
        return not self.told


def actions(turn: Turn) -> str:
    """The numbered actions, one per line, and what text some of them need."""
    told = listed(turn.observation.options, ABOVE)
    for wanted in textspecs(turn):
        numbers = [n for n, option in enumerate(turn.options, 1) if _wants(option, wanted)]
        told += f"Action {_ranges(numbers)} wants words: {describe_text(wanted)}\n"
    return told


def textspecs(turn: Turn) -> list[TextSpec]:
    """The distinct text specifications of the actions, in order."""
    return list(dict.fromkeys(o.text for o in turn.options if isinstance(o, TextAction)))


def describe_text(wanted: TextSpec) -> str:
    """What text is wanted, some examples, and the constraints."""
    examples = ", ".join(f'"{example}"' for example in wanted.examples[:SHOWN])
    told = f"{wanted.ask}, such as {examples}; at most {wanted.max_chars} characters"
    return told + f"; without {', '.join(wanted.forbidden)}" * bool(wanted.forbidden)


def form(turn: Turn) -> str:
    """The required format of a reply."""
    opened = [isinstance(option, TextAction) for option in turn.options]
    if all(opened):
        return FORM.format(object=WORDED_OBJECT)
    more = f"; with words {WORDED_OBJECT}" * any(opened)
    return FORM.format(object=PLAIN_OBJECT + more)


def read(reply: str, turn: Turn, headings: Mapping[str, str]) -> Reading:
    """Parse a reply: an action by number or name, with its text, or Explain(a heading)."""
    answer = first_object(reply) or {}
    action = _text(answer.get("action"))
    if action is None:
        return Reading("malformed", f"{NO_ACTION}{form(turn)}")
    option = option_called(action, turn.observation.options)
    if isinstance(option, int):
        return _read_text(option, _text(answer.get("openended_response")), turn)
    if headings and (wanted := EXPLAIN.fullmatch(action)):
        return _explained(wanted[1], turn, headings)
    return Reading("illegal", f"{NO_OPTION}{actions(turn)}{form(turn)}")


def _read_text(option: int, text: str | None, turn: Turn) -> Reading:
    """The reading of a valid action and the text that came with it."""
    wanted = turn.options[option]
    if not isinstance(wanted, TextAction):
        return Reading(option, option=option)
    if text is None:
        return Reading("malformed", f"{NO_WORDS}{form(turn)}", option, fault=UNSAID)
    if fault := wanted.text.fault(text):
        told = f"\n{text!r} {fault}. Wanted: {describe_text(wanted.text)}\n{form(turn)}"
        return Reading("illegal", told, option, fault=fault)
    return Reading(option, option=option, text=text)


def _explained(wanted: str, turn: Turn, headings: Mapping[str, str]) -> Reading:
    """The reading of a request to explain a heading, given by number or name."""
    for number, (name, text) in enumerate(headings.items(), 1):
        if wanted.casefold() in (f"h{number}", str(number), name.casefold()):
            return Reading("ok", f"\n{name}: {text}\n{form(turn)}", explained=name)
    return Reading("illegal", NO_HEADING.format(headings=f"H1 to H{len(headings)}") + form(turn))


def _text(value: Any) -> str | None:
    """A string or an integer as text, else None."""
    known = isinstance(value, str | int) and not isinstance(value, bool)
    return writable(str(value)) if known else None


def _wants(option: int, wanted: TextSpec) -> bool:
    return isinstance(option, TextAction) and option.text == wanted


def _ranges(numbers: Sequence[int]) -> str:
    """Format ascending numbers with ranges for consecutive ones: "1 to 3, 5"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
