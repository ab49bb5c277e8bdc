"""Whole sweeps over bad servers: a signal ends them, and no reply does harm."""

from __future__ import annotations

import base64
import json
import os
import signal
import sqlite3
import threading
import time
from pathlib import Path

import pytest

from gauntlet.models.base import Generate, Prompt
from gauntlet.models.human import TerminalModel
from gauntlet.pipeline import replay
from gauntlet.pipeline.viewer.match import DecisionView, PromptView
from gauntlet.pipeline.viewer.terminal import escape, excerpt
from tests import hostile
from tests.api import KEY
from tests.hostile import Behaviour, Talk, at_work, good, reply
from tests.pipeline.conftest import Capsys, Sweep
from tests.pipeline.logs import matches

pytestmark = pytest.mark.usefixtures("key")

WELL = 6
"""Number of requests answered before the server turns bad."""


def asking(url: str, folder: Path) -> tuple[str, ...]:
    return (
        *("model=openai", "model.name=m", f"model.base_url={url}", "model.endpoint=completions"),
        *("model.scores=sampled", "model.samples=1", f"model.cache={folder / 'replies.sqlite'}"),
        *("game=tic_tac_toe", "prompt=cloze", "deals=12", "controls=[]", "baseline=null"),
    )


def turning(behaviour: Behaviour) -> Behaviour:
    left = iter(range(WELL))
    return lambda talk: (behaviour if next(left, None) is None else good)(talk)


def slower() -> float:
    """Factor for the durations when others use the cores too."""
    return max(1.0, os.getloadavg()[0] / len(os.sched_getaffinity(0)))


def stored_replies(folder: Path) -> int:
    with sqlite3.connect(folder / "replies.sqlite") as base:
        count: int = base.execute("SELECT count(*) FROM replies").fetchone()[0]
    base.close()
    return count


@pytest.mark.parametrize(
    ("kind", "number"),
    [("hanging", signal.SIGINT), ("dripping", signal.SIGTERM), ("waiting", signal.SIGINT)],
)
def test_a_signal_ends_a_run_whose_requests_hang(
    sweep: Sweep, tmp_path: Path, kind: str, number: signal.Signals
) -> None:
    asked: list[float] = []

    def interrupt(talks: list[Talk]) -> None:
        end = time.monotonic() + 30
        while len(talks) <= WELL and time.monotonic() < end:
            time.sleep(0.02)
        asked.append(time.monotonic())
        os.kill(os.getpid(), number)

    with at_work(turning(getattr(hostile, kind))) as (url, talks):
        threading.Thread(target=interrupt, args=(talks,), daemon=True).start()
        assert sweep(*asking(url, tmp_path)) == 130
        assert time.monotonic() - asked[0] < 3 * slower()
    assert stored_replies(tmp_path) == WELL
    assert (tmp_path / "out" / "summary.csv").exists()


def test_what_a_server_says_harms_neither_terminal_nor_log(
    sweep: Sweep, folder: Path, tmp_path: Path, capsys: Capsys
) -> None:
    """Its model's text would turn the screen red, and it repeats the key there and elsewhere."""
    said = f"\x1b[41mI take 1\x1b]0;owned\x07 \u202e and {KEY}"
    coded = base64.b64encode(f"me:{KEY}".encode()).decode()

    def behaviour(talk: Talk) -> None:
        talk.reply(reply(said, debug=json.dumps({"authorization": f"Basic {coded}"})))

    with at_work(behaviour) as (url, _):
        words = (*asking(url, tmp_path), "prompt=vanilla", "deals=2")
        assert sweep(*words) == 0

    def fail(talk: Talk) -> None:
        talk.reply(
            json.dumps({"error": {"message": f"{said} {KEY[:9]}***"}}).encode(), status="418 no"
        )

    with at_work(fail) as (url, _):
        words = (*asking(url, tmp_path), "prompt=vanilla", "deals=2")
        assert sweep(*words, f"output_dir={tmp_path / 'failed'}") == 2
    match = next(iter(matches(folder)))
    assert replay.main([match, "--prompts", "--in", str(folder)]) == 0
    told = capsys.readouterr()
    samples = (folder / "samples.txt").read_text()
    for text in (told.out, told.err, samples):
        assert not set("\x1b\x07\u202e") & set(text)
    assert r"\x1b[41mI take 1\x1b]0;owned\x07 \u202e" in samples
    assert any(
        said.replace(KEY, "[key]") in getattr(asked, "text", "")
        for record in matches(folder).values()
        for decision in record.decisions
        for asked in decision.asked
    ), "the record holds what the model said"
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    for hidden in (KEY.encode(), coded[8:-4].encode()):
        assert [file for file in files if hidden in file.read_bytes()] == []
        assert hidden.decode() not in told.out + told.err


def test_what_is_printed_of_records_is_shown_not_obeyed(capsys: Capsys) -> None:
    """A prompt may repeat another player's words."""
    bad = "\x1b[2J\u202e"
    made = DecisionView(0, (PromptView(bad, (), bad, bad),), (bad,), (None,), 0, status=bad)
    texts = [excerpt(made), escape(bad)]
    TerminalModel(0).answer([Generate(Prompt("", f"They said {bad}\n", bad), 0)])
    texts.append(capsys.readouterr().out)
    for text in texts:
        assert r"\x1b[2J" in text
        assert not {"\x1b", "\u202e"} & set(text)
