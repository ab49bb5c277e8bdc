"""Requests and replies in log form, and a model that answers from the log of an earlier run."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.json import Decoder

from gauntlet.common.disk import strip_checksum
from gauntlet.common.errors import ModelError
from gauntlet.models.base import (
    PLAIN,
    Detail,
    Dialogue,
    Finish,
    Generate,
    Generation,
    Prompt,
    Reply,
    Request,
    Score,
    Scores,
)

MOST = 2**32
"""Exclusive bound on counts: tables store them in 32 bits."""

Count = Annotated[int, Meta(ge=0, lt=MOST)]
Logprob = Annotated[float, Meta(ge=-1e15, le=1.0)]
"""Above 0 only by rounding; its exponential is finite."""
Temperature = Annotated[float, Meta(ge=0, le=1e6)]
Turns = tuple[tuple[str, str], ...]


class Exchanged(
    Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True, gc=False
):  # fmt: skip
    """The prompt fields of both kinds. Default values are omitted from a line.

    system, static: hashes of the texts that many prompts share, see `statics` of a record; "" for
        no system text.
    shared: the changing text, or the part of it that the prompts have in common.
    turns: of a dialogue; None for a plain prompt.
    logical_tokens: read and written, with shared text counted for every prompt.
    """

    system: str = ""
    static: str
    cue: str
    turns: Turns | None = None
    shared: str
    logical_tokens: Count

    @property
    def named(self) -> tuple[str, ...]:
        """The hashes of the shared texts it needs."""
        return (self.system, self.static) if self.system else (self.static,)

    def prompt(self, statics: Mapping[str, str], branch: str = "") -> Prompt:
        """The prompt that was sent; `branch` ends its changing text."""
        system = statics[self.system] if self.system else ""
        static, changing = statics[self.static], self.shared + branch
        if self.turns is None:
            return Prompt(static, changing, self.cue, system)
        return Dialogue(static, changing, self.cue, system, self.turns)


class ScoreExchange(Exchanged, frozen=True, kw_only=True, tag="score", gc=False):
    """A Score and its Scores: one branch, row of logprobs and length per prompt.

    logprobs: None for minus infinity, which JSON lacks.
    unreported: number of choices that the model did not report.
    ceilings: per prompt, an upper bound on their logprobs.
    finish: why there are none, if the server withheld them.
    """

    branches: Annotated[tuple[str, ...], Meta(min_length=1)]
    choices: Annotated[tuple[str, ...], Meta(min_length=1)]
    logprobs: tuple[tuple[Logprob | None, ...], ...]
    tokens: tuple[Count, ...]
    unreported: Count = 0
    ceilings: tuple[Logprob, ...] = ()
    finish: Finish = "stop"

    def __post_init__(self) -> None:
        prompts, choices = len(self.branches), len(self.choices)
        for count in (len(self.logprobs), len(self.tokens), len(self.ceilings or self.branches)):
            if count != prompts:
                raise ValueError(f"scores, lengths or ceilings of {count} prompts, not {prompts}")
        for row in self.logprobs:
            if len(row) != choices:
                raise ValueError(f"{len(row)} scores for {choices} choices")
        if self.unreported > prompts * choices:
            raise ValueError(f"{self.unreported} unreported choices of {prompts * choices}")

    def restored(self, statics: Mapping[str, str]) -> tuple[Request, Reply]:
        prompts = tuple(self.prompt(statics, branch) for branch in self.branches)
        logprobs = tuple(
            tuple(-math.inf if value is None else value for value in row) for row in self.logprobs
        )
        return Score(prompts, self.choices), Scores(
            logprobs, self.tokens, self.ceilings, self.finish
        )


class TextExchange(Exchanged, frozen=True, kw_only=True, tag="text", gc=False):
    """A Generate and its Generation.

    settings: max_tokens, temperature, stop strings, seed.
    tokens: read, written.
    n, json, others, thought_tokens, cached_tokens: as in `Generate` and `Generation`.
    details: one per text, or ().
    """

    settings: tuple[Count, Temperature, tuple[str, ...], int]
    n: Annotated[int, Meta(ge=1, lt=MOST)] = 1
    json: bool = False
    text: str
    others: tuple[str, ...] = ()
    tokens: tuple[Count, Count]
    details: tuple[Detail, ...] = ()
    thought_tokens: Count = 0
    cached_tokens: Count = 0

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.text, *self.others)

    def detail(self, sample: int) -> Detail:
        """The detail of one text."""
        return self.details[sample] if self.details else PLAIN

    def __post_init__(self) -> None:
        if len(self.others) >= self.n:
            raise ValueError(f"more than the {self.n} samples of the request")
        if self.details and len(self.details) != len(self.others) + 1:
            raise ValueError("the number of details is not that of the texts")

    def restored(self, statics: Mapping[str, str]) -> tuple[Request, Reply]:
        request = Generate(self.prompt(statics), *self.settings, n=self.n, json=self.json)
        counts = self.thought_tokens, self.cached_tokens
        return request, Generation(self.text, *self.tokens, self.others, self.details, *counts)


Exchange = ScoreExchange | TextExchange


class Asker(Struct, frozen=True, gc=False):
    """The exchanges of one decision or preparation in a record."""

    asked: tuple[Exchange, ...]


class RecordedExchanges(Struct, frozen=True, kw_only=True):
    """The exchanges of a record, and the texts of its prompts."""

    statics: dict[str, str]
    decisions: tuple[Asker, ...] = ()
    preparation: tuple[Asker, ...] = ()


_DECODER = Decoder(RecordedExchanges)


def decode_exchanges(line: bytes) -> RecordedExchanges:
    """The exchanges in a line of a records file. Raises ValueError or RecursionError for other
    lines."""
    return _DECODER.decode(line)


@dataclass(frozen=True)
class Replay:
    """A model source that knows exactly the replies in a log.

    records: a file of records, or a folder of them. All must come from one model: if the same
        request has two different replies, give the file of one cell instead of the folder.
    """

    records: str

    def identity(self) -> Mapping[str, Any]:
        """The hash of the records' contents, independent of their location."""
        digest = hashlib.sha256()
        for file in self._files():
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
        return {"replay": digest.hexdigest()}

    def check_choices(self, choices: Sequence[str]) -> None:
        """Accepts any choice: the original model was checked."""

    def load(self) -> ReplayModel:
        replies: dict[bytes, Reply] = {}
        for file in self._files():
            for request, reply in exchanges(file):
                if replies.setdefault(key(request), reply) != reply:
                    raise ModelError(
                        f"{self.records} answers one request in two ways; give the file of one cell"
                    )
        return ReplayModel(replies, self.records)

    def _files(self) -> list[Path]:
        path = Path(self.records).expanduser()
        files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path] * path.is_file()
        if not files:
            raise ModelError(
                f"there are no records at {self.records!r}; give a .jsonl file or a folder of them"
            )
        return files


