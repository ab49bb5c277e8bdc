"""Answers requests through llama.cpp's own HTTP protocol, of a server here or elsewhere."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gauntlet.common.errors import ModelError
from gauntlet.models.base import (
    Detail,
    Finish,
    Generate,
    Generation,
    Prompt,
    Reply,
    Request,
    Score,
    Scores,
    unless_plain,
)
from gauntlet.models.chat import TODAY, chat_messages
from gauntlet.models.llama_cpp.client import Client, ContextFull
from gauntlet.models.thoughts import opens_thoughts, split_thoughts

FIRST, FACTOR, MOST = 256, 4, 1 << 14
"""How many log-probabilities are requested at first, how many times as many if a choice is not
among them, and at most."""
SEEDS = 2**32 - 1
"""Seeds are below this one, which asks the server for a random seed."""
OWN_PROBABILITIES = {"samplers": ["temperature"], "mirostat": 0, "logit_bias": []}
"""Sampling from the model's whole distribution, whatever the server's defaults are."""
FORCE = 10_000.0
"""A bias that lets the server sample a token for certain."""
CLOSING = "\n</think>\n\n"

Spellings = tuple[int, ...]


@dataclass(frozen=True)
class Text:
    """A prompt as text. thinking: whether the chat template has opened the model's thoughts."""

    text: str
    thinking: bool = False


class Texts:
    """Prompts as text, by the server's chat template or as they are."""

    def __init__(self, client: Client, chat: bool) -> None:
        self._client, self._chat = client, chat
        told = client.ask("props").get("chat_template_caps") if chat else None
        self._knows_system = (told or {}).get("supports_system_role", True)

    def text(self, prompt: Prompt, answering: bool) -> Text:
        """answering: end thoughts that the template opens, as before a cue, which opens the
        answer."""
        if not self._chat:
            return Text(prompt.text)
        messages = chat_messages(prompt, self._knows_system)
        asked = {"messages": messages, "chat_template_kwargs": {"date_string": TODAY}}
        wrapped = str(self._client.ask("apply-template", asked).get("prompt", ""))
        opened = opens_thoughts(wrapped)
        if not opened or not (answering or prompt.cue):
            return Text(wrapped + prompt.cue, opened)
        return Text(wrapped.rstrip() + CLOSING + prompt.cue)


