"""The pocket model in conversation: its replies are readable, and choose better than chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import chain, islice

import numpy as np
import pytest

from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.answers import parse_option
from gauntlet.agents.prompting.tutri import Tutri
from gauntlet.agents.prompting.vanilla import Vanilla
from gauntlet.games.uno.game import Uno
from gauntlet.models.base import Generate, Reply, Request
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.engine.local import Local
from gauntlet.training.pocket import data, train
from gauntlet.training.pocket.data import Lesson
from tests.agents.play import drive

METHODS = (Vanilla(), Tutri())
LESSER = (Tutri(history=False), Tutri(strategy=False))
SLOW = partial(pytest.param, marks=pytest.mark.slow)


@pytest.fixture(scope="module")
def model() -> Iterator[Local]:
    local = Checkpoint(str(train.WEIGHTS)).load()
    yield local
    local.close()


def uno_lessons(rng: np.random.Generator) -> Iterator[Lesson]:
    """Decisions of UNO's other rules in random games, without ratings of the options."""
    game = Uno(2)
    while True:
        state = game.deal(rng)
        while movers := game.to_move(state):
            options = game.legal(state, movers[0])
            if len(options) > 1:
                turn = data.turn_of(game, state, movers[0])
                yield Lesson(turn, np.zeros(len(options)), "")
            state = game.play(state, (options[rng.integers(len(options))],))


@pytest.mark.parametrize("method", [*METHODS, *map(SLOW, LESSER)])
def test_fewer_than_one_reply_in_a_hundred_names_no_option(model: Local, method: Vanilla) -> None:
    rng = np.random.default_rng(77)
    tables = [data.arena_lessons(seats, rng) for seats in (2, 5)]
    tables += [uno_lessons(rng), data.tic_tac_toe_lessons(rng)]
    read: Counter[str] = Counter()
    for lesson in chain.from_iterable(zip(*tables, strict=True)):
        if read.total() >= 120:
            break
        options = lesson.turn.observation.options

        def answer(request: Request, options: tuple[str, ...] = options) -> Reply:
            assert isinstance(request, Generate)
            (reply,) = model.answer([request])
            found = parse_option(reply.text, options)  # type: ignore[union-attr]
            read["read" if isinstance(found, int) else found] += 1
            return reply

        drive(LLM(method), lesson.turn, answer)
    assert read["read"] > 0.99 * read.total()


@pytest.mark.slow
def test_its_answers_are_worth_more_than_random_ones(
    model: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As many playouts as a lesson has do for learning, but are too noisy to judge by.
    monkeypatch.setattr(data, "ARENA_PLAYOUTS", 2000)
    # So are 80 lessons: their share of what could be gained goes from .11 to .51 (eight seeds).
    rng = np.random.default_rng(78)
    lessons, gained = list(islice(data.arena_lessons(2, rng), 400)), []
    replies = model.answer([next(Vanilla().ask(lesson.turn, rng)) for lesson in lessons])
    for lesson, reply in zip(lessons, replies, strict=True):
        decision, _ = drive(LLM(Vanilla()), lesson.turn, lambda _, reply=reply: reply)
        gained.append(lesson.logits[decision.option] - lesson.logits.mean())
    assert np.mean(gained) > 3 * np.std(gained, ddof=1) / np.sqrt(len(gained))
