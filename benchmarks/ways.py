"""Other ways to score the same prompts on the same network, for comparison with the packed scorer.

Each takes requests and returns one row of log-probabilities per prompt, so that it can be checked
against the reference scorer before it is timed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from gauntlet.models.base import Prompt, Score
from gauntlet.models.engine.tokens import Tokens

Rows = list[list[float]]


class Loop:
    """The published loop: `generate(max_new_tokens=1)` per prompt, batch 1, softmax over the whole
    vocabulary, the likelier of an answer's two spellings."""

    def __init__(self, network: Any, tokens: Tokens) -> None:
        self.network, self.tokens = network, tokens

    @torch.inference_mode()
    def score(self, requests: Sequence[Score]) -> Rows:
        return [self._row(prompt, r.choices) for r in requests for prompt in r.prompts]

    def _row(self, prompt: Prompt, choices: tuple[str, ...]) -> list[float]:
        ids = torch.tensor([self.tokens.encode(prompt)], device=self.network.device)
        out = self.network.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=1,
            do_sample=False,
            output_scores=True,
            return_dict_in_generate=True,
            pad_token_id=0,
        )
        chances = torch.softmax(out.scores[0][0].float(), dim=-1).cpu()
        spelt = self.tokens.spellings(choices)
        return [max(float(chances[token].log()) for token in ids) for ids in spelt]


class Forward:
    """A bare forward pass per prompt: last logits only, no cache, prompts tokenized beforehand."""

    def __init__(self, network: Any, tokens: Tokens, requests: Sequence[Score]) -> None:
        self.network = network
        self.requests = [
            (
                [torch.tensor([ids], device=network.device) for ids in encoded(tokens, request)],
                tokens.spellings(request.choices),
            )
            for request in requests
        ]

    @torch.inference_mode()
    def score(self) -> Rows:
        rows: Rows = []
        for texts, spelt in self.requests:
            for ids in texts:
                out = self.network(input_ids=ids, use_cache=False, logits_to_keep=1)
                rows.extend(read(out.logits[:, -1], [spelt]))
        return rows


class Cached:
    """Plain transformers at its best: the static part's keys and values cached, the prompts of many
    decisions in padded batches of similar length, last logits only, tokenized beforehand."""

    def __init__(self, network: Any, tokens: Tokens, requests: Sequence[Score], batch: int) -> None:
        self.network, self.batch = network, batch
        head = tokens.head(requests[0].prompts[0])
        prompts = [
            (ids, tokens.spellings(request.choices))
            for request in requests
            for ids in encoded(tokens, request)
        ]
        if any(ids[: len(head)] != head for ids, _ in prompts):
            raise ValueError("the prompts do not share one static part")
        self.suffixes = [(ids[len(head) :], spelt) for ids, spelt in prompts]
        self.order = sorted(range(len(prompts)), key=lambda i: len(prompts[i][0]))
        self.head = torch.tensor([head], device=network.device)
        self.kept = self._layers()

    @torch.inference_mode()
    def _layers(self) -> list[tuple[Tensor, Tensor]]:
        cache = DynamicCache()
        self.network(input_ids=self.head, past_key_values=cache, use_cache=True, logits_to_keep=1)
        layers: list[Any] = list(cache.layers)
        return [(layer.keys, layer.values) for layer in layers]

    @torch.inference_mode()
    def score(self) -> Rows:
        rows: dict[int, list[float]] = {}
        for start in range(0, len(self.order), self.batch):
            part = self.order[start : start + self.batch]
            logits = self._batch([self.suffixes[i][0] for i in part])
            rows.update(zip(part, read(logits, [self.suffixes[i][1] for i in part]), strict=True))
        return [rows[i] for i in range(len(rows))]

    def _batch(self, texts: list[list[int]]) -> Tensor:
        past, longest, device = self.head.shape[1], max(map(len, texts)), self.head.device
        cache = DynamicCache()
        for number, (keys, values) in enumerate(self.kept):
            cache.update(
                keys.expand(len(texts), -1, -1, -1), values.expand(len(texts), -1, -1, -1), number
            )
        padding = [longest - len(text) for text in texts]
        ids = torch.tensor([[0] * n + t for n, t in zip(padding, texts, strict=True)])
        mask = torch.tensor([[1] * past + [0] * n + [1] * (longest - n) for n in padding])
        places = torch.tensor([[0] * n + list(range(past, past + longest - n)) for n in padding])
        out = self.network(
            input_ids=ids.to(device),
            attention_mask=mask.to(device),
            position_ids=places.to(device),
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        last: Tensor = out.logits[:, -1]
        return last


def encoded(tokens: Tokens, request: Score) -> list[list[int]]:
    return [tokens.encode(prompt) for prompt in request.prompts]


def read(logits: Tensor, spelt: Sequence[Sequence[tuple[int, ...]]]) -> Rows:
    """Return the log-probabilities of each row's choices from its logits."""
    logprobs = torch.log_softmax(logits.float(), dim=-1)
    wanted = [sorted({token for ids in choices for token in ids}) for choices in spelt]
    picked = [row[ids].tolist() for row, ids in zip(logprobs, wanted, strict=True)]
    tables = [dict(zip(ids, row, strict=True)) for ids, row in zip(wanted, picked, strict=True)]
    return [
        [max(table[token] for token in ids) for ids in choices]
        for table, choices in zip(tables, spelt, strict=True)
    ]
