"""Replies without an answer, from the model to the tables: thoughts, statuses, forfeits."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pandas as pd

from gauntlet.models.exchanges import TextExchange
from gauntlet.pipeline import replay, verify
from gauntlet.pipeline.log.exchanges import LEFT_OUT, THOUGHTS_MOST
from tests.pipeline.conftest import Capsys, Sweep
from tests.pipeline.logs import matches, raw_lines

MOODY = (
    *("game=tic_tac_toe", "model._target_=tests.pipeline.moody.Moody"),
    *("packages=[tests]", "prompt=vanilla", "deals=6", "controls=[]"),
)


def details(folder: Path) -> list[TextExchange]:
    """All written replies."""
    return [
        one
        for record in matches(folder).values()
        for decision in record.decisions
        for one in decision.asked
        if isinstance(one, TextExchange)
    ]


def test_thoughts_and_ends_are_kept_and_shown(sweep: Sweep, folder: Path, capsys: Capsys) -> None:
    assert sweep(*MOODY) == 0
    found = details(folder)
    ends = Counter(one.detail(0).finish for one in found)
    assert ends.keys() == {"stop", "length", "refused", "filtered", "context"}
    for one in found:
        thoughts = one.detail(0).thoughts
        assert (len(thoughts) <= THOUGHTS_MOST, LEFT_OUT in thoughts) == (True, True)
        assert one.thought_tokens == 20
    printed = " ".join(capsys.readouterr().out.split())
    assert "of its replies were cut by the token limit" in printed
    assert "were refused by the model or withheld by its server" in printed
    (row,) = pd.read_csv(folder / "parser.csv").to_dict("records")
    assert row["malformed"] == 0
    assert (row["truncated"], row["refused"]) == (ends["length"], ends["refused"])
    assert verify.main([str(folder), "--replay", "all", "--packages", "tests"]) == 0
    capsys.readouterr()
    for match in raw_lines(folder):
        assert replay.main([match, "--in", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "thoughts 0: I think. I think." in shown
    assert "I would rather not." in shown


def test_thoughts_may_be_left_out(sweep: Sweep, folder: Path) -> None:
    assert sweep(*MOODY, "keep_thoughts=false", "deals=2") == 0
    found = details(folder)
    assert {one.detail(0).thoughts for one in found} == {""}
    assert len({one.detail(0).finish for one in found}) > 2
    assert verify.main([str(folder), "--replay", "all", "--packages", "tests"]) == 0


def test_a_seat_that_gives_up_loses(sweep: Sweep, folder: Path, capsys: Capsys) -> None:
    assert sweep(*MOODY, "agent.on_bad_reply=forfeit") == 0
    records = matches(folder).values()
    given_up = [record for record in records if record.forfeits]
    assert len(given_up) > 0
    for record in given_up:
        (seat,) = record.forfeits
        last = record.decisions[-1]
        assert (last.seat, last.fallback) == (seat, True)
        assert last.status in ("truncated", "refused", "filtered", "context")
        assert record.returns[seat] == -1
        assert record.measures["win"][1 - seat] == 1
    capsys.readouterr()
    assert replay.main([given_up[0].match, "--in", str(folder)]) == 0
    assert f"player {given_up[0].forfeits[0]} gave up; won by player" in capsys.readouterr().out
    assert verify.main([str(folder), "--replay", "all", "--packages", "tests"]) == 0
    assert sweep(*MOODY, "agent.on_bad_reply=forfeit") == 0, "nothing is left to play"
    assert {*matches(folder)} == {record.match for record in records}
