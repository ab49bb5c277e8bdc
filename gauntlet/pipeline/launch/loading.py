"""Ensures that a worker loads exactly the models and code of the plan, whenever and wherever it
loads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gauntlet.common.errors import ModelError, Stopped
from gauntlet.models.base import Model, ModelSource
from gauntlet.models.engine.files import HASHES, Stamp
from gauntlet.pipeline.launch.devices import name_of
from gauntlet.pipeline.plan.cells import Cell, Plan
from gauntlet.pipeline.plan.fingerprint import Code, code_of, differences, file_list
from gauntlet.pipeline.plan.identity import identity_now


@dataclass(frozen=True)
class Planned:
    """The plan's model identities, code by cell, and file hashes; a worker rehashes only files that
    look different to it."""

    models: Mapping[ModelSource, Mapping[str, Any]]
    code: Mapping[str, Code]
    hashes: Mapping[Stamp, str]

    @classmethod
    def from_plan(cls, plan: Plan) -> Planned:
        models = {
            player.model: cell.identity["players"][number]["model"]
            for cell in plan.cells
            for number, player in enumerate(cell.players)
            if player.model is not None
        }
        return cls(models, {cell.key: code_of(cell) for cell in plan.cells}, dict(HASHES))

    def check_code(self, cells: Sequence[Cell]) -> None:
        """Raises Stopped if this process would play with different code."""
        for cell in cells:
            then, now = self.code[cell.key], code_of(cell)
            if then.fingerprint != now.fingerprint:
                raise Stopped(
                    f"{file_list(differences(then, now))} changed while the run goes; put it "
                    "back, or start the run again to be asked about it"
                )

    def load(self, source: ModelSource, load_one: Callable[[ModelSource], Model]) -> Model:
        """Load the model, and check before and after that its files are those of the plan. Raises
        ModelError if it cannot be loaded, and Stopped if it has changed."""
        HASHES.update(self.hashes)
        self._check(source)
        model = load_one(source)
        if not all(callable(getattr(model, name, None)) for name in ("answer", "close")):
            raise ModelError(
                f"{type(source).__qualname__}.load() gave a {type(model).__name__}; it must give a "
                "model, which has answer and close"
            )
        try:
            self._check(source)
        except Stopped:
            model.close()
            raise
        return model

    def _check(self, source: ModelSource) -> None:
        try:
            now = identity_now(source)
        except ModelError as error:
            raise Stopped(f"a model is no longer there as it was planned: {error}") from error
        if now != self.models[source]:
            raise Stopped(
                f"the files of model {name_of(source)} changed during the run; nothing of the "
                "new ones is recorded: put the old ones back to continue this run, or start it "
                "again to play the new ones as new cells"
            )
