"""The rounds of an adaptive sweep: which pairs play the next deals, until the verdict is settled.

A round is logged before it is played, so a killed run goes on with it, and the next one follows
from the log alone: the same matches always lead to the same decisions. Every round has fresh deals,
as `stats.tournament` needs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rich.console import Console

from gauntlet.common.disk import write_atomically
from gauntlet.common.errors import UserError, counted
from gauntlet.common.terminal import print_line
from gauntlet.pipeline.config.read import Adaptive, SweepConfig
from gauntlet.pipeline.judging.tournament import (
    evidence,
    pair_of,
    rule_of,
    sentences,
)
from gauntlet.pipeline.log.events import event
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.live import RunStatus
from gauntlet.pipeline.log.records import Log
from gauntlet.pipeline.log.results import ORDER_MATTERS, CellInfo, collect
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.plan.cells import Plan, Round, Task
from gauntlet.pipeline.tables.sweep.spending import Spend, spending
from gauntlet.stats.tournament import Tournament


def so_far(plan: Plan, sweep: SweepConfig, abouts: Sequence[CellInfo], folder: Folder) -> Plan:
    """The plan with the rounds in the folder, if the sweep is adaptive; those from a lost one on
    are decided again, from the same matches. Raises UserError if the folder holds another kind, or
    other cells: the verdict is about all its matches."""
    file = folder.lines_file("rounds")
    if sweep.adaptive is None:
        if file.exists():
            raise UserError(
                f"{folder.path} holds the rounds of pairing=adaptive; choose another output_dir"
            )
        return plan
    rounds, whole = folder.first_rounds()
    if not whole:
        kept = file.read_bytes().splitlines(keepends=True)[: len(rounds)]
        write_atomically(file, b"".join(kept))
        event("rounds lost", first=len(rounds) + 1)
    rule = rule_of(sweep.adaptive, abouts)
    if rounds and (before := folder.rule) != rule:
        differs = next(key for key in rule if before[key] != rule[key])
        raise UserError(
            f"{folder.path} holds rounds with {differs}={_words(before[differs])}, and now it is "
            f"{_words(rule[differs])}; go on as before, or choose another output_dir"
        )
    strange = folder.holds_others(about.key for about in abouts)
    if strange or (not file.exists() and any(folder.matches())):
        what = "cells that are not of this sweep" if strange else "matches that belong to no round"
        raise UserError(
            f"{folder.path} holds {what}, and pairing=adaptive would mix them in; choose another "
            "output_dir"
        )
    return replace(plan, deals=rounds[-1].deals.stop if rounds else 0, rounds=rounds)


def _words(value: Any) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)


@dataclass
class Rounds:
    """Plans rounds and hands out their matches.

    plan: the rounds so far. most: deals of all rounds at most. given_up: ids of matches that this
    run gave up. added: matches of the rounds that this run began. money: US dollars, of the whole
    log, if they are limited.
    """

    out: Console
    adaptive: Adaptive
    plan: Plan
    most: int
    abouts: Sequence[CellInfo]
    log: Log
    live: RunStatus
    given_up: set[str] = field(default_factory=set)
    over: bool = False
    added: int = 0
    money: float = 0.0

    def __post_init__(self) -> None:
        self.rule = rule_of(self.adaptive, self.abouts)
        self._open = [task for task in self.plan.tasks() if not self.log.has(task)]
        self._price: dict[str, Spend] = {}
        if self.adaptive.budget.money is not None:
            self._count_money()

    def played(self, record: MatchRecord) -> None:
        """Add what a match cost."""
        if spend := self._price.get(record.cell):
            about = next(one for one in self.abouts if one.key == record.cell)
            self.money += sum(spend(record, about.seatings[record.rotation // about.step]))

    def _count_money(self) -> None:
        """What the matches in the log cost."""
        folder = Folder(self.log.folder)
        try:
            self._price = {
                about.key: spending("money", folder.description(about)) for about in self.abouts
            }
        except UserError as error:
            raise UserError(f"budget.money: {error}; budget.tokens needs no price") from error
        for about in self.abouts:
            for record in folder.matches(about.stem):
                self.played(record)

    def begin(self) -> None:
        """Begin rounds until matches of the last one are missing, or all is over."""
        while not self._still_open(()) and self._next():
            pass

    def queues(self, stopped: Collection[str] = ()) -> list[Iterator[Task]] | None:
        """The matches of the next round, by cell; None while some of the last round are still being
        played; [] once all is over. stopped: cells that failed, which end the sweep."""
        if self._still_open(stopped):
            return None
        if stopped:
            print_line(self.out, "stopped  no round follows, as a cell failed")
        elif not self.over:
            self.begin()
        self.over = not self._open
        cells = dict.fromkeys(task.cell for task in self._open)
        return [iter([task for task in self._open if task.cell == cell]) for cell in cells]

    def _still_open(self, stopped: Collection[str]) -> bool:
        """Whether matches of the rounds so far have not ended."""
        ended = self.given_up
        self._open = [
            task
            for task in self._open
            if not (self.log.has(task) or task.match in ended or task.cell in stopped)
        ]
        return bool(self._open)

    def _next(self) -> bool:
        """Decide and log the next round; False if there is none."""
        found = self._evidence()
        self.live.found = (*sentences(self.rule, found, len(self.plan.rounds or ())),)
        chosen = found.next_pairs()
        if not chosen:
            return False
        if limit := self._limit():
            print_line(self.out, f"stopped  {limit}; the verdict is open")
            event("rounds stopped", why=limit)
            return False
        start = self.plan.deals
        deals = range(start, min(start + self.adaptive.round_deals, self.most))
        reasons = {frozenset(pair): reason for pair, reason in chosen.items()}
        pairs = {about.key: frozenset(pair_of(self.rule, about)) for about in self.abouts}
        cells = {key: reasons[pair] for key, pair in pairs.items() if pair in reasons}
        self._begin(Round(deals, cells))
        return True

    def _begin(self, new: Round) -> None:
        ends = [new.deals.start, new.deals.stop]
        self.log.append_line("rounds", {"deals": ends, "pairs": new.cells, "rule": self.rule})
        rounds = (*(self.plan.rounds or ()), new)
        self.plan = replace(self.plan, deals=new.deals.stop, rounds=rounds)
        tasks = replace(self.plan, rounds=(new,)).tasks()
        self._open = [task for task in tasks if not self.log.has(task)]
        self.added += len(self._open)
        self.live.follow(self.plan, new.deals)

    def _evidence(self) -> Tournament:
        if not self.plan.rounds:  # matches of lost rounds count once these are found again
            return evidence(self.rule, ())
        folder = Folder(self.log.folder)
        abouts = [about for about in self.abouts if about.key not in folder.unrepeatable]
        results = collect(abouts, self.log.outcomes, folder.failed_matches, self.plan.rounds)
        return evidence(self.rule, results)

    def _limit(self) -> str:
        """Why no round follows, though the verdict is open, or ""."""
        if Folder(self.log.folder).unrepeatable:
            return ORDER_MATTERS
        budget, outcomes = self.adaptive.budget, self.log.outcomes.values()
        spent = {
            "matches": sum(map(len, outcomes)),
            "tokens": sum(int(one.column("all_tokens").sum()) for one in outcomes),
            "money": self.money,
        }
        for key, amount in spent.items():
            most = getattr(budget, key)
            if most is not None and amount >= most:
                return f"budget.{key}={most:,} is spent"
        return (
            f"all {counted(self.most, 'deal')} are played" if self.plan.deals >= self.most else ""
        )