class Vocabulary:
    """The tokens that spell a choice, as `models.base.Score` defines them."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[str, Spellings] = {}
        self._before: int | None = None

    def spellings(self, choice: str) -> Spellings:
        """The single tokens that spell it, with or without a leading space. Raises ModelError,
        naming the choice, if there is none."""
        if choice not in self._known:
            self._known[choice] = self._find(choice)
        return self._known[choice]

    def _find(self, choice: str) -> Spellings:
        if self._before is None:
            self._before = len(self._tokens("\n"))
        # After a line break, because SentencePiece tokenizers put a space before standalone text.
        spelt = [self._tokens(f"\n{space}{choice}")[self._before :] for space in ("", " ")]
        single = {tokens[0][0] for tokens in spelt if len(tokens) == 1}
        if not single or not choice.strip():
            pieces = " + ".join(repr(piece) for _, piece in spelt[0]) or "nothing"
            raise ModelError(
                f"choice {choice!r} is not a single token of {self._client.who}, which reads it as "
                f"{pieces}"
            )
        return tuple(sorted(single))

    def _tokens(self, text: str) -> list[tuple[int, Any]]:
        reply = self._client.ask("tokenize", {"content": text, "with_pieces": True})
        return [(one["id"], one["piece"]) for one in reply.get("tokens", ())]


class LlamaCpp:
    """A model that a llama.cpp server answers for.

    slots: how many requests the server works on at once.
    end: frees what belongs to this model besides the client.
    """

    def __init__(
        self, client: Client, chat: bool, slots: int, end: Callable[[], None] = lambda: None
    ) -> None:
        self._client, self._end = client, end
        self.slots = slots
        self._texts, self._vocabulary = Texts(client, chat), Vocabulary(client)

    def answer(self, requests: Sequence[Request]) -> Sequence[Reply]:
        """Raises ModelError, also for a scored prompt that does not fit into the context."""
        return [
            self._score(one) if isinstance(one, Score) else self._write(one) for one in requests
        ]

    def cancel(self) -> None:
        self._client.cancel()

    def close(self) -> None:
        self.cancel()
        self._end()

    def _score(self, request: Score) -> Scores:
        choices = tuple(map(self._vocabulary.spellings, request.choices))
        heard = [self._hear(prompt, choices) for prompt in request.prompts]
        rows = tuple(one.logprobs(choices) for one in heard)
        missing = any(-math.inf in row for row in rows)
        ceilings = tuple(one.ceiling for one in heard) if missing else ()
        return Scores(rows, tuple(one.tokens for one in heard), ceilings)

    def _hear(self, prompt: Prompt, choices: Sequence[Spellings]) -> Heard:
        text, count = self._texts.text(prompt, answering=True).text, FIRST
        while True:
            asked: dict[str, Any] = {"prompt": text, "n_predict": 1, "n_probs": count}
            asked |= {"temperature": 0.0, "cache_prompt": True, "post_sampling_probs": False}
            # An end of text would be listed as no token; the bias leaves what is listed alone.
            asked |= {"logit_bias": [[choices[0][0], FORCE]]}
            heard = parse_heard(self._client, self._client.ask("completion", asked))
            found = -math.inf not in heard.logprobs(choices)
            if found or count >= MOST or len(heard.listed) < count:
                return heard
            count *= FACTOR

    def _write(self, request: Generate) -> Generation:
        prompt = self._texts.text(request.prompt, answering=False)
        try:
            drafts = [self._sample(request, prompt, number) for number in range(request.n)]
        except ContextFull as full:
            nothing = Detail("context")
            others = ("",) * (request.n - 1)
            return Generation("", full.tokens, 0, others, (nothing,) * request.n)
        texts = tuple(draft.text for draft in drafts)
        return Generation(
            texts[0],
            sum(draft.read for draft in drafts),
            sum(draft.written for draft in drafts),
            texts[1:],
            unless_plain([draft.detail for draft in drafts]),
            cached_tokens=sum(draft.cached for draft in drafts),
        )

    def _sample(self, request: Generate, prompt: Text, number: int) -> Draft:
        asked: dict[str, Any] = {"prompt": prompt.text, "n_predict": request.max_tokens}
        asked |= {"temperature": request.temperature, "stop": list(request.stop)}
        asked |= {"seed": seed_of(request.seed, number), "cache_prompt": True, **OWN_PROBABILITIES}
        if request.json:
            asked["json_schema"] = {"type": "object"}
        return parse_draft(self._client.ask("completion", asked), prompt.thinking)


@dataclass(frozen=True)
class Heard:
    """The most likely next tokens of one prompt: the logprob of each, and the prompt's length."""

    listed: Mapping[int, float]
    tokens: int

    def logprobs(self, choices: Sequence[Spellings]) -> tuple[float, ...]:
        return tuple(
            max(self.listed.get(token, -math.inf) for token in spellings) for spellings in choices
        )

    @property
    def ceiling(self) -> float:
        """An upper bound on the logprob of a token that is not listed."""
        return min(self.listed.values())


@dataclass(frozen=True)
class Draft:
    """One sampled text, and the tokens read, written and read from the server's cache."""

    text: str
    detail: Detail
    read: int
    written: int
    cached: int


def parse_heard(client: Client, reply: Mapping[str, Any]) -> Heard:
    """Raises ModelError if the reply lists no log-probabilities."""
    try:
        listed = reply["completion_probabilities"][0]["top_logprobs"]
        found = {int(one["id"]): float(one["logprob"]) for one in listed}
        tokens = int(reply["tokens_evaluated"])
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ModelError(f"{client.who}: its reply lists no log-probabilities") from error
    if not found or not all(math.isfinite(one) and one <= 1e-3 for one in found.values()):
        raise ModelError(f"{client.who}: it lists numbers that are no log-probabilities")
    return Heard(found, tokens)


def parse_draft(reply: Mapping[str, Any], thinking: bool) -> Draft:
    thoughts, text = split_thoughts(str(reply.get("content", "")), thinking)
    read, written = (int(reply.get(key, 0)) for key in ("tokens_evaluated", "tokens_predicted"))
    cached = int(reply.get("timings", {}).get("cache_n", 0))
    return Draft(text, Detail(finish_of(reply), thoughts), read, written, cached)


def finish_of(reply: Mapping[str, Any]) -> Finish:
    """The server calls a full context a limit too, and the text truncated."""
    if reply.get("truncated"):
        return "context"
    known: dict[Any, Finish] = {"eos": "stop", "word": "stop_string", "limit": "length"}
    return known.get(reply.get("stop_type"), "unknown")


def seed_of(seed: int, sample: int) -> int:
    """The server's 32-bit seed of one sample of a request."""
    digest = hashlib.blake2b(f"{seed} {sample}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % SEEDS
