"""The settings of a model behind an API: what is sent, what it costs, and what its identity is."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from gauntlet.common.errors import ModelError, Stopped
from gauntlet.models.api import sending
from gauntlet.models.api import settings as prices
from gauntlet.models.api.dialects import DIALECTS
from gauntlet.models.api.dialects.base import Body, Dialect
from gauntlet.models.api.ledger import Ledger, Prices, Tokens
from gauntlet.models.api.openai import PROBE, OpenAI
from gauntlet.models.base import Detail, Generate, Keyed, Prompt
from tests.hostile import Talk, at_work
from tests.vendors import VENDORS, Canned, Piece, vendor_server

PROMPT = Prompt("Rules.\n\n", "Hand: red 1\n", "Say: ", system="Be brief.\n")
WRITE = Generate(PROMPT, 50, 0.7, ("Z",), seed=3)
OFFICIAL = pytest.mark.parametrize("endpoint", ["chat", "responses"])


def body(endpoint: str, request: Generate = WRITE, **settings: Any) -> Body:
    """What goes over the wire."""
    protocol = dialect(endpoint, **settings)
    return protocol.sent(protocol.writing(request), "group")


def dialect(endpoint: str, **settings: Any) -> Dialect:
    return DIALECTS[endpoint](**{"name": "m", **settings})


# What is sent.


BODIES: dict[str, Body] = json.loads(Path(__file__).with_name("bodies.json").read_text())
"""What the vendors' references want for `WRITE`."""


@pytest.mark.parametrize("endpoint", BODIES)
def test_the_body_of_a_protocol(endpoint: str) -> None:
    assert body(endpoint) == BODIES[endpoint]


def test_the_limit_has_another_name_where_it_is_set() -> None:
    limited = body("chat", limit="max_completion_tokens")
    assert (limited["max_completion_tokens"], "max_tokens" in limited) == (50, False)


