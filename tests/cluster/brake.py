"""A fake model that a test can slow down during play: it waits for as long as a file says."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from gauntlet.models.base import Reply, Request
from gauntlet.models.fake import Fake, FakeModel


@dataclass(frozen=True)
class Braked(Fake):
    """The fake model, with a pause before every batch for the seconds given in the file `brake`,
    while it exists."""

    brake: str = ""

    def load(self) -> BrakedModel:
        return BrakedModel(self)


@dataclass(frozen=True)
class BrakedModel(FakeModel):
    source: Braked

    def answer(self, requests: Sequence[Request]) -> Sequence[Reply]:
        with suppress(FileNotFoundError):
            time.sleep(float(Path(self.source.brake).read_text()))
        return super().answer(requests)


def words(brake: Path) -> tuple[str, ...]:
    """Arguments of a command with this model."""
    target = f"model._target_={Braked.__module__}.{Braked.__name__}"
    return ("model=fake", "packages=[tests]", target, f"+model.brake={brake}")


@contextmanager
def braked(brake: Path, seconds: float) -> Iterator[None]:
    """Context in which the models of this file wait this long before every batch."""
    brake.write_text(f"{seconds}")
    try:
        yield
    finally:
        brake.unlink()
