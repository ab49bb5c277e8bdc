"""OpenAI's responses: the reply is a list of items, which go back unchanged with the next turn."""

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
    reply_text,
)
from gauntlet.models.api.dialects.chat import reasons, usage_of
from gauntlet.models.api.ledger import Tokens
from gauntlet.models.base import Finish, Generate, Prompt

TEXTS = {"output_text": "text", "refusal": "refusal"}
"""The parts of a message, and where their words are."""
STOPS: Mapping[str, Finish] = {
    "completed": "stop",
    "failed": "failed",
    "cancelled": "failed",
    "max_output_tokens": "length",
    "content_filter": "filtered",
}


class Responses(Dialect):
    """v1/responses."""

    LACKS = ("n", "seed", "stop")
    FINISHES = STOPS

    def writing(self, request: Generate) -> Body:
        limit = request.max_tokens + self.thinking_room
        body: Body = {"model": self.name, "input": self._input(request.prompt), "store": False}
        body |= {"max_output_tokens": limit, "seed": request.seed}
        if self.sends_temperature:
            body["temperature"] = request.temperature
        if self.effort is not None:
            body["reasoning"] = {"effort": self.effort, "summary": "auto"}
        if self.effort not in (None, "none"):
            body["include"] = ["reasoning.encrypted_content"]
        if request.json:
            body["text"] = {"format": {"type": "json_object"}}
        return body

    def texts(self, reply: Mapping[str, Any]) -> list[ReplyText]:
        items = reply["output"]
        kinds = [item["type"] for item in items]
        words = {"text": "", "refusal": "", "thoughts": ""}
        for item in items:
            if item["type"] == "reasoning":
                parts = [*(item.get("summary") or []), *(item.get("content") or [])]
                words["thoughts"] += "\n".join(part["text"] for part in parts)
            elif item["type"] == "message":
                for part in item["content"]:
                    kind = TEXTS.get(part["type"], "")
                    words[kind] = words.get(kind, "") + (part.get(kind) or "")
        finish = self._finish_of(reply, kinds, words["refusal"])
        returned = json.dumps(items) if "reasoning" in kinds else ""
        return [reply_text(words["text"], finish, words["thoughts"], words["refusal"], returned)]

    def usage(self, reply: Mapping[str, Any]) -> Tokens | None:
        return usage_of(reply, "input_tokens", "output_tokens")

    def joined(self, events: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        ends = [f"response.{end}" for end in ("completed", "incomplete", "failed")]
        last = [event for event in events if event.get("type") in ends]
        check_end(last)
        return dict(last[-1]["response"])

    def path(self, body: Body) -> str:
        return "responses"

    def _carried(self, body: Body, group: str) -> Body:
        key = {"prompt_cache_key": group} if group and self.official else {}
        return super()._carried(body, group) | key

    def _finish_of(self, reply: Mapping[str, Any], kinds: Sequence[str], refusal: str) -> Finish:
        reason = reply.get("status")
        if reason == "incomplete":
            reason = (reply.get("incomplete_details") or {}).get("reason")
        finish = self._finish(reason)
        if finish != "stop":
            return finish
        called = any(kind.endswith("_call") for kind in kinds)
        return "refused" if refusal else "tool" if called else "stop"

    def _input(self, prompt: Prompt) -> list[Body]:
        opening = [{"role": "system", "content": prompt.system}] if prompt.system else []
        items: list[Body] = [
            *opening,
            _message("user", prompt.static + prompt.changing + prompt.cue),
        ]
        for message in conversation(prompt):
            if message.of_the_model:
                returned = message.returned
                items += json.loads(returned) if returned else [_reply(message.text)]
            else:
                items.append(_message("user", message.text))
        return items

    def _refuses_temperature(self) -> bool:
        return self.official and reasons(self.name, self.effort)

    def _messages(self, body: Body) -> Sequence[Any]:
        return list(body["input"])

    def _limit_of(self, body: Body) -> int:
        return int(body.get("max_output_tokens") or 0)


def _message(role: str, text: str) -> Body:
    return {"role": role, "content": text}


def _reply(text: str) -> Body:
    """The model's own words as an item of its output; llama.cpp's server takes no shorter form."""
    parts = [{"type": "output_text", "text": text}]
    return {"type": "message", "role": "assistant", "content": parts}
