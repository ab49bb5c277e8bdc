"""A fake model that a test can slow down while it plays: it waits as long as a file is there."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from models.base import Reply, Request
from models.fake import Fake, FakeModel


@dataclass(frozen=True)
class Braked(Fake):
    """The fake model, with a second's pause before every batch while the file `brake` exists."""

    brake: str = ""

    def load(self) -> BrakedModel:
        return BrakedModel(self)


@dataclass(frozen=True)
class BrakedModel(FakeModel):
    source: Braked

    def answer(self, requests: Sequence[Request]) -> Sequence[Reply]:
        if Path(self.source.brake).exists():
            time.sleep(1)
        return super().answer(requests)
