"""A logged match replayed: the same moves, hands, scores and prompts."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from gauntlet.common.errors import UserError
from gauntlet.games.capabilities import with_score
from gauntlet.games.uno import Uno
from gauntlet.pipeline import replay
from gauntlet.pipeline.log.metadata_files import to_bytes
from tests.pipeline.conftest import Sweep
from tests.pipeline.logs import edited, matches


@pytest.mark.parametrize(
    "extra", [(), ("paper_bugs=true",), ("rotate=true",), ("game=tic_tac_toe",)]
)
def test_every_match_of_a_log_can_be_played_again(
    sweep: Sweep, folder: Path, extra: tuple[str, ...]
) -> None:
    sweep("deals=3", *extra)
    for match, record in matches(folder).items():
        shown = replay.replay(match, [folder])
        assert shown.returns == tuple(record.returns)
        turns = [made for ply in shown.plies for made in ply.decisions]
        assert [made.seat for made in turns] == [d.seat for d in record.decisions]
        told = [(made.chosen, made.scores) for made in turns if made.prompts]
        assert told == [(d.chosen, tuple(d.scores)) for d in record.decisions if d.asked]


def test_the_prompts_tell_the_hand_that_is_shown(sweep: Sweep, folder: Path) -> None:
    """The cards come from the deal's seed, the prompts from the record: they must agree."""
    sweep("deals=2", "prompt=cloze", "experiment=llm_uno_coop")
    compared = 0
    for match in matches(folder):
        for ply in replay.replay(match, [folder]).plies:
            for made in ply.decisions:
                for prompt in made.prompts:
                    (told,) = (x for x in prompt.text.splitlines() if x.startswith("Your hand: "))
                    start = f"player {made.seat}: "
                    (held,) = (x for x in ply.text.splitlines() if x.startswith(start))
                    cards = held.removeprefix(start).split(", ")
                    assert sorted(told.removeprefix("Your hand: ").split(", ")) == sorted(cards)
                    compared += 1
    assert compared > 10


def test_the_terminal_shows_scores_and_on_request_prompts(
    sweep: Sweep, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep("deals=1", "prompt=cloze")
    (match,) = matches(folder)
    capsys.readouterr()
    assert replay.main([match, "--in", str(folder)]) == 0
    brief = capsys.readouterr().out
    assert "player 1: LLM Cloze, measured" in brief
    assert "by prompt" in brief
    assert "won by player" in brief
    assert max(map(len, brief.splitlines())) <= 100
    assert replay.main([match, "--in", str(folder), "--prompts"]) == 0
    assert "Which option is best? Reply with its letter." in capsys.readouterr().out
    assert "Which option is best?" not in brief


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        assert not {name for name, _ in attrs} & {"src", "href", "onload", "onclick"}


def with_script(record: dict[str, Any]) -> dict[str, Any]:
    for asked in (one for made in record["decisions"] for one in made["asked"]):
        asked["shared"] = "<script>alert(1)</script>" + asked["shared"]
    return record


def test_the_page_is_whole_and_what_a_model_wrote_cannot_become_markup(
    sweep: Sweep, folder: Path
) -> None:
    sweep("deals=1", "prompt=cloze")
    (match,) = matches(folder)
    (file,) = (folder / "records").iterdir()
    edited(file, with_script)
    text = replay.page(replay.replay(match, [folder]))
    tags = Tags()
    tags.feed(text)
    assert "script" not in tags.seen
    assert "&lt;script&gt;" in text
    assert {"details", "pre", "table"} <= tags.seen


def test_an_unknown_match_is_one_clear_line(
    sweep: Sweep, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep("deals=1", "prompt=cloze")
    (match,) = matches(folder)
    assert replay.main(["nonsense", "--in", str(folder)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"there is, for instance, {match}" in said


def test_a_record_of_other_rules_is_refused(sweep: Sweep, folder: Path) -> None:
    """Recorded with the published bugs, read as if without: the options differ."""
    sweep("deals=1", "prompt=cloze", "paper_bugs=true")
    (match,) = matches(folder)
    (cell,) = (folder / "cells").iterdir()
    about = json.loads(cell.read_text())
    assert about["identity"]["game"]["paper_bugs"]
    about["identity"]["game"]["paper_bugs"] = Uno().paper_bugs
    del about["crc32"]
    cell.write_bytes(to_bytes(about))
    with pytest.raises(UserError, match="another version of Uno"):
        replay.replay(match, [folder])


@pytest.mark.parametrize(
    ("words", "measure"),
    [
        (["game=holdem_hands"], "bb_per_hand"),
        (["game=tic_tac_toe"], "match_score"),
        (["game=holdem_hands", "measure=match_score"], "match_score"),
    ],
)
def test_the_end_tells_the_measure_that_the_run_counts(
    sweep: Sweep, folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], measure: str
) -> None:
    sweep(*words, "agent=random", "deals=1", "rotate=true", "baseline=null")
    for match, record in matches(folder).items():
        capsys.readouterr()
        assert replay.main([match, "--in", str(folder), "--page", str(folder / "end.html")]) == 0
        first, second = with_score(record.measures, record.returns)[measure]
        told = f"{measure}: player 0 {first:.4g}, player 1 {second:.4g}"
        assert told in " ".join(capsys.readouterr().out.split())
        assert told in (folder / "end.html").read_text()
