"""A text in progress: how its tokens are chosen, when it ends, and the reply that it becomes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gauntlet.models.base import Detail, Finish, Generate, Generation, unless_plain
from gauntlet.models.chat import Pair, Thoughts
from gauntlet.models.engine.reference import check_finite
from gauntlet.models.engine.tokens import Tokens

REPEATS = 3
"""How often a text that loops has the same part, at least."""
ALIKE = 3
"""Tokens that must have come before in the same order for a guess of what follows."""


@dataclass(slots=True, eq=False)
class Text:
    """One sample of a request; `prompt` and `written` are tokens.

    head: the static part of the prompt, which other texts share.
    most: the number of tokens at which it is cut, and `cut` what it is cut for.
    opened: the tags of thoughts that the prompt has opened.
    """

    request: Generate
    sample: int
    prompt: list[int]
    head: tuple[int, ...]
    most: int
    cut: Finish
    opened: Pair | None
    rng: np.random.Generator = field(init=False)
    written: list[int] = field(default_factory=list)
    reply: Generation | None = None
    _followers: dict[tuple[int, ...], int] = field(init=False)
    """Where each ALIKE tokens that have a follower were followed last."""
    _indexed: int = field(init=False)

    def __post_init__(self) -> None:
        self.begin_again()

    @property
    def room(self) -> int:
        """Tokens of its keys and values at its maximum length."""
        return len(self.prompt) + self.most

    @property
    def states(self) -> int:
        """Tokens whose keys and values are known: all but the last written one."""
        return len(self.prompt) + len(self.written) - 1

    @property
    def wording(self) -> tuple[Generate, int]:
        """What determines its tokens, apart from where it is cut."""
        return replace(self.request, max_tokens=0, n=1), self.sample

    def begin_again(self) -> None:
        self.rng, self.written = stream(self.request.seed, self.sample), []
        self._followers, self._indexed = {}, 0

    def go_on(self, other: Text) -> None:
        """Take over what the other, of the same wording, has written."""
        self.rng, self.written = other.rng, other.written

    def guess(self, most: int) -> list[int]:
        """The next tokens, if the text goes on as it did after its last ALIKE tokens before: `most`
        of them, or none (Yang et al. 2023, "Inference with Reference")."""
        tokens = self.prompt + self.written
        for place in range(self._indexed, len(tokens) - ALIKE):
            self._followers[tuple(tokens[place : place + ALIKE])] = place + ALIKE
        self._indexed = max(0, len(tokens) - ALIKE)
        start = self._followers.get(tuple(tokens[-ALIKE:]), len(tokens))
        repeated = tokens[start:]
        return [repeated[at % len(repeated)] for at in range(most)] if repeated else []


class Endings:
    """Adds tokens to texts, and makes replies of those that end."""

    def __init__(self, network: Any, tokens: Tokens, end_loops: int = 0) -> None:
        """end_loops: end a text whose last so many tokens repeat one part; 0 for never."""
        self._tokens, self._end_loops = tokens, end_loops
        self._dtype: torch.dtype = network.dtype
        self._thoughts = tokens.thoughts
        self._tags = _thought_tags(tokens)
        self._ends = _end_tokens(network, tokens)

    def extend(
        self, texts: Sequence[Text], logits: Tensor, guesses: Sequence[Sequence[int]] = ()
    ) -> None:
        """Append the next token, or end the text, for every text in progress; and one more token
        for each guess that came true.

        logits: for each text a row after its last token, then one after each of its guesses. Raises
            ModelError if they are not finite.
        """
        largest, places = logits.max(dim=-1)
        check_finite(largest, self._dtype, self._tokens.name)
        likeliest, row = places.tolist(), 0
        for text, guess in zip(texts, guesses or [()] * len(texts), strict=True):
            rows = slice(row, row + 1 + len(guess))
            self._follow(text, guess, logits[rows], likeliest[rows])
            row = rows.stop

    def _follow(
        self, text: Text, guess: Sequence[int], logits: Tensor, likeliest: Sequence[int]
    ) -> None:
        """Use a row of a text, and the next one as long as its guess was right."""
        warm = text.request.temperature
        for row, expected in enumerate([*guess, None]):
            if text.reply is not None:
                return
            token = choose(logits[row], warm, text.rng) if warm > 0 else likeliest[row]
            self._add(text, token)
            if token != expected:
                return

    def _add(self, text: Text, token: int) -> None:
        ended = token in self._ends
        if not ended:
            text.written.append(token)
        ended_or_full = ended or len(text.written) >= text.most
        looping = not ended_or_full and loops(text.written, self._end_loops)
        if not ended_or_full and not looping and not self._may_stop(text):
            return
        full, stopped = cut_answer(
            self._decode(text.written), text.request.stop, self._thoughts, text.opened
        )
        if stopped:
            self.end(text, full, "stop_string")
        elif ended_or_full or looping:
            self.end(text, full, "stop" if ended else "loop" if looping else text.cut)

    def end(self, text: Text, full_text: str, finish: Finish) -> None:
        """Give the text its reply."""
        thoughts, answer = self._thoughts.split(full_text, text.opened)
        text.reply = Generation(
            answer,
            len(text.prompt),
            len(text.written),
            details=unless_plain([Detail(finish, thoughts)]),
            thought_tokens=self._count_thoughts(text) if thoughts else 0,
        )

    def _count_thoughts(self, text: Text) -> int:
        """The number of tokens up to the end of the last thoughts."""
        every = range(len(text.written))
        *_, last = self._thoughts.segments(self._decode(text.written), text.opened)
        if last.pair:
            return len(every)
        return bisect_left(
            every, last.start, key=lambda count: len(self._decode(text.written[:count]))
        )

    def _decode(self, written: Sequence[int]) -> str:
        """The text of tokens, without special tokens other than those of thoughts."""
        parts, start = [], 0
        for place, token in enumerate(written) if self._tags else ():
            if token in self._tags:
                parts += [self._tokens.decode(written[start:place]), self._tags[token]]
                start = place + 1
        return "".join([*parts, self._tokens.decode(written[start:])])

    def _may_stop(self, text: Text) -> bool:
        """Whether a stop string is near the end; far cheaper than decoding the whole text."""
        if not text.request.stop:
            return False
        # A character takes at most four tokens, of one byte each.
        near = 4 * max(map(len, text.request.stop)) + 4
        last = self._tokens.decode(text.written[-near:])
        return any(stop in last for stop in text.request.stop)


def loops(written: Sequence[int], last: int) -> bool:
    """Whether the text ends in one part again and again: in its last `last` tokens, and `REPEATS`
    times or more. Looks at every 16th length only; 0 is no loop."""
    if not last or len(written) < last or len(written) % 16:
        return False
    tokens = np.array(written)
    for period in len(tokens) - 1 - np.flatnonzero(tokens[:-1] == tokens[-1])[::-1]:
        tail = tokens[-max(last, REPEATS * int(period)) :]
        if len(tail) >= REPEATS * period and np.array_equal(tail[period:], tail[:-period]):
            return True
    return False


def _thought_tags(tokens: Tokens) -> dict[int, str]:
    """The special tokens that are tags of thoughts, or parts of them."""
    added = getattr(tokens.tokenizer, "added_tokens_decoder", {})
    special = {number: str(token) for number, token in added.items() if token.special}
    return {number: token for number, token in special.items() if tokens.thoughts.is_tag(token)}


def _end_tokens(network: Any, tokens: Tokens) -> frozenset[int]:
    """All end-of-text tokens that the checkpoint's files name."""
    settings = network.generation_config.eos_token_id
    listed = settings if isinstance(settings, list) else [settings]
    return frozenset(t for t in (*listed, tokens.tokenizer.eos_token_id) if t is not None)


def stream(seed: int, sample: int) -> np.random.Generator:
    """The random stream of one sample; the first sample uses the seed itself."""
    key = (sample,) if sample else ()
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def choose(logits: torch.Tensor, temperature: float, rng: np.random.Generator) -> int:
    """The argmax at temperature 0, else a sample from softmax(logits / temperature)."""
    if temperature <= 0:
        return int(logits.argmax())
    below = logits.double() - logits.max()  # divided afterwards, so that nothing overflows to nan
    chances = torch.softmax(below / temperature, dim=-1).cumsum(dim=-1).cpu().numpy()
    return int(np.searchsorted(chances, rng.random() * chances[-1], side="right"))


def cut_answer(
    text: str, stops: Sequence[str], thoughts: Thoughts, opened: Pair | None
) -> tuple[str, bool]:
    """The text before the first stop string of its answer, and whether there was one. opened: the
    tags of thoughts that the prompt has opened."""
    start = thoughts.answer_start(text, opened)
    at = () if start is None else [text.find(stop, start) for stop in stops]
    places = [place for place in at if place >= 0]
    return (text[: min(places)], True) if places else (text, False)
