"""Anthropic's messages: signed thoughts go back unchanged with the next turn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gauntlet.models.api.dialects.base import (
    Body,
    Dialect,
    ReplyText,
    check_end,
    conversation,
    count_at,
    count_in,
    reply_text,
    written_of,
)
from gauntlet.models.api.ledger import Tokens
from gauntlet.models.base import Finish, Generate, Prompt

VERSION = "2026-10-21"
CACHED = {"cache_control": {"type": "ephemeral"}}
"""Marks the end of what later requests share with this one."""
SIGNED = ("thinking", "redacted_thinking")
DELTAS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
}
"""The parts of a streamed block, and the key of their words in delta and block."""
STOPS: Mapping[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop_string",
    "max_tokens": "length",
    "model_context_window_exceeded": "context",
    "tool_use": "tool",
    "pause_turn": "paused",
    "refusal": "refused",
}


class Messages(Dialect):
    """v1/messages. This version refuses a temperature for all models."""

    KEY_ENV = "ANTHROPIC_API_KEY"
    ADDRESS = "https://api.anthropic.com/v1"
    LACKS = ("n", "seed", "json")
    THINKS = ("effort", "thinking_budget")
    CACHE_WRITES = True
    FINISHES = STOPS

    def writing(self, request: Generate) -> Body:
        prompt, limit = request.prompt, request.max_tokens + self.thinking_room
        body: Body = {"model": self.name, "max_tokens": limit, "seed": request.seed}
        body |= {"system": [{**_text(prompt.system), **CACHED}]} if prompt.system.strip() else {}
        body |= {"messages": self._turns(prompt), **self._thinking()}
        if self.sends_temperature:
            body["temperature"] = request.temperature
        # A stop string of whitespace alone is refused; the text is cut there anyway.
        if stop := [string for string in request.stop if string.strip()]:
            body["stop_sequences"] = stop
        return body

    def texts(self, reply: Mapping[str, Any]) -> list[ReplyText]:
        blocks = reply["content"]
        text = "".join(block["text"] for block in blocks if block["type"] == "text")
        thoughts = "\n".join(block["thinking"] for block in blocks if block["type"] == "thinking")
        finish = self._finish(reply.get("stop_reason"))
        why = (reply.get("stop_details") or {}).get("explanation") if finish == "refused" else ""
        signed = any(block["type"] in SIGNED for block in blocks)
        return [reply_text(text, finish, thoughts, why, json.dumps(blocks) if signed else "")]

    def usage(self, reply: Mapping[str, Any]) -> Tokens | None:
        counted = reply.get("usage")
        if not isinstance(counted, Mapping):
            return None
        fresh, written = count_at(counted, "input_tokens"), count_at(counted, "output_tokens")
        if fresh is None or written is None:
            return None
        cached = count_in(counted, "cache_read_input_tokens")
        stored = count_in(counted, "cache_creation_input_tokens")
        thoughts = count_in(counted, "output_tokens_details", "thinking_tokens")
        read = fresh + cached + stored
        written = written_of(read, written, thoughts, 0)
        return Tokens(read, written, cached=cached, stored=stored, thoughts=min(written, thoughts))

    def joined(self, events: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        reply: Body = {}
        blocks: dict[int, Body] = {}
        for event in events:
            kind = event.get("type")
            if kind == "message_start":
                reply = dict(event["message"])
            elif kind == "content_block_start":
                blocks[event["index"]] = dict(event["content_block"])
            elif kind == "content_block_delta":
                _add(blocks[event["index"]], event["delta"])
            elif kind == "message_delta":
                counted = {**(reply.get("usage") or {}), **_without_nulls(event.get("usage") or {})}
                reply |= {**_without_nulls(event["delta"]), "usage": counted}
        check_end(reply.get("stop_reason"))
        return {**reply, "content": [blocks[index] for index in sorted(blocks)]}

    def path(self, body: Body) -> str:
        return "messages"

    def headers(self, key: str) -> dict[str, str]:
        return {**super().headers(key), "anthropic-version": VERSION}

    def _thinking(self) -> Body:
        body: Body = {}
        if self.effort == "none":
            body["thinking"] = {"type": "disabled"}
        elif self.effort is not None:
            body["output_config"] = {"effort": self.effort}
            body["thinking"] = {"type": "adaptive", "display": "summarized"}
        if self.thinking_budget is not None:
            budget = {"type": "enabled", "budget_tokens": self.thinking_budget}
            body["thinking"] = {**budget, "display": "summarized"}
        return body

    def _turns(self, prompt: Prompt) -> list[Body]:
        """The messages. Blocks without a word are refused."""
        static, rest = prompt.static, prompt.changing + prompt.cue
        first = [_text(static + rest)]
        if static.strip() and rest.strip():
            first = [{**_text(static), **CACHED}, _text(rest)]
        turns: list[Body] = [{"role": "user", "content": first}]
        for message in conversation(prompt):
            content = [_text(message.text)] if message.text.strip() else []
            content = json.loads(message.returned) if message.returned else content
            if content:
                role = "assistant" if message.of_the_model else "user"
                turns.append({"role": role, "content": content})
        return turns

    def _refuses_temperature(self) -> bool:
        return True

    def _messages(self, body: Body) -> Sequence[Any]:
        return [*body.get("system", []), *body["messages"]]

    def _limit_of(self, body: Body) -> int:
        return int(body.get("max_tokens") or 0)


def _text(text: str) -> Body:
    return {"type": "text", "text": text}


def _without_nulls(node: Mapping[str, Any]) -> Body:
    return {key: value for key, value in node.items() if value is not None}


def _add(block: Body, delta: Mapping[str, Any]) -> None:
    if (key := DELTAS.get(delta["type"])) is not None:
        block[key] = block.get(key, "") + delta[key]
