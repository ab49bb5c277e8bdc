"""Google's generateContent, the native protocol of Gemini."""

from __future__ import annotations

import json
import re
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

WITHHELD = (
    *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"),
    *("ESCALATION", "MODEL_ARMOR"),
)
BROKEN = re.compile(r"(MALFORMED|UNEXPECTED|TOO_MANY|MISSING)_")
OWN_TEMPERATURE = re.compile(r"gemini-([3-9]|\d\d)")
"""Models that are to keep their own temperature, or ignore another."""
STOPS: Mapping[str, Finish] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "paused",
    **dict.fromkeys(WITHHELD, "filtered"),
}


class Gemini(Dialect):
    """models/NAME:generateContent. `candidateCount` is n."""

    KEY_ENV = "GEMINI_API_KEY"
    ADDRESS = "https://generativelanguage.googleapis.com/v1beta"
    BATCHES = False
    THINKS = ("effort", "thinking_budget")
    FINISHES = STOPS

    def writing(self, request: Generate) -> Body:
        settings: Body = {"maxOutputTokens": request.max_tokens + self.thinking_room}
        if self.sends_temperature:
            settings["temperature"] = request.temperature
        if request.stop:
            settings["stopSequences"] = list(request.stop)
        if request.json:
            settings["responseMimeType"] = "application/json"
        settings |= {"thinkingConfig": self._thinking()} if self._thinking() else {}
        prompt = request.prompt
        system = {"systemInstruction": {"parts": [{"text": prompt.system}]}}
        body: Body = {"model": self.name, **(system if prompt.system else {})}
        body |= {"contents": self._contents(prompt), "generationConfig": settings}
        return {**body, "seed": request.seed}

    def texts(self, reply: Mapping[str, Any]) -> list[ReplyText]:
        candidates = reply.get("candidates")
        if candidates:
            return [self._text(candidate) for candidate in candidates]
        blocked = reply["promptFeedback"]
        if not blocked.get("blockReason"):
            raise ValueError("it has no candidates")
        return [reply_text("", "filtered", refusal=blocked.get("blockReasonMessage"))]

    def usage(self, reply: Mapping[str, Any]) -> Tokens | None:
        counted = reply.get("usageMetadata")
        read = count_at(counted, "promptTokenCount")
        if read is None:
            return None
        read += count_in(counted, "toolUsePromptTokenCount")
        thoughts = count_in(counted, "thoughtsTokenCount")
        written = count_in(counted, "candidatesTokenCount") + thoughts
        written = written_of(read, written, thoughts, count_in(counted, "totalTokenCount"))
        cached = min(read, count_in(counted, "cachedContentTokenCount"))
        return Tokens(read, written, cached=cached, thoughts=thoughts)

    def joined(self, events: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        reply: Body = {}
        partial: dict[int, Body] = {}
        for event in events:
            reply |= {key: value for key, value in event.items() if key != "candidates"}
            for part in event.get("candidates") or []:
                index = part.get("index", 0)
                partial[index] = _with(partial.get(index, {}), part)
        ended = partial and all(candidate.get("finishReason") for candidate in partial.values())
        check_end(ended or (reply.get("promptFeedback") or {}).get("blockReason"))
        candidates = [partial[index] for index in sorted(partial)]
        return {**reply, **({"candidates": candidates} if candidates else {})}

    def path(self, body: Body) -> str:
        method = "streamGenerateContent?alt=sse" if self.streams(body) else "generateContent"
        return f"models/{self.name.removeprefix('models/')}:{method}"

    def sent(self, body: Body, group: str = "") -> Body:
        outer = {key: value for key, value in body.items() if key not in ("model", "seed", "n")}
        settings = {**body["generationConfig"], "seed": body["seed"] % 2**31}
        settings |= {"candidateCount": body["n"]} if "n" in body else {}
        return self.extended({**outer, "generationConfig": settings})

    def headers(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key} if key else {}

    def _text(self, candidate: Mapping[str, Any]) -> ReplyText:
        content = candidate.get("content") or {}
        parts = content.get("parts") or []
        words = [part for part in parts if part.get("text")]
        text = "".join(part["text"] for part in words if not part.get("thought"))
        thoughts = "".join(part["text"] for part in words if part.get("thought"))
        finish = self._finish(candidate.get("finishReason"))
        if finish == "stop" and any("functionCall" in part for part in parts):
            finish = "tool"
        signed = any("thoughtSignature" in part for part in parts)
        refusal = candidate.get("finishMessage") if finish == "filtered" else ""
        return reply_text(text, finish, thoughts, refusal, json.dumps(content) if signed else "")

    def _finish(self, reason: Any) -> Finish:
        name = str(reason)
        if name.startswith(("IMAGE_", "NO_IMAGE")):
            return "filtered"
        return "failed" if BROKEN.match(name) else super()._finish(reason)

    def _thinking(self) -> Body:
        level: Body = {} if self.effort is None else {"thinkingLevel": self.effort}
        budget = self.thinking_budget
        level |= {} if budget is None else {"thinkingBudget": budget}
        return {**level, "includeThoughts": True} if level else {}

    def _contents(self, prompt: Prompt) -> list[Body]:
        parts = [text for text in (prompt.static, prompt.changing + prompt.cue) if text]
        contents: list[Body] = [{"role": "user", "parts": [{"text": text} for text in parts]}]
        for message in conversation(prompt):
            if message.returned:
                contents.append(json.loads(message.returned))
            elif message.text:
                role = "model" if message.of_the_model else "user"
                contents.append({"role": role, "parts": [{"text": message.text}]})
        return contents

    def _refuses_temperature(self) -> bool:
        return bool(OWN_TEMPERATURE.match(self.name.removeprefix("models/")))

    def _messages(self, body: Body) -> Sequence[Any]:
        return [body.get("systemInstruction", ""), *body["contents"]]

    def _limit_of(self, body: Body) -> int:
        return int(body["generationConfig"].get("maxOutputTokens") or 0)


def _with(merged: Body, more: Mapping[str, Any]) -> Body:
    """A candidate and its next part of a stream."""
    old, new = merged.get("content") or {}, more.get("content") or {}
    parts = [dict(part) for part in old.get("parts") or []]
    for part in new.get("parts") or []:
        last = parts[-1] if parts else {}
        alike = bool(last.get("thought")) == bool(part.get("thought"))
        if alike and "text" in last and "text" in part and "thoughtSignature" not in last:
            parts[-1] = {**last, **part, "text": last["text"] + part["text"]}
        else:
            parts.append(dict(part))
    content = {**old, **new, **({"parts": parts} if parts else {})}
    return {**merged, **more, **({"content": content} if content else {})}
