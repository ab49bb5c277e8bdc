"""The workload of a sweep's models, counted in a few matches with synthetic replies.

Tokens are estimated from the text: no tokenizer is available for models that are only planned.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gauntlet.models.base import Generate, ModelSource, Reply, Request, Score
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.fake import Fake, FakeModel
from gauntlet.pipeline.config.players import SeatConfig
from gauntlet.pipeline.config.read import CellConfig, Seed, SweepConfig
from gauntlet.pipeline.log.exchanges import common_start
from gauntlet.pipeline.plan.build import build_agent, build_cells, model_of
from gauntlet.pipeline.plan.cells import Cell, Task
from gauntlet.pipeline.plan.control_cells import controls_and_noise
from gauntlet.pipeline.play.chains import Ask, run
from gauntlet.pipeline.play.match import play
from gauntlet.pipeline.play.prepare import prepare

SAMPLE = 50
"""Matches played per cell to count its decisions and tokens."""
WORD = re.compile(r"[^\r\n\w]?[^\W\d_]+|\d{1,3}| ?[^\s\w]+[\r\n]*|\s*[\r\n]+|\s+|_")
"""How a Llama 3 style tokenizer splits text into words; common words are one token."""


@dataclass
class Work:
    """The requests to a model, in tokens.

    sent: tokens prompt by prompt.
    packed: tokens when the shared part of a decision's prompts counts once and the static part,
        which stays in memory, not at all.
    statics: the tokens of each static part.
    """

    decisions: float = 0.0
    prompts: float = 0.0
    sent: float = 0.0
    packed: float = 0.0
    written: float = 0.0
    statics: dict[str, int] = field(default_factory=dict)

    def add(self, request: Request) -> None:
        prompts = request.prompts if isinstance(request, Score) else (request.prompt,)
        shared = common_start([prompt.changing for prompt in prompts])
        static, state = tokens(prompts[0].static), tokens(shared)
        branches = [tokens(prompt.text[len(prompt.static + shared) :]) for prompt in prompts]
        self.statics[prompts[0].static] = static
        self.decisions += 1
        self.prompts += len(prompts)
        self.sent += len(prompts) * (static + state) + sum(branches)
        self.packed += state + sum(branches)
        if isinstance(request, Generate):
            self.written += request.max_tokens

    def plus(self, other: Work, times: float) -> Work:
        numbers = ("decisions", "prompts", "sent", "packed", "written")
        sums = {name: getattr(self, name) + times * getattr(other, name) for name in numbers}
        return Work(**sums, statics={**self.statics, **other.statics})


def tokens(text: str) -> int:
    """Estimate the number of tokens of the text for a large model's tokenizer."""
    return len(WORD.findall(text))


@dataclass(frozen=True)
class Cast:
    """A cell whose checkpoints are replaced by fakes.

    sources: the checkpoint of the sweep by number of the fake.
    """

    cell: Cell
    sources: dict[int, Checkpoint]


def cast(config: CellConfig, checkpoints: list[Checkpoint]) -> Cast:
    """The cell with fakes for its checkpoints; new ones are appended to `checkpoints`."""
    sources, seats = {}, []
    for seat in config.seats:
        source = checkpoint(seat, config.packages)
        if source is not None:
            if source not in checkpoints:
                checkpoints.append(source)
            number = checkpoints.index(source)
            sources[number] = source
            seat = replace(seat, model={"_target_": "models.fake.Fake", "seed": -1 - number})
        seats.append(seat)
    (cell,) = build_cells([replace(config, seats=tuple(seats))])
    return Cast(cell, sources)


def control_casts(acted: Cast, sweep: SweepConfig) -> list[Cast]:
    """The controls that the sweep adds to the cell, if they also use a checkpoint."""
    casts = []
    for cell in controls_and_noise(acted.cell, sweep).values():
        asked = {_number(player.model) for player in cell.players if player.model is not None}
        sources = {number: acted.sources[number] for number in asked & acted.sources.keys()}
        casts += [Cast(cell, sources)] if sources else []
    return casts


def checkpoint(seat: SeatConfig, packages: Sequence[str]) -> Checkpoint | None:
    """The checkpoint that the seat's player uses, if any. Raises UserError."""
    source = model_of(seat, build_agent(seat, packages), packages)
    return source if isinstance(source, Checkpoint) else None


def sampled(acted: Cast, seed: Seed) -> dict[Checkpoint, Work]:
    """Each checkpoint's workload in SAMPLE matches, without the players' preparation."""
    works = {number: Work() for number in acted.sources}
    for deal in range(SAMPLE):
        rotations = acted.cell.rotations
        task = Task(acted.cell.key, deal, rotations[deal % len(rotations)], "")
        cell = run(prepare(acted.cell), _made_up).cell
        run(play(cell, task, seed), lambda ask: _count(ask, works))
    return {acted.sources[number]: work for number, work in works.items()}


def _count(ask: Ask, works: dict[int, Work]) -> Reply:
    number = _number(ask.source)
    if number in works:
        works[number].add(ask.request)
    return _made_up(ask)


def _number(source: ModelSource) -> int:
    return -1 - source.seed if isinstance(source, Fake) else -1


def _made_up(ask: Ask) -> Reply:
    source = ask.source if isinstance(ask.source, Fake) else Fake()
    return FakeModel(source).answer([ask.request])[0]
