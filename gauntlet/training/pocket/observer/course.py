"""The lessons in observation as trees of tokens, and their tokenizer.

The targets are the exact posteriors of each player's strategy, not the strategy drawn. They are
taught in the reply, and after each round of a prompt: there half of the target is the reply's for
the first player, half for the second. Nothing reads those answers later, but there are fifty of
them and only two in a reply.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerFast

from gauntlet.agents.base import Turn
from gauntlet.agents.prompting.observe import Observe, reminder
from gauntlet.games.base import Fact
from gauntlet.games.rock_paper_scissors import RockPaperScissors, rounds_as_json
from gauntlet.games.rock_paper_scissors.strategies import ANSWERS, CODES, MIXES
from gauntlet.games.watch import Watch
from gauntlet.models.base import Generation, Prompt, continue_dialogue
from gauntlet.training.pocket.data import turn_of
from gauntlet.training.pocket.duel.course import Encoder
from gauntlet.training.pocket.duel.phrases import phrase_tokenizer
from gauntlet.training.pocket.observer.rounds import play_pair, posteriors
from gauntlet.training.pocket.trees import LessonTree, Target

# --- prompts of the method `observe` about random rounds, built by the method itself

ROUNDS = 210
TOLD = ((0.6, 50, 50), (0.2, 1, 49), (0.1, 20, 20), (0.1, 51, ROUNDS))
"""Probabilities of the range of rounds shown in a lesson: (probability, minimum, maximum)."""
REASONS = 0.15
"""Probability that reasons are requested."""
AGAIN = 0.03
"""Probability of a repeated prompt after an invalid reply."""
USELESS = (" I do not know.", ' {"guess_s1": "Q", "guess_s2": "7", "confidence": 1}')


class Question(NamedTuple):
    """A prompt, the rounds that it shows, (rounds, 2), and whether it requests reasons."""

    prompt: Prompt
    hands: NDArray[np.int64]
    reasons: bool


def questions(rng: np.random.Generator) -> Iterator[Question]:
    """Yield prompts about random players, after a random number of rounds, forever."""
    asking = QuestionSampler()
    shares = [share for share, _, _ in TOLD]
    while True:
        _, least, most = TOLD[rng.choice(len(TOLD), p=shares)]
        length = int(rng.integers(least, most + 1))
        round_number, reasons = asking.moment(length, rng.random() < REASONS, rng)
        one, other = rng.integers(len(CODES), size=2).tolist()
        hands = play_pair((CODES[one], CODES[other]), round_number, rng)[round_number - length :]
        prompt = asking.prompt(hands, round_number)
        if rng.random() < AGAIN:
            useless = Generation(USELESS[rng.integers(len(USELESS))], 0, 0)
            prompt = continue_dialogue(prompt, useless, reminder(asking.game))
        yield Question(prompt, hands, reasons)


@dataclass(frozen=True)
class QuestionSampler:
    """Builds prompts as if the rounds came from a watched match."""

    game: Watch = field(default_factory=lambda: Watch(of=RockPaperScissors(rounds=ROUNDS)))
    method: Observe = field(default_factory=Observe)

    @cached_property
    def _turn(self) -> Turn:
        return turn_of(self.game, self.game.deal(np.random.default_rng(0)), 0)

    def moment(self, window: int, reasons: bool, rng: np.random.Generator) -> tuple[int, bool]:
        """A number of rounds played, at least `window`, and whether reasons are requested then."""
        every = self.method.reasons
        wanted = [
            n for n in range(window, ROUNDS + 1) if (n % every == 0 or n == ROUNDS) == reasons
        ]
        found = wanted or [window]
        return found[rng.integers(len(found))], bool(wanted) and reasons

    def prompt(self, hands: NDArray[np.int64], round_number: int) -> Prompt:
        """Return the prompt after `played` rounds, of which `hands` are the last."""
        observation = self._turn.observation
        text = rounds_as_json(hands.tolist(), round_number - len(hands) + 1)
        now = replace(
            observation,
            facts=(Fact("History", text),),
            view=replace(observation.view, shown=round_number, told=()),
        )
        return self.method.prompt(replace(self._turn, observe=lambda: now))


# --- the replies to teach: a JSON object, sometimes with reasons in fixed phrases

HANDS = ("rock", "paper", "scissors")
ANSWERING = ("copies", "beats", "loses to")
"""How a reactive strategy answers the other's last hand, by the offset it adds."""
STEPS = 20
"""Number of confidence levels."""
SURE, UNSURE = 0.8, 0.4
EVIDENCE = ("the evidence is clear", "few strategies remain", "other strategies fit as well")


