"""Tiny checkpoints with random weights, built on the fly, and a tokenizer."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

from gauntlet.common.errors import ModelError
from gauntlet.models.base import Prompt, Score, Scores
from gauntlet.models.checkpoint import Checkpoint

COLOURS = ("red", "green", "blue", "yellow")
RULES = (
    "You are player 1 in a game of UNO.\nGoal: win the game yourself.\n\nRules: play a card that "
    "has the colour or the number of the last card, or draw one.\n\n"
)

CHAT = (
    "{% for m in messages %}<s>{{ m.role }}\n{{ m.content | trim }}</s>\n{% endfor %}"
    "{% if add_generation_prompt %}<s>assistant\n{% endif %}"
)
"""A chat template that shows every role."""

MakeCheckpoint = Callable[..., Path]


def load(folder: Path, **settings: object) -> Any:
    return Checkpoint(str(folder), **settings).load()  # type: ignore[arg-type]


def numbers(replies: Iterable[object]) -> np.ndarray:
    """All log-probabilities of the scores among the replies."""
    rows = [row for reply in replies if isinstance(reply, Scores) for row in reply.logprobs]
    return np.array([value for row in rows for value in row])


def decision(rng: random.Random) -> Score:
    """A cloze question under every rotation of two to five cards."""
    cards = [f"{rng.choice(COLOURS)} {rng.randrange(10)}" for _ in range(rng.randint(2, 5))]
    situation = f"Hand: {', '.join(cards)}\nLast card: {rng.choice(COLOURS)} {rng.randrange(10)}\n"
    prompts = []
    for first in range(len(cards)):
        turned = cards[first:] + cards[:first]
        lines = "".join(
            f"{letter}) {card}\n" for letter, card in zip("ABCDE", turned, strict=False)
        )
        prompts.append(Prompt(RULES, f"{situation}Options:\n{lines}Which is best?\n", "Answer:"))
    return Score(tuple(prompts), tuple("ABCDE"[: len(cards)]))


def some_decisions(count: int) -> list[Score]:
    rng = random.Random(3)
    return [decision(rng) for _ in range(count)]


@pytest.fixture(scope="session")
def decisions() -> list[Score]:
    return some_decisions(12)


@pytest.fixture(scope="session")
def tokenizer() -> PreTrainedTokenizerFast:
    """Byte-level BPE of 400 tokens that opens every text with <s>."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    taught = some_decisions(24)
    answers = [f"{prompt.text} {c}" for d in taught for prompt in d.prompts for c in d.choices]
    bpe.train_from_iterator(answers, trainer)
    bpe.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", bpe.token_to_id("<s>"))]
    )
    return PreTrainedTokenizerFast(tokenizer_object=bpe, bos_token="<s>", eos_token="</s>")


@pytest.fixture(scope="session")
def make_checkpoint(
    tokenizer: PreTrainedTokenizerFast, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MakeCheckpoint]:
    """Write a checkpoint of a family with random weights, large enough for distinct predictions."""

    def make(family: str = "llama", **settings: object) -> Path:
        torch.manual_seed(0)
        shape = {
            "vocab_size": len(tokenizer),
            "hidden_size": 48,
            "intermediate_size": 80,
            "num_hidden_layers": 3,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 16,
            "max_position_embeddings": 512,
            "initializer_range": 0.3,
            "bos_token_id": 0,
            "eos_token_id": 1,
            "pad_token_id": None,
        }
        config = AutoConfig.for_model(family, **{**shape, **settings})
        network = AutoModelForCausalLM.from_config(config)
        folder = tmp_path_factory.mktemp(family)
        network.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder

    with pytest.MonkeyPatch.context() as patch:
        # It would import DeepSpeed where it is installed, and with it MLflow: 10 seconds.
        patch.setattr("accelerate.utils.other.is_deepspeed_available", lambda: False)
        yield make


@pytest.fixture(scope="session")
def checkpoint_folder(make_checkpoint: MakeCheckpoint) -> Path:
    """A tiny Llama for tests that need no particular family. Treat as read-only."""
    return make_checkpoint("llama")


@pytest.fixture
def folder(checkpoint_folder: Path, tmp_path: Path) -> Path:
    """A copy that a test may break."""
    return Path(shutil.copytree(checkpoint_folder, tmp_path / "copy"))


def refusal(checkpoint: Checkpoint, step: str = "identity") -> str:
    with pytest.raises(ModelError) as error:
        getattr(checkpoint, step)()
    text = str(error.value)
    assert "\n" not in text
    return text


@pytest.fixture(scope="module", autouse=True)
def cache_of_a_module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what these tests find out about networks out of the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests replace code in memory, of which the key of a kept result knows nothing."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)
