"""Replies of vendors, true to their protocols, and a server that gives them in turn.

Written from the vendors' references; `test_api_conformance.py` reads them with the vendors' types.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.hostile import Behaviour, Talk, at_work

Body = dict[str, Any]

READ, CACHED, WRITTEN, THOUGHT = 20, 12, 9, 6
"""The tokens of every reply; cached and thought ones are parts of those read and written."""
SIGNATURE = "c2lnbmVkIHRob3VnaHRz"


@dataclass(frozen=True)
class Piece:
    """What a reply says, in no protocol.

    texts: of one reply, in parts. ended: as in `Finish`. thoughts: None for a model that has none.
    """

    texts: tuple[str, ...] = ("blue",)
    ended: str = "stop"
    thoughts: str | None = None
    refusal: str | None = None
    counted: bool = True


def usage(read: str, written: str, cached: str, thought: str, **more: int) -> Body:
    return {
        read: READ,
        written: WRITTEN,
        "total_tokens": READ + WRITTEN,
        cached: {"cached_tokens": CACHED, "cache_write_tokens": 0},
        thought: {"reasoning_tokens": THOUGHT},
        **more,
    }


CHAT_ENDS = {
    "stop": "stop",
    "length": "length",
    "filtered": "content_filter",
    "tool": "tool_calls",
    "refused": "stop",
    "stop_string": "stop",
    "failed": "abort",
    "unknown": "bored",
}
CALL = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
CHAT_USAGE = usage(
    *("prompt_tokens", "completion_tokens"),
    *("prompt_tokens_details", "completion_tokens_details"),
)


def chat(piece: Piece, n: int = 1, thoughts_in: str = "reasoning_content") -> Body:
    message: Body = {"role": "assistant", "content": "".join(piece.texts) or None}
    message |= {"refusal": piece.refusal}
    if piece.thoughts is not None:
        message[thoughts_in] = piece.thoughts
    if piece.ended == "tool":
        message["tool_calls"] = [CALL]
    choice: Body = {"finish_reason": CHAT_ENDS[piece.ended], "logprobs": None, "message": message}
    if piece.ended == "stop_string":
        choice["stop_reason"] = "Z"
    choices = [{"index": index, **choice} for index in range(n)]
    body: Body = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m"}
    return {**body, "choices": choices, **({"usage": CHAT_USAGE} if piece.counted else {})}


def chat_events(whole: Body) -> list[Body]:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}

    def chunk(index: int, delta: Body, end: str | None = None, **more: Any) -> Body:
        choice = {"index": index, "delta": delta, "finish_reason": end, "logprobs": None, **more}
        return {**head, "choices": [choice], "usage": None}

    events = []
    for choice in whole["choices"]:
        index, message = choice["index"], choice["message"]
        events.append(chunk(index, {"role": "assistant", "content": ""}))
        for key in ("reasoning_content", "reasoning", "content", "refusal"):
            events += [chunk(index, {key: letter}) for letter in message.get(key) or ""]
        if "tool_calls" in message:
            events.append(chunk(index, {"tool_calls": [{"index": 0, **CALL}]}))
        more = {"stop_reason": choice["stop_reason"]} if "stop_reason" in choice else {}
        events.append(chunk(index, {}, choice["finish_reason"], **more))
    return [*events, {**head, "choices": [], "usage": whole.get("usage")}]


def completions(piece: Piece, n: int = 1) -> Body:
    choice = {"finish_reason": CHAT_ENDS[piece.ended], "logprobs": None}
    choice["text"] = "".join(piece.texts)
    choices = [{"index": index, **choice} for index in range(n)]
    body: Body = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m"}
    return {**body, "choices": choices, **({"usage": CHAT_USAGE} if piece.counted else {})}


def completions_events(whole: Body) -> list[Body]:
    head = {key: whole[key] for key in ("id", "object", "created", "model")}
    events: list[Body] = []
    for choice in whole["choices"]:
        plain = {"index": choice["index"], "logprobs": None}
        for letter in choice["text"]:
            events.append({**head, "choices": [{**plain, "text": letter, "finish_reason": None}]})
        end = {**plain, "text": "", "finish_reason": choice["finish_reason"]}
        events.append({**head, "choices": [end]})
    return [*events, {**head, "choices": [], "usage": whole.get("usage")}]


RESPONSES_ENDS: dict[str, tuple[str, str | None]] = {
    "stop": ("completed", None),
    "length": ("incomplete", "max_output_tokens"),
    "filtered": ("incomplete", "content_filter"),
    "tool": ("completed", None),
    "refused": ("completed", None),
    "failed": ("failed", None),
    "unknown": ("dozing", None),
}
RESPONSES_USAGE = usage(
    "input_tokens", "output_tokens", "input_tokens_details", "output_tokens_details"
)


def responses(piece: Piece, encrypted: str = SIGNATURE) -> Body:
    status, reason = RESPONSES_ENDS[piece.ended]
    items: list[Body] = []
    if piece.thoughts is not None:
        parts = [{"type": "summary_text", "text": piece.thoughts}] if piece.thoughts else []
        own = {"type": "reasoning", "id": "rs_1", "summary": parts}
        items.append({**own, "encrypted_content": encrypted})
    words: list[Body] = [
        {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
        for text in piece.texts
        if text
    ]
    words += [{"type": "refusal", "refusal": piece.refusal}] if piece.refusal else []
    if words:
        head = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
        items.append({**head, "content": words})
    if piece.ended == "tool":
        call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look"}
        items.append({**call, "arguments": "{}"})
    body: Body = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m"}
    body |= {"status": status, "error": None, "instructions": None, "metadata": {}, "tools": []}
    body |= {"incomplete_details": {"reason": reason} if reason else None, "output": items}
    body |= {"parallel_tool_calls": True, "tool_choice": "auto", "temperature": 1.0, "top_p": 1.0}
    return {**body, "usage": RESPONSES_USAGE if piece.counted else None}


def responses_events(whole: Body) -> list[Body]:
    events: list[Body] = [{"type": "response.created", "response": {**whole, "output": []}}]
    for item in whole["output"]:
        for part in item.get("content") or []:
            kind, words = part["type"], part.get("text") or part.get("refusal") or ""
            events += [{"type": f"response.{kind}.delta", "delta": letter} for letter in words]
    end = whole["status"] if whole["status"] in ("incomplete", "failed") else "completed"
    events.append({"type": f"response.{end}", "response": whole})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


MESSAGES_ENDS = {
    "stop": "end_turn",
    "stop_string": "stop_sequence",
    "length": "max_tokens",
    "context": "model_context_window_exceeded",
    "tool": "tool_use",
    "paused": "pause_turn",
    "refused": "refusal",
    "unknown": "bored",
}


def messages(piece: Piece, redacted: bool = False) -> Body:
    blocks: list[Body] = []
    if piece.thoughts is not None:
        blocks.append({"type": "thinking", "thinking": piece.thoughts, "signature": SIGNATURE})
    if redacted:
        blocks.append({"type": "redacted_thinking", "data": SIGNATURE})
    blocks += [{"type": "text", "text": text, "citations": None} for text in piece.texts if text]
    if piece.ended == "tool":
        blocks.append({"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}})
    why = {"type": "refusal", "category": "bio", "explanation": piece.refusal}
    counted = {
        "input_tokens": READ - CACHED - 3,
        "cache_read_input_tokens": CACHED,
        "cache_creation_input_tokens": 3,
        "output_tokens": WRITTEN,
        "output_tokens_details": {"thinking_tokens": THOUGHT},
    }
    body: Body = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m"}
    body |= {"content": blocks, "stop_reason": MESSAGES_ENDS[piece.ended]}
    body |= {"stop_sequence": "Z" if piece.ended == "stop_string" else None}
    body |= {"stop_details": why if piece.refusal else None}
    return body | ({"usage": counted} if piece.counted else {})


def messages_events(whole: Body) -> list[Body]:
    counted = whole.get("usage") or {}
    opening = {**whole, "content": [], "stop_reason": None, "stop_sequence": None}
    if counted:
        opening["usage"] = {**counted, "output_tokens": 1, "output_tokens_details": None}
    events: list[Body] = [{"type": "message_start", "message": {**opening, "stop_details": None}}]
    for index, block in enumerate(whole["content"]):
        events += _block_events(index, block)
    delta = {key: whole[key] for key in ("stop_reason", "stop_sequence", "stop_details")}
    late = {key: value for key, value in counted.items() if key.startswith("output")}
    return [
        *events,
        {"type": "message_delta", "delta": delta, "usage": late},
        {"type": "message_stop"},
    ]


def _block_events(index: int, block: Body) -> Iterator[Body]:
    kinds = {"text": "text_delta", "thinking": "thinking_delta", "signature": "signature_delta"}
    empty = {key: "" if key in kinds else value for key, value in block.items()}
    yield {"type": "content_block_start", "index": index, "content_block": empty}
    for key, kind in kinds.items():
        for part in _halves(block.get(key, "")):
            delta = {"type": kind, key: part}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


GEMINI_ENDS = {
    "stop": "STOP",
    "length": "MAX_TOKENS",
    "filtered": "SAFETY",
    "tool": "STOP",
    "paused": "CONTINUATION",
    "failed": "MALFORMED_RESPONSE",
    "unknown": "BORED",
}


def gemini(piece: Piece, n: int = 1) -> Body:
    parts: list[Body] = [{"text": text} for text in piece.texts if text]
    if piece.thoughts is not None:
        parts = [{"text": piece.thoughts, "thought": True}, *parts]
        parts[-1] = {**parts[-1], "thoughtSignature": SIGNATURE}
    if piece.ended == "tool":
        parts.append({"functionCall": {"name": "look", "args": {}}})
    content = {"role": "model", **({"parts": parts} if parts else {})}
    candidates = [
        {"content": content, "finishReason": GEMINI_ENDS[piece.ended], "index": index}
        for index in range(n)
    ]
    counted = {
        "promptTokenCount": READ,
        "cachedContentTokenCount": CACHED,
        "candidatesTokenCount": WRITTEN - THOUGHT,
        "thoughtsTokenCount": THOUGHT,
        "totalTokenCount": READ + WRITTEN,
    }
    whole = {"candidates": candidates, "modelVersion": "m", "responseId": "r"}
    return {**whole, **({"usageMetadata": counted} if piece.counted else {})}


def gemini_events(whole: Body) -> list[Body]:
    events: list[Body] = []
    for candidate in whole.get("candidates", []):
        index, content = candidate["index"], candidate["content"]
        for part in content.get("parts", []):
            signed = {key: value for key, value in part.items() if key == "thoughtSignature"}
            for half in _halves(part.get("text", "")):
                piece = {key: value for key, value in part.items() if key not in signed}
                one = {**content, "parts": [{**piece, "text": half}]}
                events.append({"candidates": [{"content": one, "index": index}]})
            if "text" not in part:
                one = {**content, "parts": [part]}
                events.append({"candidates": [{"content": one, "index": index}]})
            if signed:
                one = {**content, "parts": [{**part, "text": ""}]}
                events.append({"candidates": [{"content": one, "index": index}]})
        end = {"finishReason": candidate["finishReason"], "index": index}
        events.append({"candidates": [{"content": {"role": "model"}, **end}]})
    rest = {key: value for key, value in whole.items() if key != "candidates"}
    return [*events, rest]


def _halves(text: str) -> list[str]:
    return [text[: len(text) // 2], text[len(text) // 2 :]] if text else []


@dataclass(frozen=True)
class Vendor:
    """A protocol: its replies, the same as a stream, its errors and its names."""

    reply: Callable[[Piece], Body]
    events: Callable[[Body], list[Body]]
    key: str
    path: str
    stream_path: str = ""
    done: bool = False

    def sse(self, whole: Body) -> bytes:
        """The reply as a stream, with a ping in the middle."""
        events = [sse_event(event) for event in self.events(whole)]
        ping = sse_event({"type": "ping"}) if self.key == "ANTHROPIC_API_KEY" else b": ping\n\n"
        middle = len(events) // 2
        end = b"data: [DONE]\n\n" if self.done else b""
        return b"".join([*events[:middle], ping, *events[middle:], end])

    def error(self, message: str, status: int, kind: str = "", field: str = "") -> Body:
        """The body of an error response."""
        if self.key == "GEMINI_API_KEY":
            return {"error": {"code": status, "message": message, "status": kind or "ERROR"}}
        if self.key == "ANTHROPIC_API_KEY":
            return {"type": "error", "error": {"type": kind or "api_error", "message": message}}
        error = {"message": message, "type": "error", "param": field or None, "code": kind or None}
        return {"error": error}


VENDORS = {
    "chat": Vendor(chat, chat_events, "OPENAI_API_KEY", "chat/completions", done=True),
    "completions": Vendor(
        completions, completions_events, "OPENAI_API_KEY", "completions", done=True
    ),
    "responses": Vendor(responses, responses_events, "OPENAI_API_KEY", "responses"),
    "messages": Vendor(messages, messages_events, "ANTHROPIC_API_KEY", "messages"),
    "gemini": Vendor(
        gemini,
        gemini_events,
        *("GEMINI_API_KEY", "models/m:generateContent"),
        stream_path="models/m:streamGenerateContent?alt=sse",
    ),
}


def sse_event(event: Mapping[str, Any]) -> bytes:
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event)}\n\n".encode()


@dataclass
class Canned:
    """One response; `cut`: the connection ends after it, though more is announced."""

    body: Body | bytes
    status: int = 200
    headers: Sequence[str] = ()
    cut: bool = False


@dataclass
class Seen:
    """The requests that a server had: path, headers in lower case, and body."""

    requests: list[tuple[str, dict[str, str], Body]] = field(default_factory=list)

    @property
    def bodies(self) -> list[Body]:
        """All bodies but that of the first question whether it answers."""
        return [body for _, _, body in self.requests[1:]]


@contextmanager
def vendor_server(
    vendor: Vendor,
    canned: Sequence[Canned | Behaviour],
    streams: bool = False,
    first: Canned | None = None,
) -> Iterator[tuple[str, Seen]]:
    """A server that answers the first question, well unless `first` says how, and then gives the
    responses in turn, the last one for ever."""
    seen, lock = Seen(), threading.Lock()
    whole = vendor.reply(Piece())
    good = first or Canned(vendor.sse(whole) if streams else whole)

    def answer(talk: Talk) -> None:
        with lock:
            path, headers, body = _parsed(talk.request)
            if not talk.request.startswith(b"GET"):
                seen.requests.append((path, headers, body))
            turn = len(seen.requests) - 2
        if talk.request.startswith(b"GET"):
            talk.reply(json.dumps({"data": [{"id": "m-1"}, {"id": "m-2"}]}).encode())
            return
        now = good if turn < 0 else canned[min(turn, len(canned) - 1)]
        if isinstance(now, Canned):
            _give(talk, now)
        else:
            now(talk)

    with at_work(answer) as (url, _):
        yield url, seen


def _give(talk: Talk, canned: Canned) -> None:
    body = canned.body if isinstance(canned.body, bytes) else json.dumps(canned.body).encode()
    status = f"{canned.status} Status"
    if canned.cut:
        talk.head(f"content-length: {len(body) + 1000}", *canned.headers, status=status)
        talk.say(body)
        raise OSError("cut")
    talk.reply(body, *canned.headers, status=status)


def _parsed(request: bytes) -> tuple[str, dict[str, str], Body]:
    head, _, body = request.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    path = first.split()[1].removeprefix("/v1/")
    return path, {name.lower(): value for name, value in headers.items()}, json.loads(body or b"{}")
