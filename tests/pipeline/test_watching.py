"""Observers: a sweep is played, resumed, replayed, verified and reported like any other."""

from __future__ import annotations

import csv
from pathlib import Path

from gauntlet.pipeline import replay, report, verify
from tests.pipeline.conftest import Full, Sweep
from tests.pipeline.logs import raw_lines

SHORT = ("game.of.rounds=16", "controls=[]")


WATCH = ("game=watch_rps", "game.of.rounds=14", "seats=observer", "deals=3")
TEXTS = (
    "prompt=observe",
    r"""+model.texts=['{"guess_s1": "D", "guess_s2": "Y"}', 'I cannot say']""",
)


def records(folder: Path) -> dict[str, dict[str, object]]:
    """Return each match's result, without its duration."""
    timed = ("seconds", "device_seconds", "clock", "crc32")
    return {
        match: {key: value for key, value in one.items() if key not in timed}
        for match, one in raw_lines(folder).items()
    }


def test_observers_are_played_and_told_apart(sweep: Sweep, folder: Path, full: Full) -> None:
    players = "game.players=[H,C],[D,Y]"
    assert sweep(*WATCH, players, "agent=random,likeliest,llm", *TEXTS) == 0
    shown = full()
    (start,) = (n for n, line in enumerate(shown.splitlines()) if line.startswith("Who was named"))
    assert max(map(len, shown.splitlines()[start : start + 24])) <= 100
    warned = [one for one in " ".join(shown.split()).split("WARNING ") if "by outcomes:" in one]
    assert len(warned) == 2 * 3, "below the verdict, and below the table"
    assert all("[D,Y]" in line and "46 answers" in line for line in warned)
    with (folder / "watched.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["alike"], row["blind"]) for row in rows].count(("46.0", "1.0")) == 3
    assert {row["guesses"] for row in rows} == {"12"}
    before = records(folder)
    assert len(before) == 18
    for match, record in list(before.items())[::4]:
        again = replay.replay(match, [folder])
        assert list(again.returns) == record["returns"]
    assert verify.main([str(folder)]) == 0
    assert report.main([str(folder)]) == 0
    for file in (folder / "records").glob("*.jsonl"):  # as if it had been killed in the middle
        file.write_text("".join(file.read_text().splitlines(keepends=True)[:1]))
    assert sweep(*WATCH, players, "agent=random,likeliest,llm", *TEXTS) == 0
    assert records(folder) == before


def test_no_guess_is_a_fallback_and_a_null(sweep: Sweep, folder: Path) -> None:
    assert sweep(*WATCH, "agent=llm", *TEXTS) == 0
    for record in records(folder).values():
        decisions, measures = record["decisions"], record["measures"]
        assert isinstance(decisions, list)
        assert isinstance(measures, dict)
        nulls = [one for one in decisions if one["text"] == "-"]
        assert all(one["fallback"] and len(one["asked"]) == 2 for one in nulls)
        assert measures["null_rate"] == [len(nulls) / 4]
        assert all(one["text"] == "D Y" for one in decisions if one not in nulls)
