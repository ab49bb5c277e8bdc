"""OpenAI's chat and completions, which most servers offer.

Servers that think put thoughts into `reasoning_content` or `reasoning`, or between tags into the
content.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gauntlet.models.api.dialects.base import (
    SCORE_TEMPERATURE,
    Body,
    Dialect,
    ReplyText,
    Reported,
    check_end,
    conversation,
    count_at,
    count_in,
    reply_text,
    reported,
    written_of,
)
from gauntlet.models.api.ledger import Tokens
from gauntlet.models.base import Finish, Generate, Prompt

THOUGHTS = ("reasoning_content", "reasoning")
BY_DEFAULT = re.compile(r"o\d|gpt-5(-|$)|gpt-5\.[5-9]|gpt-[6-9]")
"""OpenAI's models that reason unless their effort is none."""
STOPS: Mapping[str, Finish] = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "length": "length",
    "tool_calls": "tool",
    "function_call": "tool",
    "content_filter": "filtered",
    "model_length": "context",
    "abort": "failed",
    "error": "failed",
}


def reasons(name: str, effort: str | None) -> bool:
    """Whether a model of OpenAI reasons, and so refuses a temperature and log-probabilities."""
    return bool(BY_DEFAULT.match(name)) if effort is None else effort != "none"


class Chat(Dialect):
    """v1/chat/completions: the prompt is one user message, a dialogue a list of messages."""

    FINISHES = STOPS

    def writing(self, request: Generate) -> Body:
        """The request for the first sample. Only chat supports JSON mode and effort."""
        body = self._opening(request.prompt, request.max_tokens)
        body |= {"temperature": request.temperature} if self.sends_temperature else {}
        body["seed"] = request.seed
        if request.stop:
            body["stop"] = list(request.stop)
        if request.json:
            body["response_format"] = {"type": "json_object"}
        return body

    def scoring(self, prompt: Prompt, top: int) -> Body | None:
        body = self._opening(prompt, 1)
        body |= {"temperature": SCORE_TEMPERATURE} if self.sends_temperature else {}
        return {**body, **self._logprobs(top)}

    def texts(self, reply: Mapping[str, Any]) -> list[ReplyText]:
        return [self._text(choice) for choice in choices(reply)]

    def usage(self, reply: Mapping[str, Any]) -> Tokens | None:
        return usage_of(reply, "prompt_tokens", "completion_tokens")

    def joined(self, events: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        reply: Body = {"choices": []}
        parts: dict[int, Body] = {}
        for event in events:
            reply |= {key: event[key] for key in ("id", "model", "usage") if event.get(key)}
            for choice in event.get("choices") or []:
                self._add(parts.setdefault(int(choice.get("index", 0)), {}), choice)
        check_end(parts and all(part.get("finish_reason") for part in parts.values()))
        reply["choices"] = [{"index": index, **parts[index]} for index in sorted(parts)]
        return reply

    def path(self, body: Body) -> str:
        return "chat/completions"

    def _carried(self, body: Body, group: str) -> Body:
        carried = super()._carried(body, group)
        if carried:
            carried["stream_options"] = {"include_usage": True}
        return carried | ({"prompt_cache_key": group} if group and self.official else {})

    def first_token(self, reply: Mapping[str, Any]) -> Reported | None:
        logprobs: Any = choices(reply)[0].get("logprobs")
        try:
            return self._listed(logprobs)
        except (TypeError, KeyError, AttributeError):
            return None

    def _listed(self, logprobs: Any) -> Reported | None:
        if logprobs["content"] == []:
            return reported([], None)
        listed = logprobs["content"][0]["top_logprobs"]
        if not listed:  # a token was written, so there are likely ones
            return None
        return reported(
            [(entry["token"], entry["logprob"]) for entry in listed], logprobs.get("tokens")
        )

    def _logprobs(self, top: int) -> Body:
        return {"logprobs": True, "top_logprobs": top}

    def _opening(self, prompt: Prompt, max_tokens: int) -> Body:
        body: Body = {"model": self.name, self.limit: max_tokens + self.thinking_room}
        body |= {"reasoning_effort": self.effort} if self.effort is not None else {}
        messages = [{"role": "system", "content": prompt.system}] if prompt.system else []
        messages.append({"role": "user", "content": prompt.static + prompt.changing + prompt.cue})
        for message in conversation(prompt):
            role = "assistant" if message.of_the_model else "user"
            if messages[-1]["role"] == role:  # many chat templates want the roles in turn
                messages[-1]["content"] += f"\n{message.text}"
            else:
                messages.append({"role": role, "content": message.text})
        return {**body, "messages": messages}

    def _text(self, choice: Mapping[str, Any]) -> ReplyText:
        message = choice["message"]
        text, thoughts, refusal = _content(message.get("content"))
        apart = next((message[key] for key in THOUGHTS if message.get(key)), "")
        refusal = message.get("refusal") or refusal
        finish = _stopped(self._finish(choice.get("finish_reason")), choice)
        if finish == "stop":
            called = message.get("tool_calls") or message.get("function_call")
            finish = "refused" if refusal else "tool" if called else "stop"
        return reply_text(text, finish, apart or thoughts, refusal)

    @staticmethod
    def _add(merged: Body, choice: Mapping[str, Any]) -> None:
        """Add a part of a stream to a choice."""
        message = merged.setdefault("message", {"role": "assistant", "content": None})
        for key, value in (choice.get("delta") or {}).items():
            if key != "role" and value:
                known = message.get(key)
                addable = isinstance(known, (str, list)) and type(known) is type(value)
                message[key] = known + value if addable else value
        for key in ("finish_reason", "stop_reason"):
            if choice.get(key) is not None:
                merged[key] = choice[key]

    def _refuses_temperature(self) -> bool:
        return self.official and reasons(self.name, self.effort)

    def _messages(self, body: Body) -> Sequence[Any]:
        return [message["content"] for message in body["messages"]]

    def _limit_of(self, body: Body) -> int:
        return int(body.get(self.limit) or 0)


class Completions(Chat):
    """v1/completions: the prompt is raw text."""

    THINKS = ()

    def writing(self, request: Generate) -> Body:
        return super().writing(replace(request, json=False))

    def path(self, body: Body) -> str:
        return "completions"

    def _logprobs(self, top: int) -> Body:
        return {"logprobs": top}

    def _listed(self, logprobs: Any) -> Reported | None:
        if "content" in logprobs:  # as llama.cpp's server answers
            return super()._listed(logprobs)
        if logprobs["top_logprobs"] == []:
            return reported([], None)
        listed = list(logprobs["top_logprobs"][0].items())
        return reported(listed, logprobs.get("tokens")) if listed else None

    def _opening(self, prompt: Prompt, max_tokens: int) -> Body:
        limit = {"max_tokens": max_tokens + self.thinking_room}
        return {"model": self.name, **limit, "prompt": prompt.text}

    def _text(self, choice: Mapping[str, Any]) -> ReplyText:
        return reply_text(
            choice["text"], _stopped(self._finish(choice.get("finish_reason")), choice)
        )

    @staticmethod
    def _add(merged: Body, choice: Mapping[str, Any]) -> None:
        merged["text"] = merged.get("text", "") + (choice.get("text") or "")
        for key in ("finish_reason", "stop_reason"):
            if choice.get(key) is not None:
                merged[key] = choice[key]

    def _messages(self, body: Body) -> Sequence[Any]:
        return [body["prompt"]]

    def _limit_of(self, body: Body) -> int:
        return int(body.get("max_tokens") or 0)


def usage_of(reply: Mapping[str, Any], read_as: str, written_as: str) -> Tokens | None:
    """The counts of a reply of OpenAI's, under these names; None if it lacks one."""
    counted = reply.get("usage")
    if not isinstance(counted, Mapping):
        return None
    read, written = count_at(counted, read_as), count_at(counted, written_as)
    if read is None or written is None:
        return None
    cached = min(read, count_in(counted, f"{read_as}_details", "cached_tokens"))
    stored = min(read - cached, count_in(counted, f"{read_as}_details", "cache_write_tokens"))
    thoughts = count_in(counted, f"{written_as}_details", "reasoning_tokens")
    written = written_of(read, written, thoughts, count_in(counted, "total_tokens"))
    return Tokens(read, written, cached, stored, min(written, thoughts))


def choices(reply: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The reply's choices, at least one. Raises ValueError."""
    listed = reply.get("choices")
    if not isinstance(listed, list) or not listed:
        raise ValueError("it has no choices")
    return listed


def _stopped(finish: Finish, choice: Mapping[str, Any]) -> Finish:
    """vLLM and SGLang name the stop string, which OpenAI does not."""
    named = choice.get("stop_reason", choice.get("matched_stop"))
    return "stop_string" if finish == "stop" and isinstance(named, str) else finish


def _content(content: Any) -> tuple[str, str, str]:
    """Text, thoughts and refusal of a message's content, which may be a list of parts."""
    if not isinstance(content, list):
        return content or "", "", ""
    words = [
        "".join(_content(part[kind])[0] for part in content if part["type"] == kind)
        for kind in ("text", "thinking", "refusal")
    ]
    return words[0], words[1], words[2]
