"""Every protocol against servers written from its reference: what is kept and reported, what is
asked again, what stops, and what is bounded. The numbers are those of `TITLES`; 40, batch mode, is
in test_api_batch.py."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from gauntlet.common.errors import ModelError, Stopped
from gauntlet.models.api import retry, sending
from gauntlet.models.api.dialects import DIALECTS
from gauntlet.models.api.ledger import Tokens
from gauntlet.models.api.openai import OpenAI
from gauntlet.models.api.remote import Remote
from gauntlet.models.api.retry import NoAnswer
from gauntlet.models.base import (
    Detail,
    Generate,
    Generation,
    Prompt,
    Score,
    Scores,
    continue_dialogue,
)
from tests import hostile
from tests.hostile import Behaviour, Talk, bomb
from tests.vendors import (
    CACHED,
    READ,
    SIGNATURE,
    THOUGHT,
    VENDORS,
    WRITTEN,
    Body,
    Canned,
    Piece,
    Seen,
    Vendor,
    chat,
    messages,
    responses,
    sse_event,
    vendor_server,
)

KEY = "sk-test-0c1d2e3f4a5b6978"
WRITE = Generate(Prompt("Rules.\n\n", "Hand: red 1\n", "Say: ", system="Be brief.\n"), 50)
ALL = tuple(VENDORS)
DOCS = Path(__file__).parents[2] / "docs" / "servers.md"
TALKING = ("chat", "responses", "messages", "gemini")
"""The protocols of models that think."""
STREAMS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for vendor in VENDORS.values():
        monkeypatch.setenv(vendor.key, KEY)


@contextmanager
def loaded(
    dialect: str, folder: Path, *canned: Canned | Behaviour, **settings: Any
) -> Iterator[tuple[Remote, Seen]]:
    """The model of a server that gives these responses after its first, good one."""
    streams = bool(settings.get("stream"))
    with vendor_server(VENDORS[dialect], canned, streams) as (url, seen):
        usual = {"timeout": 5.0, "patience": 5.0, "in_flight": 2, "cache": str(folder / "replies")}
        source = OpenAI("m", url, dialect, **{**usual, **settings})
        model = source.load()
        try:
            yield model, seen
        finally:
            model.close()


def ok(dialect: str, piece: Piece, stream: bool = False) -> Canned:
    vendor = VENDORS[dialect]
    reply = vendor.reply(piece)
    return Canned(vendor.sse(reply) if stream else reply)


def test_a_models_own_tags_of_thoughts(tmp_path: Path) -> None:
    canned = ok("chat", Piece(("[[weigh: red?]]", "blue")), False)
    with loaded("chat", tmp_path / "plain", canned) as (model, _):
        assert model.answer([WRITE])[0].text == "[[weigh: red?]]blue"
    tags = ("[[weigh: ", "]]")
    with loaded("chat", tmp_path / "own", canned, thought_tags=tags) as (model, _):
        (reply,) = model.answer([WRITE])
    assert (reply.text, reply.detail().thoughts) == ("blue", "red?")
    plain, tagged = (OpenAI("m", thought_tags=pair).identity() for pair in (None, tags))
    assert tagged == {**plain, "thought_tags": tags}


# Kept and reported: every case as a row, whole and as a stream.

THINKS = Piece(thoughts="I weigh.")
NO_TEXT = Piece(("",), "length", "I weigh")
LINES = Path(__file__).with_name("conformance.jsonl").read_text(encoding="utf-8").splitlines()
CASES: list[Body] = [json.loads(line) for line in LINES]
"""What a reply holds in no protocol, and what is kept of it; or an error, and the cure it names."""
ROWS = [
    pytest.param(
        dialect,
        Piece(**{**case["piece"], "texts": tuple(case["piece"].get("texts", ("blue",)))}),
        case["text"],
        Detail(**case["detail"]),
        id=f"{case['case']}-{dialect}",
    )
    for case in CASES
    if "piece" in case
    for dialect in (ALL if case["dialects"] == "all" else case["dialects"])
]


@STREAMS
@pytest.mark.parametrize(("dialect", "piece", "text", "detail"), ROWS)
def test_every_reply_is_kept_with_its_end(
    tmp_path: Path, dialect: str, piece: Piece, text: str, detail: Detail, stream: bool
) -> None:
    """Cases 1 to 5, 12 to 18, 20 to 23; every stream has pings."""
    with loaded(dialect, tmp_path, ok(dialect, piece, stream), stream=stream) as (model, seen):
        (reply,) = model.answer([WRITE])
        assert model.answer([WRITE]) == [reply], "the same from the cache"
    assert reply.text == text
    assert replace(reply.detail(), returned="") == detail
    assert len(seen.bodies) == 1
    path = VENDORS[dialect].stream_path if stream else ""
    assert {path for path, _, _ in seen.requests} == {path or VENDORS[dialect].path}


@pytest.mark.parametrize("dialect", ALL)
def test_13_a_stream_is_the_whole_reply(dialect: str) -> None:
    vendor, reader = VENDORS[dialect], DIALECTS[dialect](name="m", stream=True)
    ends = ("stop", "length", "unknown")
    for piece in [replace(THINKS, ended=end) for end in ends] + [NO_TEXT, Piece(("a", "b"))]:
        reply = vendor.reply(piece)
        joined = reader.joined(vendor.events(reply))
        assert reader.texts(joined) == reader.texts(reply)
        assert reader.usage(joined) == reader.usage(reply)


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_01_where_servers_put_thoughts(tmp_path: Path, key: str) -> None:
    with loaded("chat", tmp_path, Canned(chat(THINKS, thoughts_in=key))) as (model, _):
        assert model.answer([WRITE])[0].detail().thoughts == "I weigh."


def test_04_a_content_of_typed_parts(tmp_path: Path) -> None:
    body = chat(Piece())
    body["choices"][0]["message"]["content"] = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "I weigh."}]},
        {"type": "text", "text": "bl"},
        {"type": "text", "text": "ue"},
    ]
    with loaded("chat", tmp_path, Canned(body)) as (model, _):
        (reply,) = model.answer([WRITE])
    assert (reply.text, reply.detail().thoughts) == ("blue", "I weigh.")


REDACTED = {
    "messages": messages(Piece(), redacted=True),
    "responses": responses(Piece(thoughts="")),
}


@pytest.mark.parametrize("dialect", REDACTED)
def test_06_hidden_thoughts_go_back(tmp_path: Path, dialect: str) -> None:
    with loaded(dialect, tmp_path, Canned(REDACTED[dialect])) as (model, _):
        (reply,) = model.answer([WRITE])
    assert (reply.text, reply.detail().thoughts) == ("blue", "")
    assert SIGNATURE in reply.detail().returned


@pytest.mark.parametrize("dialect", ["responses", "messages", "gemini"])
def test_07_signed_thoughts_go_back_unchanged(tmp_path: Path, dialect: str) -> None:
    reply = VENDORS[dialect].reply(THINKS)
    with loaded(dialect, tmp_path, Canned(reply)) as (model, seen):
        (first,) = model.answer([WRITE])
        model.answer([replace(WRITE, prompt=continue_dialogue(WRITE.prompt, first, "And now?"))])
        second = seen.bodies[1]
    turns = second[{"responses": "input", "messages": "messages", "gemini": "contents"}[dialect]]
    content = {
        "responses": lambda: turns[-3:-1] == reply["output"],
        "messages": lambda: turns[-2] == {"role": "assistant", "content": reply["content"]},
        "gemini": lambda: turns[-2] == reply["candidates"][0]["content"],
    }[dialect]
    assert content()
    assert "And now?Say: " in json.dumps(turns[-1]), "with the cue"


def test_07_a_plain_reply_goes_back_as_text(tmp_path: Path) -> None:
    with loaded("chat", tmp_path, ok("chat", THINKS)) as (model, seen):
        (first,) = model.answer([WRITE])
        assert first.detail().returned == ""
        model.answer([replace(WRITE, prompt=continue_dialogue(WRITE.prompt, first, "And now?"))])
    assert [message["content"] for message in seen.bodies[1]["messages"]] == [
        *("Be brief.\n", "Rules.\n\nHand: red 1\nSay: ", "blue", "And now?Say: "),
    ]


def usage_outside(dialect: str) -> Body:
    """Counts that leave out the thoughts, except in their total."""
    read, written = ("prompt", "completion") if dialect != "responses" else ("input", "output")
    details = {f"{written}_tokens_details": {"reasoning_tokens": 3000}}
    return {f"{read}_tokens": 100, f"{written}_tokens": 5, "total_tokens": 3105, **details}


@STREAMS
@pytest.mark.parametrize("dialect", ["chat", "completions", "responses", "gemini"])
def test_41_the_total_counts(tmp_path: Path, dialect: str, stream: bool) -> None:
    vendor = VENDORS[dialect]
    full = vendor.reply(Piece())
    if dialect == "gemini":
        counted = {"promptTokenCount": 100, "candidatesTokenCount": 5, "totalTokenCount": 3105}
        full["usageMetadata"] = counted
    else:
        full["usage"] = usage_outside(dialect)
    canned = Canned(vendor.sse(full) if stream else full)
    with loaded(dialect, tmp_path, canned, stream=stream) as (model, _):
        before = model.spending().paid
        (reply,) = model.answer([WRITE])
        after = model.spending().paid
    assert (reply.prompt_tokens, reply.tokens, reply.finishes) == (100, 3005, ("stop",))
    assert (after.prompt - before.prompt, after.written - before.written) == (100, 3005)


@STREAMS
@pytest.mark.parametrize("dialect", ALL)
def test_08_09_thoughts_and_cached_tokens_are_counted_and_priced(
    tmp_path: Path, dialect: str, stream: bool
) -> None:
    prices = {"price_in": 1e6, "price_out": 1e6, "price_cached": 5e5, "cap": 1e5}  # 1, 1, a half
    canned = ok(dialect, THINKS if dialect in TALKING else Piece(), stream)
    with loaded(dialect, tmp_path, canned, stream=stream, **prices) as (model, _):
        (reply,) = model.answer([WRITE])
        paid = model.spending().paid
        account = model._source.account()
    assert (reply.prompt_tokens, reply.tokens) == (READ, WRITTEN)
    assert (reply.thought_tokens, reply.cached_tokens) == (THOUGHT, CACHED)
    assert (paid.prompt, paid.cached, paid.written) == (2 * READ, 2 * CACHED, 2 * WRITTEN)
    written = 2 * 3 / 4 if dialect == "messages" else 0  # three tokens taken in at 1.25 each
    cost = 2 * (READ - CACHED / 2 + WRITTEN) + written
    assert f"{cost:.4g} paid" in account
    assert f"({2 * CACHED} of them cached)" in account


@pytest.mark.parametrize("dialect", ALL)
def test_10_several_samples(tmp_path: Path, dialect: str) -> None:
    several = "n" not in DIALECTS[dialect].LACKS
    reply = VENDORS[dialect].reply
    canned = [Canned(reply(Piece(), 3))] if several else [Canned(reply(Piece((w,)))) for w in "abc"]  # type: ignore[call-arg]
    with loaded(dialect, tmp_path, *canned) as (model, seen):
        (got,) = model.answer([replace(WRITE, n=3)])
        assert model.answer([replace(WRITE, n=2)])[0].texts == got.texts[:2] or several
    assert got.texts == (("blue",) * 3 if several else ("a", "b", "c"))
    assert len(seen.bodies) == (2 if several else 3), "samples are known by their number"
    body = seen.bodies[0]
    assert {body.get("n"), body.get("generationConfig", {}).get("candidateCount")} == (
        {3, None} if several else {None}
    )


JSON_MODE = {
    "chat": ("response_format", {"type": "json_object"}),
    "responses": ("text", {"format": {"type": "json_object"}}),
}


@pytest.mark.parametrize("dialect", ALL)
def test_11_json(tmp_path: Path, dialect: str) -> None:
    with loaded(dialect, tmp_path, ok(dialect, Piece(('{"a": 1}',)))) as (model, seen):
        assert model.answer([replace(WRITE, json=True)])[0].text == '{"a": 1}'
    (body,) = seen.bodies
    if dialect in JSON_MODE:
        key, value = JSON_MODE[dialect]
        assert body[key] == value
    elif dialect == "gemini":
        assert body["generationConfig"]["responseMimeType"] == "application/json"
    else:
        assert "json" not in json.dumps(body)


@pytest.mark.parametrize("dialect", ALL)
def test_12_a_stop_string_that_the_server_leaves_in(tmp_path: Path, dialect: str) -> None:
    with loaded(dialect, tmp_path, ok(dialect, Piece(("blueZ green",)))) as (model, seen):
        (reply,) = model.answer([replace(WRITE, stop=("Z", "\n"))])
    assert (reply.text, reply.detail()) == ("blue", Detail("stop_string"))
    wanted = {"messages": ["Z"], "responses": None}.get(dialect, ["Z", "\n"])
    (body,) = seen.bodies
    keys = (body.get("stop"), body.get("stop_sequences"))
    assert wanted in (*keys, body.get("generationConfig", {}).get("stopSequences"))


FLAGGED = {
    "chat": {"kind": "content_filter", "field": "prompt"},
    "completions": {"kind": "content_filter"},
    "responses": {"kind": "content_policy_violation"},
    "messages": {},
    "gemini": {},
}
GROK = {
    "code": "The caller does not have permission to execute the specified operation",
    "error": "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO",
}


@STREAMS
@pytest.mark.parametrize("dialect", ALL)
def test_19_a_prompt_that_is_refused_as_flagged(tmp_path: Path, dialect: str, stream: bool) -> None:
    message = "Output blocked by content filtering policy"
    error = VENDORS[dialect].error(message, 400, **FLAGGED[dialect])
    answered = ok(dialect, Piece(), stream)
    canned = (answered, Canned(error, 400), Canned(GROK, 403), answered)
    with loaded(dialect, tmp_path, *canned, stream=stream) as (model, seen):
        asks = [replace(WRITE, seed=seed) for seed in range(4)]
        replies = [model.answer([ask])[0] for ask in asks]
        assert model.spending().unsure == Tokens(0, 0)
    assert [reply.finishes[0] for reply in replies] == ["stop", "filtered", "filtered", "stop"]
    assert [reply.text for reply in replies] == ["blue", "", "", "blue"]
    assert replies[1].detail().refusal == message
    assert len(seen.bodies) == 4


@pytest.mark.parametrize("scores", ["logprobs", "sampled"])
def test_19_a_flagged_prompt_has_no_scores(tmp_path: Path, scores: str) -> None:
    withheld = chat(Piece(("",), "filtered"))
    request = Score((WRITE.prompt, replace(WRITE.prompt, changing="other")), ("A", "B"))
    canned = [refusal("chat", 400, "no", kind="content_filter"), Canned(withheld)]
    with loaded("chat", tmp_path, *canned, scores=scores, in_flight=1) as (model, _):
        (reply,) = model.answer([request])
    assert isinstance(reply, Scores)
    assert reply.finish == "filtered"
    assert reply.logprobs == ((-math.inf, -math.inf),) * 2
    assert reply.ceilings == (0.0, 0.0)


def test_19_a_blocked_prompt(tmp_path: Path) -> None:
    blocked = {
        "promptFeedback": {"blockReason": "SAFETY"},
        "usageMetadata": {"promptTokenCount": 7},
    }
    for stream in (False, True):
        body = sse_event(blocked) if stream else blocked
        folder = tmp_path / str(stream)
        with loaded("gemini", folder, Canned(body), stream=stream) as (model, _):
            (reply,) = model.answer([WRITE])
            assert reply.detail() == Detail("filtered")
            assert (reply.text, reply.prompt_tokens, reply.tokens) == ("", 7, 0)


FULL = {
    "chat": "This model's maximum context length is 128000 tokens, you gave 130000.",
    "completions": "This model's maximum context length is 4097 tokens, you gave 5000.",
    "responses": "Your input exceeds the context window of this model.",
    "messages": "prompt is too long: 208310 tokens > 200000 maximum",
    "gemini": "The input token count (2000000) exceeds the maximum number of tokens allowed (1).",
}
"""How vendors refuse a prompt that is too long; responses by a code alone."""


@STREAMS
@pytest.mark.parametrize("dialect", ALL)
def test_22_a_prompt_that_is_too_long(tmp_path: Path, dialect: str, stream: bool) -> None:
    code = {"kind": "context_length_exceeded"} if dialect == "responses" else {}
    canned = VENDORS[dialect].error(FULL[dialect], 400, **code)
    with loaded(dialect, tmp_path, Canned(canned, 400), stream=stream) as (model, seen):
        (reply,) = model.answer([replace(WRITE, n=2)])
        assert model.spending().unsure == Tokens(0, 0)
    assert (reply.texts, reply.finishes) == (("", ""), ("context", "context"))
    assert len(seen.bodies) == 1


TURNS = {"chat": "messages", "responses": "input", "messages": "messages", "gemini": "contents"}


@pytest.mark.parametrize("dialect", TALKING)
def test_42_an_empty_turn_of_the_model_is_left_out(tmp_path: Path, dialect: str) -> None:
    first = continue_dialogue(WRITE.prompt, Generation("", 0, 0), "Again?\n")
    second = continue_dialogue(first, Generation("blue", 0, 0), "And now?\n")
    with loaded(dialect, tmp_path, ok(dialect, Piece())) as (model, seen):
        model.answer([replace(WRITE, prompt=second)])
    turns = [turn for turn in seen.bodies[0][TURNS[dialect]] if turn["role"] != "system"]
    texts = [json.dumps(turn.get("content") or turn["parts"]) for turn in turns]
    assert all('""' not in text for text in texts)
    others = [number for number, turn in enumerate(turns) if turn["role"] != "user"]
    assert others == [len(turns) - 2], "the one that said something"
    assert "blue" in texts[-2]
    assert "Again?" in "".join(texts[:-2])
    assert (len(turns) == 3) == (dialect == "chat"), "whose roles come in turn"


# Asked again.


@dataclass(frozen=True)
class Again:
    """A failure that passes: what the server gives first, and whether that may be billed."""

    first: Canned
    billed: bool = False
    waits: float = 0.0
    settings: Mapping[str, Any] = field(default_factory=dict)


def refusal(dialect: str, status: int, message: str, *headers: str, **more: str) -> Canned:
    return Canned(VENDORS[dialect].error(message, status, **more), status, headers)


def cut(dialect: str) -> Canned:
    data = VENDORS[dialect].sse(VENDORS[dialect].reply(THINKS))
    return Canned(data[: len(data) // 2], cut=True)


def ended(dialect: str) -> Canned:
    """A stream that ends well, as HTTP sees it, in the middle of the reply."""
    vendor = VENDORS[dialect]
    events = vendor.events(vendor.reply(THINKS))
    return Canned(b"".join(map(sse_event, events[: len(events) // 2])))


ERRORS: dict[str, Body] = {
    "chat": {"error": {"message": "overloaded", "type": "server_error", "code": None}},
    "completions": {"error": {"message": "overloaded", "code": 502}},
    "responses": {"type": "error", "code": "server_error", "message": "overloaded", "param": None},
    "messages": {"type": "error", "error": {"type": "overloaded_error", "message": "overloaded"}},
    "gemini": {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}},
}


def failing(dialect: str) -> Canned:
    """A stream with an error event in the middle."""
    vendor = VENDORS[dialect]
    events = vendor.events(vendor.reply(Piece()))[:2]
    return Canned(b"".join(map(sse_event, [*events, ERRORS[dialect]])))


def failed_response() -> Canned:
    body = responses(Piece(("",), "failed"))
    return Canned({**body, "error": {"code": "server_error", "message": "overloaded"}})


LOST = {"code": 502, "message": "Network connection lost."}


def in_a_choice(message: str = "message") -> Body:
    """As routers answer whose provider fails."""
    return {"choices": [{"finish_reason": "error", "error": LOST, message: {"content": ""}}]}


def beside_a_choice() -> Body:
    return {"error": LOST, "choices": [{"finish_reason": "error", "delta": {"content": ""}}]}


def date_in(seconds: float) -> str:
    return f"retry-after: {formatdate(time.time() + seconds, usegmt=True)}"


STREAM = {"stream": True}
AGAIN: dict[str, tuple[str, Again]] = {
    **{
        f"24 seconds-{one}": (one, Again(refusal(one, 429, "slow", "retry-after: 0.3"), waits=0.3))
        for one in ALL
    },
    "24 ms": ("chat", Again(refusal("chat", 429, "slow", "retry-after-ms: 300"), waits=0.3)),
    "25 529": ("messages", Again(refusal("messages", 529, "busy", kind="overloaded_error"))),
    "26 loading": ("chat", Again(refusal("chat", 503, "Loading model", kind="unavailable_error"))),
    "26 timeout": ("chat", Again(refusal("chat", 408, "late"))),
    "26 conflict": ("chat", Again(refusal("chat", 409, "locked"))),
    "26 asked to": ("chat", Again(refusal("chat", 400, "odd", "x-should-retry: true"))),
    **{f"27 cut-{one}": (one, Again(cut(one), True, settings=STREAM)) for one in ALL},
    **{f"27 ended-{one}": (one, Again(ended(one), True, settings=STREAM)) for one in ALL},
    **{f"28 event-{one}": (one, Again(failing(one), True, settings=STREAM)) for one in ALL},
    **{f"29 under 200-{one}": (one, Again(Canned(ERRORS[one]))) for one in ALL},
    "29 failed response": ("responses", Again(failed_response())),
    "29 in a choice-chat": ("chat", Again(Canned(in_a_choice()))),
    "29 in a streamed choice-chat": (
        "chat",
        Again(Canned(sse_event(in_a_choice("delta"))), settings=STREAM),
    ),
    "29 beside a choice-chat": (
        "chat",
        Again(Canned(sse_event(beside_a_choice())), settings=STREAM),
    ),
}


@pytest.mark.parametrize(("dialect", "again"), AGAIN.values(), ids=AGAIN.keys())
def test_it_is_asked_again(tmp_path: Path, dialect: str, again: Again) -> None:
    """Cases 24 to 29."""
    last = ok(dialect, Piece(("green",)), bool(again.settings))
    with loaded(dialect, tmp_path, again.first, last, **again.settings) as (model, seen):
        started = time.monotonic()
        (reply,) = model.answer([WRITE])
        unsure = model.spending().unsure
    assert reply.text == "green"
    assert time.monotonic() - started >= again.waits
    assert len(seen.bodies) == 2
    assert seen.bodies[0] == seen.bodies[1]
    assert bool(unsure.written) == again.billed, "counted if it may have been billed"


def test_24_a_date(tmp_path: Path) -> None:
    canned = refusal("chat", 429, "slow", date_in(100))
    with (
        loaded("chat", tmp_path, canned) as (model, seen),
        pytest.raises(Stopped, match=r"asks to wait (9\d|100)(\.\d+)? s"),
    ):
        model.answer([WRITE])
    assert len(seen.bodies) == 1


def test_a_server_may_ask_not_to_be_asked_again(tmp_path: Path) -> None:
    canned = refusal("chat", 500, "for good", "x-should-retry: false")
    with (
        loaded("chat", tmp_path, canned) as (model, seen),
        pytest.raises(ModelError, match=r"refused \(500: for good\)"),
    ):
        model.answer([WRITE])
    assert len(seen.bodies) == 1


def test_a_response_that_failed_for_good_is_reported(tmp_path: Path) -> None:
    body = responses(Piece(("",), "failed"))
    final = {**body, "error": {"code": "invalid_prompt", "message": "no"}}
    with loaded("responses", tmp_path, Canned(final)) as (model, _):
        assert model.answer([WRITE])[0].detail() == Detail("failed")


# Stops, and names the setting.

STOPS = [
    pytest.param(
        case["dialect"],
        Canned(
            case["body"].encode() if isinstance(case["body"], str) else case["body"], case["status"]
        ),
        case["cure"],
        id=case["case"],
    )
    for case in CASES
    if "cure" in case
]


@pytest.mark.parametrize(("dialect", "canned", "line"), STOPS)
def test_what_stops_names_the_setting(
    tmp_path: Path, dialect: str, canned: Canned, line: str
) -> None:
    """Cases 30 to 35, 43 to 45; at once, however much patience is left."""
    with loaded(dialect, tmp_path, canned) as (model, seen):
        with pytest.raises(ModelError, match=line) as raised:
            model.answer([WRITE])
        assert model.spending().unsure == Tokens(0, 0)
    assert "\n" not in str(raised.value)
    assert KEY not in str(raised.value)
    assert len(seen.bodies) == 1


def test_36_more_log_probabilities_than_a_server_gives(tmp_path: Path) -> None:
    message = "Requested sample logprobs of 20, which is greater than max allowed: 5"
    with (
        loaded("chat", tmp_path, refusal("chat", 400, message)) as (model, _),
        pytest.raises(Stopped, match=r"; lower model\.top$"),
    ):
        model.answer([Score((WRITE.prompt,), ("A", "B"))])


def test_45_a_system_text_opens_the_first_message(tmp_path: Path) -> None:
    with loaded("chat", tmp_path, ok("chat", Piece()), system_role=False) as (model, seen):
        model.answer([WRITE])
    assert seen.bodies[0]["messages"] == [
        {"role": "user", "content": "Be brief.\nRules.\n\nHand: red 1\nSay: "}
    ]


@pytest.mark.parametrize("dialect", TALKING)
def test_36_no_log_probabilities(tmp_path: Path, dialect: str) -> None:
    no = refusal("chat", 400, "logprobs are not supported with this model")
    with (
        loaded(dialect, tmp_path, no) as (model, _),
        pytest.raises(Stopped, match=r"set model\.scores=sampled"),
    ):
        model.answer([Score((WRITE.prompt,), ("A", "B"))])


@pytest.mark.parametrize("meaning", ["context", "filtered"])
def test_a_model_that_refuses_the_first_question_cannot_be_played(
    tmp_path: Path, meaning: str
) -> None:
    """Every reply would be empty."""
    kind = {"context": "context_length_exceeded", "filtered": "content_filter"}[meaning]
    with (
        vendor_server(VENDORS["chat"], [], first=refusal("chat", 400, "no", kind=kind)) as (url, _),
        pytest.raises(NoAnswer) as raised,
    ):
        OpenAI("m", url, cache=str(tmp_path / "replies")).load()
    assert raised.value.detail.finish == meaning


# Bounds.


def endless(vendor: Vendor) -> Behaviour:
    part = sse_event(vendor.events(vendor.reply(Piece()))[0]) * 100

    def talk_on(talk: Talk) -> None:
        talk.head()
        while not talk.over.is_set():
            talk.say(part)

    return talk_on


@pytest.mark.parametrize("dialect", ALL)
def test_37_a_stream_ends_at_its_bytes(
    tmp_path: Path, dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "SPARE", 1 << 16)
    with loaded(dialect, tmp_path, endless(VENDORS[dialect]), stream=True) as (model, seen):
        with pytest.raises(ModelError, match="broken off"):
            model.answer([WRITE])
        assert model.spending().unsure.written == WRITE.max_tokens
    assert len(seen.bodies) == 1


def dripping(talk: Talk) -> None:
    talk.head()
    while not talk.over.wait(0.05):
        talk.say(b": ping\n\n")


def test_37_pings_keep_a_stream_alive_until_its_deadline(tmp_path: Path) -> None:
    waits = {"timeout": 0.5, "patience": 1.0}
    with loaded("chat", tmp_path, dripping, stream=True, **waits) as (model, _):
        started = time.monotonic()
        with pytest.raises(ModelError, match="it did not answer in time"):
            model.answer([WRITE])
        assert time.monotonic() - started > 1.0, "bytes came, so only the deadline ended it"


@pytest.mark.parametrize("dialect", ALL)
def test_27_streams_that_never_have_an_end_are_given_up(
    tmp_path: Path, dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.01)
    canned = Canned(bytes(ended(dialect).body) + b"data: [DONE]\n\n")
    with loaded(dialect, tmp_path, canned, stream=True, patience=600.0) as (model, seen):
        with pytest.raises(Stopped, match=r"set model\.stream=false"):
            model.answer([WRITE])
        assert model.spending().unsure.written == retry.MOST_BROKEN * WRITE.max_tokens
    assert len(seen.bodies) == retry.MOST_BROKEN


def test_37_a_stream_without_a_byte_is_given_up(tmp_path: Path) -> None:
    waits = {"timeout": 0.3, "patience": 60.0}
    first = ok("chat", Piece(("green",)), True)
    with loaded("chat", tmp_path, hostile.hanging, first, stream=True, **waits) as (model, _):
        started = time.monotonic()
        assert model.answer([WRITE])[0].text == "green"
        assert time.monotonic() - started < 30


@STREAMS
@pytest.mark.parametrize("dialect", ALL)
def test_38_a_gzip_bomb(
    tmp_path: Path, dialect: str, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "SPARE", 1 << 16)
    with (
        loaded(dialect, tmp_path, bomb("gzip", 16), stream=stream) as (model, _),
        pytest.raises(ModelError, match="its reply is broken off"),
    ):
        model.answer([WRITE])


@STREAMS
@pytest.mark.parametrize("dialect", ALL)
def test_39_without_counts_the_most_is_booked(tmp_path: Path, dialect: str, stream: bool) -> None:
    canned = ok(dialect, Piece(counted=False), stream)
    settings = {"stream": stream, "thinking_room": 7}
    with loaded(dialect, tmp_path, canned, **settings) as (model, _):
        before = model.spending().paid
        assert model.answer([WRITE])[0].text == "blue"
        after = model.spending().paid
    assert after.written - before.written == WRITE.max_tokens + 7
    text = WRITE.prompt.text.encode()
    assert after.prompt - before.prompt >= len(text)


# The table of all this in docs/servers.md.

TITLES = {case["number"]: (case["title"], case["outcome"]) for case in CASES if "number" in case}
ONLY = {"test_19_a_blocked_prompt": "gemini", "test_04_a_content_of_typed_parts": "chat"}
PINGS = range(1, 24)
"""Cases whose streams have pings."""


def conformance(items: Iterable[pytest.Item]) -> str:
    """The table, from the tests that there are."""
    covered: dict[int, set[str]] = {case: set() for case in TITLES}
    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        dialect = params.get("dialect", ONLY.get(item.name.partition("[")[0]))
        numbers = re.findall(r"(?<=[\[_])(\d\d)(?=[ _])", f"{item.name} ")
        for case in map(int, numbers if dialect else ()):
            covered[case].add(dialect)
            if case in PINGS and params.get("stream"):
                covered[14].add(dialect)
    covered[40] = {"chat", "messages"}
    lines = [f"| | the server sends | {' | '.join(ALL)} | outcome |", f"|---|---{'|---' * 6}|"]
    for case, (title, outcome) in TITLES.items():
        marks = " | ".join("✓" if dialect in covered[case] else "" for dialect in ALL)
        lines.append(f"| {case} | {title} | {marks} | {outcome} |")
    return "\n".join(lines)


def test_the_table_in_the_docs_is_of_these_tests(request: pytest.FixtureRequest) -> None:
    items = [item for item in request.session.items if item.path == Path(__file__)]
    if len(items) < 200:
        pytest.skip("only some of the tests are selected")
    table = conformance(items)
    assert table in DOCS.read_text(encoding="utf-8"), table
