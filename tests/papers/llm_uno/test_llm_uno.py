"""LLM-UNO's experiments as they stand in conf/, and `paper_bugs=true` beside the default.

The published program reported the colour printed on a wild card instead of the one named, listed a
card held twice as two options, derived the next player from the logged reverses alone, and prompted
the model even without a choice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from gauntlet.games.base import Observation
from gauntlet.games.uno import Uno
from gauntlet.pipeline.log.schema import DecisionRecord, MatchRecord
from gauntlet.pipeline.plan import baseline
from gauntlet.pipeline.plan.rng import DEAL, stream
from tests.nodes import nodes
from tests.pipeline.conftest import Once, Sweep
from tests.pipeline.logs import matches


def aims(record: dict[str, Any]) -> set[tuple[int, str]]:
    """Return each seat's goal as stated in its prompt."""
    found = set()
    for text in record.statics.values():
        seat = re.search(r"You are player (\d)", text)
        goal = re.search(r"Goal: ([^.;]*)", text)
        assert seat
        assert goal
        found.add((int(seat[1]), goal[1]))
    return found


def test_the_published_sizes_are_the_default() -> None:
    experiments = nodes("experiment")
    assert experiments["llm_uno_solo"]["deals"] == experiments["llm_uno_coop"]["deals"] == 10_000


def test_alone_the_model_plays_to_win_from_seat_1(sweep: Sweep, folder: Path) -> None:
    assert sweep("experiment=llm_uno_solo", "deals=3") == 0
    assert list(pd.read_csv(folder / "summary.csv")["prompt"]) == ["cloze", "counterfactual"]
    for record in matches(folder).values():
        assert (record.subjects, record.measured, len(record.returns)) == ((1,), (1,), 2)
        assert aims(record) == {(1, "win the game yourself")}


def test_together_the_model_in_seat_2_helps_seat_1(sweep: Sweep, folder: Path) -> None:
    assert sweep("experiment=llm_uno_coop", "deals=3") == 0
    for record in matches(folder).values():
        assert (record.subjects, record.measured, len(record.returns)) == ((2,), (1,), 3)
        assert aims(record) <= {(2, "help player 1 win")}


def test_with_rotated_seats_the_helped_one_moves_along(sweep: Sweep, folder: Path) -> None:
    assert sweep("experiment=llm_uno_coop", "prompt=cloze", "deals=6", "rotate=true") == 0
    seen: set[tuple[int, str]] = set()
    for record in matches(folder).values():
        assert record.measured == ((record.subjects[0] - 1) % 3,)
        seen |= aims(record)
    assert seen == {(seat, f"help player {(seat - 1) % 3} win") for seat in range(3)}
    (row,) = pd.read_csv(folder / "summary.csv").to_dict("records")
    assert (row["deals"], row["matches"]) == (6, 18)


def test_rotated_seats_are_compared_with_the_mean_over_seats(
    sweep: Sweep, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second rule player's share in each of the three rotations of rule, rule, random."""
    monkeypatch.setattr(baseline, "FEWEST", 400_000)  # a standard error of .0008
    words = ("experiment=llm_uno_coop", "prompt=cloze", "deals=2", "baseline=random")
    assert sweep(*words) == 0
    assert pd.read_csv(folder / "summary.csv")["baseline"][0] == pytest.approx(0.3520, abs=0.0025)
    rotated = folder / "rotated"
    sweep(*words, "rotate=true", f"output_dir={rotated}")
    seated = (("rule rule random", 1), ("random rule rule", 2), ("rule random rule", 0))
    shares = [Uno(3).simulate(players.split(), 200_000, 8)[seat] for players, seat in seated]
    expected = sum(shares) / 600_000
    assert abs(expected - 0.3520) > 0.0025
    assert pd.read_csv(rotated / "summary.csv")["baseline"][0] == pytest.approx(
        expected, abs=0.0025
    )


# --- quirks


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
def recorded(once: Once) -> list[MatchRecord]:
    played = once("experiment=llm_uno_coop", "prompt=cloze", "paper_bugs=true", "deals=40")
    return list(matches(played).values())


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
