"""A model that answers from the log of an earlier run: the same play again, without any model."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.errors import ModelError
from models.base import Dialogue, Generate, Generation, Prompt, Reply, Request, Score, Scores


@dataclass(frozen=True)
class Replay:
    """A model source that knows the replies in a log, and no others.

    records: a file of records, or a folder of them. All must come from one model: where the
        same request has two different replies, name the file of one cell instead of the folder.
    """

    records: str

    def identity(self) -> Mapping[str, Any]:
        """The hash of the records' contents, wherever they lie."""
        digest = hashlib.sha256()
        for file in self._files():
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
        return {"replay": digest.hexdigest()}

    def check_choices(self, choices: Sequence[str]) -> None:
        """Any choice will do: the model that was asked first had to have it."""

    def load(self) -> ReplayModel:
        replies: dict[bytes, Reply] = {}
        for file in self._files():
            for request, reply in exchanges(file):
                if replies.setdefault(key(request), reply) != reply:
                    raise ModelError(
                        f"{self.records} answers one request in two ways; give the file of one cell"
                    )
        return ReplayModel(replies, self.records)

    def _files(self) -> list[Path]:
        path = Path(self.records).expanduser()
        files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path] * path.is_file()
        if not files:
            raise ModelError(
                f"there are no records at {self.records!r}; give a .jsonl file or a folder of them"
            )
        return files


@dataclass(frozen=True)
class ReplayModel:
    """Answers requests by their key."""

    replies: Mapping[bytes, Reply]
    origin: str

    def answer(self, requests: Sequence[Request]) -> Sequence[Reply]:
        """Raises ModelError for a request that the log does not hold."""
        return [self._reply(request) for request in requests]

    def close(self) -> None:
        pass

    def _reply(self, request: Request) -> Reply:
        reply = self.replies.get(key(request))
        if reply is None:
            prompt = request.prompts[0] if isinstance(request, Score) else request.prompt
            last = prompt.changing.strip().rpartition("\n")[2]
            raise ModelError(f"the log {self.origin} holds no reply to the prompt ending {last!r}")
        return reply


def key(request: Request) -> bytes:
    """What tells requests apart, in 16 bytes: equal requests have equal keys."""
    return hashlib.blake2b(repr(request).encode(), digest_size=16).digest()


def exchanges(file: Path) -> Iterator[tuple[Request, Reply]]:
    """Every request and its reply in a file of records. A torn last line is left out."""
    statics: dict[str, str] = {}
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            if not line.endswith("\n"):
                return
            record = json.loads(line)
            statics.update(record["statics"])
            for asker in [*record.get("preparation", ()), *record["decisions"]]:
                for asked in asker["asked"]:
                    yield _exchange(asked, statics[asked["static"]])


def _exchange(asked: Mapping[str, Any], static: str) -> tuple[Request, Reply]:
    """A request and its reply; what has its usual value is not in the log."""
    tokens = asked["tokens"]
    if "branches" not in asked:
        max_tokens, temperature, stop, seed = asked["settings"]
        prompt = _prompt(asked, static, "")
        n, json_only = asked.get("n", 1), asked.get("json", False)
        written = Generate(prompt, max_tokens, temperature, tuple(stop), seed, n, json_only)
        read, wrote = tokens
        others = tuple(asked.get("others", ()))
        return written, Generation(asked["text"], read, wrote, others)
    prompts = tuple(_prompt(asked, static, branch) for branch in asked["branches"])
    # JSON has no minus infinity; the log writes null for it.
    logprobs = tuple(
        tuple(-math.inf if value is None else value for value in row) for row in asked["logprobs"]
    )
    scores = Scores(logprobs, tuple(tokens), tuple(asked.get("ceilings", ())))
    return Score(prompts, tuple(asked["choices"])), scores


def _prompt(asked: Mapping[str, Any], static: str, branch: str) -> Prompt:
    changing, cue, system = asked["shared"] + branch, asked["cue"], asked.get("system", "")
    if "turns" not in asked:
        return Prompt(static, changing, cue, system)
    turns = tuple((reply, told) for reply, told in asked["turns"])
    return Dialogue(static, changing, cue, system, turns)
