"""The lessons in observation as trees of tokens, and their tokenizer.

The targets are the exact posteriors of each player's strategy, not the strategy drawn. They are
taught in the reply, and after each round of a prompt: there half of the target is the reply's for
the first player, half for the second. Nothing reads those answers later, but there are fifty of
them and only two in a reply.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from transformers import PreTrainedTokenizerFast

from gauntlet.games.rock_paper_scissors.strategies import CODES
from gauntlet.training.pocket.duel.course import Encoder
from gauntlet.training.pocket.duel.phrases import phrase_tokenizer
from gauntlet.training.pocket.observer.replies import Question, questions
from gauntlet.training.pocket.observer.rounds import posteriors
from gauntlet.training.pocket.observer.words import CUTS, DROPPED, STEPS, phrases, reasons, reply
from gauntlet.training.pocket.trees import LessonTree, Target

QUESTIONS, MERGED = 500, 400
"""Number of prompts that the tokenizer is trained on, and its number of BPE tokens."""
TAUGHT = 16
"""Number of rounds per lesson, drawn at random, after which posteriors are taught."""


def tokenizer_of(seed: int) -> PreTrainedTokenizerFast:
    """Return a tokenizer trained on QUESTIONS prompts and all possible parts of a reply."""
    rng = np.random.default_rng((seed, 1))
    texts = [one.prompt.text for one in islice(questions(rng), QUESTIONS)]
    for code in CODES:
        texts += [reply((code, code), step / STEPS) for step in range(STEPS + 1)] * 2
    for phrase in phrases():
        texts += [reply(("A", "A"), 1, ("", phrase))] * 50
        texts += [reply(("A", "A"), 1, (phrase,))] * 50
    return phrase_tokenizer(texts, MERGED, CUTS, DROPPED)


def trees(tokenizer: PreTrainedTokenizerFast, rng: np.random.Generator) -> Iterator[LessonTree]:
    """Yield every prompt with its reply, forever."""
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
        """A tree of one stem, with targets after some rounds and at every token of the reply."""
        chances = posteriors(question.hands)
        prompt = self.encode(question.prompt.text)
        reply, targets = self.reply(question, chances[-1], rng)
        rounds = self.rounds(question, prompt)
        taught = np.sort(rng.permutation(len(rounds))[:TAUGHT])
        after = [Target(self.codes.ravel(), chances[one].ravel() / 2) for one in taught]
        places = [rounds[one] for one in taught]
        places += range(len(prompt) - 1, len(prompt) + len(reply))
        return LessonTree([*prompt, *reply], (), places, [*after, *targets])

    def reply(
        self, question: Question, chances: np.ndarray, rng: np.random.Generator
    ) -> tuple[list[int], list[Target]]:
        """Return a reply's tokens, and the targets of each and of the end; chances: (2, CODES)."""
        picked = [int(rng.choice(len(CODES), p=row)) for row in chances]
        chance = float(chances[0, picked[0]] * chances[1, picked[1]])
        guess = [CODES[one] for one in picked]
        why = reasons(question.hands, guess, chance) if question.reasons else ()
        reply_tokens = self.encode(reply(guess, chance, why))
        codes = [Target(tokens, row) for tokens, row in zip(self.codes, chances, strict=True)]
        others = [
            Target(np.array([one]), np.ones(1)) for one in (*reply_tokens[2:], self.encode.end)
        ]
        return reply_tokens, [*codes, *others]

    def rounds(self, question: Question, prompt: list[int]) -> list[int]:
        """Return the token positions of the rounds in a prompt."""
        lines = question.prompt.text.splitlines(keepends=True)
        opening = lines.index("[\n") + 1
        first = sum(len(self.encode(line)) for line in lines[:opening])
        return list(range(first, first + len(question.hands)))
