"""The lessons in GameBench's games as trees of tokens, and their tokenizer.

The targets are ratings of the options: in the reply as the probabilities of their numbers, and, at
the end of each option's line, the option's number and the word good or bad. No prompt uses the
latter; they are taught because a reply gives one signal per decision and the lines one per option,
and one layer early, so that the last layer only has to choose among them.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from gauntlet.agents.base import Turn
from gauntlet.agents.prompting.cloze import LETTERS
from gauntlet.agents.prompting.counterfactual import VERDICTS
from gauntlet.agents.prompting.gamebench import ABOVE, Base, textspecs
from gauntlet.models.base import Generate
from gauntlet.training.pocket.duel.course import Encoder
from gauntlet.training.pocket.duel.phrases import with_pieces
from gauntlet.training.pocket.gamebench.tables import Lesson, Table, lessons, turns, words
from gauntlet.training.pocket.trees import LessonTree, Target
from gauntlet.training.pocket.writing import softmax

# --- where prompts of `base` are split into words and numbers

REPLY, CLOSE = ' {"action": "', '"}'
"""A reply's parts around the number."""
WORDS, END = '", "openended_response": ', "}"
"""What follows the number instead, around the quoted words."""

BUG = r"[wb](?:Q|[SGA]\d)"
"""A piece of Hive."""
MANOEUVRE = "(?:left|forward|right|stay)"
"""A ship's manoeuvre in Sea Battle."""
CUTS = (
    r' ?\{"action":"',
    r'","openended_response":',
    r'"\}',
    r'"[^"\n]*"',
    r"^[A-Z][^:,.;()\d\n]*:",  # the name of a fact
    rf" (?:move|place) {BUG}",
    rf" (?:E|W|NE|NW|SE|SW) of {BUG}",
    rf" ?{BUG}",
    r" ?[A-Za-z]\d{1,2}(?![A-Za-z])",  # a square
    r" to (?:air|land|sea)",
    rf" {MANOEUVRE} fire (?:left|right)(?: hits (?:enemy|yours))?",
    rf" {MANOEUVRE} \d+(?: damage)?",
    r" ?[A-Z][a-z]+(?: [A-Z][a-z]+)+",  # a name of several words
    r" ?[-+]?\d+",
    r" ?[A-Za-z][A-Za-z']*",
    r' ?[^A-Za-z\d\n "]',
)
DROPPED = "|".join(
    (
        r"^(?:You play a game\.|Rules:|More about the rules|H\d+ |Recent moves:|Choose one\.).*\n",
        rf"^(?:[#.A-Z]{{24}}|   a  b  c  d  e|[1-5]  [0-4].*|(?: *(?:\.|{BUG}))+ *)\n",  # a drawing
        r"(?<= hits) [A-Z](?= )",  # which ship
        r"; at most \d+ characters.*$",
        r"(?<=\d)\)(?= )",  # after an option's number
        r' (?=")|[()]',
        r"(?<!\")[,;.](?= [a-z\d]|$)|(?<=\d)[,;.](?= [A-Z])",  # but not between names
    )
)


