"""Our bodies and canned replies by the types of the vendors' own packages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, get_type_hints

import pytest
from pydantic import TypeAdapter

from gauntlet.models.api.dialects import DIALECTS
from gauntlet.models.base import Generate, Generation, Prompt, continue_dialogue
from tests.vendors import VENDORS, Piece, chat, completions, messages, responses

openai = pytest.importorskip("openai")
anthropic = pytest.importorskip("anthropic")

from anthropic.types import Message, RawMessageStreamEvent  # noqa: E402
from anthropic.types import message_create_params as message_params  # noqa: E402
from openai.types import Completion, completion_create_params  # noqa: E402
from openai.types.chat import ChatCompletion, ChatCompletionChunk  # noqa: E402
from openai.types.chat import completion_create_params as chat_params  # noqa: E402
from openai.types.responses import Response, response_create_params  # noqa: E402

PARAMS: dict[str, Any] = {
    "chat": (
        chat_params.CompletionCreateParamsNonStreaming,
        chat_params.CompletionCreateParamsStreaming,
    ),
    "completions": (
        completion_create_params.CompletionCreateParamsNonStreaming,
        completion_create_params.CompletionCreateParamsStreaming,
    ),
    "responses": (
        response_create_params.ResponseCreateParamsNonStreaming,
        response_create_params.ResponseCreateParamsStreaming,
    ),
    "messages": (
        message_params.MessageCreateParamsNonStreaming,
        message_params.MessageCreateParamsStreaming,
    ),
}
PROMPT = Prompt("Rules.\n\n", "Hand: red 1\n", "Say: ", system="Be brief.\n")
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "stream": {"stream": True},
    "effort": {"effort": "low", "official": True, "thinking_room": 9},
    "none": {"effort": "none"},
}


@pytest.mark.parametrize("kind", SETTINGS)
@pytest.mark.parametrize("endpoint", PARAMS)
def test_every_body_is_of_the_vendors_type(endpoint: str, kind: str) -> None:
    settings = SETTINGS[kind]
    if endpoint == "completions" and "effort" in settings:
        pytest.skip("raw text knows no effort")
    protocol, vendor = DIALECTS[endpoint](name="m", **settings), VENDORS[endpoint]
    typed = PARAMS[endpoint][kind == "stream"]
    adapter = TypeAdapter(typed)  # must outlive what it validates
    (first,) = protocol.texts(
        vendor.reply(Piece(thoughts=None if endpoint == "completions" else "I"))
    )
    reply = Generation(first.text, 1, 1, details=(first.detail,))
    for prompt in (PROMPT, continue_dialogue(PROMPT, reply, "And now?")):
        full = protocol.writing(Generate(prompt, 50, 0.7, ("Z",), 3, json=True))
        bodies = [full, protocol.sampling(prompt, 3)]
        bodies += [protocol.several(full, 3, 1)] if "n" not in protocol.LACKS else []
        scoring = protocol.scoring(prompt, 5)
        bodies += [scoring] if scoring and kind != "stream" else []
        for body in bodies:
            sent = protocol.sent(body, "group")
            assert set(sent) <= set(get_type_hints(typed)), "no field that the vendor lacks"
            exhaust(adapter.validate_python(sent))


def exhaust(node: Any) -> None:
    """Walk through validated data: parts of it are validated only when they are looked at."""
    if isinstance(node, Mapping):
        node = list(node.values())
    if isinstance(node, Iterable) and not isinstance(node, str):
        for part in node:
            exhaust(part)


ENDS = ("stop", "length", "tool", "refused")


@pytest.mark.parametrize("ended", ENDS)
def test_canned_replies_are_of_the_vendors_types(ended: str) -> None:
    piece = Piece(ended=ended, thoughts="I weigh.", refusal="No." if ended == "refused" else None)
    ChatCompletion.model_validate(chat(piece), strict=True)
    Message.model_validate(messages(piece), strict=True)
    Response.model_validate(responses(piece), strict=False)
    if ended in ("stop", "length"):
        Completion.model_validate(completions(piece), strict=True)


def test_canned_streams_are_of_the_vendors_types() -> None:
    piece = Piece(thoughts="I weigh.")
    for event in VENDORS["chat"].events(chat(piece)):
        ChatCompletionChunk.model_validate(event, strict=True)
    events = TypeAdapter(RawMessageStreamEvent)
    for event in VENDORS["messages"].events(messages(piece)):
        events.validate_python(event)
