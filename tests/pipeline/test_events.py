"""run.log: its contents, and what it must never contain."""

from __future__ import annotations

import json
import logging
import shlex
from pathlib import Path

import pytest

from gauntlet.common.errors import UserError
from gauntlet.pipeline.log import events
from gauntlet.pipeline.log.events import event, logged, redact
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.records import Log
from gauntlet.pipeline.log.run_info import typed
from tests.pipeline.conftest import Sweep

SECRET = "Zx81-correct-horse"


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer " + SECRET,
        "{'Authorization': 'Basic " + SECRET + "'}",
        "authorization=" + SECRET,
        "refused: bearer " + SECRET,
        "api_key=" + SECRET,
        '"api-key": "' + SECRET + '"',
        "GET /v1?access_token=" + SECRET + "&x=1",
        "password = " + SECRET,
        "http://user:" + SECRET + "@host:5000/path",
        "key sk-" + SECRET.replace("-", "_"),
        "token hf_Zx81correcthorse",
        "the value alone: " + SECRET,
    ],
)
def test_secrets_are_cut_out(text: str) -> None:
    said = redact(text, {"MY_API_KEY": SECRET})
    assert "horse" not in said
    assert events.CUT in said


@pytest.mark.parametrize("name", ["API_KEY", "hf_token", "MLFLOW_TRACKING_PASSWORD", "A_SECRET"])
def test_variables_count_by_their_names(name: str) -> None:
    assert redact(f"-{SECRET}-", {name: SECRET}) == f"-{events.CUT}-"
    assert redact(f"-{SECRET}-", {"HOME": SECRET}) == f"-{SECRET}-"
    assert redact("a", {name: "a"}) == "a", "too short to be one"


@pytest.mark.parametrize(
    "text",
    [
        "1,204 tokens of model 'small'",
        "key error: 'deal'",
        "out of memory; packs now hold 512 tokens",
        "http://host:5000/path",
        "the secretary's desk-lamp",
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    assert redact(text, {}) == text


def test_nested_data_is_cleaned_and_counts_of_tokens_are_no_secret(folder: Path) -> None:
    folder.mkdir()
    with logged(folder):
        event(
            "x", launch={"api_key": "letmein", "list": ["sk-abcdefgh1234"]}, tokens=7, path=folder
        )
    (line,) = Folder(folder).events
    assert line["launch"] == {"api_key": events.CUT, "list": [events.CUT]}
    assert (line["tokens"], line["path"]) == (7, str(folder))


def test_a_sweep_tells_its_course_as_json_lines(sweep: Sweep, folder: Path) -> None:
    assert sweep("deals=2") == 0
    lines = [json.loads(line) for line in (folder / "run.log").read_text().splitlines()]
    assert [line["event"] for line in lines] == ["start", "models loaded", "preflight", "end"]
    assert lines[0]["matches"] == lines[-1]["played"] == 4
    assert lines[-1]["state"] == "finished"
    assert all({"time", "level", "event"} <= line.keys() for line in lines)


def test_a_disk_that_fails_is_told_and_so_is_the_end(
    sweep: Sweep, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Log) -> None:
        raise UserError("disk full; key is sk-abcdefgh1234")

    monkeypatch.setattr(Log, "sync", broken)
    assert sweep("deals=2") == 2
    text = (folder / "run.log").read_text()
    assert "abcdefgh" not in text
    told = {line["event"]: line for line in Folder(folder).events}
    assert told["failed"]["level"] == "error"
    assert "disk full" in told["failed"]["error"]
    assert told["end"]["state"] == "failed"
    assert "abcdefgh" not in (folder / "status.json").read_text()


def test_a_log_that_cannot_be_written_ends_nothing(folder: Path) -> None:
    folder.mkdir()
    (folder / "run.log").mkdir()
    with logged(folder):
        event("start")


def test_warnings_of_models_are_in_the_log_and_on_the_terminal(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.mkdir()
    with logged(folder):
        logging.getLogger("gauntlet").warning("packs now hold %d tokens", 512)
        event("start")
    assert [line["event"] for line in Folder(folder).events] == [
        "packs now hold 512 tokens",
        "start",
    ]
    logging.getLogger("gauntlet").warning("later")
    assert len(Folder(folder).events) == 2


def test_a_command_is_kept_as_it_can_be_typed_again_without_secrets() -> None:
    words = ["deals=3", 'prompt.inputs=["N/A",""]', "model.api_key=short1", "prompt.max_tokens=64"]
    command = typed("gauntlet run", [*words, "--my-token", "sk-abcdefghijkl"])
    told = shlex.split(command)
    assert told[:4] == ["gauntlet", "run", *words[:2]]
    assert told[4:] == [
        f"model.api_key={events.CUT}",
        words[3],
        "--my-token",
        events.CUT,
    ]