@dataclass(frozen=True)
class ReplayModel:
    """Looks up replies by request key."""

    replies: Mapping[bytes, Reply]
    origin: str

    def answer(self, requests: Sequence[Request]) -> Sequence[Reply]:
        """Raises ModelError for a request that is not in the log."""
        return [self._reply(request) for request in requests]

    def close(self) -> None:
        pass

    def _reply(self, request: Request) -> Reply:
        reply = self.replies.get(key(request))
        if reply is None:
            prompt = request.prompts[0] if isinstance(request, Score) else request.prompt
            last = prompt.changing.strip().rpartition("\n")[2]
            raise ModelError(f"the log {self.origin} holds no reply to the prompt ending {last!r}")
        return reply


def key(request: Request) -> bytes:
    """A 16-byte hash of the request: equal requests have equal keys. What a dialogue returns to
    its server is left out, as records do not hold it."""
    prompt = request.prompt if isinstance(request, Generate) else None
    if isinstance(prompt, Dialogue) and prompt.returned and isinstance(request, Generate):
        request = replace(request, prompt=replace(prompt, returned=()))
    return hashlib.blake2b(repr(request).encode(), digest_size=16).digest()


def exchanges(file: Path) -> Iterator[tuple[Request, Reply]]:
    """Every request and its reply in a file of records, without a torn last line. Raises ModelError
    for a damaged line, and for one whose prompt texts are missing."""
    statics: dict[str, str] = {}
    late: list[tuple[int, Exchange]] = []
    for number, record in _records(file):
        statics.update(record.statics)
        for asker in (*record.preparation, *record.decisions):
            for exchange in asker.asked:
                if statics.keys() >= {*exchange.named}:
                    yield exchange.restored(statics)
                else:
                    late.append((number, exchange))
    for number, exchange in late:  # a replayed match may hold its texts further on
        if not statics.keys() >= {*exchange.named}:
            raise ModelError(
                f"line {number} of {file} has lost a text of its prompts: the sweep that wrote it, "
                "run again, brings it back"
            )
        yield exchange.restored(statics)


def _records(file: Path) -> Iterator[tuple[int, RecordedExchanges]]:
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                yield number, decode_exchanges(strip_checksum(line))
            except (ValueError, RecursionError) as error:
                raise ModelError(f"line {number} of {file} is no record: {error}") from error
