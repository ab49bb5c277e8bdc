"""A match on a terminal, and one of its decisions as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.markup import escape as no_markup
from rich.table import Table

from gauntlet.agents.prompting.wording import on_a_line
from gauntlet.common.sanitize import one_line, visible
from gauntlet.common.terminal import WIDTH
from gauntlet.pipeline.viewer.match import DecisionView, MatchView, PromptView

LINES = 12
"""Lines of a prompt in an excerpt."""


def show(match: MatchView, out: Console, prompts: bool) -> None:
    """Print the match, optionally with its prompts and replies in full."""
    where = f"deal {match.deal}, rotation {match.rotation}, {escape(match.cell)}"
    out.print(f"match {escape(match.match)}: {where}")
    for seat, player in enumerate(match.players):
        measured = ", measured" if seat in match.measured else ""
        out.print(f"player {seat}: {escape(player)}{measured}")
    for ply in match.plies:
        out.print(f"\n[bold]--- ply {ply.number}[/bold]\n{escape(ply.text)}")
        for decision in ply.decisions:
            _show_decision(decision, out, prompts)
    out.print(f"\n[bold]--- over[/bold]\n{escape(match.end_text)}\n{match.outcome}")


def excerpt(decision: DecisionView) -> str:
    """The end of the last prompt, the answer, and the move."""
    last = decision.firsts[-1]
    return visible(
        f"{last.tail(LINES)}\n-> {last.answer}\n=> {decision.move} ({decision.outcome})\n"
    )


def escape(text: str) -> str:
    """Text from a record, for a terminal: no markup, no control characters."""
    return no_markup(visible(text))


def _show_decision(decision: DecisionView, out: Console, prompts: bool) -> None:
    why = "forced" if decision.forced else decision.status if decision.status != "ok" else ""
    why += ", fallback" if decision.fallback else ""
    note = f" ({why})" if why else ""
    out.print(f"[bold]player {decision.seat} plays {escape(decision.move)}[/bold]{note}")
    _show_prompts(decision.prompts, out, prompts)
    if any(prompt.answers for prompt in decision.prompts):
        out.print(_answers(decision))
    elif decision.shown:
        out.print(f"options:{escape(on_a_line(decision.options))}")


def _show_prompts(every: Sequence[PromptView], out: Console, prompts: bool) -> None:
    """The replies, one line each; with `prompts` both in full."""
    before: PromptView | None = None
    for number, prompt in enumerate(every):
        if prompts:
            out.print(f"prompt {number}:", style="dim")
            out.print(visible(_news(prompt, before)), style="dim", markup=False)
        if prompt.reply is not None:
            reading = f" -> {escape(one_line(prompt.reading))}" if prompt.reading else ""
            if prompt.thoughts:
                thoughts = visible(prompt.thoughts) if prompts else one_line(prompt.thoughts, WIDTH)
                out.print(f"thoughts {number}: {thoughts}", style="dim", markup=False)
            out.print(f"reply {number}{reading}", style="dim" if prompts else None)
            words = prompt.reply or prompt.refusal
            reply = visible(words) if prompts else one_line(words, WIDTH)
            out.print(reply, markup=False)
        before = prompt


def _news(prompt: PromptView, before: PromptView | None) -> str:
    """The prompt, without the conversation already shown above it."""
    if before is None or before.reply is None:
        return prompt.text
    if prompt.text == before.text:
        return "(the same)"
    new = prompt.text.removeprefix(before.text + before.reply)
    return new if new == prompt.text else f"(all of the above){new}"


def _answers(decision: DecisionView) -> Table:
    """A row per option with the probabilities from each prompt, or from its own if unlettered."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("option")
    table.add_column("score", justify="right")
    answers = (answer for prompt in decision.prompts for answer in prompt.answers)
    lettered = any(answer.option is not None for answer in answers)
    table.add_column("by prompt" if lettered else "answers")
    for number, option in enumerate(decision.options):
        score = decision.scores[number]
        table.add_row(
            f"{'> ' if number == decision.chosen else '  '}{escape(option)}",
            "-" if score is None else f"{score:+.4f}",
            "  ".join(_chances(decision, number, lettered)),
            style="bold" if number == decision.chosen else None,
        )
    return table


def _chances(decision: DecisionView, option: int, lettered: bool) -> Iterator[str]:
    if lettered:
        prompts: Sequence[PromptView] = decision.prompts
    else:
        alone = len(decision.prompts) == len(decision.options)
        prompts = decision.prompts[option : option + 1] if alone else ()
    for prompt in prompts:
        for answer in prompt.answers:
            if not lettered or answer.option == option:
                yield f"{escape(answer.word)} {answer.probability:.4f}"
