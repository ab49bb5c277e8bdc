"""Side questions to a sweep's subjects: what did they believe right after a decision?

They are asked when the matches are over. Each match is replayed from its record, and the question
is put to the model as it stood there, so asking can change neither a match nor its record. What was
asked is kept (`pipeline.log.beliefs`); a run that goes on asks only about other matches. Equal
prompts are sent once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from rich.console import Console

from gauntlet.agents.human import Human
from gauntlet.agents.prompting.beliefs import belief_request, belief_scores
from gauntlet.agents.prompting.cloze import LETTERS
from gauntlet.common.errors import ModelError, UserError
from gauntlet.games.capabilities import WIN, BeliefQuestion, Believable
from gauntlet.games.contract import observation
from gauntlet.models.base import Model, ModelSource, Paid, Reply, Score, Scores
from gauntlet.models.replay import key
from gauntlet.pipeline.config.read import Seed, SweepConfig
from gauntlet.pipeline.judging.judge import Choice, choices
from gauntlet.pipeline.launch.loading import Planned
from gauntlet.pipeline.log.beliefs import Belief, MatchBeliefs, add_beliefs, reopened
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.progress import Waiting
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.plan.baseline import scripted_policies
from gauntlet.pipeline.plan.cells import Cell, Plan
from gauntlet.pipeline.play.chains import Ask, gathered
from gauntlet.pipeline.play.queues import run_queued

MATCHES = 64
"""Matches whose questions are asked, and written, together."""
AT_ONCE = 256
"""Most questions in a batch."""


def refusal(cell: Cell) -> str:
    """Why the cell's subjects cannot be asked; "" if they can."""
    if not isinstance(cell.game, Believable):
        return f"{cell.labels['game']} has no questions about what is hidden in it"
    for number in cell.subjects:
        player = cell.players[number]
        if player.model is None or isinstance(player.agent, Human):
            return f"{player.name} asks no model"
        if isinstance(player.model, Paid):
            return f"{player.name} asks an API, and side questions are for local models"
        try:
            player.model.check_choices(LETTERS)
        except ModelError as error:
            return str(error)
    return ""


def check(cells: Sequence[Cell], sweep: SweepConfig) -> None:
    """Raises UserError if side questions are wanted and no cell can be asked."""
    reasons = [refusal(cell) for cell in cells]
    if sweep.beliefs["kind"] != "none" and all(reasons):
        raise UserError(f"beliefs=on: {reasons[0]}")


def ask(
    out: Console, cells: Sequence[Cell], results: Sequence[CellResults], sweep: SweepConfig
) -> bool:
    """Ask what is missing about all matches of `results`, in this process. Returns whether it was
    interrupted. The caller holds the lock of the folder. Raises UserError."""
    if sweep.beliefs["kind"] == "none":
        return False
    notes, interrupted = list[str](), False
    try:
        with ExitStack() as stack, Waiting(out, "beliefs", "matches", "asked about") as waiting:
            models: dict[ModelSource, Model] = {}
            for cell, result in zip(cells, results, strict=True):
                if reason := refusal(cell):
                    notes.append(f"no beliefs in {cell.name}: {reason}")
                else:
                    _ask_cell(cell, result, sweep, models, stack, notes, waiting)
    except KeyboardInterrupt:
        interrupted = True
    for note in notes:
        out.print(note, soft_wrap=True)
    return interrupted


def _ask_cell(
    cell: Cell,
    result: CellResults,
    sweep: SweepConfig,
    models: dict[ModelSource, Model],
    stack: ExitStack,
    notes: list[str],
    waiting: Waiting,
) -> None:
    folder, stem, every = sweep.output_dir, result.about.stem, int(sweep.beliefs["every"])
    known = reopened(folder, stem, every, notes)
    wanted = {outcome.match for outcome in result.outcomes} - known
    if not wanted:
        return
    _load(cell, models, stack)
    asking, total = Asking(cell, sweep.seed, every, models), len(wanted)
    records = (one for one in Folder(folder).matches(stem) if one.match in wanted)
    while some := list(islice(records, MATCHES)):
        new = {record.match: record for record in some if record.match in wanted}
        add_beliefs(folder, stem, asking.about(list(new.values())))
        wanted -= new.keys()
        waiting.reach(total - len(wanted), total)


def _load(cell: Cell, models: dict[ModelSource, Model], stack: ExitStack) -> None:
    """Load the subjects' models that are not there yet; the stack closes them."""
    planned = Planned.from_plan(Plan((cell,), 0, 0))
    for number in cell.subjects:
        source = cell.players[number].model
        assert source is not None
        if source not in models:
            models[source] = planned.load(source, lambda source: source.load())
            stack.callback(models[source].close)


