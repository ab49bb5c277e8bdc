"""Timing of each request: in the record's order, for all models."""

from __future__ import annotations

import pytest

from gauntlet.games.rock_paper_scissors import RockPaperScissors
from gauntlet.models.fake import Fake
from gauntlet.pipeline.log.exchanges import exchange
from gauntlet.pipeline.log.schema import Clock, MatchRecord
from gauntlet.pipeline.play.clock import Watch
from gauntlet.pipeline.play.scheduler import Scheduler
from tests.pipeline.asking import Asking, Late, Named, ask, cell_of, fakes_reply, tasks_of
from tests.pipeline.records import decided, ended


def test_times_follow_the_record_where_seats_are_asked_in_turns() -> None:
    texts = ("own 1", "other 1", "other 2", "own 2", "heard at the end")
    asks = {text: ask(text) for text in texts}
    watch = Watch(began=1000.0)
    for number, text in enumerate(texts):
        watch.register(asks[text])
        watch.answered(asks[text], watch._zero + number, watch._zero + number + 0.5)

    def seat(number: int, *texts: str) -> object:
        made = (exchange(asks[text].request, fakes_reply(asks[text]), {}) for text in texts)
        return decided(number, asked=tuple(made))

    record = ended(seat(0, "own 1", "own 2"), seat(1, "other 1", "other 2"))  # type: ignore[arg-type]
    assert watch.read(record) == Clock(1000.0, ((0, 0.5), (3, 3.5), (1, 1.5), (2, 2.5)))
    assert watch.read(ended(decided(0, asked=()))) is None


def test_a_match_is_told_when_it_asked() -> None:
    """Two seats that move at once make several requests to slow models: no request begins before
    its turn, and each is answered after its beginning."""
    slow, fake = Named("slow"), Fake()
    cell = cell_of(RockPaperScissors(rounds=2), (Asking(2, 2), slow), (Asking(3), fake))
    playing = Scheduler({cell.key: cell}, 3, {slow: Late(2), fake: fake.load()}, 8)
    try:
        made = [future.result(timeout=30) for future in playing.submit(tasks_of(cell, 3))]
    finally:
        playing.close()
    for record in (one.record for one in made):
        assert isinstance(record, MatchRecord)
        assert record.clock is not None
        times = iter(record.clock.asked)
        for decision in record.decisions:
            own = [next(times) for _ in decision.asked]
            assert all(0 <= began <= answered for began, answered in own)
            first = own[:2] if decision.seat == 0 else own[:1]
            later = own[len(first) :]
            assert max(end for _, end in first) <= min(begin for begin, _ in later)


def test_times_that_are_not_one_a_question_are_damage() -> None:
    with pytest.raises(ValueError, match="not one a question"):
        ended(decided(0), clock=Clock(0.0, ()))
