"""Prompts to tokens: the chat template, a fast encoding, the spellings of a choice, and the prompts
of one decision as a trie, so that shared tokens are computed once."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gauntlet.common.errors import ModelError, extra
from gauntlet.models.base import Prompt
from gauntlet.models.chat import (
    TODAY,
    Message,
    Tags,
    chat_messages,
    dated,
    form_of,
    shows,
    thoughts_of,
)
from gauntlet.models.engine.files import SHIPPED, read_json

LOG = logging.getLogger("gauntlet")

BREAK = re.compile(r"\n(?=[A-Za-z0-9])")
"""Where text may be cut: at a line break before a letter or digit."""
LOOKS_FAR_BACK = re.compile(r"\(\?<(?![=!][A-Za-z0-9 :,|\[\])]*\))")
"""A look-behind in a word pattern that can match more than plain characters, such as a line
break."""
AROUND = 3
"""Number of characters on each side of a line break that identify a kind of place."""

FRAGMENTS = 100_000
"""Maximum number of cached fragments; a full cache is cleared."""
BEFORE = ("\n", ":", ")")
"""Ends of prompts, after which a choice is spelt."""
MATCH = 0.8
"""The least share of a network's tokens that its tokenizer has; the rest is padding."""


class Tokens:
    """A tokenizer with the checkpoint's prompt format.

    `encode` defines the model's input. `encode_all` gives the same tokens from cached lines, which
    is several times faster if lines repeat.
    """

    def __init__(
        self,
        tokenizer: Any,
        name: str,
        chat: bool,
        thinking: bool | None = None,
        thought_tags: Tags | None = None,
        vocabulary: int | None = None,
    ) -> None:
        """vocabulary: the network's number of tokens, if it is known. Raises ModelError if the chat
        template does not show what it is given."""
        self.tokenizer = tokenizer
        self.name = name
        self._vocabulary = vocabulary
        self.chat = chat
        self.thoughts = thoughts_of(thought_tags)
        self._settings: dict[str, Any] = {"date_string": TODAY}
        if thinking is not None:
            self._settings["enable_thinking"] = thinking
        if chat:
            self._template = dated(tokenizer.get_chat_template())
            self._form = form_of(self._render, f"model {name!r}")
        self._opening = self._special_opening()
        self._cuts = has_local_words(tokenizer)
        self._fragments: dict[str, list[int]] = {}
        self._places: dict[tuple[str, str], int | None] = {}
        self._heads: dict[tuple[str, str], list[int]] = {}

    def text(self, prompt: Prompt, answering: bool = False) -> str:
        """The text to tokenize: the prompt as it is, or wrapped in the chat template.

        answering: end thoughts that the template opens, as before a cue, which opens the answer.
        """
        if not self.chat:
            return prompt.text
        wrapped = self.wrapped(chat_messages(prompt))
        if answering or prompt.cue:
            wrapped = self.thoughts.closed(wrapped)
        return wrapped + prompt.cue

    def wrapped(self, messages: Sequence[Message]) -> str:
        """The messages in the chat template, up to where the model writes.

        If the template has no system role, a leading system message is prepended to the first user
        message. Raises ModelError if the template loses a conversation, and jinja2's TemplateError
        if it rejects the roles.
        """
        if messages[0]["role"] == "system" and not self._knows_system:
            messages = _without_system(messages)
        if any(message["role"] == "assistant" for message in messages) and not self._knows_turns:
            raise ModelError(
                f"model {self.name!r}: its chat template does not show a conversation; set chat to "
                "false"
            )
        return self._render(self._form(messages))

    def _render(self, messages: Sequence[Message]) -> str:
        return str(
            self.tokenizer.apply_chat_template(
                list(messages),
                chat_template=self._template,
                tokenize=False,
                add_generation_prompt=True,
                **self._settings,
            )
        )

    @cached_property
    def _knows_system(self) -> bool:
        return shows(self._render, self._form, "system", "user")

    @cached_property
    def _knows_turns(self) -> bool:
        return shows(self._render, self._form, "user", "assistant", "user")

    def encode(self, prompt: Prompt, answering: bool = False) -> list[int]:
        return self._encode(self.text(prompt, answering))

    def head(self, prompt: Prompt) -> list[int]:
        """The tokens with which every prompt with this system text and static part begins."""
        opening = prompt.system, prompt.static
        if opening not in self._heads:
            if len(self._heads) >= FRAGMENTS:
                self._heads.clear()
            probes = [self.text(Prompt(prompt.static, last, "", prompt.system)) for last in "01"]
            self._heads[opening] = self._encode(probes[0][: shared_length(*probes)])
        return self._heads[opening]

    def encode_all(self, prompts: Sequence[Prompt], answering: bool = False) -> list[list[int]]:
        """The same as `encode` of each."""
        if not self._cuts:
            return [self.encode(prompt, answering) for prompt in prompts]
        cut = [self._cut(self.text(prompt, answering)) for prompt in prompts]
        self._remember({fragment for fragments in cut for fragment in fragments})
        return [self._joined(fragments) for fragments in cut]

    @lru_cache(maxsize=256)  # noqa: B019 (a model keeps its tokens as long as it lives)
    def spellings(self, choices: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
        """For each choice the tokens that spell it, with and without a leading space. Raises
        ModelError, naming the choice, if neither spelling is a single token."""
        return tuple(self._spellings(choice) for choice in choices)

    def decode(self, ids: Sequence[int]) -> str:
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=True))

    def _encode(self, text: str) -> list[int]:
        return self._known([*self._opening, *self._bare(text)])

    def _known(self, ids: list[int]) -> list[int]:
        """The tokens. Raises ModelError if the network lacks one of them."""
        if self._vocabulary is not None and ids and max(ids) >= self._vocabulary:
            piece = self.tokenizer.convert_ids_to_tokens(max(ids))
            raise ModelError(
                f"model {self.name!r}: its network has {self._vocabulary:,} tokens, and none for "
                f"{piece!r}, number {max(ids):,} of its tokenizer; do the two belong together?"
            )
        return ids

    def _bare(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def _spellings(self, choice: str) -> tuple[int, ...]:
        spelt = [self._within(f"{space}{choice}") for space in ("", " ")]
        unknown = self.tokenizer.unk_token_id
        single = {ids[0] for ids in spelt if len(ids) == 1 and ids[0] != unknown}
        if not single or not choice.strip():
            pieces = self.tokenizer.convert_ids_to_tokens(spelt[0])
            raise ModelError(
                f"choice {choice!r} is not a single token of model {self.name!r}, which reads it "
                f"as {' + '.join(map(repr, pieces)) or 'nothing'}"
            )
        return tuple(sorted(self._known([*single])))

    def _within(self, text: str) -> list[int]:
        """The tokens of a text that follows another. Alone, SentencePiece tokenizers put a space
        before it; after some characters, a vocabulary may join its beginning to them."""
        for before in BEFORE:
            start, both = self._bare(before), self._bare(before + text)
            if both[: len(start)] == start:
                return both[len(start) :]
        return self._bare(text)

    def _special_opening(self) -> list[int]:
        """The special tokens that the tokenizer puts before a raw text. Those that it puts after
        one are left out: they say that the text has ended. Raises ModelError."""
        if self.chat:
            return []
        bare, full = self._bare("The 0"), list(self.tokenizer("The 0")["input_ids"])
        for start in range(len(full)):
            if full[start : start + len(bare)] == bare:
                return full[:start]
        raise ModelError(f"model {self.name!r}: its tokenizer reads no text that is asked raw")

    def _cut(self, text: str) -> list[str]:
        fragments, start = [], 0
        for match in BREAK.finditer(text):
            at = match.start()
            place = text[max(start, at - AROUND) : at], text[at + 1 : at + 1 + AROUND]
            if place not in self._places:
                self._places[place] = self._try(text, start, at)
            offset = self._places[place]
            if offset is not None:
                fragments.append(text[start : at + offset])
                start = at + offset
        return [*fragments, text[start:]]

    def _try(self, text: str, start: int, at: int) -> int | None:
        """How many characters after the line break at `at` the text can be cut, or None.

        Tested once per kind of place. That suffices: a tokenizer with local words finds word
        boundaries from the few characters around them, and a word's tokens depend only on the word.
        """
        end = text.find("\n", at + 1)
        after = text[at + 1 :] if end < 0 else text[at + 1 : end]
        backend = self.tokenizer.backend_tokenizer
        for offset in (1, 0):
            left, right = text[start : at + offset], "\n"[offset:] + after
            full, parts = left + right, (left, right)
            words = [[w for w, _ in backend.pre_tokenizer.pre_tokenize_str(p)] for p in parts]
            together = [word for word, _ in backend.pre_tokenizer.pre_tokenize_str(full)]
            if together == words[0] + words[1] and self._bare(full) == [
                token for part in parts for token in self._bare(part)
            ]:
                return offset
        return None

    def _remember(self, fragments: set[str]) -> None:
        if len(self._fragments) + len(fragments) > FRAGMENTS:
            self._fragments.clear()
        new = [fragment for fragment in fragments if fragment not in self._fragments]
        backend = self.tokenizer.backend_tokenizer
        encoded = backend.encode_batch_fast(new, add_special_tokens=False)
        self._fragments.update(
            (text, self._known(encoding.ids)) for text, encoding in zip(new, encoded, strict=True)
        )

    def _joined(self, fragments: list[str]) -> list[int]:
        ids = list(self._opening)
        for fragment in fragments:
            ids += self._fragments[fragment]
        return ids


def _without_system(messages: Sequence[Message]) -> list[Message]:
    """Move the system text to the start of the first user message, or make it a user message."""
    opening, *others = messages
    first = others[0] if others and others[0]["role"] == "user" else None
    content = opening["content"] + (first["content"] if first else "")
    return [{"role": "user", "content": content}, *(others[1:] if first else others)]


def has_local_words(tokenizer: Any) -> bool:
    """Whether the tokenizer splits text into words first, by patterns that do not look back across
    a line break, and encodes each word independently. Only then can lines be encoded separately."""
    if not getattr(tokenizer, "is_fast", False):
        return False
    spec = json.loads(tokenizer.backend_tokenizer.to_str())
    cutter = spec["pre_tokenizer"] or {}
    steps = cutter.get("pretokenizers", [cutter])
    splits = any(step.get("type") == "Split" or step.get("use_regex") for step in steps)
    local = all(
        step.get("type") in ("Split", "ByteLevel", "Digits")
        and not step.get("add_prefix_space")
        and not LOOKS_FAR_BACK.search(str(step.get("pattern", "")))
        for step in steps
    )
    plain = (spec["normalizer"] or {"type": "NFC"})["type"] == "NFC"
    return splits and local and plain and spec["model"]["type"] == "BPE"


@lru_cache(maxsize=8)
def load_tokens(
    folder: Path,
    name: str,
    chat: bool,
    thinking: bool | None = None,
    thought_tags: Tags | None = None,
) -> Tokens:
    """The tokenizer in a checkpoint's folder; `name` is the user's name for the checkpoint.

    Shipped checkpoints use the library's plain class directly: finding that out through
    AutoTokenizer imports all of torch, which nothing else in planning needs.
    """
    transformers: Any = extra("transformers", "local")
    shipped = name.startswith(SHIPPED)
    kind = transformers.PreTrainedTokenizerFast if shipped else transformers.AutoTokenizer
    try:
        tokenizer = kind.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=False
        )
    except (OSError, ValueError, KeyError, TypeError, ImportError) as error:
        why = str(error).strip().splitlines()[0]
        raise ModelError(f"model {name!r}: its tokenizer cannot be loaded: {why}") from error
    config = read_json(folder / "config.json", name)
    settings = [config, config.get("text_config") or {}]
    vocabulary = next(
        (setting["vocab_size"] for setting in settings if "vocab_size" in setting), None
    )
    if vocabulary is not None:
        _check_size(tokenizer, name, int(vocabulary))
    return Tokens(tokenizer, name, chat, thinking, thought_tags, vocabulary)


