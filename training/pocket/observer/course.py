"""The lessons in watching as trees of tokens, and their tokenizer.

What is taught is how likely each strategy is, not which was drawn: the exact posterior of each
player. It is taught in the reply, and after each round that a prompt tells: there half of the
answer is what the reply would say of the first player, half what of the second. Nobody reads those
answers later, but they are fifty where a reply has two.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from transformers import PreTrainedTokenizerFast

from gauntlet.games.rock_paper_scissors.strategies import CODES
from gauntlet.training.pocket.duel.course import Encoder
from gauntlet.training.pocket.duel.phrases import phrase_tokenizer
from gauntlet.training.pocket.observer.asked import Question, questions
from gauntlet.training.pocket.observer.rounds import posteriors
from gauntlet.training.pocket.observer.words import CUTS, DROPPED, STEPS, phrases, reasons, reply
from gauntlet.training.pocket.trees import LessonTree, Target

QUESTIONS, MERGED = 500, 400
"""How many questions the tokenizer learns from, and its tokens of BPE."""
TAUGHT = 16
"""After so many of the rounds, drawn for each lesson, the posteriors are taught."""


def tokenizer_of(seed: int) -> PreTrainedTokenizerFast:
    """Of QUESTIONS questions and all that a reply may have."""
    rng = np.random.default_rng((seed, 1))
    texts = [one.prompt.text for one in islice(questions(rng), QUESTIONS)]
    for code in CODES:
        texts += [reply((code, code), step / STEPS) for step in range(STEPS + 1)] * 2
    for phrase in phrases():
        texts += [reply(("A", "A"), 1, ("", phrase))] * 50
        texts += [reply(("A", "A"), 1, (phrase,))] * 50
    return phrase_tokenizer(texts, MERGED, CUTS, DROPPED)


def trees(tokenizer: PreTrainedTokenizerFast, rng: np.random.Generator) -> Iterator[LessonTree]:
    """Every question with its reply, without end."""
    writer = Writer(tokenizer)
    for asked in questions(rng):
        yield writer.tree(asked, rng)


class Writer:
    """Turns questions into lessons."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self.encode = Encoder(tokenizer)
        replies = [self.encode(reply((code, code), 0)) for code in CODES]
        self.codes = np.array(replies)[:, :2].T
        """The tokens that name a strategy of each player: (2, CODES)."""

    def tree(self, question: Question, rng: np.random.Generator) -> LessonTree:
        """One stem, taught after some of the rounds and at every token of the reply."""
        chances = posteriors(question.hands)
        prompt = self.encode(question.prompt.text)
        said, targets = self.reply(question, chances[-1], rng)
        rounds = self.rounds(question, prompt)
        taught = np.sort(rng.permutation(len(rounds))[:TAUGHT])
        after = [Target(self.codes.ravel(), chances[one].ravel() / 2) for one in taught]
        places = [rounds[one] for one in taught]
        places += range(len(prompt) - 1, len(prompt) + len(said))
        return LessonTree([*prompt, *said], (), places, [*after, *targets])

    def reply(
        self, question: Question, chances: np.ndarray, rng: np.random.Generator
    ) -> tuple[list[int], list[Target]]:
        """A reply's tokens, and what each and the end should be; chances: (2, CODES)."""
        picked = [int(rng.choice(len(CODES), p=row)) for row in chances]
        chance = float(chances[0, picked[0]] * chances[1, picked[1]])
        guess = [CODES[one] for one in picked]
        why = reasons(question.hands, guess, chance) if question.reasons else ()
        said = self.encode(reply(guess, chance, why))
        codes = [Target(tokens, row) for tokens, row in zip(self.codes, chances, strict=True)]
        others = [Target(np.array([one]), np.ones(1)) for one in (*said[2:], self.encode.end)]
        return said, [*codes, *others]

    def rounds(self, question: Question, prompt: list[int]) -> list[int]:
        """The places of the rounds in a prompt."""
        lines = question.prompt.text.splitlines(keepends=True)
        opening = lines.index("[\n") + 1
        first = sum(len(self.encode(line)) for line in lines[:opening])
        return list(range(first, first + len(question.hands)))
