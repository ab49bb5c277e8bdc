"""Malicious servers: a reply is bounded in bytes and in time, and its text can harm neither
terminal nor log."""

from __future__ import annotations

import base64
import codecs
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from gauntlet.common.errors import ModelError, Stopped
from gauntlet.models.api import retry, sending
from gauntlet.models.api.ledger import Tokens
from gauntlet.models.api.openai import OpenAI
from gauntlet.models.api.remote import Remote
from gauntlet.models.base import Generate, Prompt, Score
from tests import hostile
from tests.api import KEY
from tests.hostile import Behaviour, Talk, at_work, bomb, good, reply

pytestmark = pytest.mark.usefixtures("key")

WRITE = Generate(Prompt("", "Say: "), 5)
SPARE = 1 << 16
"""Maximum bytes of a reply in these tests; the real limit is sixteen times that."""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "SPARE", SPARE)
    monkeypatch.setattr(sending, "SLACK_SECONDS", 0.1)


@contextmanager
def loaded(url: str, folder: Path, **settings: object) -> Iterator[Remote]:
    usual = {"timeout": 0.5, "patience": 0.1, "cache": str(folder / "replies"), "price_out": 1.0}
    model = OpenAI("m", url, **{**usual, **settings}).load()
    try:
        yield model
    finally:
        model.close()


def then(behaviour: Behaviour, well: int = 1) -> Behaviour:
    """Good at first: for the request that checks whether the server answers."""
    left = iter(range(well))
    return lambda talk: (behaviour if next(left, None) is None else good)(talk)


def error_of(behaviour: Behaviour, folder: Path) -> tuple[str, int, Tokens]:
    """Return the error for such a reply, the number of requests, and the possible cost."""
    with at_work(then(behaviour)) as (url, talks), loaded(url, folder) as model:
        with pytest.raises(ModelError) as raised:
            model.answer([WRITE])
        return str(raised.value), len(talks) - 1, model.spending().unsure


BROKEN_OFF = "its reply is broken off: it is longer than 66,"
LATE = "it did not answer in time"
BOUNDED: dict[str, tuple[Behaviour, str]] = {
    "endless": (hostile.endless, BROKEN_OFF),
    "endless chunks": (hostile.endless_chunks, BROKEN_OFF),
    "gzip": (bomb("gzip", 64), BROKEN_OFF),
    "deflate": (bomb("deflate", 64), BROKEN_OFF),
    "twice": (bomb("gzip, gzip", 64), BROKEN_OFF),
    "seven times": (bomb(",".join(7 * ["gzip"]), 1), "Cannot apply more than 5"),
    "unknown": (lambda talk: talk.reply(bytes(1000), "content-encoding: br, zstd"), "cannot be re"),
    "no end of an error": (hostile.endless_error, "refused (400:"),
    "headers": (hostile.endless_headers, "the connection was cut"),
    "dripping": (hostile.dripping, LATE),
    "dripping head": (hostile.dripping_head, LATE),
    "welcomes": (hostile.endless_welcomes, LATE),
    "hanging": (hostile.hanging, LATE),
    "round": (hostile.going_round, "it sends us on to '/v1/chat/completions'"),
}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("kind", BOUNDED)
def test_a_reply_is_bounded_and_asked_for_once(tmp_path: Path, kind: str) -> None:
    behaviour, line = BOUNDED[kind]
    started = time.monotonic()
    message, count, unsure = error_of(behaviour, tmp_path)
    assert line in message
    assert "\n" not in message
    assert count == 1
    free = kind in ("no end of an error", "round")
    assert (unsure == Tokens(0, 0)) == free, "what was perhaps billed is counted, once"
    assert free or unsure.written == WRITE.max_tokens
    assert time.monotonic() - started < 10


@pytest.mark.usefixtures("small")
def test_a_reply_that_is_too_long_is_not_paid_again_in_a_run(tmp_path: Path) -> None:
    """The driver plays a failed match three times."""
    longer = "x" * 2 * SPARE
    behaviour, lines = then(lambda talk: talk.reply(reply(longer)), 2), []
    with at_work(behaviour) as (url, talks), loaded(url, tmp_path) as model:
        model.answer([Generate(Prompt("", "first"), 5)])
        for _ in range(3):
            with pytest.raises(ModelError, match="broken off") as raised:
                model.answer([WRITE])
            lines.append(str(raised.value))
            assert not isinstance(raised.value, Stopped), "others were answered"
        assert len(talks) == 3
        assert lines[1] == lines[2] == f"{lines[0]}; this run does not ask for it again"
        assert model.spending().unsure.written == WRITE.max_tokens


def test_the_limit_grows_with_what_is_asked_for(tmp_path: Path) -> None:
    body = b" " * (sending.SPARE + 4 * sending.A_TOKEN) + reply("well")
    with at_work(then(lambda talk: talk.reply(body))) as (url, _), loaded(url, tmp_path) as model:
        assert model.answer([WRITE])[0].text == "well"
    assert sending.most_bytes(Tokens(0, 10**6)) > 250_000_000


# Its text.