@dataclass(frozen=True)
class _Pending:
    """A question, and what makes a belief of its scores and tokens."""

    source: ModelSource
    request: Score
    made: Callable[..., Belief]


class Asking:
    """Asks the subjects of a cell about its matches. Replies are kept by their request."""

    def __init__(
        self, cell: Cell, seed: Seed, every: int, models: Mapping[ModelSource, Model]
    ) -> None:
        self.cell, self.seed, self.every = cell, seed, every
        self.models = models
        self.replies: dict[tuple[ModelSource, bytes], Reply] = {}
        policies = scripted_policies(cell)
        self.policies = [None] * len(policies) if cell.opening else policies

    def about(self, records: Sequence[MatchRecord]) -> list[MatchBeliefs]:
        """The beliefs in these matches. Raises UserError if the game no longer plays as recorded,
        and what a model raises."""
        pending = [list(self._questions(record)) for record in records]
        new = {
            (one.source, key(one.request)): one.request
            for own in pending
            for one in own
            if (one.source, key(one.request)) not in self.replies
        }
        asks = [Ask(source, request) for (source, _), request in new.items()]
        if asks:
            replies = run_queued(gathered(asks), self.models, AT_ONCE)
            self.replies |= dict(zip(new, replies, strict=True))
        return [
            MatchBeliefs(
                match=record.match,
                deal=record.deal,
                rotation=record.rotation,
                every=self.every,
                beliefs=tuple(self._belief(one) for one in own),
            )
            for record, own in zip(records, pending, strict=True)
        ]

    def _belief(self, pending: _Pending) -> Belief:
        reply = self.replies[pending.source, key(pending.request)]
        assert isinstance(reply, Scores), reply
        return pending.made(scores=belief_scores(reply), tokens=sum(reply.tokens))

    def _questions(self, record: MatchRecord) -> Iterator[_Pending]:
        """The questions about a match: at the subjects' asked decisions 0, every, 2 every, ..."""
        game, cell = self.cell.game, self.cell
        assert isinstance(game, Believable)
        turns, asked = list(choices(cell.game, self.seed, record)), Counter[int]()
        for place, turn in enumerate(turns):
            seat = turn.decision.seat
            if seat not in record.subjects or not turn.decision.asked:
                continue
            asked[seat] += 1
            if (asked[seat] - 1) % self.every:
                continue
            for question in game.questions(turn.state, seat, turn.move):
                yield self._pending(record, turn, turns[place + 1 :], question)

    def _pending(
        self, record: MatchRecord, turn: Choice, later: Sequence[Choice], question: BeliefQuestion
    ) -> _Pending:
        game: Any = self.cell.game
        seat, number = turn.decision.seat, self.cell.seating(record.rotation)
        player = number[turn.decision.seat]
        source = self.cell.players[player].model
        assert source is not None
        goal = self.cell.goal(player, record.rotation)
        seen, move = observation(game, turn.state, seat), turn.decision.move
        unknown: list[str | None] = [None] * game.num_seats
        known = [None if at == seat else self.policies[who] for at, who in enumerate(number)]
        place = turn.state, seat, turn.move, question
        every = all(known[at] for at in range(game.num_seats) if at != seat)
        worths = None
        if question.kind == "hidden":
            worths = game.worths(turn.state, seat, question, known)
        made = partial(
            Belief,
            ply=turn.ply,
            seat=seat,
            chosen=turn.decision.chosen,
            kind=question.kind,
            about=question.about,
            answers=question.answers,
            truth=_truth(game, record, turn, later, question),
            deal=_plain(game.posterior(*place, unknown)),
            exact=_plain(game.posterior(*place, known)) if every else (),
            worths=tuple(
                tuple(worth if math.isfinite(worth) else None for worth in row)
                for row in ([] if worths is None else worths.tolist())
            ),
        )
        return _Pending(source, belief_request(seen, goal, move, question), made)


def _truth(
    game: Any,
    record: MatchRecord,
    turn: Choice,
    later: Sequence[Choice],
    question: BeliefQuestion,
) -> int:
    """The index of the right answer: of what was hidden, what was done next, who won."""
    if question.kind == "hidden":
        return int(game.truth(turn.state, question))
    if question.kind == "win":
        return int(not record.measures[WIN.name][question.about] > 0)
    following = later[0].decision
    if following.seat != question.about or following.move not in question.answers:
        raise UserError(
            f"{type(game).__name__}.questions: {question.text!r} has the answers "
            f"{', '.join(question.answers)}, and then player {following.seat} did {following.move}"
        )
    return question.answers.index(following.move)


def _plain(chances: np.ndarray | None) -> tuple[float, ...]:
    return () if chances is None else tuple(chances.tolist())
