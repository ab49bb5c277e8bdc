"""The text around a game's facts, in several wordings with the same content and order.

A result that holds for one wording only is a result about the wording. `prompt.wording=plain,terse,
formal` sweeps over them; docs/statistics.md describes the analysis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gauntlet.common.errors import suggest
from gauntlet.common.ids import LATER


@dataclass(frozen=True, slots=True)
class Wording:
    """The text templates of the methods.

    you: with {game}, {seat} and {who}, which is `who` if the seat has a {role}.
    team: with {partners}.
    win, help: the goal; {helps}.
    score, help_score: the goal if {points} are collected.
    rules: {rules}.
    recent: {moves}, or `none`.
    options: heads a list.
    letter, number: the question.
    verdict: the question about one {option} among {options}.
    last, no_last: heads the numbered moves; replaces them.
    cue: how the answer begins.
    """

    you: str
    who: str
    team: str
    win: str
    help: str
    score: str
    help_score: str
    rules: str
    recent: str
    none: str
    options: str
    letter: str
    number: str
    verdict: str
    last: str
    no_last: str
    cue: str


PLAIN = Wording(
    you="You are player {seat}{who} in a game of {game}.\n",
    who=", {role},",
    team="Your team: you and {partners}.\n",
    win="Goal: win the game yourself.\n",
    help="Goal: help player {helps} win; your own result does not count.\n",
    score="Goal: score as many {points} as you can.\n",
    help_score="Goal: help player {helps} score as many {points} as possible; not your own.\n",
    rules="Rules: {rules}\n",
    recent="Recent moves: {moves}\n",
    none="none yet",
    options="Options:\n",
    letter="Which option is best? Reply with its letter.\n",
    number="Which option is best? ",
    verdict="Options:{options}\nIs {option} a good or a bad choice?\n",
    last="Last moves:\n",
    no_last="Last moves: unknown, none has been made\n",
    cue="Answer:",
)

TERSE = Wording(
    you="Game: {game}. You: player {seat}{who}.\n",
    who=" ({role})",
    team="Team: you, {partners}.\n",
    win="Aim: win.\n",
    help="Aim: player {helps} wins. Your own result: irrelevant.\n",
    score="Aim: most {points}.\n",
    help_score="Aim: most {points} for player {helps}. Your own: irrelevant.\n",
    rules="How to play: {rules}\n",
    recent="Played: {moves}\n",
    none="nothing",
    options="Choices:\n",
    letter="Best letter?\n",
    number="Best choice? ",
    verdict="Choices:{options}\n{option}: good or bad?\n",
    last="Played:\n",
    no_last="Played: nothing\n",
    cue="Pick:",
)

FORMAL = Wording(
    you="In what follows you act as player {seat}{who} in a match of {game}.\n",
    who=", in the part of {role},",
    team="You form one team with {partners}.\n",
    win="Your objective is to be the winner of this match.\n",
    help="Your objective is that player {helps} wins; how you yourself finish is of no account.\n",
    score="Your objective is to score as many {points} as you can in this match.\n",
    help_score=(
        "Your objective is that player {helps} scores as many {points} as possible; your own are "
        "of no account.\n"
    ),
    rules="The match is governed by these rules: {rules}\n",
    recent="The most recent moves were: {moves}\n",
    none="no move has been made so far",
    options="The following options are open to you:\n",
    letter="Please determine which of them is the strongest, and state the letter before it.\n",
    number="Please determine which of them is the strongest. ",
    verdict=(
        "The following options are open to you:{options}\n"
        "Please judge whether {option} would be a good or a bad decision.\n"
    ),
    last="The most recent moves were, under their numbers:\n",
    no_last="The most recent moves: no move has been made so far\n",
    cue="Your answer:",
)

WORDINGS: Mapping[str, Wording] = {"plain": PLAIN, "terse": TERSE, "formal": FORMAL}


@dataclass(frozen=True)
class HasWording:
    """Base of the methods that support several wordings.

    wording: "plain", "terse" or "formal". The default predates the setting and is left out of the
        cell key (`pipeline.plan.identity.describe`).
    """

    wording: str = field(default="plain", kw_only=True, metadata=LATER)

    def __post_init__(self) -> None:
        if self.wording not in WORDINGS:
            near = suggest(self.wording, WORDINGS)
            raise ValueError(f"wording is {self.wording!r}, which there is not{near}")

    @property
    def words(self) -> Wording:
        return WORDINGS[self.wording]


def on_a_line(names: Sequence[str]) -> str:
    """Names after a colon: comma-separated, or one per line if a name contains a comma."""
    if any("," in name for name in names):
        return "".join(f"\n- {name}" for name in names)
    return f" {', '.join(names)}"
