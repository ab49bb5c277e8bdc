"""Text generation from a checkpoint, batched, with results independent of the batch.

The static part of a prompt is read once and shared with the scorer, the rest once for all its
samples. Then all texts grow by one token per step, in one flat pass, with their keys and values in
a cache (`writing.py`). A text that ends is delivered at once, and others take its place. Networks
that the flat pass does not support generate one text at a time.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from gauntlet.common.errors import ModelError
from gauntlet.models.base import Finish, Generate, Generation, merge_samples
from gauntlet.models.engine.equivalence_check import EquivalenceCheck, differences, step_difference
from gauntlet.models.engine.memory import TEXTS_MOST, Least, Memory, alone
from gauntlet.models.engine.packed import Packed
from gauntlet.models.engine.ragged_forward import Flat
from gauntlet.models.engine.reference import GoOn, Reference
from gauntlet.models.engine.text import Endings, Text
from gauntlet.models.engine.tokens import Tokens, shared_length
from gauntlet.models.engine.writing import Writing

LOG = logging.getLogger("gauntlet")

SPELL = 16
"""Steps between two looks for further requests."""

Numbered = Sequence[tuple[int, Generate]]
"""Requests with the numbers under which their replies are delivered."""


@dataclass(slots=True)
class _Request:
    """A request in progress, the numbers of all that are equal to it, and its texts."""

    n: int
    numbers: list[int]
    texts: list[Text]

    def deliver(self, done: Callable[[int, Generation], None]) -> bool:
        """Deliver the reply if all texts have ended; return whether they have."""
        replies = [text.reply for text in self.texts if text.reply]
        if len(replies) < len(self.texts):
            return False
        for number in self.numbers:
            done(number, merge_samples(replies, self.n))
        return True


class Generator:
    """Generates token by token: greedily, or sampled with the request's own seed."""

    def __init__(
        self,
        network: Any,
        tokens: Tokens,
        scorer: Packed | None = None,
        least: Least = alone,
        thinking_room: int = 0,
        go_on: GoOn = lambda: None,
        end_loops: int = 0,
    ) -> None:
        """scorer: provides the forward pass and the cached static parts; None for one text at a
        time. least: agrees on a minimum with the other processes that run the network.
        thinking_room: tokens that a text may have beyond its request's limit.
        end_loops: see `Endings`."""
        self.network, self.tokens = network, tokens
        self._thinking_room = thinking_room
        self._go_on = go_on
        self._endings = Endings(network, tokens, end_loops)
        self._plain = Reference(network, tokens)
        self._scorer = scorer if scorer and isinstance(scorer.engine, Flat) else None
        self._left: Writing | None = None
        self._most_texts = TEXTS_MOST
        self._proof = EquivalenceCheck(
            network,
            partial(step_difference, self._plain),
            Memory(network, least),
            f"model {tokens.name!r} are written without what was kept of their beginning",
            differences(network, "steps", least is alone),
        )

    def write(self, requests: Sequence[Generate]) -> list[Generation]:
        """One reply per request, in order. Raises ModelError."""
        replies: dict[int, Generation] = {}
        self.write_on(list(enumerate(requests)), list, replies.__setitem__)
        return [replies[number] for number in range(len(requests))]

    def write_on(
        self,
        new: Numbered,
        more: Callable[[], Numbered],
        done: Callable[[int, Generation], None],
    ) -> None:
        """Answer the new requests and those that `more` returns meanwhile, each as soon as it is
        done. Equal requests are computed once. Raises ModelError."""
        requests: dict[Generate, _Request] = {}
        waiting: deque[Text] = deque()
        alone: deque[Text] = deque()
        writing, self._left = self._left or self._new_writing(), None
        while True:
            for text in self._begin(new, requests):
                (waiting if self._fits(text) else alone).append(text)
            if alone:
                self._write_one(alone.popleft())
            self._write_some(writing, waiting, partial(_deliver, requests, done))
            _deliver(requests, done)
            new = more()
            if not (new or waiting or alone or requests):
                self._left = writing  # its last texts may be asked for again with more room
                return

    def _begin(self, new: Numbered, requests: dict[Generate, _Request]) -> list[Text]:
        """Add the requests to those in progress; return the texts that are not among these."""
        texts: list[Text] = []
        prompts = self.tokens.encode_all([request.prompt for _, request in new])
        for (number, request), prompt in zip(new, prompts, strict=True):
            # Greedy texts do not depend on the seed.
            key = request if request.temperature > 0 else replace(request, seed=0)
            if key in requests:
                requests[key].numbers.append(number)
            else:
                requests[key] = _Request(request.n, [number], self._texts(key, prompt))
                texts += requests[key].texts
        return texts

    def _texts(self, request: Generate, prompt: list[int]) -> list[Text]:
        """All samples of the request, but only one at temperature 0."""
        head = self.tokens.head(request.prompt)
        shared = tuple(head[: min(shared_length(head, prompt), len(prompt) - 1)])
        # A cue ends the prompt, so that it need not be rendered once more.
        cue = request.prompt.cue
        prompt_end = cue if cue.strip() else self.tokens.text(request.prompt)
        opened = self.tokens.thoughts.opened_by(prompt_end)
        most, cut = self._most(request, len(prompt))
        samples = range(request.n if request.temperature > 0 else 1)
        return [Text(request, sample, prompt, shared, most, cut, opened) for sample in samples]

    def _most(self, request: Generate, prompt: int) -> tuple[int, Finish]:
        """The number of tokens to write at most after this many, and what for."""
        wanted = request.max_tokens and request.max_tokens + self._thinking_room
        left = max(0, self._plain.limit - prompt)
        return (wanted, "length") if wanted <= left else (left, "context")

    def _fits(self, text: Text) -> bool:
        if self._scorer is None or not text.most:
            return False
        return self._scorer.proof.covers(text.room)

    def _new_writing(self) -> Writing | None:
        return Writing(self._scorer, self._endings) if self._scorer else None

    def _write_some(
        self, writing: Writing | None, waiting: deque[Text], on_end: Callable[[], None]
    ) -> None:
        """Let waiting texts join where there is room, and write for some steps; with half as many
        texts if memory runs out."""
        if writing is None or not (waiting or writing.unfinished):
            return
        new = [waiting.popleft() for _ in range(self._room(writing.unfinished, waiting))]
        at_once = [*writing.unfinished, *new]
        try:
            writing.join(new)
            for _ in range(SPELL):
                self._go_on()
                if writing.step():
                    on_end()
                if not writing.unfinished:
                    return
        except RuntimeError as error:
            unfinished = [text for text in at_once if text.reply is None]
            self._make_room(len(unfinished), unfinished[0].room, error)
            writing.clear()
            for text in unfinished:
                text.begin_again()
            waiting.extendleft(reversed(unfinished))

    def _room(self, under_way: Sequence[Text], waiting: Sequence[Text]) -> int:
        """How many of the waiting texts may join."""
        assert self._scorer is not None
        longest = max((text.room for text in under_way), default=0)
        for count, text in enumerate(waiting):
            longest, all_texts = max(longest, text.room), len(under_way) + count + 1
            held = all_texts * longest * self._scorer.state_bytes
            if all_texts > 1 and (all_texts > self._most_texts or held > self._scorer.text_bytes):
                return count
        return len(waiting)

    def _make_room(self, at_once: int, room: int, error: RuntimeError) -> None:
        """From now on write half as many texts at once. Raises the error if it is not about memory,
        and ModelError if there was one text, of so much room."""
        assert self._scorer is not None
        if not self._scorer.memory.ran_out(error):
            raise error
        if at_once == 1:
            raise ModelError(
                f"model {self.tokens.name!r}: a text of {room} tokens does not fit in memory"
            ) from error
        self._scorer.make_room()
        self._most_texts = at_once // 2
        LOG.warning("out of memory; %d texts are now written at once", self._most_texts)

    def _write_one(self, text: Text) -> None:
        """Generate one text with the library's forward pass, and its cache if verified."""
        feed = self._plain.begin() if self.cached(text.room) else None
        new = text.prompt
        if not text.most:
            self._endings.end(text, "", text.cut)
        while text.reply is None:
            self._go_on()
            logits = feed(new) if feed else self._plain.logits(text.prompt + text.written)
            self._endings.extend([text], logits[None])
            new = text.written[-1:]

    def cached(self, room: int) -> bool:
        """Whether the library's cache is verified to be exact for texts of this many tokens."""
        return self._proof.covers(room)


def _deliver(requests: dict[Generate, _Request], done: Callable[[int, Generation], None]) -> None:
    """Deliver what has ended, and forget it."""
    for key in [key for key, request in requests.items() if request.deliver(done)]:
        del requests[key]