def test_effort_and_budget_in_the_words_of_each_protocol() -> None:
    assert body("chat", effort="low")["reasoning_effort"] == "low"
    sent = body("responses", effort="low")
    assert sent["reasoning"] == {"effort": "low", "summary": "auto"}
    assert sent["include"] == ["reasoning.encrypted_content"]
    assert "include" not in body("responses", effort="none")
    sent = body("messages", effort="low")
    assert sent["output_config"] == {"effort": "low"}
    assert sent["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert body("messages", effort="none")["thinking"] == {"type": "disabled"}
    sent = body("messages", thinking_budget=2000)
    assert sent["thinking"] == {"type": "enabled", "budget_tokens": 2000, "display": "summarized"}
    sent = body("gemini", effort="low")["generationConfig"]
    assert sent["thinkingConfig"] == {"thinkingLevel": "low", "includeThoughts": True}
    sent = body("gemini", thinking_budget=0)["generationConfig"]
    assert sent["thinkingConfig"] == {"thinkingBudget": 0, "includeThoughts": True}


@pytest.mark.parametrize("endpoint", DIALECTS)
def test_room_for_thoughts_is_added_to_every_limit(endpoint: str) -> None:
    plain, roomy = dialect(endpoint), dialect(endpoint, thinking_room=1000)
    for make in (
        lambda protocol: protocol.writing(WRITE),
        lambda protocol: protocol.sampling(PROMPT, 0),
    ):
        assert roomy.most(make(roomy)).written - plain.most(make(plain)).written == 1000


@OFFICIAL
@pytest.mark.parametrize(
    ("name", "effort", "sent"),
    [
        ("gpt-4.1", None, True),
        ("gpt-5.4-mini", None, True),
        ("gpt-5.4-mini", "low", False),
        ("gpt-5.5", None, False),
        ("gpt-6-luna", None, False),
        ("gpt-6-luna", "none", True),
        ("gpt-5", None, False),
        ("o3", None, False),
    ],
)
def test_openai_gets_a_temperature_only_for_models_that_take_one(
    endpoint: str, name: str, effort: str | None, sent: bool
) -> None:
    settings = {"name": name, "effort": effort}
    assert ("temperature" in body(endpoint, official=True, **settings)) == sent
    assert "temperature" in body(endpoint, **settings), "another server may take it"
    assert "temperature" in body(endpoint, official=True, temperature="send", **settings)
    assert "temperature" not in body(endpoint, temperature="omit", **settings)


def test_other_vendors_that_refuse_a_temperature() -> None:
    assert "temperature" not in body("messages")
    assert body("messages", temperature="send")["temperature"] == 0.7
    for name, sent in (("gemini-2.5-pro", True), ("gemini-3.8-flash", False)):
        assert ("temperature" in body("gemini", name=name)["generationConfig"]) == sent


@OFFICIAL
def test_a_key_for_the_cache_goes_to_openai_alone(endpoint: str) -> None:
    assert body(endpoint, official=True)["prompt_cache_key"] == "group"
    assert "prompt_cache_key" not in body(endpoint)


def test_more_of_the_body_is_merged_in_and_null_removes() -> None:
    extra = {"seed": None, "random_seed": 4, "stop": ["Y"]}
    sent = body("chat", extra_body=extra)
    assert "seed" not in sent
    assert (sent["random_seed"], sent["stop"], sent["model"]) == (4, ["Y"], "m")
    streamed = body("chat", stream=True, official=True, extra_body={"stream_options": None})
    assert (streamed["stream"], "stream_options" in streamed) == (True, False)
    sent = body("chat", official=True, extra_body={"prompt_cache_key": None})
    assert "prompt_cache_key" not in sent
    sent = body("gemini", extra_body={"generationConfig": {"topK": 3}})["generationConfig"]
    assert (sent["topK"], sent["maxOutputTokens"]) == (3, 50)


def test_samples_differ_although_a_protocol_has_no_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-other-0123456789abcdef")
    canned = [Canned(VENDORS["messages"].reply(Piece((word,)))) for word in ("a", "b")]
    with vendor_server(VENDORS["messages"], canned) as (url, seen):
        model = OpenAI("m", url, "messages", cache=str(tmp_path / "c")).load()
        batches = [[WRITE], [replace(WRITE, seed=4)], [WRITE]]
        assert [model.answer(batch)[0].text for batch in batches] == ["a", "b", "a"]
        model.close()
    assert seen.bodies[0] == seen.bodies[1]


HEADERS = {
    "chat": ("authorization", "Bearer sk-one-0123456789abcdef"),
    "messages": ("authorization", "Bearer sk-two-0123456789abcdef"),
    "gemini": ("x-goog-api-key", "sk-three-0123456789abcdef"),
}


def test_vendors_with_keys_of_their_own_in_one_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OURS", "sk-one-0123456789abcdef")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-two-0123456789abcdef")
    monkeypatch.setenv("GEMINI_API_KEY", "sk-three-0123456789abcdef")
    models, servers, settings = [], [], {"cache": str(tmp_path / "c"), "headers": {"x-team": "a b"}}
    for endpoint in HEADERS:
        canned = [Canned(VENDORS[endpoint].reply(Piece((endpoint,))))]
        servers.append(vendor_server(VENDORS[endpoint], canned))
        url, seen = servers[-1].__enter__()
        key = {"key_env": "OURS"} if endpoint == "chat" else {}
        models.append((endpoint, OpenAI("m", url, endpoint, **settings, **key).load(), seen))
    for endpoint, model, seen in models:
        assert model.answer([WRITE])[0].text == endpoint
        for _, headers, _ in seen.requests:
            name, value = HEADERS[endpoint]
            assert headers[name] == value
            assert headers["x-team"] == "a b"
            assert headers.get("anthropic-version") == (
                "2026-10-21" if endpoint == "messages" else None
            )
        model.close()
    for server in servers:
        server.__exit__(None, None, None)


OWN = "http://127.0.0.1:9/v1"


