"""A model that answers from the log of an earlier run, to replay it without the original model."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gauntlet.common.disk import strip_checksum
from gauntlet.common.errors import ModelError
from gauntlet.models.base import Dialogue, Generate, Reply, Request, Score
from gauntlet.models.exchanges import Exchange, RecordedExchanges, decode_exchanges


@dataclass(frozen=True)
class Replay:
    """A model source that knows exactly the replies in a log.

    records: a file of records, or a folder of them. All must come from one model: if the same
        request has two different replies, give the file of one cell instead of the folder.
    """

    records: str

    def identity(self) -> Mapping[str, Any]:
        """The hash of the records' contents, independent of their location."""
        digest = hashlib.sha256()
        for file in self._files():
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
        return {"replay": digest.hexdigest()}

    def check_choices(self, choices: Sequence[str]) -> None:
        """Accepts any choice: the original model was checked."""

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
        files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path] if path.is_file() else []
        if not files:
            raise ModelError(
                f"there are no records at {self.records!r}; give a .jsonl file or a folder of them"
            )
        return files


@dataclass(frozen=True)
class ReplayModel:
    """Looks up replies by request key."""

    replies: Mapping[bytes, Reply]
    origin: str

    def answer(self, requests: Sequence[Request]) -> Sequence[Reply]:
        """Raises ModelError for a request that is not in the log."""
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
    """A 16-byte hash of the request: equal requests have equal keys. What a dialogue returns to
    its server is left out, as records do not hold it."""
    prompt = request.prompt if isinstance(request, Generate) else None
    if isinstance(prompt, Dialogue) and prompt.returned and isinstance(request, Generate):
        request = replace(request, prompt=replace(prompt, returned=()))
    return hashlib.blake2b(repr(request).encode(), digest_size=16).digest()


def exchanges(file: Path) -> Iterator[tuple[Request, Reply]]:
    """Every request and its reply in a file of records, without a torn last line. Raises ModelError
    for a damaged line, and for one whose prompt texts are missing."""
    statics: dict[str, str] = {}
    late: list[tuple[int, Exchange]] = []
    for number, record in _records(file):
        statics.update(record.statics)
        for asker in (*record.preparation, *record.decisions):
            for exchange in asker.asked:
                if statics.keys() >= {*exchange.named}:
                    yield exchange.restored(statics)
                else:
                    late.append((number, exchange))
    for number, exchange in late:  # a replayed match may hold its texts further on
        if not statics.keys() >= {*exchange.named}:
            raise ModelError(
                f"line {number} of {file} has lost a text of its prompts: the sweep that wrote it, "
                "run again, brings it back"
            )
        yield exchange.restored(statics)


def _records(file: Path) -> Iterator[tuple[int, RecordedExchanges]]:
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                yield number, decode_exchanges(strip_checksum(line))
            except (ValueError, RecursionError) as error:
                raise ModelError(f"line {number} of {file} is no record: {error}") from error
