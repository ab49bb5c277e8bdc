"""Terminal views of Observer's tables: Table 1, further settings, and the reasons given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd
from rich.console import Group, RenderableType
from rich.text import Text

from gauntlet.common.terminal import WrappedTable
from gauntlet.papers.observer.runs import WatchedMatch

NOTE = (
    "SIR: guesses that name both players, in %, with the 95% interval of the mean over deals, and "
    "in brackets Clopper and Pearson's of guesses. p1, p2: guesses that name that player. class: "
    "that name a pair of the truth's outcomes. alike: how many of the 361 pairs have these, so "
    "that no loss tells them apart; * whatever one of the two players is taken for."
)
SNIPPETS = 3
"""Reasons shown per model."""


def table1_view(frame: pd.DataFrame, title: str) -> RenderableType:
    """frame: from `totals.totals`."""
    grid = WrappedTable(header_style="dim")
    headings = ("truth", "observer", "SIR", "by deal", "by guess", "p1", "p2", "class", "null",
                "Union", "late", "alike")  # fmt: skip
    for at, heading in enumerate(headings):
        grid.add_column(heading, justify="right" if at > 1 else "left", no_wrap=True)
    for row in frame.to_dict("records"):
        grid.add_row(
            row["match_up"] + "*" * row["blind"],
            row["observer"],
            f"{row['sir']:.1f}",
            f"{row['deal_low']:.0f}-{row['deal_high']:.0f}",
            f"({row['exact_low']:.0f}-{row['exact_high']:.0f})",
            *(f"{row[name]:.0f}" for name in ("player1", "player2", "same_outcome", "null_rate")),
            *(f"{row[name]:.4f}" for name in ("union", "late")),
            f"{row['alike']:.0f}",
        )
    return Group(Text(title, "bold"), grid)


def reasons(matches: Iterable[WatchedMatch]) -> pd.DataFrame:
    """Return the reasons that observers gave, with the round, their guess and the truth."""
    columns = ["match_up", "observer", "deal", "round", "guess", "right", "reasoning"]
    rows = []
    for match in matches:
        for number, (guess, decision) in enumerate(
            zip(match.guesses, match.decisions, strict=True), 1
        ):
            if reasoning := decision.notes.get("reasoning"):
                said = "-" if guess is None else "-".join(guess)
                rows.append(("-".join(match.pair), match.observer, match.deal, number, said,
                             guess == match.pair, reasoning))  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def reasons_view(frame: pd.DataFrame, models: Sequence[str]) -> RenderableType:
    """Table 2: the first reasons of each model in the match-up that the paper shows."""
    if frame.empty:
        return Text("Table 2: no model gave reasons; observers without one give none")
    grid = WrappedTable(header_style="dim")
    for heading in ("model", "guess", "said", "right", "reasoning"):
        grid.add_column(heading, overflow="fold")
    for model in models:
        own = frame[(frame["observer"] == model) & (frame["match_up"] == "N-G")].head(SNIPPETS)
        for row in own.to_dict("records"):
            right = "yes" if row["right"] else "no"
            grid.add_row(model, str(row["round"]), row["guess"], right, row["reasoning"])
    return Group(Text("Table 2: reasons in N against G", "bold"), grid)
