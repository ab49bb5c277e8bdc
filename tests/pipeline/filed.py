"""A fake model whose opinions are in a file, like weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gauntlet.models.fake import FakeModel
from tests.cluster.brake import Braked, BrakedModel


@dataclass(frozen=True)
class Filed(Braked):
    """The fake model with the number in the file `path` as its seed."""

    path: str = ""
    brake: str = "none"

    def identity(self) -> Mapping[str, Any]:
        return {"filed": Path(self.path).read_text()}

    def load(self) -> FakeModel:
        return BrakedModel(Braked(int(Path(self.path).read_text()), brake=self.brake))
