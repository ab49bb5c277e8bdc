"""Replies that nobody gave, to hear what a player says to them: good ones and bad ones."""

from __future__ import annotations

import json
import math
import re
import string
from collections.abc import Sequence

import numpy as np

from models.base import Generate, Generation, Reply, Request, Score, Scores

EIGHTHS = 64
"""Log-probabilities lie between 0 and -8 in steps of an eighth, which every machine has exactly."""


def made_up(
    request: Request, names: Sequence[str], texts: Sequence[str], rng: np.random.Generator
) -> Reply:
    """A reply to a request about options of these names.

    texts: words that would do where an option wants some. The half of all written replies name an
    option in one of the forms that methods read; the others are malformed, illegal, ambiguous,
    empty, or a good one cut short. A prompt that shows how it wants to be answered is mostly
    answered so, and one that offers explanations is asked for some. A score has rows without a
    possible choice now and then.
    """
    if isinstance(request, Score):
        return _scores(request, rng)
    return _generation(request, names, texts, rng)


def _scores(request: Score, rng: np.random.Generator) -> Scores:
    silent = rng.integers(8) == 0
    rows = tuple(_row(len(request.choices), silent, rng) for _ in request.prompts)
    missing = any(-math.inf in row for row in rows)
    ceilings = (-9.0,) * len(rows) if missing else ()
    return Scores(rows, (1,) * len(rows), ceilings)


def _row(choices: int, silent: bool, rng: np.random.Generator) -> tuple[float, ...]:
    eighths, kind = rng.integers(1, EIGHTHS, choices).tolist(), rng.integers(8)
    if silent or kind == 0:
        return (-math.inf,) * choices
    told = [-one / 8 for one in eighths]
    if kind == 1:
        told[int(rng.integers(choices))] = -math.inf
    return tuple(told)


def _generation(
    request: Generate, names: Sequence[str], texts: Sequence[str], rng: np.random.Generator
) -> Generation:
    known, told = names or ("yes", "no"), request.prompt.changing
    tagged = TAGGED.findall(told)

    def one() -> str:
        if tagged:
            return _between(tagged[-1], known, rng)
        if WORDED in told or EXPLAINED in request.prompt.static:
            return _acted(known, texts, rng)
        if WRAPPED in told or NUMBERED.search(told):
            return _as_shown(told, known, rng)
        return _said(known, texts, rng)

    said = [one() for _ in range(request.n)]
    return Generation(said[0], 1, 1, tuple(said[1:]))


TAGGED = re.compile(r"between <(\w+)> and </\1>")
"""How a prompt shows that it wants something between tags: the last are those of the answer."""
WORDED, EXPLAINED = "openended_response", "Explain("
"""How it shows that it wants words beside the action, or explains its rules on request."""


def _between(tag: str, names: Sequence[str], rng: np.random.Generator) -> str:
    """What was to stand between tags, or something else."""
    first, second = (names[int(rng.integers(len(names)))] for _ in "ab")
    forms = (
        f"<{tag}>\n1. {first}\n2. {second}\n</{tag}>",
        f"I see. <{tag}>{first}",
        f"<{tag}>\n- {second}\n{first}",
        f"<{tag}></{tag}>",
        first,
        "",
    )
    return forms[int(rng.integers(len(forms)))]


def _acted(names: Sequence[str], texts: Sequence[str], rng: np.random.Generator) -> str:
    """An action in JSON with its words, or without, or with others; a heading to be explained, or
    none that there is; or another reply."""
    number = int(rng.integers(len(names)))
    action, text = str(number + 1), texts[int(rng.integers(len(texts)))] if texts else "well"
    forms = (
        {"action": action, WORDED: text},
        {"action": names[number], WORDED: text},
        {"action": action, WORDED: "?" * 1000},
        {"action": action},
        {"action": "Explain(H1)"},
        {"action": "explain( H99 )"},
    )
    kind = int(rng.integers(len(forms) + 2))
    return json.dumps(forms[kind]) if kind < len(forms) else _said(names, texts, rng)


WRAPPED = "Move: <"
NUMBERED = re.compile("^(.* is) N$", re.MULTILINE)
"""How a prompt shows that it wants a move between signs, and a line that ends in a number."""


def _as_shown(shown: str, names: Sequence[str], rng: np.random.Generator) -> str:
    """A reply in the form that the prompt shows, or in none."""
    kind, name, other = int(rng.integers(8)), *(names[int(rng.integers(len(names)))] for _ in "ab")
    line = NUMBERED.search(shown)
    if line is not None:
        figure = int(rng.integers(1, (4, 101)[int(rng.integers(2))]))
        end = line.group(1)
        forms = (
            f"{end} {figure}",
            f"I see {other}.\n{end} {figure}.",
            f"Of 2 and 9: {end} {figure}/100",
            "3",
        )
    else:
        act = re.findall("^- (\\w+)", shown, re.MULTILINE)
        said = act[int(rng.integers(len(act)))] if act else other
        end = f"Action: {said}\nMove: <{name}>"
        bare = name.replace(" ", "_").upper()
        forms = (f"Thought: it fits.\n{end}", f" <{bare}>", f"Not {other}.\nMove: {name}", name)
    bad = ("", "I cannot tell.", "<none of these> is 900", forms[0][: len(forms[0]) // 2])
    return (*forms, *bad)[kind]


def _said(names: Sequence[str], texts: Sequence[str], rng: np.random.Generator) -> str:
    first, second = (int(rng.integers(len(names))) for _ in range(2))
    text = texts[int(rng.integers(len(texts)))] if texts else "well"
    good = _forms(names[first], first, text)
    bad = _faults(names[first], names[second], text, good[0])
    forms = good if rng.integers(2) else bad
    return forms[int(rng.integers(len(forms)))]


def _forms(name: str, number: int, text: str) -> tuple[str, ...]:
    """Replies that name the option of this name and number, from 0."""
    letter = string.ascii_uppercase[number % 26]
    return (
        _object(str(number + 1), text),
        f"I think so. {_object(name, text)}",
        f"{letter}",
        f"First I look around.\nAnswer: {letter}",
        f"{number + 1}",
        f"My answer: {name}",
    )


def _faults(name: str, other: str, text: str, good: str) -> tuple[str, ...]:
    """Replies that name no option, none that there is, or two."""
    return (
        "",
        "I cannot tell.",
        good[: len(good) // 2],
        _object("none of these", "?" * 1000),
        "Answer: 99",
        f"{name} or {other}",
        f"{_object(name, text)} {_object(other, text)}",
    )


def _object(action: str, text: str) -> str:
    """A JSON object with all that a method may ask for."""
    thought = "It fits."
    return json.dumps(
        {"thoughts": thought, "reflection": thought, "action": action, "answer": action}
        | {"text": text}
    )
