"""Answers requests through llama.cpp's own HTTP protocol, of a server here or elsewhere."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

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
    merge_samples,
    unless_plain,
)
from gauntlet.models.chat import (
    TODAY,
    Message,
    Pair,
    Thoughts,
    chat_messages,
    dated,
    form_of,
    prints_date,
    rendered,
)
from gauntlet.models.llama_cpp.client import Client, ContextFull

FIRST, FACTOR, MOST = 256, 4, 1 << 14
"""How many log-probabilities are requested at first, how many times as many if a choice is not
among them, and at most."""
SEEDS = 2**32 - 1
"""Seeds are below this one, which asks the server for a random seed."""
OWN_PROBABILITIES = {"samplers": ["temperature"], "mirostat": 0, "logit_bias": []}
"""Sampling from the model's whole distribution, whatever the server's defaults are."""
FORCE = 10_000.0
"""A bias that lets the server sample a token for certain."""

Spellings = Sequence[int]


class Text(NamedTuple):
    """A prompt as text, and as the server takes it; the tags of thoughts that its template has
    opened."""

    text: str
    prompt: str | list[int]
    opened: Pair | None = None


class Texts:
    """Prompts as text, by the chat template or as they are."""

    def __init__(self, client: Client, chat: bool, thoughts: Thoughts) -> None:
        """Raises ModelError if the chat template does not show what it is given."""
        self._client, self._chat, self._thoughts = client, chat, thoughts
        bare, full = (self.tokens("A", special) for special in (False, True))
        if not bare:
            raise ModelError(f"{client.who}: its tokenizer reads no text")
        start = next((n for n in range(len(full)) if full[n : n + len(bare)] == bare), 0)
        self._adds_bos, self._suffix = start > 0, len(full) - start - len(bare)
        if not chat:
            return
        props = client.ask("props")
        caps = props.get("chat_template_caps") or {}
        self._knows_system = caps.get("supports_system_role", True)
        template = str(props.get("chat_template", ""))
        self._dated = dated(template) if prints_date(template) else ""
        self._special = {key: str(props.get(key, "")) for key in ("bos_token", "eos_token")}
        self._form = form_of(self._render, client.who)

    def text(self, prompt: Prompt, answering: bool) -> Text:
        """answering: end thoughts that the template opens, as before a cue, which opens the
        answer."""
        if not self._chat:
            return Text(prompt.text, self._sent(prompt.text))
        text = self._render(self._form(chat_messages(prompt, self._knows_system)))
        if answering or prompt.cue:
            text = self._thoughts.closed(text) + prompt.cue
        return Text(text, self._sent(text), self._thoughts.opened_by(text))

    def _render(self, messages: Sequence[Message]) -> str:
        if self._dated:  # no server can be told a date for the template's `strftime_now`
            text = rendered(self._dated, messages, **self._special)
            return text.removeprefix(self._special["bos_token"]) if self._adds_bos else text
        body = {"messages": messages, "chat_template_kwargs": {"date_string": TODAY}}
        return str(self._client.ask("apply-template", body).get("prompt", ""))

    def _sent(self, text: str) -> str | list[int]:
        """The text as a request has it: in tokens if the server would end it with those that say
        that a text has ended."""
        return self.tokens(text, True)[: -self._suffix] if self._suffix else text

    def tokens(self, text: str, special: bool) -> list[int]:
        reply = self._client.ask("tokenize", {"content": text, "add_special": special})
        return list(reply.get("tokens", ()))


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
        return [(token["id"], token["piece"]) for token in reply.get("tokens", ())]


class LlamaCpp:
    """A model that a llama.cpp server answers for.

    slots: how many requests the server works on at once.
    end: frees what belongs to this model besides the client.
    """

    def __init__(
        self,
        client: Client,
        chat: bool,
        slots: int,
        thoughts: Thoughts,
        end: Callable[[], None] = lambda: None,
    ) -> None:
        self._client, self._thoughts, self._end = client, thoughts, end
        self.slots = slots
        self._texts, self._vocabulary = Texts(client, chat, thoughts), Vocabulary(client)
        self._hear(Prompt("", "A"), [self._texts.tokens("A", False)])  # raises if it is unusable

    def answer(self, requests: Sequence[Request]) -> Sequence[Reply]:
        """Raises ModelError, also for a scored prompt that does not fit into the context."""
        return [
            self._score(request) if isinstance(request, Score) else self._write(request)
            for request in requests
        ]

    def cancel(self) -> None:
        self._client.cancel()

    def close(self) -> None:
        self.cancel()
        self._end()

    def _score(self, request: Score) -> Scores:
        choices = tuple(map(self._vocabulary.spellings, request.choices))
        heard = [self._hear(prompt, choices) for prompt in request.prompts]
        rows = tuple(listing.logprobs(choices) for listing in heard)
        missing = any(-math.inf in row for row in rows)
        ceilings = tuple(listing.ceiling for listing in heard) if missing else ()
        return Scores(rows, tuple(listing.tokens for listing in heard), ceilings)

    def _hear(self, prompt: Prompt, choices: Sequence[Spellings]) -> Heard:
        text, count = self._texts.text(prompt, answering=True).prompt, FIRST
        while True:
            body: dict[str, Any] = {"prompt": text, "n_predict": 1, "n_probs": count}
            body |= {"temperature": 0.0, "cache_prompt": True, "post_sampling_probs": False}
            # An end of text would be listed as no token; the bias leaves what is listed alone.
            body |= {"logit_bias": [[choices[0][0], FORCE]]}
            heard = parse_heard(self._client, self._client.ask("completion", body))
            complete = -math.inf not in heard.logprobs(choices)
            if complete or count >= MOST or len(heard.listed) < count:
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
        read = sum(draft.prompt_tokens for draft in drafts)
        return replace(merge_samples(drafts, request.n), prompt_tokens=read)

    def _sample(self, request: Generate, prompt: Text, number: int) -> Generation:
        body: dict[str, Any] = {"prompt": prompt.prompt, "n_predict": request.max_tokens}
        body |= {"temperature": request.temperature, "stop": list(request.stop)}
        body |= {"seed": seed_of(request.seed, number), "cache_prompt": True, **OWN_PROBABILITIES}
        if request.json:
            body["json_schema"] = {"type": "object"}
        return parse_draft(self._client.ask("completion", body), self._thoughts, prompt.opened)


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


def parse_heard(client: Client, reply: Mapping[str, Any]) -> Heard:
    """Raises ModelError if the reply lists no log-probabilities."""
    try:
        listed = reply["completion_probabilities"][0]["top_logprobs"]
        logprobs = {int(entry["id"]): entry["logprob"] for entry in listed}
        tokens = int(reply["tokens_evaluated"])
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ModelError(f"{client.who}: its reply lists no log-probabilities") from error
    if None in logprobs.values():  # JSON has no other word for it
        raise ModelError(f"{client.who}: its logits are not finite; are its weights damaged?")
    numbers = {token: float(logprob) for token, logprob in logprobs.items()}
    if not numbers or not all(math.isfinite(entry) and entry <= 1e-3 for entry in numbers.values()):
        raise ModelError(f"{client.who}: it lists numbers that are no log-probabilities")
    return Heard(numbers, tokens)


def parse_draft(reply: Mapping[str, Any], tags: Thoughts, opened: Pair | None) -> Generation:
    """One sampled text."""
    thoughts, text = tags.split(str(reply.get("content", "")), opened)
    read, written = (int(reply.get(key, 0)) for key in ("tokens_evaluated", "tokens_predicted"))
    cached = int(reply.get("timings", {}).get("cache_n", 0))
    details = unless_plain([Detail(finish_of(reply), thoughts)])
    return Generation(text, read, written, details=details, cached_tokens=cached)


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
