"""Which rungs of a ladder meet next."""

from __future__ import annotations

from benchmarks.ladder import MEETINGS, next_meeting
from gauntlet.games.ladder import VERSION, Row

MANY = {two: Row(VERSION, "", *two, lost=4_000, won=12_000) for two in MEETINGS}


def test_rungs_that_never_met_come_first_and_exact_ones_do_not_meet() -> None:
    assert next_meeting({}, within=15) == MEETINGS[0]
    assert next_meeting(MANY, within=15) is None
    assert next_meeting(MANY, within=1) is not None


def test_the_pair_meets_that_lowers_the_errors_most() -> None:
    few = Row(VERSION, "", 256, 1024, lost=10, won=30)
    assert next_meeting(
        {**MANY, (256, 1024): few, (64, 1024): Row(VERSION, "", 64, 1024, 1)}, 15
    ) in (
        (256, 1024),
        (64, 1024),
    )
    top = {**MANY, (1, 4): Row(VERSION, "", 1, 4, 10, won=30), (1, 16): Row(VERSION, "", 1, 16, 1)}
    assert next_meeting(top, 15) in ((1, 4), (1, 16))
