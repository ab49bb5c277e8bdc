"""Records by hand: the fields given by a test, and plain values for the rest."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from gauntlet.models.exchanges import ScoreExchange
from gauntlet.pipeline.log.lines import line
from gauntlet.pipeline.log.metadata_files import to_bytes
from gauntlet.pipeline.log.schema import DecisionRecord, MatchRecord, Record
from gauntlet.pipeline.plan.cells import digest, match_id
from tests.pipeline.made import about

STATIC = digest("Rules.\n")


def scored(**more: Any) -> ScoreExchange:
    """A prompt, or several, of three tokens, scored for one of two letters."""
    prompts = len(more.get("branches", more.get("logprobs", ("",))))
    plain: dict[str, Any] = {
        "static": STATIC,
        "cue": "Answer:",
        "shared": "Which?\n",
        "branches": ("",) * prompts,
        "choices": ("A", "B"),
        "logprobs": ((-1.0, -2.0),) * prompts,
        "tokens": (3,) * prompts,
        "logical_tokens": 3,
    }
    return ScoreExchange(**{**plain, **more})


def decided(seat: int, status: str = "ok", **more: Any) -> DecisionRecord:
    """A decision for the first of two options, by a model after one request."""
    plain: dict[str, Any] = {
        "options": ("a", "b"),
        "scores": () if more.get("margin") is None else (more["margin"], 0.0),
        "margin": None,
        "chosen": 0,
        "forced": False,
        "fallback": False,
        "attempts": 1,
        "tokens": 0,
        "asked": (scored(),),
    }
    return DecisionRecord(seat=seat, status=status, **{**plain, **more})


def ended(*decisions: DecisionRecord, **more: Any) -> MatchRecord:
    """A match of two that seat 0 won; the subject, who is measured, sits in seat 1."""
    plain: dict[str, Any] = {
        "match": "m",
        "cell": "c",
        "deal": 0,
        "rotation": 0,
        "subjects": (1,),
        "measured": (1,),
        "returns": (1.0, -1.0),
        "measures": {"win": (1.0, 0.0)},
        "plies": len(decisions),
        "decisions": decisions,
        "statics": {STATIC: "Rules.\n"},
        "seconds": 0.1,
    }
    return MatchRecord(**{**plain, **more})


def placed(record: MatchRecord, seed: int = 1) -> MatchRecord:
    """The record with the match id that its cell, deal and rotation have in a sweep."""
    return replace(record, match=match_id(record.cell, seed, record.deal, record.rotation))


def described(folder: Path, cell: str) -> Path:
    """Return the records file of a cell whose key is its name, once the folder has it."""
    path = folder / "cells" / f"{cell}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(to_bytes({**about(cell).data(), "identity": {}, "described": 0}))
    return folder / "records" / f"{cell}.jsonl"


def write(path: Path, records: Iterable[Record]) -> None:
    """A records file that holds these."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(map(line, records)))
