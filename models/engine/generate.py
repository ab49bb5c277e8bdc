"""Text generation from a checkpoint, batched, with results independent of the batch.

The static part of a prompt is read once and shared with the scorer, the rest once for all its
samples. Then all texts grow by one token per step, in one flat pass, with their keys and values in
a cache. Networks that the flat pass does not support generate one text at a time.
"""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gauntlet.common.errors import ModelError
from gauntlet.models.base import Detail, Finish, Generate, Generation, unless_plain
from gauntlet.models.engine.equivalence_check import EquivalenceCheck, step_difference
from gauntlet.models.engine.kept_checks import differences
from gauntlet.models.engine.kv_cache import KVCache
from gauntlet.models.engine.layout import Piece
from gauntlet.models.engine.memory import TEXTS_MOST, Least, Memory, alone, state_bytes
from gauntlet.models.engine.packed import Packed
from gauntlet.models.engine.ragged_forward import Flat
from gauntlet.models.engine.reference import GoOn, Reference
from gauntlet.models.engine.sampling import (
    answer_start,
    choose,
    cut_answer,
    stream,
)
from gauntlet.models.engine.tokens import Tokens
from gauntlet.models.engine.trie import grow, shared_length
from gauntlet.models.thoughts import TAG, opens_thoughts, split_thoughts

LOG = logging.getLogger("gauntlet")