@pytest.mark.parametrize(
    ("settings", "variable"),
    [
        ({}, "OPENAI_API_KEY"),
        ({"endpoint": "messages"}, "ANTHROPIC_API_KEY"),
        ({"endpoint": "gemini"}, "GEMINI_API_KEY"),
        ({"key_env": "OURS"}, "OURS"),
        ({"base_url": OWN, "key_env": "OURS"}, "OURS"),
        ({"base_url": OWN}, ""),
        ({"base_url": OWN, "endpoint": "messages"}, ""),
    ],
)
def test_a_missing_key_is_named_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], variable: str
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OURS"):
        monkeypatch.delenv(name, raising=False)
    source = OpenAI("m", **settings, cache=str(tmp_path / "c"))
    assert isinstance(source, Keyed)
    if not variable:
        assert source.key == ""
        return
    for check in (source.check_key, source.load):
        with pytest.raises(ModelError, match=f"the variable {variable} is not set"):
            check()
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv(variable, "sk-one-0123456789abcdef")
    source.check_key()


PROXIES = {
    "socks5://me:secret@127.0.0.1:7890": "ALL_PROXY names a SOCKS proxy: pip install socksio",
    "ftp://me:secret@127.0.0.1:7890": "ALL_PROXY names a proxy that cannot be used",
    "http://me:secret@127.0.0.1:9": r"it cannot be reached through the proxy in ALL_PROXY \(",
}


@pytest.mark.parametrize("proxy", PROXIES)
def test_a_proxy_that_does_not_work_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setitem(sys.modules, "socksio", None)  # as if it were not installed
    monkeypatch.setenv("ALL_PROXY", proxy)
    source = OpenAI("m", "http://192.0.2.1/v1", cache=str(tmp_path / "c"))
    with pytest.raises(ModelError, match=PROXIES[proxy]) as raised:
        source.load()
    assert "secret" not in str(raised.value)


def test_certificates_that_cannot_be_read_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "certificates", httpx2.create_ssl_context)  # not the cached ones
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    source = OpenAI("m", "https://192.0.2.1/v1", cache=str(tmp_path / "c"))
    for content in (None, "no certificate"):
        file = tmp_path / f"{content}.pem"
        if content:
            file.write_text(content)
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        with pytest.raises(ModelError, match=r"^SSL_CERT_FILE "):
            source.load()


def test_a_proxy_that_wants_a_password_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(talk: Talk) -> None:
        talk.reply(b"", status="407 Proxy Authentication Required")

    for scheme in ("http", "https"):
        with at_work(refuse) as (address, talks):
            monkeypatch.setenv(f"{scheme}_proxy", address.removesuffix("/v1"))
            source = OpenAI("m", f"{scheme}://192.0.2.1/v1", cache=str(tmp_path / "c"))
            with pytest.raises(Stopped, match=f"the proxy in {scheme}_proxy.*407"):
                source.load()
            assert len(talks) == 1


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"temperature": "0.3"}, "temperature '0.3' of model 'm': allowed are auto, send, omit"),
        ({"endpoint": "completions", "effort": "low"}, "effort 'low' .* completions has no such"),
        ({"thinking_budget": 5}, "thinking_budget 5 .* chat has no such setting; give null"),
        ({"thinking_room": -1}, "thinking_room -1"),
        ({"price_cached": -1}, "price_cached -1"),
        ({"headers": {"Authorization": "x"}}, "'Authorization' would hold a secret; .* key_env"),
        ({"headers": {"x": 3}}, "'x' must be plain text"),
        ({"headers": {"x": "a\nb"}}, "'x' must be plain text"),
        ({"cap": 1.0, "price_in": 0, "price_out": 0}, "cap 1 .* needs prices"),
        ({"cap": -1.0, "price_in": 1.0}, "cap -1"),
        ({"endpoint": "replies"}, "allowed are chat, completions, responses, messages, gemini"),
        ({"scores": "votes"}, "allowed are logprobs, sampled, decisions, vllm, sglang"),
        ({"scores": "decisions", "endpoint": "gemini"}, "it needs endpoint chat or responses"),
        ({"top": 1}, "top 1 of model 'm': at least 2"),
        ({"in_flight": 0}, "in_flight 0"),
        ({"timeout": 0.0}, "timeout 0"),
        ({"base_url": "localhost:8000"}, "base_url of model 'm' must be"),
        ({"base_url": "https://me:secret@host/v1"}, "without a key, password"),
        ({"base_url": "https://host/v1?api-key=secret"}, r"without a key, password, \? or #"),
        ({"base_url": "https://host/v1#secret"}, r"without a key, password, \? or #"),
        ({"base_url": "https://host:secret/v1"}, r"host\[:port\]/path"),
        ({"base_url": "https://host:99999/v1"}, r"host\[:port\]/path"),
        ({"base_url": "https://:8000/secret"}, r"host\[:port\]/path"),
        ({"base_url": "https://[secret/v1"}, r"host\[:port\]/path"),
        ({"base_url": "https://host/v1\r"}, r"host\[:port\]/path"),
        (
            {"batch": True, "endpoint": "gemini"},
            "batch True of model 'm': endpoint gemini has none",
        ),
        ({"batch": True, "stream": True}, "give stream=false"),
        ({"batch": True, "scores": "vllm"}, "scores logprobs or sampled only"),
        ({"batch": True, "scores": "decisions"}, "scores logprobs or sampled only"),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], line: str) -> None:
    with pytest.raises(ValueError, match=line) as raised:
        OpenAI("m", **settings)
    assert "secret" not in str(raised.value) or "headers" in settings


