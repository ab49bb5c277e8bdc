"""What servers' errors mean: their own bodies, as their references and users have them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gauntlet.models.api.refusals import Failure, Meaning, failure

Body = dict[str, Any]


def openai(message: str, code: Any = None, param: str | None = None, **more: Any) -> Body:
    """An error of OpenAI's, and of most servers."""
    kind = more.pop("type", "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": param, "code": code, **more}}


def vllm(message: str, param: str | None = None) -> Body:
    return openai(message, 400, param, type="BadRequestError")


def sglang(message: str) -> Body:
    return {"object": "error", "message": message, "type": "BadRequestError", "code": 400}


def anthropic(message: str, kind: str = "invalid_request_error") -> Body:
    return {"type": "error", "error": {"type": kind, "message": message}}


def google(message: str, status: str = "INVALID_ARGUMENT", code: int = 400) -> Body:
    return {"error": {"code": code, "message": message, "status": status}}


def pydantic(field: str) -> list[Body]:
    return [{"type": "extra_forbidden", "loc": ["body", field], "msg": "Extra inputs are not ..."}]


WINDOW = "This model's maximum context length is 4096 tokens. "
SPLIT = "However, you requested {} tokens ({} in the {}, {} in the completion)."
ROOM = 50
"""The token limit of the requests, unless a row says otherwise."""
MEANINGS: list[tuple[Meaning, int | None, Any]] = [
    # The prompt alone is longer than the context.
    ("context", 400, openai(WINDOW + "However, your messages resulted in 8202 tokens.")),
    ("context", 400, openai("too long", "context_length_exceeded", "messages")),
    ("context", 400, openai(WINDOW + SPLIT.format(5050, 5000, "messages", 50))),
    ("context", 400, openai("Please reduce the length of the messages or completion.")),
    ("context", 400, vllm(WINDOW + "However, your request has 5000 input tokens.", "input_tokens")),
    (
        "context",
        400,
        vllm(
            "You passed 5001 input tokens and requested 50 output tokens. However, the model's "
            "context length is only 4096 tokens, resulting in a maximum input length of 4046."
        ),
    ),
    ("context", 400, vllm("max_tokens must be at least 1, got -186.", "max_tokens")),
    ("context", 400, vllm("Input length (11680) exceeds model's maximum context length (4096).")),
    (
        "context",
        400,
        vllm("The decoder prompt (length 5000) is longer than the maximum model length of 4096."),
    ),
    (
        "context",
        400,
        sglang("The input (5000 tokens) is longer than the model's context length (4096 tokens)."),
    ),
    (
        "context",
        400,
        sglang(
            "Requested token count exceeds the model's maximum context length of 4096 tokens. You "
            "requested a total of 5050 tokens: 5000 tokens from the input messages and 50 tokens "
            "for the completion."
        ),
    ),
    (
        "context",
        400,
        {
            "error": "Trying to keep the first 5000 tokens when context the overflows. However, "
            "the model is loaded with context length of only 4096 tokens, which is not enough."
        },
    ),
    (
        "context",
        None,
        {
            "error": "The number of tokens to keep from the initial prompt is greater than the "
            "context length (n_keep: 13055>= n_ctx: 4096)."
        },
    ),
    ("context", 400, {"error": "prompt too long; exceeded max context length by 12 tokens"}),
    ("context", 500, {"error": "the input length exceeds the context length"}),
    ("context", 400, {"message": "Input is too long for requested model."}),
    (
        "context",
        400,
        {
            "message": "The model returned the following errors: prompt is too long: 227255 "
            "tokens > 200000 maximum"
        },
    ),
    ("context", 400, {"message": "Number of input tokens exceeds maximum length of 8192"}),
    ("context", 400, {"message": "Too many input tokens. Max input tokens: 8192"}),
    ("context", 400, anthropic("prompt is too long: 208310 tokens > 200000 maximum")),
    ("context", 400, google("The input token count (9) exceeds the maximum number of tokens (8).")),
    (
        "context",
        400,
        {
            "code": "invalid-argument",
            "error": "This model's maximum prompt length is 500000 but the request contains "
            "637815 tokens.",
        },
    ),
    (
        "context",
        400,
        openai(
            "This endpoint's maximum context length is 32768 tokens. However, you requested about "
            "42832 tokens (42832 of text input)."
        ),
    ),
    ("context", 400, openai("Your input exceeds the context window of this model.")),
    ("context", 400, openai("Invalid request: Your request exceeded model token limit: 8192")),
    ("context", 400, openai("Prompt exceeds max length", "1261")),
    ("context", 400, openai("Range of input length should be [1, 129024]")),
    ("context", 400, openai("context window exceeds limit (2013)")),
    (
        "context",
        400,
        openai(
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 "
            "maximum context length"
        ),
    ),
    ("context", 422, {"error": "`inputs` must have less than 4095 tokens. Given: 5000"}),
    (
        "context",
        422,
        {
            "error": "`inputs` tokens + `max_new_tokens` must be <= 2048. Given: 3474 `inputs` "
            "tokens and 50 `max_new_tokens`"
        },
    ),
    ("context", 400, {"error": {"message": "the", "type": "exceed_context_size_error"}}),
    (
        "context",
        400,
        openai(
            "Provider returned error",
            metadata={"raw": "prompt is too long: 208310 tokens > 200000"},
        ),
    ),
    # The limit does not fit, though the prompt would.
    ("limit", 400, openai(WINDOW + SPLIT.format(4396, 300, "messages", 4096))),
    (
        "limit",
        400,
        openai(
            WINDOW + SPLIT.format(4396, 300, "messages", 4096),
            "context_length_exceeded",
            "messages",
        ),
    ),
    (
        "limit",
        400,
        openai(WINDOW + "you requested 4396 tokens (300 in your prompt; 4096 for the completion)"),
    ),
    (
        "limit",
        400,
        vllm(
            WINDOW + "However, your request has 8 input tokens plus 4095 'max_tokens'.",
            "input_tokens, max_tokens",
        ),
    ),
    (
        "limit",
        400,
        vllm(
            "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum "
            "context length is 4096 tokens and your request has 300 input tokens (4096 > 4096 - "
            "300)."
        ),
    ),
    (
        "limit",
        400,
        vllm(
            "This model's maximum context length is 3 tokens. However, your request has 8 input "
            "tokens.",
            "input_tokens",
        ),
    ),
    (
        "limit",
        400,
        sglang(
            "Requested token count exceeds the model's maximum context length of 4096 tokens. You "
            "requested a total of 4396 tokens: 300 tokens from the input messages and 4096 tokens "
            "for the completion."
        ),
    ),
    (
        "limit",
        422,
        {
            "error": "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 300 `inputs` "
            "tokens and 4096 `max_new_tokens`",
            "error_type": "validation",
        },
    ),
    (
        "limit",
        400,
        anthropic(
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease "
            "input length or `max_tokens` and try again"
        ),
    ),
    (
        "limit",
        400,
        openai(
            "This endpoint's maximum context length is 4096 tokens. However, you requested about "
            "4396 tokens (300 of text input, 4096 in the output)."
        ),
    ),
    ("limit", 400, openai("max_tokens is too large: 100000. At most 16384.", None, "max_tokens")),
    (
        "limit",
        400,
        anthropic("max_tokens: 100000 > 64000, which is the maximum number of output tokens"),
    ),
    (
        "limit",
        400,
        google(
            "Unable to submit request because it has a maxOutputTokens value of 100000 but the "
            "supported range is from 1 (inclusive) to 65537 (exclusive)."
        ),
    ),
    ("limit", 400, openai("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]")),
    ("limit", 400, openai("`max_tokens` must be less than or equal to `8192`")),
    ("limit", 400, openai("no", "max_tokens_exceeded")),
    ("limit", 400, openai("'max_output_tokens': below minimum", None, "max_output_tokens")),
    # A flagged prompt.
    (
        "filtered",
        400,
        openai(
            "The response was filtered due to the prompt triggering Azure OpenAI's content "
            "management policy.",
            "content_filter",
            "prompt",
            innererror={"code": "ResponsibleAIPolicyViolation"},
        ),
    ),
    ("filtered", 400, openai("no", "content_filter", "prompt")),
    ("filtered", 400, openai("no", innererror={"code": "ResponsibleAIPolicyViolation"})),
    (
        "filtered",
        400,
        openai(
            "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
            "invalid_prompt",
        ),
    ),
    ("filtered", 400, openai("no", type="content_filter")),
    ("filtered", 400, openai("no", "data_inspection_failed", type="data_inspection_failed")),
    ("filtered", 400, {"code": "DataInspectionFailed", "message": "no", "request_id": "x"}),
    ("filtered", 400, openai("Content Exists Risk")),
    ("filtered", 400, openai("The request was rejected because it was considered high risk")),
    ("filtered", 400, {"error": {"code": "1301", "message": "no"}, "contentFilter": []}),
    ("filtered", 400, anthropic("Output blocked by content filtering policy")),
    (
        "filtered",
        403,
        {
            "code": "The caller does not have permission to execute the specified operation",
            "error": "Content violates usage guidelines. Team: t, API key ID: k, Model: grok-4, "
            "Failed check: SAFETY_CHECK_TYPE_BIO",
        },
    ),
    (
        "filtered",
        403,
        {
            "error": {
                "code": 403,
                "message": "no",
                "metadata": {"reasons": ["x"], "flagged_input": "...", "provider_name": "y"},
            }
        },
    ),
    ("filtered", 403, openai("Your chosen model requires moderation and your input was flagged")),
    (
        "filtered",
        None,
        {
            "status": "failed",
            "error": {"code": "invalid_prompt", "message": "your prompt was flagged"},
            "output": [],
        },
    ),
    # A region, a key, money, an address.
    (
        "region",
        403,
        openai(
            "Country, region, or territory not supported",
            "unsupported_country_region_territory",
            type="request_forbidden",
        ),
    ),
    (
        "region",
        400,
        google("User location is not supported for the API use.", "FAILED_PRECONDITION"),
    ),
    ("region", 403, {"error": {"message": "This model is not available in your region."}}),
    ("key", 401, openai("Incorrect API key provided", "invalid_api_key")),
    ("key", 401, openai("your account was flagged")),
    ("key", 403, openai("Your account has been flagged for violating our usage policies.")),
    ("key", 403, anthropic("no", "permission_error")),
    ("key", 400, google("API key not valid.")),
    ("refused", 403, "<!DOCTYPE html><title>Attention Required! | Cloudflare</title>"),
    ("unpaid", 429, openai("You exceeded your current quota", "insufficient_quota")),
    ("unpaid", 429, openai("no", type="exceeded_current_quota_error")),
    ("unpaid", 400, openai("Access denied", "Arrearage")),
    ("unpaid", 402, openai("You requested up to 65536 tokens, but can only afford 2000.", 402)),
    ("unpaid", 403, {"code": "x", "error": "Your team has used all available credits."}),
    ("missing", None, {"error": "Unexpected endpoint or method. (POST /chat/completions)"}),
    ("missing", 404, openai("The model `m` does not exist", "model_not_found")),
    ("missing", 405, {"detail": "Method Not Allowed"}),
    # What passes, and what does not.
    ("again", 429, openai("Rate limit exceeded: too many input tokens per minute")),
    ("again", 429, google("Quota exceeded for input tokens", "RESOURCE_EXHAUSTED", 429)),
    ("again", 503, openai("The model is overloaded; its context size is 4096")),
    ("again", 500, openai("context deadline exceeded")),
    ("again", 500, openai("The content filter timed out")),
    ("again", 503, openai("This region is not available at the moment")),
    ("again", 500, openai("Unexpected error during reasoning")),
    ("again", None, {"error": "busy"}),
    ("again", None, {"error": {"code": 502, "message": "Network connection lost."}}),
    (
        "again",
        None,
        {"choices": [{"finish_reason": "error", "error": {"code": 502, "message": "lost"}}]},
    ),
    (
        "again",
        None,
        {
            "error": {"code": "server_error", "message": "Provider disconnected"},
            "choices": [{"delta": {"content": ""}, "finish_reason": "error"}],
        },
    ),
    (
        "refused",
        429,
        openai("Request too large for m on tokens per min (TPM): Limit 3, Requested 4"),
    ),
    ("refused", 501, openai("not implemented")),
    ("refused", None, {"error": "Unsupported parameter: 'seed'"}),
    ("refused", 500, {"error": "got an unexpected keyword argument 'seed'"}),
    ("refused", 500, openai("Jinja Exception: Conversation roles must alternate user/assistant/")),
    ("refused", 422, {"detail": pydantic("seed")}),
]