def _check_size(tokenizer: Any, name: str, vocabulary: int) -> None:
    """Raises ModelError if a tokenizer, without what was added to it, has more tokens than the
    network; warns if it has far fewer."""
    sizes = f"its tokenizer has {tokenizer.vocab_size:,} tokens, its network {vocabulary:,}"
    if tokenizer.vocab_size > vocabulary:
        raise ModelError(f"model {name!r}: {sizes}; they do not belong together")
    if len(tokenizer) < MATCH * vocabulary:
        LOG.warning("model %r: %s; do they belong together?", name, sizes)


@dataclass(frozen=True, slots=True)
class PromptTree:
    """The nodes of a trie of token sequences, parents before children.

    tokens: (nodes,) token ids.
    depths: (nodes,) number of tokens before a node in its sequence.
    sees: (nodes, nodes) whether the row's node attends to the column's: to itself and ancestors.
    ends: (sequences,) the node of each sequence's last token, in the order given.
    """

    tokens: NDArray[np.int64]
    depths: NDArray[np.int64]
    sees: NDArray[np.bool_]
    ends: NDArray[np.int64]


def grow(sequences: Sequence[list[int]]) -> PromptTree:
    """The tree of non-empty sequences. Its layout depends only on them."""
    # In sorted order a sequence shares most with its predecessor, so one comparison places it.
    order = sorted(range(len(sequences)), key=lambda index: sequences[index])
    paths: list[NDArray[np.int64]] = []
    shared_lengths: list[int] = []
    tokens: list[int] = []
    ends = np.zeros(len(sequences), dtype=np.int64)
    before: list[int] = []
    for index in order:
        sequence = sequences[index]
        shared = shared_length(before, sequence)
        new = np.arange(len(tokens), len(tokens) + len(sequence) - shared)
        path = np.concatenate([paths[-1][:shared], new]) if paths else new
        tokens.extend(sequence[shared:])
        ends[index] = path[-1]
        paths.append(path)
        shared_lengths.append(shared)
        before = sequence
    return _laid_out(tokens, paths, shared_lengths, ends)


def _laid_out(
    tokens: list[int],
    paths: list[NDArray[np.int64]],
    shared_lengths: list[int],
    ends: NDArray[np.int64],
) -> PromptTree:
    sees = np.zeros((len(tokens), len(tokens)), dtype=np.bool_)
    depths = np.zeros(len(tokens), dtype=np.int64)
    for path, shared in zip(paths, shared_lengths, strict=True):
        new = path[shared:]
        if not len(new):
            continue
        first, last = new[0], new[-1] + 1
        sees[first:last, path[:shared]] = True
        sees[first:last, first:last] = np.tri(len(new), dtype=np.bool_)
        depths[first:last] = np.arange(shared, len(path))
    return PromptTree(np.array(tokens, dtype=np.int64), depths, sees, ends)


def shared_length(left: Sequence[Any], right: Sequence[Any]) -> int:
    """The length of the common prefix; both are lists, or both strings."""
    # Bisection: comparing slices is far cheaper than comparing tokens one at a time.
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
