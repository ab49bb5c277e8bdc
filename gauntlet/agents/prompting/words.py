"""The text of a text action, asked for once the option is chosen, by whatever method.

The prompt has the situation, the choice and what text is wanted; the reply is a JSON object.
Invalid text is sent back with what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace

import numpy as np

from gauntlet.agents.base import Answer, Decision, Question, Turn
from gauntlet.agents.prompting.answers import first_object, writable
from gauntlet.agents.prompting.base import role_and_rules, situation
from gauntlet.games.base import TextAction, TextSpec
from gauntlet.models.base import Generate, Generation, Prompt, continue_dialogue

ATTEMPTS = 3
"""How often a model is asked before an example is used instead."""
MOVES = 20
"""Number of recent moves in the prompt."""
AROUND = 32
"""Extra reply tokens around the text; a character of the text may be a token."""
CUE = "Words:"
MALFORMED = "is not a JSON object with text"

Wording = Generator[Question, Answer, Decision]


def add_text(turn: Turn, decision: Decision, rng: np.random.Generator) -> Wording:
    """The decision with the text of its option; unchanged if the option needs none."""
    option = turn.options[decision.option]
    if not isinstance(option, TextAction):
        return decision
    prompt, faults = words_prompt(turn, decision.option, option.text), list[str]()
    for _ in range(ATTEMPTS):
        reply = yield Generate(prompt, option.text.max_chars + AROUND, json=True)
        assert isinstance(reply, Generation), reply
        text = words_of(reply.text)
        fault = MALFORMED if text is None else option.text.fault(text)
        if text is not None and not fault:
            return with_words(decision, text, faults)
        faults.append(fault)
        message = f"\nThat {fault}. Wanted: {option.text.ask}\n{_form()}"
        prompt = continue_dialogue(prompt, reply, message)
    return without_words(decision, option.text, faults, rng)


def words_prompt(turn: Turn, chosen: int, wanted: TextSpec) -> Prompt:
    """The situation, the chosen option and the wanted text."""
    seen = turn.observation
    return Prompt(
        static=role_and_rules(seen, turn.goal),
        changing=f"{situation(seen, MOVES)}{choice(seen.options[chosen], wanted)}{_form()}",
        cue=CUE,
    )


def choice(option: str, wanted: TextSpec) -> str:
    """The option, what text is wanted with it, and the constraints."""
    told = f"Your choice: {option}\nIt wants words: {wanted.ask}\n"
    told += f"They have at most {wanted.max_chars} characters.\n"
    if wanted.forbidden:
        told += f"None of these stands among them: {', '.join(wanted.forbidden)}\n"
    return told


def words_of(reply: str) -> str | None:
    """The stripped text of the first JSON object in a reply; None if there is none. Lone
    surrogates, which no file can hold, become question marks."""
    text = (first_object(reply) or {}).get("text")
    return writable(text) if isinstance(text, str) else None


def with_words(decision: Decision, text: str, faults: Sequence[str]) -> Decision:
    """The decision with a valid text, after others with these faults."""
    asked = decision.attempts + len(faults) + 1
    return replace(decision, text=text, attempts=asked, notes=_notes(decision, faults))


def without_words(
    decision: Decision, wanted: TextSpec, faults: Sequence[str], rng: np.random.Generator
) -> Decision:
    """The decision with a replacement text, as a fallback: no text was valid."""
    malformed = faults[-1] == MALFORMED
    return replace(
        decision,
        status=decision.status if decision.fallback else "malformed" if malformed else "illegal",
        fallback=True,
        attempts=decision.attempts + len(faults),
        notes=_notes(decision, faults),
        text=replacement_text(wanted, rng),
    )


def replacement_text(wanted: TextSpec, rng: np.random.Generator) -> str:
    """Replacement text for a player without a valid one."""
    return wanted.instead or wanted.examples[int(rng.integers(len(wanted.examples)))]


def _notes(decision: Decision, faults: Sequence[str]) -> dict[str, object]:
    return {**decision.notes, **({"faults": tuple(faults)} if faults else {})}


def _form() -> str:
    return 'What do you say? Reply with one JSON object: {"text": "your words"}\n'
