"""GameBench's prompt for an action: rules under headings, situation, actions, JSON answer with free
text for text actions; and the parser of such answers.

The model can have headings explained, and some actions need text. The slots, their order, the three
attempts and the feedback follow GameBench (Costarelli et al. 2024), Appendix G, and its published
code. The wording is ours.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from gauntlet.agents.base import Answer, Decision, Goal, Question, Status, Turn
from gauntlet.agents.lookahead import Note
from gauntlet.agents.prompting.answers import first_object, listed, option_called, writable
from gauntlet.agents.prompting.base import Asking, check_moves, role, situation
from gauntlet.agents.prompting.wording import PLAIN
from gauntlet.agents.prompting.words import AROUND, replacement_text
from gauntlet.games.base import TextAction, TextSpec
from gauntlet.games.capabilities import HasRuleHeadings, fallback_of
from gauntlet.models.base import Generate, Generation, Prompt, continue_dialogue

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
        numbers = [
            n
            for n, option in enumerate(turn.options, 1)
            if isinstance(option, TextAction) and option.text == wanted
        ]
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


def _ranges(numbers: Sequence[int]) -> str:
    """Format ascending numbers with ranges for consecutive ones: "1 to 3, 5"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


WIN = "You play a game. Take the action that makes it most likely that you win.\n"
HELP = (
    "You play a game. Take the action that makes it most likely that player {helps} wins; "
    "your own result does not count.\n"
)
SCORE = "You play a game. Take the action that brings you the most {points}.\n"
HELP_SCORE = (
    "You play a game. Take the action that brings player {helps} the most {points}; your own do "
    "not count.\n"
)
HEADINGS = (
    "More about the rules stands under these headings. To read what stands under H1, give the "
    "action Explain(H1).\n"
)
THINK = "First think aloud: which of these actions makes it most likely that you win, and why?\n"
THINK_SCORE = "First think aloud: which of these actions brings you the most {points}, and why?\n"
ACT = "\nNow act. "


@dataclass(frozen=True)
class Base:
    """Asks for an action and its text, and again if the reply is unusable.

    attempts: replies in total; an explanation uses one of them.
    moves: number of recent moves in the prompt.
    max_tokens: limit on a reply's length, excluding the text of a text action.
    temperature: of all replies, seeded by the decision.

    After the last attempt the null action is played: the game's own fallback, or else a random
    legal action, with an example for its text. If only the text is invalid, an example replaces it.
    A decision's notes hold how each reply was read under "answers" ("ok" if it needed to name no
    action), the headings explained under "explained", and what was wrong with texts under "faults".
    """

    attempts: int = 3
    moves: int = 10
    max_tokens: int = 200
    temperature: float = 0.0

    own_words: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_moves(self.moves)
        if self.attempts < 1 or self.max_tokens < 1:
            told = f"attempts={self.attempts}, max_tokens={self.max_tokens}"
            raise ValueError(f"{told}: both are 1 or more")
        if not 0 <= self.temperature <= 2:
            raise ValueError(f"temperature is {self.temperature:g}; it lies from 0 to 2")

    def labels(self) -> tuple[str, ...]:
        return ()

    def ask(self, turn: Turn, rng: np.random.Generator) -> Asking:
        return (yield from self.acted(turn, first_prompt(turn, self.moves, form(turn)), (), rng))

    def acted(
        self, turn: Turn, prompt: Prompt, before: Sequence[Note], rng: np.random.Generator
    ) -> Generator[Question, Answer, Decision]:
        """The action from a conversation that has just asked for one.

        before: how earlier replies were read.
        """
        headings = headings_of(turn.game)
        seed, heard = int(rng.integers(2**31)), list[Reading]()
        while len(heard) < self.attempts:
            reply = yield self.generate(turn, prompt, seed)
            assert isinstance(reply, Generation), reply
            heard.append(read(reply.text, turn, headings))
            if heard[-1].is_final:
                break
            prompt = continue_dialogue(prompt, reply, heard[-1].told)
        return decided(turn, before, heard, rng)

    def generate(self, turn: Turn, prompt: Prompt, seed: int) -> Generate:
        """Request a JSON object with room for the longest text: a character may be a token."""
        longest = max((text.max_chars + AROUND for text in textspecs(turn)), default=0)
        tokens = self.max_tokens + longest
        return Generate(prompt, tokens, self.temperature, seed=seed, json=True)