def test_a_source_can_be_hashed_and_compared() -> None:
    source, same = (OpenAI("m", headers={"x": "y"}, extra_body={"a": {"b": 1}}) for _ in range(2))
    assert hash(source) == hash(same)
    assert source == same != OpenAI("m")


# Identity, and what was kept before.

OLD_IDENTITY = {
    "api": "https://api.openai.com/v1",
    "model": "gpt-4.1",
    "endpoint": "chat",
    "scores": "logprobs",
    "temperature": 1.0,
    "top": 20,
}


def test_settings_at_their_defaults_leave_identities_as_they_were() -> None:
    assert OpenAI("gpt-4.1").identity() == OLD_IDENTITY
    free = {"stream": True, "price_cached": 1.0, "key_env": "OURS", "in_flight": 2, "cache": "x"}
    assert OpenAI("gpt-4.1", **free, cap=1, price_in=1).identity() == OLD_IDENTITY
    assert OpenAI("gpt-4.1", batch=True).identity() == OLD_IDENTITY
    for changed in (
        *({"effort": "low"}, {"thinking_room": 5}, {"headers": {"x": "y"}}),
        *({"extra_body": {"top_k": 1}}, {"temperature": "omit"}, {"endpoint": "responses"}),
        {"system_role": False},
        *({"base_url": "http://b/v1"}, {"top": 5}, {"scores": "decisions"}, {"scores": "vllm"}),
    ):
        assert OpenAI("gpt-4.1", **changed).identity() != OLD_IDENTITY
    assert OpenAI("gpt-4.1", temperature="omit").identity()["temperature"] == "not sent"
    identity = OpenAI("m", endpoint="messages").identity()
    assert (identity["temperature"], identity["not_sent"]) == ("not sent", ["seed", "json"])
    assert json.dumps(identity)
    assert OpenAI("m", endpoint="gemini", thinking_budget=0).identity() != (
        OpenAI("m", endpoint="gemini").identity()
    )


OLD_TABLES = """
CREATE TABLE replies (key BLOB PRIMARY KEY, reply TEXT) WITHOUT ROWID;
CREATE TABLE paid (
    account TEXT PRIMARY KEY, replies INTEGER, prompt_tokens INTEGER, tokens INTEGER
);
CREATE TABLE sent (
    key BLOB PRIMARY KEY, account TEXT, times INTEGER, prompt_tokens INTEGER, tokens INTEGER,
    asker TEXT, until REAL
) WITHOUT ROWID;
"""
NOWHERE = "http://127.0.0.1:9/v1"


