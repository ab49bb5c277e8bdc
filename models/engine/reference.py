"""The plain scorer: one prompt a forward pass, and nothing clever. The packed one must agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from common.errors import ModelError
from models.base import Score, Scores
from models.engine.tokens import Tokens


class Reference:
    """Scores prompts one at a time with the library's own forward pass."""

    def __init__(self, network: Any, tokens: Tokens) -> None:
        self.network = network
        self.tokens = tokens

    def score(self, requests: Sequence[Score]) -> list[Scores]:
        return [self._score(request) for request in requests]

    def _score(self, request: Score) -> Scores:
        spellings = self.tokens.spellings(request.choices)
        texts = [self.tokens.encode(prompt) for prompt in request.prompts]
        rows = []
        for text in texts:
            logprobs = self.next_token(text)
            rows.append(tuple(max(float(logprobs[t]) for t in ids) for ids in spellings))
        return Scores(tuple(rows), tuple(map(len, texts)))

    @torch.inference_mode()
    def next_token(self, text: Sequence[int]) -> torch.Tensor:
        """Log-probabilities of the next token, (vocabulary,), float32. Raises ModelError."""
        limit = self.network.config.max_position_embeddings
        if len(text) > limit:
            raise ModelError(
                f"a prompt has {len(text)} tokens; model {self.tokens.name!r} reads at most {limit}"
            )
        batch = torch.tensor([list(text)], device=self.network.device)
        logits = self.network(input_ids=batch, use_cache=False, logits_to_keep=1).logits
        return torch.log_softmax(logits[0, -1].float(), dim=-1)