@dataclass(frozen=True)
class GamebenchCot(Base):
    """Asks for reasoning first, then for an action in the same conversation.

    thoughts: token limit of the reasoning.
    """

    thoughts: int = 512

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.thoughts < 1:
            raise ValueError(f"thoughts is {self.thoughts}; thinking aloud takes 1 token or more")

    def ask(self, turn: Turn, rng: np.random.Generator) -> Asking:
        points = turn.goal.points
        think = THINK_SCORE.format(points=points) if points else THINK
        prompt = first_prompt(turn, self.moves, think)
        seed = int(rng.integers(2**31))
        reply = yield Generate(prompt, self.thoughts, self.temperature, seed=seed)
        assert isinstance(reply, Generation), reply
        came: Note = "ok" if reply.text.strip() else "malformed"
        asked = continue_dialogue(prompt, reply, ACT + form(turn))
        return (yield from self.acted(turn, asked, (came,), rng))


def first_prompt(turn: Turn, moves: int, question: str) -> Prompt:
    """The start of a conversation: the goal, the rules, the situation, the actions."""
    seen = turn.observation
    return Prompt(
        static=role(seen) + rules(turn),
        changing=f"{situation(seen, moves)}{actions(turn)}{question}",
        cue=PLAIN.cue,
        system=goal(turn.goal),
    )


def goal(goal: Goal) -> str:
    own, other = (SCORE, HELP_SCORE) if goal.points else (WIN, HELP)
    return (own if goal.helps is None else other).format(helps=goal.helps, points=goal.points)


def rules(turn: Turn) -> str:
    """The rules summary and headings, or the full rules of a game without headings."""
    if not isinstance(turn.game, HasRuleHeadings):
        return PLAIN.rules.format(rules=turn.observation.rules)
    names = "".join(f"H{n} {name}\n" for n, name in enumerate(headings_of(turn.game), 1))
    return PLAIN.rules.format(rules=turn.game.rules_summary) + HEADINGS + names


def headings_of(game: Any) -> dict[str, str]:
    """The headings a model may have explained, with their texts."""
    return dict(game.rules_headings) if isinstance(game, HasRuleHeadings) else {}


def decided(
    turn: Turn, before: Sequence[Note], heard: Sequence[Reading], rng: np.random.Generator
) -> Decision:
    """The last reading if it is an action, else its replacement."""
    notes: dict[str, Any] = {"answers": (*before, *(reading.note for reading in heard))}
    for name, told in (
        ("explained", tuple(reading.explained for reading in heard if reading.explained)),
        ("faults", tuple(reading.fault for reading in heard if reading.fault)),
    ):
        notes |= {name: told} if told else {}
    attempts, last = len(notes["answers"]), heard[-1]
    if last.is_final and last.option is not None:
        return Decision(last.option, attempts=attempts, notes=notes, text=last.text)
    chosen = next((one for one in reversed(heard) if one.option is not None), None)
    status: Status = "illegal" if (chosen or last).note == "illegal" else "malformed"
    decision = null_action(turn, status, attempts, notes, rng)
    if chosen is None or chosen.option is None:
        return decision
    return replace(decision, option=chosen.option, text=words_for(turn, chosen.option, rng))


def null_action(
    turn: Turn, status: Status, attempts: int, notes: dict[str, Any], rng: np.random.Generator
) -> Decision:
    """The replacement for a missing action: the game's fallback, or else any option, with
    example text."""
    option = fallback_of(turn.game, turn.observation)
    if option is None:
        option = int(rng.integers(len(turn.options)))
    return Decision(option, status, True, attempts, notes=notes, text=words_for(turn, option, rng))


def words_for(turn: Turn, option: int, rng: np.random.Generator) -> str:
    """Text from the game for the option of this index, "" if it needs none."""
    wanted = turn.options[option]
    return replacement_text(wanted.text, rng) if isinstance(wanted, TextAction) else ""