@pytest.mark.parametrize(
    ("meaning", "status", "body"),
    [pytest.param(*row, id=f"{row[0]}-{number}") for number, row in enumerate(MEANINGS)],
)
def test_what_an_error_means(meaning: Meaning, status: int | None, body: Any) -> None:
    failed = failure(body, status) if not isinstance(body, str) else Failure(body, status)
    assert failed is not None
    assert failed.meaning(ROOM) == meaning
    if isinstance(body, dict):
        assert failure([body], status) == failed, "as Google wraps it"


CURES: list[tuple[str, Any]] = [
    ("model.extra_body={seed:null}", openai("Extra inputs are not permitted", None, "seed")),
    ("model.extra_body={seed:null}", {"detail": pydantic("seed")}),
    (
        "model.extra_body={seed:null}",
        {"object": "error", "message": {"detail": pydantic("seed")}, "type": "x", "code": None},
    ),
    ("model.extra_body={seed:null}", {"error": "Unsupported parameter: 'seed'"}),
    (
        "model.extra_body={stop:null}",
        openai("Unsupported parameter: 'stop' is not supported with this model.", None, "stop"),
    ),
    ("model.extra_body={stop:null}", {"error": "Argument not supported on this model: stop"}),
    (
        "model.extra_body={response_format:null}",
        {"error": "'response_format.type' must be 'json_schema' or 'text'"},
    ),
    (
        "model.extra_body={response_format:null}",
        openai("Prompt must contain the word 'json' to use 'response_format' of 'json_object'."),
    ),
    (
        "model.extra_body={generationConfig:{responseMimeType:null}}",
        google("JSON mode is not enabled for models/gemma-3-27b-it"),
    ),
    ("model.extra_body={stream_options:null}", {"detail": pydantic("stream_options")}),
    (
        "model.system_role=false",
        openai(
            "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
            "unsupported_value",
            "messages[0].role",
        ),
    ),
    ("model.system_role=false", vllm("System role not supported")),
    ("model.system_role=false", google("Developer instruction is not enabled for models/gemma-3")),
    (
        "model.system_role=false",
        vllm("Conversation roles must alternate user/assistant/user/assistant/..."),
    ),
    (
        "model.top",
        openai(
            "Invalid 'top_logprobs': integer above maximum value. Expected a value <= 20, but got "
            "25 instead.",
            "integer_above_max_value",
            "top_logprobs",
        ),
    ),
    (
        "model.top",
        vllm("Requested sample logprobs of 20, which is greater than max allowed: 5"),
    ),
    ("model.top", {"code": "x", "error": "top_logprobs must be between 0 and 8"}),
    ("model.scores=sampled", openai("logprobs are not supported with this model")),
    ("model.temperature=omit", openai("no", "unsupported_value", "temperature")),
    ("model.effort", openai("'xhigh' is not one of low, high", None, "reasoning_effort")),
]


@pytest.mark.parametrize(("setting", "body"), CURES, ids=[json.dumps(row)[:60] for row in CURES])
def test_a_refused_field_names_its_setting(setting: str, body: Any) -> None:
    failed = failure(body, 400)
    assert failed is not None
    assert failed.meaning(ROOM) == "refused"
    verb, _, rest = failed.advice.removeprefix("; ").partition(" ")
    assert verb in ("set", "lower", "change")
    assert rest == setting


def test_what_counts_as_an_error() -> None:
    assert failure({"error": "no"}) == Failure("no")
    assert failure({"error": {"message": "no", "code": "busy"}}) == Failure("no", kind="busy")
    assert failure({"error": {"message": "no", "code": 7}}) == Failure("no")
    assert failure({"error": None, "choices": []}) is None
    said = {"message": {"content": "x"}, "finish_reason": "stop"}
    assert failure({"error": {"message": "late"}, "choices": [said]}) is None
    assert failure([]) is None