def spelt(spelling: str) -> str:
    """The key as a server may repeat it."""
    return {
        "whole": KEY,
        "prefix": f"{KEY[:12]}...",
        "masked": f"{KEY[:4]}**********{KEY[-4:]}",
        "url": quote(KEY, safe="").replace("-", "%2D"),
        "base64": base64.b64encode(f"user:{KEY}".encode()).decode(),
        "json": json.dumps({"authorization": f"Bearer {KEY}"}),
        "hex": KEY.encode().hex(),
    }[spelling]


@pytest.mark.parametrize("spelling", ["whole", "prefix", "masked", "base64", "json", "hex"])
def test_a_key_that_a_server_repeats_is_in_no_error_and_no_reply(
    tmp_path: Path, spelling: str
) -> None:
    """Not in an error; and not in a reply, where it would be kept."""
    word = spelt(spelling)
    body = json.dumps({"error": {"message": f"wrong key {word}."}}).encode()
    message, _, _ = error_of(lambda talk: talk.reply(body, status="418 No"), tmp_path)
    assert "wrong key" in message
    hidden = [KEY, KEY[:8], KEY[-4:], word, KEY.encode().hex()[:16], word.strip("=")[8:-4]]
    assert [secret for secret in hidden if secret in message] == []
    if spelling in ("prefix", "masked"):
        return  # a reply may hold a few letters of a key by chance
    with at_work(lambda talk: talk.reply(reply(f"I was told {word}", id=word))) as (url, _):
        cache = tmp_path / "other"
        with loaded(url, tmp_path, cache=str(cache)) as model:
            (said_so,) = model.answer([WRITE])
    assert "I was told" in said_so.text
    stored = b"".join(file.read_bytes() for file in tmp_path.glob("other*"))
    assert b"I was told" in stored
    for text in (said_so.text, stored.decode(errors="replace")):
        assert [
            secret for secret in (KEY, KEY.encode().hex(), word.strip("=")[8:-4]) if secret in text
        ] == []


def test_an_error_is_one_line_that_a_terminal_cannot_obey(tmp_path: Path) -> None:
    bad = "\x1b]0;owned\x07\x1b[2J no\r\nseed\u202e here\x9b31m \u2066" + "x" * 50_000
    body = json.dumps({"error": {"message": bad}}).encode()
    message, _, _ = error_of(lambda talk: talk.reply(body, status="400 \x1b[2J"), tmp_path)
    assert message.isprintable()
    assert r"\x1b]0;owned\x07\x1b[2J no seed\u202e here\x9b31m" in message
    assert len(message) < 500


def test_names_of_models_and_addresses_are_cleaned_too(tmp_path: Path) -> None:
    def behaviour(talk: Talk) -> None:
        if talk.request.startswith(b"GET"):
            talk.reply(json.dumps({"data": [{"id": f"\x1b[2J{KEY}"}, {"id": 3}]}).encode())
        else:
            talk.reply(b"{}", status="404 Not Found")

    message, _, _ = error_of(behaviour, tmp_path)
    assert r"it has: 3, \x1b[2J[key]" in message
    away = lambda talk: talk.reply(b"", f"location: http://x/{KEY}?\x1b[2J", status="302 Found")  # noqa: E731
    message, _, _ = error_of(away, tmp_path)
    assert message.isprintable()
    assert KEY not in message


ODD: dict[str, Callable[[], bytes]] = {
    "deep": lambda: b"[" * 100_000,
    "no number": lambda: b'{"choices": NaN}',
    "digits": lambda: b"1" * 10_000,
    "no text": lambda: b"\xff\xfe\x00",
    "list": lambda: b"[]",
    "other choices": lambda: b'{"choices": [3]}',
}


@pytest.mark.parametrize("kind", ODD)
def test_an_odd_reply_is_a_line(tmp_path: Path, kind: str) -> None:
    message, count, _ = error_of(lambda talk: talk.reply(ODD[kind]()), tmp_path)
    assert "its reply cannot be read" in message
    assert count == 1


def test_a_web_page_is_said_at_once(tmp_path: Path) -> None:
    """A server that never answered well is the wrong address; the test has no patience to lose."""
    page = b"<!DOCTYPE html><title>Welcome to nginx</title>"
    with at_work(lambda talk: talk.reply(page)) as (url, talks):
        words = r"with a web page \(.*nginx.*\); is model\.base_url right"
        with (
            pytest.raises(Stopped, match=words),
            loaded(url, tmp_path, patience=300.0) as model,
        ):
            model.answer([WRITE])
        assert len(talks) == 1


def test_a_server_that_goes_on_failing_is_warned_of_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(retry, "WORTH_SAYING", 0.3)
    failing = then(lambda talk: talk.reply(b"no", status="503 Down"))
    with at_work(failing) as (url, talks), loaded(url, tmp_path, patience=3.0) as model:
        with pytest.raises(ModelError, match="503"):
            model.answer([WRITE])
        assert len(talks) > 3
    (line,) = [record.getMessage() for record in caplog.records]
    assert re.search(r"goes on failing \(503: no\); it is asked again for up to \d s$", line)


