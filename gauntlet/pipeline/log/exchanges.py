"""Requests and replies in the form in which the log stores them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gauntlet.models.base import (
    Detail,
    Dialogue,
    Generate,
    Generation,
    Prompt,
    Reply,
    Request,
    Score,
    Scores,
)
from gauntlet.models.exchanges import Exchange, ScoreExchange, TextDetail, TextExchange
from gauntlet.pipeline.plan.cells import digest

THOUGHTS_MOST = 20_000
"""Characters of a text's thoughts that a record keeps, from both ends."""
LEFT_OUT = "\n[...]\n"


def exchange(
    request: Request, reply: Reply, statics: dict[str, str], thoughts: bool = True
) -> Exchange:
    """A request and its reply as data. The text that the prompts share is stored once; their system
    and static parts go into `statics` under their hashes. thoughts: whether to keep thoughts."""
    if isinstance(request, Score) and isinstance(reply, Scores):
        return _scored(request, reply, statics)
    if isinstance(request, Generate) and isinstance(reply, Generation):
        return _written(request, reply, statics, thoughts)
    raise TypeError(f"{type(reply).__name__} does not answer {type(request).__name__}")


def _scored(request: Score, reply: Scores, statics: dict[str, str]) -> ScoreExchange:
    texts = [prompt.changing for prompt in request.prompts]
    shared = common_start(texts)
    missing = sum(row.count(-math.inf) for row in reply.logprobs) if reply.ceilings else 0
    return ScoreExchange(
        **_prompt(request.prompts[0], statics),
        shared=shared,
        branches=tuple(text[len(shared) :] for text in texts),
        choices=request.choices,
        logprobs=reply.logprobs,
        tokens=reply.tokens,
        logical_tokens=sum(reply.tokens),
        unreported=missing,
        ceilings=reply.ceilings,
        finish=reply.finish,
    )


def _written(
    request: Generate, reply: Generation, statics: dict[str, str], thoughts: bool
) -> TextExchange:
    return TextExchange(
        **_prompt(request.prompt, statics),
        shared=request.prompt.changing,
        settings=(request.max_tokens, request.temperature, request.stop, request.seed),
        n=request.n,
        json=request.json,
        text=reply.text,
        others=reply.others,
        tokens=(reply.prompt_tokens, reply.tokens),
        logical_tokens=reply.prompt_tokens + reply.tokens,
        details=tuple(_detail(one, thoughts) for one in reply.details),
        thought_tokens=reply.thought_tokens,
        cached_tokens=reply.cached_tokens,
    )


def _detail(detail: Detail, thoughts: bool) -> TextDetail:
    return TextDetail(detail.finish, shorten(detail.thoughts) if thoughts else "", detail.refusal)


def shorten(thoughts: str) -> str:
    """The thoughts, with their middle left out if they are longer than THOUGHTS_MOST."""
    if len(thoughts) <= THOUGHTS_MOST:
        return thoughts
    half = (THOUGHTS_MOST - len(LEFT_OUT)) // 2
    return thoughts[:half] + LEFT_OUT + thoughts[-half:]


def _prompt(prompt: Prompt, statics: dict[str, str]) -> dict[str, Any]:
    """A prompt's fields other than its changing text."""
    named = {"static": prompt.static} | ({"system": prompt.system} if prompt.system else {})
    names = {part: digest(text) for part, text in named.items()}
    statics.update((names[part], text) for part, text in named.items())
    turns = prompt.turns if isinstance(prompt, Dialogue) else None
    return {**names, "cue": prompt.cue, "turns": turns}


def margin(scores: Sequence[float]) -> float | None:
    """The best score minus the second best, or None with fewer than two scores: a rounding
    difference larger than this could change the choice."""
    if len(scores) < 2:
        return None
    second, best = sorted(scores)[-2:]
    return best - second


def common_start(texts: Sequence[str]) -> str:
    """The longest common prefix."""
    first, last = min(texts), max(texts)
    differing = (at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b)
    return first[: next(differing, min(len(first), len(last)))]