@dataclass(slots=True)
class Text:
    """One sample of a request in progress; `prompt` and `written` are tokens.

    most: the number of tokens at which it is cut, and `cut` what it is cut for.
    opened: whether the prompt has opened the model's thoughts.
    """

    request: Generate
    sample: int
    prompt: list[int]
    head: tuple[int, ...]
    rng: np.random.Generator
    most: int
    cut: Finish
    opened: bool
    written: list[int] = field(default_factory=list)
    reply: Generation | None = None

    @property
    def room(self) -> int:
        """Tokens of its keys and values at its maximum length."""
        return len(self.prompt) + self.most

    def begin_again(self) -> None:
        self.rng, self.written = stream(self.request.seed, self.sample), []


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
    ) -> None:
        """scorer: provides the forward pass and the cached static parts; None for one text at a
        time. least: agrees on a minimum with the other processes that run the network.
        thinking_room: tokens that a text may have beyond its request's limit."""
        self.network = network
        self.tokens = tokens
        self._thinking_room = thinking_room
        self._go_on = go_on
        self._tags = _thought_tags(tokens)
        self._ends = _end_tokens(network, tokens)
        self._plain = Reference(network, tokens)
        self._scorer = scorer if scorer and isinstance(scorer.engine, Flat) else None
        self.bytes = state_bytes(network.config, network.dtype.itemsize) if self._scorer else 0
        self._proof = EquivalenceCheck(
            network,
            partial(step_difference, self._plain),
            Memory(network, least),
            f"model {tokens.name!r} are written without what was kept of their beginning",
            differences(network, "steps", least is alone),
        )

    def write(self, requests: Sequence[Generate]) -> list[Generation]:
        """One reply per request, in order. Equal requests are computed once. Raises ModelError."""
        texts = self._texts(list(dict.fromkeys(requests)))
        together = [text for text in texts if self._fits(text)]
        # Texts of similar length end at similar steps, and their attention has one shape.
        together.sort(key=lambda text: (text.room, len(text.prompt)))
        while together:
            wave, together = self._wave(together)
            self._write_wave(wave)
        samples: defaultdict[Generate, list[Generation]] = defaultdict(list)
        for text in texts:
            samples[text.request].append(text.reply or self._write_one(text))
        return [_together(samples[request], request.n) for request in requests]

    def _texts(self, requests: Sequence[Generate]) -> list[Text]:
        """The texts to generate: all samples of each request, but only one at temperature 0."""
        prompts = self.tokens.encode_all([request.prompt for request in requests])
        texts = []
        for request, prompt in zip(requests, prompts, strict=True):
            head = self.tokens.head(request.prompt)
            shared = tuple(head[: min(shared_length(head, prompt), len(prompt) - 1)])
            # A cue ends the prompt, so that it need not be rendered once more.
            cue = request.prompt.cue
            opened = opens_thoughts(cue if cue.strip() else self.tokens.text(request.prompt))
            most, cut = self._most(request, len(prompt))
            for sample in range(request.n if request.temperature > 0 else 1):
                rng = stream(request.seed, sample)
                texts.append(Text(request, sample, prompt, shared, rng, most, cut, opened))
        return texts

    def _most(self, request: Generate, prompt: int) -> tuple[int, Finish]:
        """The number of tokens to write at most after this many, and what for."""
        wanted = request.max_tokens and request.max_tokens + self._thinking_room
        left = max(0, self._plain.limit - prompt)
        return (wanted, "length") if wanted <= left else (left, "context")

    def _fits(self, text: Text) -> bool:
        if self._scorer is None or not text.most:
            return False
        return self._scorer.proof.covers(text.room)

    def _wave(self, texts: list[Text]) -> tuple[list[Text], list[Text]]:
        """As many of the texts as can be generated at once, and the rest."""
        assert self._scorer is not None
        count, memory = 0, self._scorer.resident.limit
        while count < min(len(texts), TEXTS_MOST):
            if count and (count + 1) * texts[count].room * self.bytes > memory:
                break
            count += 1
        return texts[:count], texts[count:]

    def _write_wave(self, wave: list[Text]) -> None:
        """Generate the texts to their ends, in halves if memory runs out."""
        try:
            self._steps(wave)
            return
        except RuntimeError as error:
            assert self._scorer is not None
            if not self._scorer.memory.ran_out(error):
                raise
            if len(wave) == 1:
                raise ModelError(
                    f"model {self.tokens.name!r}: a text of {wave[0].room} tokens does not fit in "
                    "memory"
                ) from error
        self._scorer.make_room()
        LOG.warning("out of memory; %d texts are now written at once", len(wave) // 2)
        for half in (wave[: len(wave) // 2], wave[len(wave) // 2 :]):
            for text in half:
                text.begin_again()
            self._write_wave([text for text in half if text.reply is None])

    @torch.inference_mode()
    def _steps(self, wave: list[Text]) -> None:
        assert self._scorer is not None
        flat = self._scorer.engine
        assert isinstance(flat, Flat)
        wave = sorted(wave, key=lambda text: len(text.prompt))
        logits, cache = self._read(flat, wave)
        active = list(wave)
        while True:
            self._go_on()
            self._extend(active, logits)
            rows = [row for row, text in enumerate(active) if text.reply is None]
            if not rows:
                return
            # Copying is expensive; finished rows cost little until they are half of all.
            if 2 * len(rows) <= len(active):
                cache.keep(rows)
                active = [active[row] for row in rows]
            logits = self._step(flat, active, cache)

    def _read(self, flat: Flat, wave: Sequence[Text]) -> tuple[Tensor, KVCache]:
        """The logits after each prompt, and the cache that holds the prompts."""
        assert self._scorer is not None
        cache: KVCache | None = None
        rows: list[Tensor] = []
        # Samples of one prompt are adjacent, so it is read once for all of them.
        same = [list(group) for _, group in groupby(wave, key=lambda text: text.prompt)]
        copies = {id(group[0]): len(group) for group in same}
        packs = self._packs([group[0] for group in same])
        widest = max(sum(len(text.prompt) - len(text.head) for text in pack) for pack in packs)
        held = len(wave) * max(text.room for text in wave) * self.bytes
        self._scorer.memory.claim(max(widest, *(len(t.head) for t in wave)), further=held)
        for pack in packs:
            pasts = [self._scorer.past(text.head) for text in pack]
            trees = [grow([text.prompt[len(text.head) :]]) for text in pack]
            logits, states = flat.read(
                [Piece(tree, past) for tree, past in zip(trees, pasts, strict=True)]
            )
            cache = cache or KVCache(states[0], len(wave), max(text.room for text in wave))
            for text, past, own, row in zip(pack, pasts, states, logits, strict=True):
                for _ in range(copies[id(text)]):
                    cache.add(past, own)
                    rows.append(row)
        assert cache is not None
        return torch.stack(rows), cache

    def _packs(self, wave: Sequence[Text]) -> list[list[Text]]:
        assert self._scorer is not None
        packs: list[list[Text]] = [[]]
        tokens = 0
        for text in wave:
            new = len(text.prompt) - len(text.head)
            if packs[-1] and tokens + new > self._scorer.pack_tokens:
                packs.append([])
                tokens = 0
            packs[-1].append(text)
            tokens += new
        return packs

    def _step(self, flat: Flat, active: Sequence[Text], cache: KVCache) -> Tensor:
        """Logits after the last token of every active text."""
        padded = flat.step_rows(len(active))
        tokens = np.zeros(padded, dtype=np.int64)
        tokens[: len(active)] = [text.written[-1] for text in active]
        places = np.zeros(padded, dtype=np.int64)
        places[: len(active)] = cache.lengths
        with cache.growing() as mixing:
            logits = flat.step(
                torch.from_numpy(tokens).to(flat.device),
                torch.from_numpy(places).to(flat.device),
                int(places.max()),
                mixing,
            )
        return logits[: len(active)]

    def _extend(self, active: Sequence[Text], logits: Tensor) -> None:
        """Append the next token, or end the text, for every unfinished text."""
        likeliest = logits.argmax(dim=-1).tolist()
        for row, text in enumerate(active):
            if text.reply is None:
                temperature = text.request.temperature
                drawn = temperature > 0
                self._add(
                    text, choose(logits[row], temperature, text.rng) if drawn else likeliest[row]
                )
            else:
                text.written.append(0)  # fills its row of the pass

    def _add(self, text: Text, token: int) -> None:
        ended = token in self._ends
        if not ended:
            text.written.append(token)
        ended_or_full = ended or len(text.written) >= text.most
        if not ended_or_full and not self._may_stop(text):
            return
        whole, stopped = cut_answer(self._decode(text.written), text.request.stop, text.opened)
        if ended_or_full or stopped:
            text.reply = self._reply(
                text, whole, "stop_string" if stopped else "stop" if ended else text.cut
            )
            text.written = text.written or [0]

    def _reply(self, text: Text, whole: str, finish: Finish) -> Generation:
        thoughts, answer = split_thoughts(whole, text.opened)
        detail = Detail(finish, thoughts)
        return Generation(
            answer,
            len(text.prompt),
            len(text.written),
            details=unless_plain([detail]),
            thought_tokens=self._count_thoughts(text) if thoughts else 0,
        )

    def _count_thoughts(self, text: Text) -> int:
        """The number of tokens up to the end of the last thoughts."""

        def tags(count: int) -> int:
            return len(TAG.findall(self._decode(text.written[:count])))

        every = len(text.written)
        if answer_start(self._decode(text.written), text.opened) is None:
            return every
        return bisect_left(range(every), tags(every), key=tags)

    def _decode(self, written: Sequence[int]) -> str:
        """The text of tokens, without special tokens other than tags of thoughts."""
        parts, start = [], 0
        for place, token in enumerate(written) if self._tags else ():
            if token in self._tags:
                parts += [self.tokens.decode(written[start:place]), self._tags[token]]
                start = place + 1
        return "".join([*parts, self.tokens.decode(written[start:])])

    def _may_stop(self, text: Text) -> bool:
        """Whether a stop string is near the end; far cheaper than decoding the whole text."""
        if not text.request.stop:
            return False
        # A character takes at most four tokens, of one byte each.
        near = 4 * max(map(len, text.request.stop)) + 4
        last = self.tokens.decode(text.written[-near:])
        return any(stop in last for stop in text.request.stop)

    def _write_one(self, text: Text) -> Generation:
        """Generate one text with the library's forward pass, and its cache if verified."""
        feed = self._plain.begin() if self.cached(text.room) else None
        new = text.prompt
        while text.reply is None and text.most:
            self._go_on()
            logits = feed(new) if feed else self._plain.logits(text.prompt + text.written)
            self._extend([text], logits[None])
            new = text.written[-1:]
        return text.reply or self._reply(text, "", text.cut)

    def cached(self, room: int) -> bool:
        """Whether the library's cache is verified to be exact for texts of this many tokens."""
        return self._proof.covers(room)


def _together(samples: Sequence[Generation], n: int) -> Generation:
    """The reply of n samples; a single one is repeated n times."""
    every = list(samples) if len(samples) == n else [*samples] * n
    first, *others = every
    details = [sample.detail() for sample in every]
    return Generation(
        first.text,
        first.prompt_tokens,
        sum(sample.tokens for sample in every),
        tuple(sample.text for sample in others),
        unless_plain(details),
        sum(sample.thought_tokens for sample in every),
    )


def _thought_tags(tokens: Tokens) -> dict[int, str]:
    """The special tokens that are tags of thoughts."""
    added = getattr(tokens.tokenizer, "added_tokens_decoder", {})
    return {n: str(t) for n, t in added.items() if t.special and TAG.fullmatch(str(t))}


def _end_tokens(network: Any, tokens: Tokens) -> frozenset[int]:
    """All end-of-text tokens that the checkpoint's files name."""
    settings = network.generation_config.eos_token_id
    listed = settings if isinstance(settings, list) else [settings]
    return frozenset(t for t in (*listed, tokens.tokenizer.eos_token_id) if t is not None)