def test_a_character_set_that_unfolds_is_not_obeyed(tmp_path: Path) -> None:
    kind = "content-type: application/json; charset=zlib"
    body = b'{"error": {"message": "no seed here"}}'
    message, _, _ = error_of(lambda talk: talk.reply(body, kind, status="400 No"), tmp_path)
    assert message.endswith("refused (400: no seed here)")


def test_counts_and_texts_that_no_file_holds(tmp_path: Path) -> None:
    odd = json.dumps({"prompt_tokens": 2**70, "completion_tokens": 1})
    body = reply("\ud800 half").replace(
        b'{"prompt_tokens": 3, "completion_tokens": 1}', odd.encode()
    )
    assert odd.encode() in body
    with at_work(lambda talk: talk.reply(body)) as (url, _), loaded(url, tmp_path) as model:
        (answer,) = model.answer([WRITE])
        assert answer.text.encode() == "\ufffd half".encode()
        assert model.spending().paid.prompt < 2000, "as much as could be, each time"


@pytest.mark.parametrize("settings", [{}, {"stream": True}])
def test_a_byte_order_mark_is_no_part_of_a_reply(
    tmp_path: Path, settings: dict[str, object]
) -> None:
    data = codecs.BOM_UTF8 + reply("fine")
    with (
        at_work(lambda talk: talk.reply(data)) as (url, talks),
        loaded(url, tmp_path, **settings) as model,
    ):
        (answer,) = model.answer([WRITE])
    assert (answer.text, len(talks)) == ("fine", 2)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", "800", "0.1"])
def test_a_log_probability_that_cannot_be_one_is_refused(tmp_path: Path, value: str) -> None:
    first = {"token": "A", "logprob": "LOGPROB"}
    body = json.loads(reply())
    body["choices"][0]["logprobs"] = {"content": [{**first, "top_logprobs": [first]}]}
    data = json.dumps(body).replace('"LOGPROB"', value).encode()
    with (
        at_work(lambda talk: talk.reply(data)) as (url, _),
        loaded(url, tmp_path) as model,
        pytest.raises(Stopped, match=r"the token 'A' a log-probability of .*scores=sampled"),
    ):
        model.answer([Score((Prompt("", "x"),), ("A",))])


@pytest.mark.parametrize(
    ("header", "status", "line"),
    [
        ("retry-after: in fünf Minuten", "429 Slow", "it goes on failing (429: no)"),
        ("location: http://höhle/v1", "302 Found", "it sends us on to 'http://höhle/v1'"),
    ],
)
def test_a_header_may_hold_any_bytes(tmp_path: Path, header: str, status: str, line: str) -> None:
    body = b'{"error": {"message": "no"}}'
    message, count, _ = error_of(lambda talk: talk.reply(body, header, status=status), tmp_path)
    assert line in message
    assert count == 1


@pytest.mark.parametrize("kind", ["hanging", "dripping", "waiting"])
def test_cancelling_ends_a_request_under_way(tmp_path: Path, kind: str) -> None:
    waits = {"timeout": 60.0, "patience": 600.0}
    behaviour = then(getattr(hostile, kind))
    with at_work(behaviour) as (url, talks), loaded(url, tmp_path, **waits) as model:
        with ThreadPoolExecutor() as threads:
            asking = threads.submit(model.answer, [WRITE])
            end = time.monotonic() + 10
            while len(talks) < 2 and time.monotonic() < end:
                time.sleep(0.01)
            started = time.monotonic()
            model.cancel()
            error = asking.exception(20)
        assert time.monotonic() - started < sending.LAST_SECONDS + 1
        billed = model.spending().unsure.written
    assert isinstance(error, ModelError)
    assert str(error).endswith("the run ends")
    assert billed == (0 if kind == "waiting" else WRITE.max_tokens)


MEASURED = """
import re, sys, time
from pathlib import Path
from gauntlet.models.api.openai import OpenAI
from gauntlet.models.base import Generate, Prompt
from gauntlet.common.errors import ModelError
model = OpenAI("m", sys.argv[1], cache=sys.argv[2], timeout=30.0, patience=1.0).load()
peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024
before, started = peak(), time.monotonic()
asks = [Generate(Prompt("", f"Say {n}: "), 1000, n=10) for n in range(16)]
try:
    model.answer(asks)
except ModelError as error:
    print(round(peak() - before), round(time.monotonic() - started, 1), error)
model.close()
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["endless", "endless_chunks", "gzip", "deflate", "gzip, gzip"])
def test_sixteen_such_replies_at_a_time_take_little_memory(
    tmp_path: Path, kind: str, figure: Callable[[str], None]
) -> None:
    """With the real limits. Without limits, such replies take gigabytes."""
    behaviour = getattr(hostile, kind, None) or bomb(kind, 1000)
    with at_work(then(behaviour)) as (url, _):
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, url, str(tmp_path / "replies")],
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, "OPENAI_API_KEY": KEY},
        )
    peak, seconds, line = done.stdout.split(" ", 2)
    figure(f"sixteen {kind} replies: {peak} MB above the start, {seconds} s")
    assert "broken off" in line, done.stdout + done.stderr
    assert int(peak) < 1000