def word_tokenizer(
    texts: Iterable[str], merged: int, often: int, most: int
) -> PreTrainedTokenizerFast:
    """Return a tokenizer of words; arguments as in `with_pieces`."""
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    tokenizer.normalizer = normalizers.Replace(Regex(DROPPED), "")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\n"), "removed"),
            pre_tokenizers.Split(Regex("|".join(CUTS)), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    return with_pieces(tokenizer, texts, merged, often, most)


def reply_text(number: int, words: str) -> str:
    """The reply that takes the option of this number, from 1, with these words ("" for none)."""
    rest = WORDS + json.dumps(words) + END if words else CLOSE
    return f"{REPLY}{number}{rest}"


# --- lessons

METHOD = Base()
QUESTIONS, APART = 500, 5
"""Turns of each game that the tokenizer is trained on, and the distance between them."""
MERGED, OFTEN, MOST = 600, 12, 3000
"""Number of BPE tokens, minimum count of other tokens, and maximum number of tokens in total."""
NUMBERS = 200
"""Option numbers that always are tokens."""
LONG = 40
"""Maximum characters of a game's example texts that become single tokens."""
AGAIN, KEPT = 0.5, 20_000
"""Probability of repeating an earlier lesson, and how many are kept for that."""
JUDGED = 2.0
"""Total weight of the words after the options, relative to 1 for the reply's number."""


def tokenizer_of(tables: Sequence[Table], seed: int) -> PreTrainedTokenizerFast:
    """Return a tokenizer trained on QUESTIONS decisions of each game and the replies to them."""
    rng = np.random.default_rng((seed, 1))
    texts = [reply_text(number, "") for number in range(1, NUMBERS + 1)] * OFTEN
    texts += [f"{choice}\n {choice}" for choice in (*LETTERS, *VERDICTS, "yes", "no")] * OFTEN
    examples: set[str] = set()
    for table in tables:
        for turn in islice(turns(table.game, rng), 0, APART * QUESTIONS, APART):
            texts.append(prompt_text(turn, rng))
            texts += [reply_text(1, said) for said in words(turn, table.copied, rng) if said]
            examples.update(text for wanted in textspecs(turn) for text in wanted.examples)
    texts += [
        reply_text(1, example) for example in sorted(examples) if len(example) <= LONG
    ] * OFTEN
    return word_tokenizer(texts, MERGED, OFTEN, MOST)


def trees(
    tables: Sequence[Table], tokenizer: PreTrainedTokenizerFast, rng: np.random.Generator
) -> Iterator[LessonTree]:
    """Yield decisions of all games forever, mixed by their shares."""
    writer = Writer(tokenizer)
    shares = np.array([table.share for table in tables])
    sources = [lessons(table, rng) for table in tables]
    recent: deque[LessonTree] = deque(maxlen=KEPT)
    while True:
        for number in rng.choice(len(tables), 1000, p=shares / shares.sum()).tolist():
            if recent and rng.random() < AGAIN:
                yield recent[int(rng.integers(len(recent)))]
            else:
                recent.append(writer.tree(next(sources[number]), rng))
                yield recent[-1]


def prompt_text(turn: Turn, rng: np.random.Generator) -> str:
    """Return the prompt of a decision."""
    request = next(METHOD.ask(turn, rng))
    assert isinstance(request, Generate), request
    return request.prompt.text


class Writer:
    """Turns decisions into lessons."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self.encode = Encoder(tokenizer)
        self.verdicts = np.array([self.encode(verdict) for verdict in VERDICTS]).ravel()
        """The tokens of good and bad: (2,)."""

    def tree(self, lesson: Lesson, rng: np.random.Generator) -> LessonTree:
        """A tree of one stem, with targets after every option and at every token of the reply."""
        chances = softmax(lesson.logits)
        lines = prompt_text(lesson.turn, rng).splitlines(keepends=True)
        tokens = [self.encode(line) for line in lines]
        first, prompt = lines.index(ABOVE) + 1, [token for line in tokens for token in line]
        behind = np.cumsum([len(line) for line in tokens])[first : first + len(chances)] - 1
        option = int(rng.choice(len(chances), p=chances))
        reply = self.encode(reply_text(option + 1, lesson.words[option]))
        numbers = np.array([self.number(n) for n in range(1, len(chances) + 1)])
        head, _, *rest = (
            Target(np.array([token]), np.ones(1)) for token in (*reply, self.encode.end)
        )
        places = [*behind.tolist(), *range(len(prompt) - 1, len(prompt) + len(reply))]
        targets = [*self.judged(chances, numbers), head, Target(numbers, chances), *rest]
        return LessonTree([*prompt, *reply], (), places, targets)

    def judged(self, chances: np.ndarray, numbers: np.ndarray) -> list[Target]:
        """Return the targets after each option: its number, and "good" in proportion to its
        probability relative to the most likely one. The last layer, which chooses, finds both
        there."""
        good, weight = chances / chances.max(), JUDGED / len(chances)
        return [
            Target(
                np.array([number, *self.verdicts]), np.array([1, one, 1 - one]) / 2, weight, True
            )
            for number, one in zip(numbers, good, strict=True)
        ]

    def number(self, number: int) -> int:
        """The token of an option's number in a reply. Raises ValueError if it is not one token."""
        _, token, _ = self.encode(reply_text(number, ""))
        return token
