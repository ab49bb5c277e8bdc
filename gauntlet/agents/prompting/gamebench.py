"""GameBench's prompt for an action: rules under headings, situation, actions, JSON answer.

The model can have headings explained, and some actions need text. The slots, their order, the three
attempts and the feedback follow GameBench (Costarelli et al. 2024), Appendix G, and its published
code. The wording is ours.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from gauntlet.agents.base import Answer, Decision, Goal, Question, Status, Turn
from gauntlet.agents.lookahead import Note
from gauntlet.agents.prompting.acting import Reading, actions, form, read, textspecs
from gauntlet.agents.prompting.base import Asking, check_moves, role, situation
from gauntlet.agents.prompting.wording import PLAIN
from gauntlet.agents.prompting.words import AROUND, replacement_text
from gauntlet.games.base import TextAction
from gauntlet.games.capabilities import HasRuleHeadings, fallback_of
from gauntlet.models.base import Generate, Generation, Prompt, continue_dialogue

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
