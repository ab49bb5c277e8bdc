"""What servers' errors mean. Their own bodies, as their references and users have them, are rows of
refusals.jsonl; a body that is a string is the page of something on the way to the server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gauntlet.models.api.refusals import Failure, failure

LINES = Path(__file__).with_name("refusals.jsonl").read_text(encoding="utf-8").splitlines()
ROWS: list[dict[str, Any]] = [json.loads(line) for line in LINES]
ROOM = 50
"""The token limit of the requests."""


@pytest.mark.parametrize("row", [row for row in ROWS if "meaning" in row], ids=str)
def test_what_an_error_means(row: dict[str, Any]) -> None:
    body, status = row["body"], row["status"]
    failed = failure(body, status) if not isinstance(body, str) else Failure(body, status)
    assert failed is not None
    assert failed.meaning(ROOM) == row["meaning"]
    if isinstance(body, dict):
        assert failure([body], status) == failed, "as Google wraps it"


@pytest.mark.parametrize("row", [row for row in ROWS if "cure" in row], ids=str)
def test_a_refused_field_names_its_setting(row: dict[str, Any]) -> None:
    failed = failure(row["body"], row["status"])
    assert failed is not None
    assert failed.meaning(ROOM) == "refused"
    verb, _, rest = failed.advice.removeprefix("; ").partition(" ")
    assert verb in ("set", "lower", "change")
    assert rest == row["cure"]


def test_what_counts_as_an_error() -> None:
    assert failure({"error": "no"}) == Failure("no")
    assert failure({"error": {"message": "no", "code": "busy"}}) == Failure("no", kind="busy")
    assert failure({"error": {"message": "no", "code": 7}}) == Failure("no")
    assert failure({"error": None, "choices": []}) is None
    choice = {"message": {"content": "x"}, "finish_reason": "stop"}
    assert failure({"error": {"message": "late"}, "choices": [choice]}) is None
    assert failure([]) is None
