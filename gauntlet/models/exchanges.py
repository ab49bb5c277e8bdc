"""Requests and replies in log form: plain data from which both can be restored."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.json import Decoder

from gauntlet.models.base import (
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


class TextDetail(Struct, frozen=True, omit_defaults=True, gc=False):
    """What is stored of a text's `models.base.Detail`; thoughts may be cut or left out."""

    finish: Finish = "stop"
    thoughts: str = ""
    refusal: str = ""


PLAIN_TEXT = TextDetail()


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
    details: tuple[TextDetail, ...] = ()
    thought_tokens: Count = 0
    cached_tokens: Count = 0

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.text, *self.others)

    def detail(self, sample: int) -> TextDetail:
        """The detail of one text."""
        return self.details[sample] if self.details else PLAIN_TEXT

    def __post_init__(self) -> None:
        if len(self.others) >= self.n:
            raise ValueError(f"more than the {self.n} samples of the request")
        if self.details and len(self.details) != len(self.others) + 1:
            raise ValueError("the number of details is not that of the texts")

    def restored(self, statics: Mapping[str, str]) -> tuple[Request, Reply]:
        request = Generate(self.prompt(statics), *self.settings, n=self.n, json=self.json)
        counts = self.thought_tokens, self.cached_tokens
        details = tuple(Detail(one.finish, one.thoughts, one.refusal) for one in self.details)
        return request, Generation(self.text, *self.tokens, self.others, details, *counts)


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
