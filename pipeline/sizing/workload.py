"""What a sweep will ask its models, counted in a few matches with made-up answers.

Tokens are estimated from the text: no tokenizer is at hand where models are only planned.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gauntlet.models.base import Generate, ModelSource, Reply, Request, Score
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.fake import Fake, FakeModel
from gauntlet.pipeline.config.nodes import build
from gauntlet.pipeline.config.players import SeatConfig
from gauntlet.pipeline.config.read import CellConfig, Seed, SweepConfig
from gauntlet.pipeline.log.exchanges import common_start
from gauntlet.pipeline.plan.build import build_agent, build_cells, methods_of
from gauntlet.pipeline.plan.cells import Cell, Task
from gauntlet.pipeline.plan.control_cells import controls_and_noise
from gauntlet.pipeline.play.chains import Ask, run
from gauntlet.pipeline.play.match import play
from gauntlet.pipeline.play.prepare import prepare

SAMPLE = 50
"""Matches of a cell that are played to count its decisions and tokens."""
WORD = re.compile(r"[^\r\n\w]?[^\W\d_]+|\d{1,3}| ?[^\s\w]+[\r\n]*|\s*[\r\n]+|\s+|_")
"""Where a tokenizer in the manner of Llama 3 cuts text into words; common words are a token."""


@dataclass
class Work:
    """What a model is asked. Tokens as sent, prompt by prompt; and packed: the shared part of a
    decision's prompts once, and the static part not at all, as it stays in memory.

    statics: the tokens of each static part.
    """

    decisions: float = 0.0
    prompts: float = 0.0
    sent: float = 0.0
    packed: float = 0.0
    written: float = 0.0
    statics: dict[str, int] = field(default_factory=dict)

    def add(self, request: Request) -> None:
        """Counts a request."""
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
        """This and `times` the other."""
        numbers = ("decisions", "prompts", "sent", "packed", "written")
        sums = {name: getattr(self, name) + times * getattr(other, name) for name in numbers}
        return Work(**sums, statics={**self.statics, **other.statics})


def tokens(text: str) -> int:
    """About how many tokens a large model's tokenizer makes of the text."""
    return len(WORD.findall(text))


@dataclass(frozen=True)
class Cast:
    """A cell whose checkpoints are played by stand-ins.

    sources: by number of the stand-in, which checkpoint of the sweep it stands for.
    """

    cell: Cell
    sources: dict[int, Checkpoint]


def cast(config: CellConfig, checkpoints: list[Checkpoint]) -> Cast:
    """The cell with stand-ins for its checkpoints; new ones are appended to `checkpoints`."""
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


def beside_it(acted: Cast, sweep: SweepConfig) -> list[Cast]:
    """What the sweep plays beside the cell, where that asks a checkpoint as well."""
    found = []
    for cell in controls_and_noise(acted.cell, sweep).values():
        asked = {_number(player.model) for player in cell.players if player.model is not None}
        sources = {number: acted.sources[number] for number in asked & acted.sources.keys()}
        found += [Cast(cell, sources)] if sources else []
    return found


def checkpoint(seat: SeatConfig, packages: Sequence[str]) -> Checkpoint | None:
    """The checkpoint that the seat's player asks, if it asks one. Raises UserError."""
    if not methods_of(build_agent(seat, packages)):
        return None
    source = build(seat.model, f"{seat.where}model", packages)
    return source if isinstance(source, Checkpoint) else None


def sampled(acted: Cast, seed: Seed) -> dict[Checkpoint, Work]:
    """What each checkpoint is asked in SAMPLE matches, without what players ask beforehand."""
    works = {number: Work() for number in acted.sources}
    for deal in range(SAMPLE):
        rotations = acted.cell.rotations
        task = Task(acted.cell.key, deal, rotations[deal % len(rotations)], "")
        cell = run(prepare(acted.cell), _made_up).cell
        run(play(cell, task, seed), lambda ask: _counted(ask, works))
    return {acted.sources[number]: work for number, work in works.items()}


def _counted(ask: Ask, works: dict[int, Work]) -> Reply:
    number = _number(ask.source)
    if number in works:
        works[number].add(ask.request)
    return _made_up(ask)


def _number(source: ModelSource) -> int:
    return -1 - source.seed if isinstance(source, Fake) else -1


def _made_up(ask: Ask) -> Reply:
    source = ask.source if isinstance(ask.source, Fake) else Fake()
    return FakeModel(source).answer([ask.request])[0]
