"""`paper_bugs=true` against the default, on the states of recorded matches: differences and their
frequencies.

The published program reported the colour printed on a wild card instead of the one named, listed a
card held twice as two options, derived the next player from the logged reverses alone, and prompted
the model even without a choice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from gauntlet.games.base import Observation
from gauntlet.games.uno import Uno
from gauntlet.pipeline.log.schema import DecisionRecord, MatchRecord
from gauntlet.pipeline.plan.rng import DEAL, stream
from tests.pipeline.conftest import Sweep
from tests.pipeline.logs import matches

SEATS = 3
PAPER, RIGHT = Uno(SEATS, paper_bugs=True), Uno(SEATS)


def fact_of(observation: Observation, name: str) -> str:
    return next(fact.text for fact in observation.facts if fact.name == name)


def states(record: MatchRecord) -> Iterator[tuple[Observation, Observation, DecisionRecord]]:
    """Each recorded decision with its seat's observation by the published rules and by ours."""
    state = PAPER.deal(stream(1, PAPER, record.deal, DEAL))
    for decision in record.decisions:
        (seat,) = PAPER.to_move(state)
        yield PAPER.observe(state, seat), RIGHT.observe(state, seat), decision
        state = PAPER.play(state, (PAPER.legal(state, seat)[decision.chosen],))


@pytest.fixture
def recorded(sweep: Sweep, folder: Path) -> list[MatchRecord]:
    assert sweep("experiment=llm_uno_coop", "prompt=cloze", "paper_bugs=true", "deals=40") == 0
    return list(matches(folder).values())


def test_what_the_published_program_told_differs_from_what_is_so(
    recorded: list[MatchRecord],
) -> None:
    differs: Counter[str] = Counter()
    for record in recorded:
        for paper, right, decision in states(record):
            assert tuple(decision.options) == paper.options
            assert set(paper.options) == set(right.options)
            assert sorted(fact_of(paper, "Your hand")) == sorted(fact_of(right, "Your hand"))
            for fact in ("Players", "Cards"):
                assert fact_of(paper, fact) == fact_of(right, fact)
            differs["decisions"] += 1
            differs["next player"] += fact_of(paper, "Next player") != fact_of(right, "Next player")
            differs["duplicates"] += len(paper.options) > len(right.options)
            stale = fact_of(paper, "Top card") != fact_of(right, "Top card")
            assert not stale or fact_of(paper, "Top card").startswith("wild")
            differs["stale colour"] += stale
    shares = {slip: differs[slip] / differs["decisions"] for slip in differs}
    assert 0.04 < shares["stale colour"] < 0.12  # 7% were counted in RLCard's own games
    assert 0 < shares["duplicates"] < 0.2
    assert 0 < shares["next player"] < 0.5


def test_the_model_is_asked_on_forced_turns_only_as_published(
    recorded: list[MatchRecord], sweep: Sweep, tmp_path: Path
) -> None:
    right = tmp_path / "right"
    sweep("experiment=llm_uno_coop", "prompt=cloze", "deals=40", f"output_dir={right}")

    def forced_and_asked(records: list[MatchRecord]) -> int:
        own = (d for record in records for d in record.decisions if d.seat == 2)
        return sum(bool(decision.asked) for decision in own if decision.forced)

    assert forced_and_asked(recorded) > 100
    assert forced_and_asked(list(matches(right).values())) == 0
