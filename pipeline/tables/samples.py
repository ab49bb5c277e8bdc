"""A few decisions of a cell for a person to look at: what was asked, answered and played."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from markupsafe import Markup

from gauntlet.common.markup import tag, together
from gauntlet.models.exchanges import Exchange, ScoreExchange
from gauntlet.pipeline.log.outcomes import Outcomes
from gauntlet.pipeline.log.schema import DecisionRecord, MatchRecord
from gauntlet.pipeline.tables.page import clipped
from gauntlet.pipeline.viewer import html, terminal
from gauntlet.pipeline.viewer.match import LETTERED, DecisionView, decision_view

SAMPLES = 5
"""Of a cell."""
ENOUGH = 6
"""A decision between more options says no more of how a player decides."""
PROMPTS = 8
"""The most prompts that are shown of one decision."""


@dataclass(frozen=True)
class Sample:
    """A decision that a model was asked for. situation: the prompt down to its options."""

    match: str
    deal: int
    rotation: int
    situation: str
    decision: DecisionView

    @property
    def interest(self) -> tuple[bool, int]:
        """The higher, the more a reader learns of the decision: that a model settled it, between
        several options."""
        return not self.decision.fallback, min(len(self.decision.options), ENOUGH)

    @property
    def text(self) -> str:
        """As samples.txt has it."""
        return f"match {self.match}, deal {self.deal}\n{terminal.excerpt(self.decision)}"

    def folded(self, command: str) -> Markup:
        """In a line that unfolds. command: shows the match in full."""
        shorten = partial(clipped, whole=command)
        return html.excerpt(self.decision, f"deal {self.deal}", command, shorten)

    def in_full(self, command: str) -> Markup:
        """With its situation, its options, and the first prompt of every request."""
        shorten = partial(clipped, whole=command)
        where = f"Deal {self.deal}, rotation {self.rotation}. All of it: "
        above = together(
            tag("p", where, tag("code", command), class_="note"),
            tag("pre", shorten(self.situation)),
        )
        return html.decision(self.decision, above, PROMPTS, shorten)


def sample(record: MatchRecord, decision: DecisionRecord) -> Sample:
    """A decision of the record that a model was asked for."""
    return Sample(
        match=record.match,
        deal=record.deal,
        rotation=record.rotation,
        situation=situation(decision.asked[0], decision.options),
        decision=decision_view(decision, record.statics),
    )


def picked(outcomes: Outcomes) -> dict[str, float]:
    """SAMPLES matches evenly over the deals, each with a share of its decisions to go to: one from
    each stretch of those that have decisions, always the same ones of the same matches."""
    rng = np.random.default_rng(0)
    own = outcomes.column("match")[outcomes.column("decisions") > 0]
    stretches = np.array_split(own, min(SAMPLES, len(own)) or 1)
    return {rng.choice(some).decode(): float(rng.random()) for some in stretches if len(some)}


def asked_at(decisions: Sequence[DecisionRecord], at: float) -> DecisionRecord | None:
    """The decision that lies `at` this share of those that a model was asked for; None where it was
    asked for none."""
    asked = [decision for decision in decisions if decision.asked]
    return asked[int(at * len(asked))] if asked else None


def situation(exchange: Exchange, options: Sequence[str]) -> str:
    """What a prompt tells before it lists the options."""
    branches = exchange.branches if isinstance(exchange, ScoreExchange) else ("",)
    lines = f"{exchange.shared}{branches[0]}".splitlines()
    for number, line in enumerate(lines):
        listed = LETTERED.fullmatch(line)
        if listed and listed[2] in options:
            above = number - 1 if number and lines[number - 1].endswith(":") else number
            return "\n".join(lines[:above])
    return (
        exchange.shared[: exchange.shared.rfind("\n") + 1] if len(branches) > 1 else exchange.shared
    )
