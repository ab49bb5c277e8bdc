"""Small players that make requests, and models that answer late, in any order, or never."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gauntlet.agents.base import Agent, Decision, Thinking, Turn
from gauntlet.games.base import Game
from gauntlet.models.base import Model, ModelSource, Prompt, Reply, Request, Score, Scores
from gauntlet.models.fake import Fake
from gauntlet.pipeline.plan.cells import Cell, Player, Task
from gauntlet.pipeline.play.chains import Ask


@dataclass(frozen=True)
class Asking:
    """Makes `rounds` batches of `together` parallel requests; the sum of the replies decides."""

    rounds: int = 1
    together: int = 1

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        sums = np.zeros(len(turn.options))
        for number in range(self.rounds):
            requests = tuple(self._request(turn, number, each) for each in range(self.together))
            replies = yield requests if self.together > 1 else requests[0]
            for reply in replies if isinstance(replies, tuple) else (replies,):
                assert isinstance(reply, Scores)
                sums += np.array(reply.logprobs[0])
        return Decision(int(sums.argmax()), attempts=self.rounds, scores=tuple(sums.tolist()))

    def _request(self, turn: Turn, number: int, each: int) -> Score:
        seen = turn.observation
        changing = f"{seen.facts} {seen.history} question {number}.{each}\n"
        choices = tuple(str(option) for option in range(len(turn.options)))
        return Score((Prompt(f"You are player {seen.seat}.\n", changing, "Answer:"),), choices)


@dataclass(frozen=True)
class Named:
    """A placeholder model source: the test passes its model to the scheduler."""

    name: str

    def identity(self) -> Mapping[str, Any]:
        return {"named": self.name}

    def check_choices(self, choices: Sequence[str]) -> None:
        """Accepts any."""

    def load(self) -> Model:
        raise AssertionError("nobody loads it")


class Empty:
    """A model that holds nothing."""

    def close(self) -> None:
        pass


@dataclass
class Answering(Empty):
    """Answers by a function, and records the sizes of its batches."""

    how: Callable[[Sequence[Request]], Sequence[Reply]] = Fake().load().answer
    sizes: list[int] = field(default_factory=list)

    def answer(self, requests: Sequence[Request]) -> Sequence[Reply]:
        self.sizes.append(len(requests))
        return self.how(requests)


@dataclass
class Late(Empty):
    """A Concurrent model that answers as the fake does, after a random time."""

    slots: int
    seed: int = 0
    rng: random.Random = field(default_factory=lambda: random.Random(7))

    def answer(self, requests: Sequence[Request]) -> Sequence[Reply]:
        assert len(requests) == 1
        time.sleep(self.rng.expovariate(500))
        return Fake(self.seed).load().answer(requests)


@dataclass
class Meeting(Empty):
    """A Concurrent model that answers nothing until `parties` requests are pending at once."""

    parties: int

    def __post_init__(self) -> None:
        self.slots = self.parties
        self._barrier = threading.Barrier(self.parties)

    def answer(self, requests: Sequence[Request]) -> Sequence[Reply]:
        self._barrier.wait(timeout=10)
        return Fake().load().answer(requests)


def score(text: str) -> Score:
    return Score((Prompt("", text, "Answer:"),), ("A", "B"))


def ask(text: str) -> Ask:
    return Ask(Fake(), score(text))


def text_of(request: Request) -> str:
    prompt = request.prompts[0] if isinstance(request, Score) else request.prompt
    return prompt.changing


def fakes_reply(ask: Ask) -> Reply:
    """Return the reply of the fake with the ask's own seed."""
    source = ask.source if isinstance(ask.source, Fake) else Fake()
    return source.load().answer([ask.request])[0]


def cell_of(game: Game[Any], *players: tuple[Agent, ModelSource | None]) -> Cell:
    named = tuple(Player(f"player{n}", *player, None) for n, player in enumerate(players))
    return Cell("", {}, game, named, (0,), (0,), "win", False, False, None, {})


def tasks_of(cell: Cell, deals: int) -> list[Task]:
    return [Task(cell.key, deal, 0, f"match{deal}") for deal in range(deals)]
