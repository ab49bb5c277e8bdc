"""A trainable checkpoint that chooses letters."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM
from transformers.utils.logging import disable_progress_bar

from gauntlet.agents.prompting.cloze import LETTERS
from gauntlet.models.base import Prompt
from gauntlet.models.engine.tokens import load_tokens


class Policy:
    """A causal language model in float32, read as in the pipeline: same tokens, and for each letter
    the more likely of its spellings."""

    def __init__(self, folder: Path) -> None:
        disable_progress_bar()  # type: ignore[no-untyped-call]
        load: Any = AutoModelForCausalLM.from_pretrained
        self.network: Any = load(folder, dtype=torch.float32)
        self.tokens = load_tokens(folder, str(folder), chat=False)
        self.spellings = self.tokens.spellings(LETTERS)

    def logprobs(self, prompts: Sequence[Prompt], options: Sequence[int]) -> Tensor:
        """Return the log-probability of each letter among those offered: (prompts, 26), minus
        infinity for the others. options: the number of letters offered by each prompt."""
        states = self._last_states(self.tokens.encode_all(prompts))
        logits = self.network.get_output_embeddings()(states)
        letters = torch.stack([logits[:, list(own)].amax(1) for own in self.spellings], dim=1)
        beyond = torch.arange(len(LETTERS)) >= torch.tensor(options)[:, None]
        return letters.masked_fill(beyond, float("-inf")).log_softmax(1)

    def save(self, folder: Path, report: Mapping[str, Any]) -> None:
        """Write a folder that `model=hf model.path=... model.dtype=float32` loads."""
        self.network.save_pretrained(folder)
        self.tokens.tokenizer.save_pretrained(folder)
        (folder / "training.json").write_text(json.dumps(report, indent=2) + "\n")

    def _last_states(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """Return the hidden states (prompts, width) at each row's last token. Padding comes after
        it, where a causal network does not look."""
        ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
        for row, own in enumerate(rows):
            ids[row, : len(own)] = torch.tensor(own)
        states = self.network.base_model(ids, use_cache=False).last_hidden_state
        ends = torch.tensor([len(own) - 1 for own in rows])
        found: Tensor = states[torch.arange(len(rows)), ends]
        return found
