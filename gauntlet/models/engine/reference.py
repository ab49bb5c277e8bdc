"""The plain scorer: one prompt per forward pass. The packed one must agree with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature
from typing import Any

import torch
from transformers import DynamicCache

from gauntlet.common.errors import ModelError
from gauntlet.models.base import Score, Scores
from gauntlet.models.engine.tokens import Tokens

REFUSALS = (
    *(TypeError, ValueError, KeyError, IndexError, AttributeError, RuntimeError),
    AssertionError,
)
"""What a network raises for inputs that it does not accept."""
LIMITS = ("max_position_embeddings", "max_seq_len")
"""Config names of the maximum text length, unless the config maps the first to another name."""
ENDLESS = 1 << 30

GoOn = Callable[[], None]
"""Called between forward passes; raises ModelError once the model's answers are cancelled."""
Feed = Callable[[Sequence[int]], torch.Tensor]
"""Feeds more tokens of a text; returns the logits (vocabulary,) after the last one."""


class Reference:
    """Scores prompts one at a time with the library's own forward pass.

    limit: the maximum length in tokens.
    vocabulary: the number of logits.
    """

    def __init__(self, network: Any, tokens: Tokens, go_on: GoOn = lambda: None) -> None:
        self.network = network
        self.tokens = tokens
        self._go_on = go_on
        self.limit = longest(network.config)
        self.vocabulary: int = network.config.get_text_config(decoder=True).vocab_size
        known = signature(network.forward).parameters
        wanted = {"use_cache": False, "logits_to_keep": 1}
        self._options = {name: value for name, value in wanted.items() if name in known}

    def score(self, requests: Sequence[Score]) -> list[Scores]:
        return [self._score(request) for request in requests]

    def _score(self, request: Score) -> Scores:
        spellings = self.tokens.spellings(request.choices)
        texts = [self.tokens.encode(prompt, answering=True) for prompt in request.prompts]
        rows = []
        for text in texts:
            self._go_on()
            logprobs = self.next_token(text)
            rows.append(tuple(max(float(logprobs[t]) for t in ids) for ids in spellings))
        return Scores(tuple(rows), tuple(map(len, texts)))

    def next_token(self, text: Sequence[int]) -> torch.Tensor:
        """Log-probabilities of the next token, (vocabulary,), float32. Raises ModelError."""
        logprobs = torch.log_softmax(self.logits(text), dim=-1)
        check_finite(logprobs.max(), self.network.dtype, self.tokens.name)
        return logprobs

    def logits(self, text: Sequence[int]) -> torch.Tensor:
        """Logits of the next token, (vocabulary,), float32. Raises ModelError."""
        if len(text) > self.limit:
            raise ModelError(
                f"{len(text)} tokens exceed the context of {self.limit} of model "
                f"{self.tokens.name!r}"
            )
        try:
            return self._after(text)
        except REFUSALS as error:
            why = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise ModelError(
                f"model {self.tokens.name!r} cannot read a text of {len(text)} tokens: {why}"
            ) from error

    def begin(self) -> Feed:
        """Start a text that the library reads in parts with its own cache; the returned
        function raises one of `REFUSALS` if it cannot."""
        cache = DynamicCache(config=self.network.config)
        return partial(self._after, use_cache=True, past_key_values=cache)

    @torch.inference_mode()
    def _after(self, tokens: Sequence[int], **options: Any) -> torch.Tensor:
        batch = torch.tensor([list(tokens)], device=self.network.device)
        logits: torch.Tensor = self.network(input_ids=batch, **{**self._options, **options}).logits
        return logits[0, -1].float()


def check_finite(numbers: torch.Tensor, dtype: torch.dtype, name: str) -> None:
    """Raises ModelError unless all are finite: largest logits, or log-probabilities, which are no
    numbers if one of the logits is none."""
    if not torch.isfinite(numbers).all():
        short = str(dtype).removeprefix("torch.")
        remedy = "use bfloat16 or float32" if short == "float16" else "are its weights damaged?"
        raise ModelError(f"model {name!r}: its logits are not finite in {short}; {remedy}")


def longest(config: Any) -> int:
    """The maximum text length of a network with this config; ENDLESS if it gives none."""
    text = config.get_text_config(decoder=True)
    settings = text.to_dict()
    limits = (settings.get(text.attribute_map.get(name, name)) for name in LIMITS)
    return next((int(limit) for limit in limits if limit), ENDLESS)
