"""The courses of the pocket models: lessons of one kind, and the tokenizer for them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

import numpy as np
import torch
from transformers import PreTrainedTokenizerFast

from gauntlet.training.pocket.data import lessons
from gauntlet.training.pocket.duel import course as duel
from gauntlet.training.pocket.gamebench import course as gamebench
from gauntlet.training.pocket.gamebench.tables import TABLES
from gauntlet.training.pocket.observer import course as observer
from gauntlet.training.pocket.teacher import Network
from gauntlet.training.pocket.tokenizer import train_tokenizer
from gauntlet.training.pocket.trees import LessonTree
from gauntlet.training.pocket.writing import (
    CLOZE,
    COUNTERFACTUAL,
    LABELS,
    TALKS,
    Writer,
    conversation,
    prompts_of,
)

VOCABULARY = 2200


class Course(Protocol):
    """Lessons of one kind."""

    dtype: torch.dtype
    """Data type of the saved weights."""

    def tokenizer(self) -> PreTrainedTokenizerFast: ...

    def trees(
        self, tokenizer: PreTrainedTokenizerFast, rng: np.random.Generator
    ) -> Iterator[LessonTree]:
        """Yield lessons forever."""
        ...


@dataclass(frozen=True)
class UnoCourse:
    """UNO and Tic-Tac-Toe by labels and in conversation; arguments as in `parse`."""

    network: Network
    seed: int
    rotations: int
    verdicts: int
    dtype = torch.float32

    def tokenizer(self) -> PreTrainedTokenizerFast:
        return tokenizer_for(self.network, self.seed)

    def trees(
        self, tokenizer: PreTrainedTokenizerFast, rng: np.random.Generator
    ) -> Iterator[LessonTree]:
        writer = Writer(tokenizer)
        for lesson in lessons(self.network, rng):
            yield writer.lesson(lesson, rng, self.rotations, self.verdicts)


@dataclass(frozen=True)
class DuelCourse:
    """Reasoning methods in Tic-Tac-Toe (a `grid` share of the turns) and hold'em."""

    seed: int
    grid: float
    dtype = torch.float16

    def tokenizer(self) -> PreTrainedTokenizerFast:
        return duel.tokenizer_of(self.seed, self.grid)

    def trees(
        self, tokenizer: PreTrainedTokenizerFast, rng: np.random.Generator
    ) -> Iterator[LessonTree]:
        return duel.trees(tokenizer, rng, self.grid)


@dataclass(frozen=True)
class ObserverCourse:
    """Observing rock-paper-scissors with the prompts of the method `observe`."""

    seed: int
    dtype = torch.float16

    def tokenizer(self) -> PreTrainedTokenizerFast:
        return observer.tokenizer_of(self.seed)

    def trees(
        self, tokenizer: PreTrainedTokenizerFast, rng: np.random.Generator
    ) -> Iterator[LessonTree]:
        return observer.trees(tokenizer, rng)


@dataclass(frozen=True)
class GamebenchCourse:
    """Acting in the nine games of GameBench with the prompts of the method `base`."""

    seed: int
    dtype = torch.float16

    def tokenizer(self) -> PreTrainedTokenizerFast:
        return gamebench.tokenizer_of(list(TABLES.values()), self.seed)

    def trees(
        self, tokenizer: PreTrainedTokenizerFast, rng: np.random.Generator
    ) -> Iterator[LessonTree]:
        return gamebench.trees(list(TABLES.values()), tokenizer, rng)


def tokenizer_for(network: Network, seed: int, count: int = 600) -> PreTrainedTokenizerFast:
    """Return a tokenizer trained on the prompts of `count` decisions and the answers to them."""
    rng = np.random.default_rng((seed, 1))
    texts = [*(f"Answer: {label}" for label in LABELS), *LABELS]
    texts += [json.dumps({"action": str(number)}) for number in range(100)]
    texts *= 100  # often enough for each to become one token
    for lesson in islice(lessons(network, rng), count):
        for method in (CLOZE, COUNTERFACTUAL):
            texts += [prompt.text for prompt in prompts_of(method, lesson.turn, rng)]
        texts.append("".join(map("".join, conversation(lesson, TALKS[0], rng))))
    return train_tokenizer(texts, VOCABULARY)
