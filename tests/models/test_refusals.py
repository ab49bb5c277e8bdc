"""What servers' errors mean, by the words and codes of vendors."""

from __future__ import annotations

from typing import Any

import pytest

from gauntlet.models.api.dialects import DIALECTS
from gauntlet.models.api.refusals import failure
from gauntlet.models.api.scoring import reported
from gauntlet.models.base import Generate, Generation, Prompt, continue_dialogue

VLLM = (
    "This model's maximum context length is 4096 tokens. However, you requested {} tokens "
    "({} in the messages, 4096 in the completion). Please reduce the length."
)
WORDED: dict[str, tuple[int, Any, str]] = {
    "vLLM, limit": (400, {"message": VLLM.format(4396, 300)}, "limit"),
    "vLLM, prompt": (400, {"message": VLLM.format(9096, 5000)}, "context"),
    "vLLM, newer": (
        400,
        {"message": "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's "
         "maximum context length is 4096 tokens and your request has 300 input tokens "
         "(4096 > 4096 - 300)."},
        "limit",
    ),
    "SGLang, limit": (
        400,
        {"message": "Requested token count exceeds the model's maximum context length of 4096 "
         "tokens. You requested a total of 4396 tokens: 300 tokens from the input messages and "
         "4096 tokens for the completion."},
        "limit",
    ),
    "SGLang, prompt": (
        400,
        {"message": "The input (5000 tokens) is longer than the model's context length (4096 "
         "tokens)."},
        "context",
    ),
    "Anthropic, prompt": (
        400, {"message": "prompt is too long: 208310 tokens > 200000 maximum"}, "context"
    ),
    "Anthropic, limit": (
        400,
        {"message": "input length and `max_tokens` exceed context limit: 180000 + 32000 > 200000"},
        "limit",
    ),
    "OpenAI": (400, {"message": "too many", "code": "context_length_exceeded"}, "context"),
    "Ollama": (400, {"message": "the input length exceeds the context length"}, "context"),
    "LM Studio": (
        400,
        {"message": "The number of tokens to keep from the initial prompt is greater than the "
         "context length."},
        "context",
    ),
    "Bedrock": (400, {"message": "Input is too long for requested model."}, "context"),
    "Azure, flagged": (
        400,
        {"message": "The response was filtered due to the prompt triggering a policy.",
         "code": "content_filter", "param": "prompt"},
        "flagged",
    ),
    "OpenAI, flagged": (400, {"message": "Invalid prompt", "code": "invalid_prompt"}, "flagged"),
    "xAI, flagged": (
        403, "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE", "flagged"
    ),
    "OpenRouter, flagged": (403, {"code": 403, "message": "Your chosen model requires moderation "
                                  "and your input was flagged"}, "flagged"),
    "region": (
        403,
        {"message": "Country, region, or territory not supported",
         "code": "unsupported_country_region_territory"},
        "region",
    ),
    "key": (403, {"message": "This key may not use that model"}, "key"),
    "no key": (401, {"message": "Incorrect API key provided"}, "key"),
    "seed": (400, {"message": "Unsupported parameter: 'seed'", "param": "seed"}, "seed:null"),
    "format": (400, {"message": "response_format is not supported"}, "response_format:null"),
    "top": (400, {"message": "top_logprobs must be less than or equal to 5"}, "model.top"),
}  # fmt: skip


@pytest.mark.parametrize("name", WORDED)
def test_an_error_is_what_the_vendor_means(name: str) -> None:
    status, error, meaning = WORDED[name]
    found = failure({"error": error}, status)
    assert found is not None
    meanings = {
        "limit": found.beyond_limit,
        "context": found.beyond_context,
        "flagged": found.flagged,
        "region": found.of_the_region and not found.flagged,
        "key": found.of_the_key and not (found.flagged or found.of_the_region),
    }
    if meaning in meanings:
        own = [name for name, holds in meanings.items() if holds]
        assert own[0] == meaning
    else:
        assert meaning in found.advice
        assert not any(meanings.values())
    if meaning == "limit":
        assert "model.thinking_room" in found.advice


def test_an_error_inside_a_choice_is_an_error() -> None:
    choice = {"finish_reason": "error", "error": {"code": 502}, "message": {"content": ""}}
    found = failure({"choices": [choice]})
    assert found is not None
    assert (found.status, found.transient) == (502, True)
    assert failure({"choices": [{**choice, "error": None}]}) is None


USAGE = {"prompt_tokens": 100, "completion_tokens": 5}
THOUGHTS = {"completion_tokens_details": {"reasoning_tokens": 3000}}


@pytest.mark.parametrize(
    ("usage", "written", "thoughts"),
    [
        ({**USAGE, **THOUGHTS, "total_tokens": 3105}, 3005, 3000),
        ({**USAGE, **THOUGHTS}, 3005, 3000),
        ({**USAGE, **THOUGHTS, "completion_tokens": 3005, "total_tokens": 3105}, 3005, 3000),
        ({**USAGE, "total_tokens": 105}, 5, 0),
        ({**USAGE, "total_tokens": 900}, 5, 0),
    ],
)
def test_thoughts_beside_what_is_written_are_paid_too(
    usage: dict[str, Any], written: int, thoughts: int
) -> None:
    """Some servers count thoughts as a part of the completion, some beside it."""
    found = DIALECTS["chat"](name="m").usage({"usage": usage})
    assert found is not None
    assert (found.prompt, found.written, found.thoughts) == (100, written, thoughts)


def test_a_word_is_found_however_a_space_is_stored() -> None:
    for token in ("A", " A", "\u0120A", "\u2581A"):
        assert reported([(token, -0.5), ("B", -2.0)], None).logprobs_of(("A", "B")) == (-0.5, -2.0)


@pytest.mark.parametrize("endpoint", ["chat", "responses", "messages", "gemini"])
def test_an_empty_turn_of_the_model_is_left_out(endpoint: str) -> None:
    asked = continue_dialogue(Prompt("Rules. ", "Hand"), Generation("", 1, 1), "Again?")
    body = DIALECTS[endpoint](name="m").writing(Generate(asked, 50))
    turns = body.get("messages") or body.get("input") or body["contents"]
    assert [turn["role"] for turn in turns] == ["user", "user"]
