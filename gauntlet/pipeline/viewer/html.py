"""Renders matches, plies and decisions as HTML.

The style is in match.css, for pages that define the colours `--muted`, `--accent` and `--bar`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from markupsafe import Markup

from gauntlet.common.markup import join_markup, tag
from gauntlet.common.sanitize import one_line
from gauntlet.games.base import Game
from gauntlet.games.drawing import draw_state, has_drawing
from gauntlet.pipeline.viewer.match import DecisionView, MatchView, Ply, PromptView

STYLE = Path(__file__).with_name("match.css")


def style() -> Markup:
    """The style sheet for decisions."""
    return Markup(STYLE.read_text(encoding="utf-8"))


def ply(game: Game[Any], ply: Ply, above: Sequence[object]) -> Markup:
    """A state and the decisions taken in it. above: placed above each one's options."""
    decisions = map(decision, ply.decisions, above)
    return join_markup(_state(game, ply.state, ply.text), *decisions)


def ending(match: MatchView) -> Markup:
    state = _state(match.game, match.end_state, match.end_text)
    return join_markup(state, tag("p", f"{match.outcome.capitalize()}."))


def decision(
    view: DecisionView,
    above: object = "",
    most: int | None = None,
    shorten: Callable[[str], str] = str,
) -> Markup:
    """A decision: the move, how it was made, the options with their scores, prompts and replies.

    above: placed above the options.
    most: show only the first prompt of each request, and at most this many.
    shorten: applied to each long text.
    """
    numbered = list(islice(_number_prompts(view, most is not None), most))
    sent = len(view.prompts)
    left_out = f"{len(numbered)} of {sent} prompts are shown" if len(numbered) < sent else ""
    return tag(
        "section",
        _heading(view.seat, view.move, _notes_text(view)),
        above,
        _options(view) if view.shown else "",
        *(_prompt(number, prompt, view.options, shorten) for number, prompt in numbered),
        tag("p", left_out, class_="note") if left_out else "",
        _notes(view.notes, shorten) if view.notes else "",
        class_="turn",
    )


@lru_cache(maxsize=1000)
def _heading(seat: int, move: str, notes: str) -> Markup:
    """Remembered, as the same few moves are forced all the time."""
    move_line = tag("h3", f"Player {seat} plays {move}")
    return join_markup(move_line, tag("p", notes, class_="note"))


def excerpt(view: DecisionView, title: str, below: Markup, shorten: Callable[[str], str]) -> Markup:
    """A decision as a line that unfolds to its last prompt."""
    last = view.firsts[-1]
    summary = join_markup(
        f"{title} -> {last.answer} => ", tag("b", view.move), f" ({view.outcome})"
    )
    return tag(
        "details",
        tag("summary", summary),
        tag("pre", shorten(last.text)),
        tag("p", below, class_="note"),
    )


def _state(game: Game[Any], state: Any, text: str) -> Markup:
    """The drawing with its text folded below; just the text for games without a drawing."""
    if not has_drawing(game):
        return tag("pre", text)
    return join_markup(draw_state(game, state), _folded("in words", text))


def _notes_text(view: DecisionView) -> str:
    parts = [view.player] if view.player else []
    if view.forced:
        parts.append("the only move")
    if view.fallback:
        parts.append(f"by fallback: the reply was {view.status}")
    if view.margin is not None:
        parts.append(f"{view.margin:.4f} ahead of the second best")
    if view.tokens:
        parts.append(f"{view.tokens:,} tokens")
    return "; ".join(parts)


def _options(view: DecisionView) -> Markup:
    """Each option with its score as a bar from zero; the chosen one is highlighted."""
    bars = score_bars(view.scores)
    if not any(bars):
        names = [
            part
            for at, option in enumerate(view.options)
            for part in (", " * bool(at), tag("b", option) if at == view.chosen else option)
        ]
        return tag("p", "options: ", *names, class_="note")
    scored = zip(view.scores, bars, strict=True)
    zero = next(bar[0] + (score < 0) * bar[1] for score, bar in scored if bar and score is not None)
    head = tag("tr", *(tag("th", name) for name in ("option", "score", "")))
    rows = (
        _option(option, score, bar, at == view.chosen)
        for at, (option, score, bar) in enumerate(zip(view.options, view.scores, bars, strict=True))
    )
    return tag("table", head, *rows, class_="options", style=f"--zero:{zero:.1f}%")


def _option(
    option: str, score: float | None, bar: tuple[float, float] | None, chosen: bool
) -> Markup:
    place = f"left:{bar[0]}%;width:{bar[1]}%" if bar else ""
    return tag(
        "tr",
        tag("td", option),
        tag("td", "-" if score is None else f"{score:+.4f}"),
        tag("td", tag("i", style=place) if bar else "", class_="bar"),
        class_="chosen" if chosen else None,
    )


def score_bars(scores: Sequence[float | None]) -> list[tuple[float, float] | None]:
    """For each score a bar from zero: its start and length in percent of a common scale. The scale
    includes zero. None for minus infinity, or without a score."""
    known = [score for score in scores if score is not None]
    low, high = min([0.0, *known]), max([0.0, *known])
    room = high - low or 1.0

    def bar(score: float) -> tuple[float, float]:
        left, right = sorted((100 * -low / room, 100 * (score - low) / room))
        return round(left, 1), round(right - left, 1)

    return [None if score is None else bar(score) for score in scores]


def _number_prompts(view: DecisionView, few: bool) -> Iterator[tuple[int, PromptView]]:
    """The prompts with their numbers; few: only the first of each scored request."""
    for number, prompt in enumerate(view.prompts):
        if not few or prompt.place == 0 or prompt.reply is not None:
            yield number, prompt


def _prompt(
    number: int, prompt: PromptView, options: Sequence[str], shorten: Callable[[str], str]
) -> Markup:
    """The reply, and the folded prompt with its scored answers."""
    reply = Markup()
    if prompt.reply is not None:
        reading = join_markup(" -> ", tag("b", one_line(prompt.reading))) if prompt.reading else ""
        line = tag("p", f"reply {number}", reading, class_="note")
        thoughts = _folded("thoughts", shorten(prompt.thoughts)) if prompt.thoughts else ""
        words = prompt.reply or prompt.refusal
        reply = join_markup(line, thoughts, tag("pre", shorten(words)))
    answers = [
        f"{answer.word} {answer.probability:.4f}"
        + ("" if answer.option is None else f" ({options[answer.option]})")
        for answer in prompt.answers
    ]
    summary = f"prompt {number}{': ' if answers else ''}{', '.join(answers)}"
    return join_markup(reply, _folded(summary, shorten(prompt.text)))


def _folded(summary: str, text: str) -> Markup:
    return tag("details", tag("summary", summary), tag("pre", text))


def _notes(notes: Mapping[str, object], shorten: Callable[[str], str]) -> Markup:
    text = json.dumps(notes, indent=1, ensure_ascii=False, default=str)
    return _folded("notes", shorten(text))