def old_body(request: Generate) -> Body:
    """A request as it was written before there were other protocols."""
    opening = [{"role": "system", "content": request.prompt.system}] * bool(request.prompt.system)
    text = request.prompt.static + request.prompt.changing + request.prompt.cue
    old: Body = {"model": "m", "max_tokens": request.max_tokens}
    old |= {"messages": [*opening, {"role": "user", "content": text}]}
    old |= {"temperature": request.temperature, "seed": request.seed}
    return old | ({"stop": list(request.stop)} if request.stop else {})


def test_a_ledger_of_before_still_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-one-0123456789abcdef")
    message = {"role": "assistant", "content": "kept"}
    reply = {
        "choices": [{"index": 0, "message": message, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    }
    with sqlite3.connect(tmp_path / "old") as base:
        base.executescript(OLD_TABLES)
        for request in (PROBE, WRITE):
            content = [NOWHERE, "chat", old_body(request)]
            text = json.dumps(content, sort_keys=True, ensure_ascii=False)
            key = hashlib.sha256(text.encode()).digest()
            base.execute("INSERT INTO replies VALUES (?, ?)", (key, json.dumps(reply)))
        base.execute("INSERT INTO paid VALUES (?, 2, 6, 2)", (f"m at {NOWHERE}",))
    base.close()
    source = OpenAI("m", NOWHERE, cache=str(tmp_path / "old"), price_in=1e6, price_cached=0)
    model = source.load()
    (got,) = model.answer([WRITE])
    assert (got.text, got.detail(), got.tokens) == ("kept", Detail("length"), 1)
    assert model.spending().paid == Tokens(6, 2)
    model.close()
    assert "2 replies kept, 6 tokens read, 2 written; 6 paid" in source.account()
    ledger = Ledger(tmp_path / "old", f"m at {NOWHERE}", Prices(1, 1), 1.0)
    ledger.claim(b"new", Tokens(9, 9))
    ledger.keep(b"new", "{}", Tokens(5, 2, cached=4, stored=1, thoughts=2))
    assert ledger.spending().paid == Tokens(11, 4, cached=4, stored=1)
    ledger.close()
    with sqlite3.connect(tmp_path / "old") as base:  # as the version before writes it
        base.execute("INSERT INTO paid VALUES ('other', 1, 2, 3)")
    base.close()


# Prices.


def test_prices_come_from_the_table_and_settings_win() -> None:
    url = "https://api.openai.com/v1"
    none = (None, None, None)
    listed = prices.prices_for("gpt-6-luna", url, none, 5.0, stores=False)
    assert listed == Prices(0.1, 0.5, 5.0, cached=0.01, stored=0.125)
    given_prices = prices.prices_for("gpt-6-luna", url, (3.0, None, None), None, stores=False)
    assert given_prices == Prices(3.0, 0.5), (
        "a cached price of the table goes with its own price only"
    )
    given_prices = prices.prices_for("claude-opus-5-5", url, (4.0, 8.0, 0.4), None, stores=True)
    assert given_prices == Prices(4.0, 8.0, None, 0.4, 5.0)
    assert prices.prices_for("m", NOWHERE, none, None, stores=False) == Prices(0.0, 0.0)
    assert OpenAI("gpt-6-luna", cap=1.0).price(10**6, 10**6) == pytest.approx(0.6)


def test_the_dearest_price_of_the_day_counts() -> None:
    """By the hour: .15 and .3. By date: the price of 1 December is not that of November."""
    url = "https://generativelanguage.googleapis.com/v1beta"
    assert prices.listed("deepseek-flash", "https://api.deepseek.com", "2026-11-25") == (
        *(0.3, 1.2, 0.006, None),
    )
    days = [prices.listed("gemini-4-argon", url, day) for day in ("2026-11-25", "2026-12-01")]
    assert [day and day[:2] for day in days] == [(2.0, 10.0), (4.0, 20.0)]


def test_a_cap_counts_what_a_cache_may_cost() -> None:
    known = Prices(1e6, 2e6, 100.0, cached=5e5, stored=1.25e6)
    assert known.cost(Tokens(10, 3, cached=4, stored=2)) == 4 + 4 * 0.5 + 2 * 1.25 + 3 * 2
    assert known.most(Tokens(10, 3)) == 12.5 + 6
