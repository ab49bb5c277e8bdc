"""Lessons as text, from the project's own prompting methods, and as tokens.

A lesson is taught by labels (a letter under some orders of the options, a verdict on some of them),
or in a conversation: JSON answers, each after the prompts of a reflecting player. The thoughts in
the answers are fixed phrases; the choices are the targets.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
from transformers import PreTrainedTokenizerFast

from gauntlet.agents.base import Turn
from gauntlet.agents.prompting.base import Method
from gauntlet.agents.prompting.cloze import LETTERS, Cloze
from gauntlet.agents.prompting.counterfactual import VERDICTS, Counterfactual
from gauntlet.agents.prompting.tutri import Tutri
from gauntlet.models.base import Generate, Generation, Prompt, Score
from gauntlet.training.pocket.data import Lesson
from gauntlet.training.pocket.trees import LessonTree, Target

LABELS = LETTERS + VERDICTS
CLOZE, COUNTERFACTUAL = Cloze(), Counterfactual()
TALKS = (Tutri(), Tutri(), Tutri(history=False), Tutri(strategy=False))
"""The conversations taught, the full one twice as often as each shorter one. Each begins like a
plain prompt for JSON."""
LOOKED_BACK, TOOK_ADVICE = "I have weighed the moves so far.", "I have weighed the advice."
BRANCHING = "\nOptions:"
"""Where the prompts of one decision diverge; the tokenizer never merges across its beginning."""
WHIM = 0.2
"""Probability that an answer under reflection was a random one."""


def prompts_of(method: Method, turn: Turn, rng: np.random.Generator) -> tuple[Prompt, ...]:
    """Return the prompts of `method` for a turn."""
    request = next(method.ask(turn, rng))
    if not isinstance(request, Score):
        raise TypeError(f"{method} asks for {type(request).__name__}, not for scores")
    return request.prompts


def conversation(lesson: Lesson, method: Tutri, rng: np.random.Generator) -> list[tuple[str, str]]:
    """Return the model's prompts and answers, in turns; the answers name options drawn by their
    ratings, or random ones."""
    likely = softmax(lesson.logits)
    asking = method.ask(lesson.turn, rng)
    request = next(asking)
    turns: list[tuple[str, str]] = []
    before = 0
    while True:
        assert isinstance(request, Generate), request
        text = request.prompt.text
        option = rng.choice(len(likely), p=None if rng.random() < WHIM else likely)
        reply = answer(lesson, method, len(turns), int(option))
        turns.append((text[before:], reply))
        before = len(text) + len(reply)
        try:
            request = asking.send(Generation(reply, 0, 0))
        except StopIteration:
            return turns


def answer(lesson: Lesson, method: Tutri, number: int, option: int) -> str:
    """Return the reply number `number` of a conversation, as JSON."""
    fields = {"thoughts": lesson.thought}
    if number:
        looked_back = method.history and number == 1
        fields = {"reflection": LOOKED_BACK if looked_back else TOOK_ADVICE}
    return " " + json.dumps({**fields, "action": str(option + 1)})


class Writer:
    """Turns lessons into trees of tokens."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self.backend = tokenizer.backend_tokenizer
        self.end: int = tokenizer.eos_token_id
        self.labels = np.array([self.last(f"Answer: {label}", f" {label}") for label in LABELS])
        self.statics: dict[str, list[int]] = {}
        self.numbers: list[int] = []

    def encode(self, text: str) -> list[int]:
        return list(self.backend.encode(text, add_special_tokens=False).ids)

    def last(self, text: str, word: str, place: int = -1) -> int:
        """Return the token at `place` of `text`. Raises ValueError unless it is `word`."""
        token = self.encode(text)[place]
        if self.backend.decode([token]) != word:
            raise ValueError(f"the tokenizer does not read {word!r} as one token in {text!r}")
        return token

    def lesson(
        self, lesson: Lesson, rng: np.random.Generator, rotations: int, verdicts: int
    ) -> LessonTree:
        """Return a lesson as a tree; by labels, with up to the given numbers of rotations and
        verdicts."""
        if lesson.talk:
            return self.talk(lesson, TALKS[rng.integers(len(TALKS))], rng)
        count = len(lesson.logits)
        rotated, judged_options = (
            rng.permutation(count)[:rotations],
            rng.permutation(count)[:verdicts],
        )
        cloze = prompts_of(CLOZE, lesson.turn, rng)
        counterfactual = prompts_of(COUNTERFACTUAL, lesson.turn, rng)
        targets = [letters(lesson.logits, rotation) for rotation in rotated]
        targets += [verdict(lesson.logits, option) for option in judged_options]
        prompts = [cloze[r] for r in rotated] + [
            counterfactual[option] for option in judged_options
        ]
        return self.tree(prompts, [Target(self.labels, chances) for chances in targets])

    def tree(self, prompts: Sequence[Prompt], targets: Sequence[Target] = ()) -> LessonTree:
        """Return one tree of a decision's prompts, answered at the end of each."""
        told, _, _ = prompts[0].changing.partition(BRANCHING)
        branches = [self.encode(p.changing[len(told) :] + p.cue) for p in prompts]
        stem = self.static(prompts[0].static) + self.encode(told)
        ends = np.cumsum([len(branch) for branch in branches]) + len(stem) - 1
        return LessonTree(stem, branches, ends.tolist(), targets)

    def talk(self, lesson: Lesson, method: Tutri, rng: np.random.Generator) -> LessonTree:
        """Return a conversation as one stem, with targets at every token of the replies and their
        ends."""
        numbers = Target(self.number_tokens(len(lesson.logits)), softmax(lesson.logits))
        tokens: list[int] = []
        places: list[int] = []
        targets: list[Target] = []
        for told, reply in conversation(lesson, method, rng):
            tokens += self.encode(told)
            reply_tokens = self.encode(reply)
            places += range(len(tokens) - 1, len(tokens) + len(reply_tokens))
            *frame, _, close = (Target(np.array([token]), np.ones(1)) for token in reply_tokens)
            targets += [*frame, numbers, close, Target(np.array([self.end]), np.ones(1))]
            tokens += reply_tokens
        return LessonTree(tokens, (), places, targets)

    def number_tokens(self, count: int) -> np.ndarray:
        """Return the tokens of the options' numbers in a reply, from 1: (count,)."""
        while len(self.numbers) < count:
            number = len(self.numbers) + 1
            until_close = json.dumps({"action": str(number)})
            self.numbers.append(self.last(until_close, str(number), place=-2))
        return np.array(self.numbers[:count])

    def static(self, text: str) -> list[int]:
        if text not in self.statics:
            self.statics[text] = self.encode(text)
        return self.statics[text]


def softmax(logits: np.ndarray) -> np.ndarray:
    chances = np.exp(logits - logits.max())
    return np.asarray(chances / chances.sum())


def letters(logits: np.ndarray, rotation: int) -> np.ndarray:
    """Return the target of a cloze prompt: float64 (LABELS,)."""
    shown = softmax(np.roll(logits, -rotation)[: len(LETTERS)])
    return np.concatenate((shown, np.zeros(len(LABELS) - len(shown))))


def verdict(logits: np.ndarray, option: int) -> np.ndarray:
    """Return the target of the verdict on an option: float64 (LABELS,). The probability of good
    depends on the option's lead over the best of the others."""
    margin = logits[option] - np.delete(logits, option).max()
    target = np.zeros(len(LABELS))
    target[len(LETTERS)] = 1 / (1 + np.exp(-margin))
    target[len(LETTERS) + 1] = 1 - target[len(LETTERS)]
    return target
