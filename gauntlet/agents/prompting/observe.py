"""Observing: the model watches players and names, step by step, the strategy of each.

The protocol is that of "Observer, Not Player" and its prototype: catalogue, role, the last steps, a
JSON object of guesses and a confidence, sometimes with reasoning; one request per step, without
memory of earlier ones. Ours differs in one retry with a reminder, and no guess after it, where the
prototype guesses. The wording is ours.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gauntlet.agents.base import Decision, Status, Turn
from gauntlet.agents.observers import Watching, watching
from gauntlet.agents.prompting.base import Asking, format_facts
from gauntlet.games.base import Game, TextAction
from gauntlet.models.base import Generate, Generation, Prompt, continue_dialogue

CUE = "Answer:"
WHO = "You are {role} of a match, not one of its players.\n"
FORM = "Reply with one JSON object and nothing else: {{{keys}}}\n"
ASK = "Which strategies do players {players} follow?\n"
REASON = (
    'This time the object also has "reasoning": three to five short phrases, separated by '
    "semicolons.\n"
)
REMINDER = "\nThat is not in the form asked for. {form}Codes: {codes}\n"
CONFIDENCE = 0.6
"""The confidence of a reply that gives none, as in the prototype."""


@dataclass(frozen=True)
class Observe:
    """Asks once per step for a guess, and once more if the reply is unusable.

    temperature: of all replies, seeded by the decision.
    max_tokens: limit on a reply's length.
    reasons: the model gives reasons at every `reasons`-th step and at the last one; 0 for never.

    A decision's notes hold the reply's "confidence" and, if given, its "reasoning".
    """

    temperature: float = 0.2
    max_tokens: int = 512
    reasons: int = 20

    own_words: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.max_tokens < 1 or self.reasons < 0:
            told = f"max_tokens={self.max_tokens}, reasons={self.reasons}"
            raise ValueError(f"{told}: max_tokens is 1 or more, reasons 0 or more")
        if not 0 <= self.temperature <= 2:
            raise ValueError(f"temperature is {self.temperature:g}; it lies from 0 to 2")

    def check(self, game: Game[Any]) -> None:
        watching(game)

    def labels(self) -> tuple[str, ...]:
        return ()

    def ask(self, turn: Turn, rng: np.random.Generator) -> Asking:
        game, seed = watching(turn.game), int(rng.integers(2**31))
        prompt: Prompt = self.prompt(turn)
        status: Status = "malformed"
        for attempt in (1, 2):
            reply = yield Generate(prompt, self.max_tokens, self.temperature, seed=seed, json=True)
            assert isinstance(reply, Generation), reply
            answer = object_in(reply.text)
            guess = guess_in(answer, game)
            if isinstance(guess, tuple):
                return Decision(0, attempts=attempt, text=game.guess(guess), notes=notes(answer))
            prompt, status = continue_dialogue(prompt, reply, reminder(game)), guess
        return none(turn, status)

    def prompt(self, turn: Turn) -> Prompt:
        game, seen = watching(turn.game), turn.observation
        shown, steps = game.progress(seen)
        reason = self.reasons and (shown % self.reasons == 0 or shown == steps)
        *others, last = game.watched
        return Prompt(
            static=f"{WHO.format(role=seen.role)}Rules: {seen.rules}\n{form(game)}",
            changing=format_facts(seen.facts)
            + ASK.format(players=" and ".join(filter(None, (", ".join(others), last))))
            + REASON * bool(reason),
            cue=CUE,
        )


def form(game: Watching) -> str:
    """The required format of a reply."""
    guesses = "".join(f'"{key}": a code, ' for key in keys(game))
    return FORM.format(keys=f'{guesses}"confidence": a number from 0 to 1')


def keys(game: Watching) -> list[str]:
    return [f"guess_s{name}" for name in game.watched]


def reminder(game: Watching) -> str:
    """A message that repeats the format."""
    return REMINDER.format(form=form(game), codes=", ".join(game.codes))


def object_in(reply: str) -> Mapping[str, Any] | None:
    """The JSON object from the first opening to the last closing brace of a reply."""
    try:
        answer = json.loads(reply[max(reply.find("{"), 0) : reply.rfind("}") + 1], strict=False)
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None


def guess_in(answer: Mapping[str, Any] | None, game: Watching) -> tuple[int, ...] | Status:
    """For each player the index of the code that a reply names (case-insensitive), or the error.
    "malformed": a guess is missing. "illegal": one is not a code."""
    said = [None if answer is None else answer.get(key) for key in keys(game)]
    if not all(isinstance(one, str) for one in said):
        return "malformed"
    codes = [code.casefold() for code in game.codes]
    named = [str(one).strip().casefold() for one in said]
    if not set(named) <= set(codes):
        return "illegal"
    return tuple(map(codes.index, named))


def notes(answer: Mapping[str, Any] | None) -> dict[str, Any]:
    told = answer or {}
    noted: dict[str, Any] = {"confidence": confidence(told.get("confidence"))}
    if reasoning := told.get("reasoning"):
        phrases: Sequence[Any] = reasoning if isinstance(reasoning, list) else [reasoning]
        # No file can hold a lone surrogate.
        noted["reasoning"] = "; ".join(map(str, phrases)).encode(errors="replace").decode()
    return noted


def confidence(value: Any) -> float:
    """A confidence clipped to 0 to 1; CONFIDENCE if none is given."""
    try:
        figure = float(value) if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        figure = math.nan
    return CONFIDENCE if math.isnan(figure) else min(max(figure, 0.0), 1.0)


def none(turn: Turn, status: Status) -> Decision:
    """No guess: the text specification's replacement."""
    (option,) = turn.options
    assert isinstance(option, TextAction), option
    return Decision(0, status, fallback=True, attempts=2, text=option.text.instead)