def reply(guess: Sequence[str], chance: float, reasons: Sequence[str] = ()) -> str:
    """The whole reply: codes in seat order, the probability that both are right, and reasons."""
    said = {f"guess_s{seat}": code for seat, code in enumerate(guess, start=1)}
    why = {"reasoning": "; ".join(reasons)} if reasons else {}
    return " " + json.dumps({**said, "confidence": round(chance * STEPS) / STEPS, **why})


def reasons(hands: NDArray[np.int64], guess: Sequence[str], chance: float) -> tuple[str, ...]:
    """Return five phrases: what each player did in these rounds, (rounds, 2), what the guessed
    strategies do, and how certain that is."""
    counts = [np.bincount(column, minlength=len(HANDS)) for column in hands.T]
    sure = EVIDENCE[(chance < SURE) + (chance < UNSURE)]
    seen = (seat_phrase(seat, observed(row)) for seat, row in enumerate(counts, start=1))
    fits = (seat_phrase(seat, habit(code)) for seat, code in enumerate(guess, start=1))
    return (*seen, *fits, sure)


def seat_phrase(seat: int, phrase: str) -> str:
    return f"player {seat} {phrase}".replace("the other", f"player {3 - seat}")


def observed(counts: NDArray[np.int64]) -> str:
    """Describe a player's hands from their counts."""
    most = counts.max()
    if most == counts.sum():
        return f"threw nothing but {HANDS[counts.argmax()]}"
    if (counts == most).sum() > 1:
        return "threw no hand most often"
    return f"threw {HANDS[counts.argmax()]} most often"


def habit(code: str) -> str:
    """Describe a strategy."""
    if code in ANSWERS:
        return f"{ANSWERING[ANSWERS[code]]} the last hand of the other"
    mix = MIXES[code]
    order = sorted(range(len(HANDS)), key=lambda hand: -mix[hand])
    if max(mix) == 1:
        return "never changes"
    if min(mix) == max(mix):
        return "has no favourite"
    if min(mix) == 0:
        return f"avoids {HANDS[order[-1]]}"
    second, third = mix[order[1]], mix[order[2]]
    then = f", then {HANDS[order[1]]}" if second > third else ""
    return f"leans to {HANDS[order[0]]}{then}"


def phrases() -> tuple[str, ...]:
    """Return all phrases that a reason may contain."""
    one = np.eye(len(HANDS), dtype=np.int64)
    seen = [observed(counts) for counts in (*one, *(one + 1), one[0] + one[1])]
    told = dict.fromkeys([*seen, *map(habit, CODES)])
    return (*(seat_phrase(seat, what) for what in told for seat in (1, 2)), *EVIDENCE)


CUTS = (
    r' \{"guess_s1": "\w+"',
    r', "guess_s2": "\w+"',
    r', "confidence": [\d.]+',
    rf"(?:; )?(?:{'|'.join(sorted(map(re.escape, phrases()), key=len, reverse=True))})",
    r" [A-Z]: (?:always |plays |repeats )[^;]*;",  # a strategy of the catalogue
)
"""Where replies and the catalogue are split: the parts that vary are single tokens."""
DROPPED = r'\{"round":\d+,'
"""The beginning of a round's line; no strategy depends on its number, so it is dropped."""


# --- trees of tokens

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
