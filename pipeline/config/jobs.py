"""The jobs of a sweep composed as Hydra would, in a hundredth of the time.

Hydra composes every job from the files. Jobs that choose the same of every group differ in values
alone; so one of them is composed, and the values of each are set in it by Hydra's own function,
read, and taken back.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import ConfigCompositionException
from omegaconf import DictConfig, OmegaConf

from common.errors import UserError
from pipeline.config.command import NOT_A_KEY
from pipeline.config.players import Node
from pipeline.config.read import plain


@dataclass(frozen=True)
class Composed:
    """One job's config as plain data, what it chose of every group, and what was typed."""

    config: Node
    choices: Mapping[str, str]
    overrides: tuple[str, ...]


class Jobs:
    """Composes jobs of one sweep; `master` is the config that Hydra composed for the whole."""

    def __init__(self, loader: ConfigLoaderImpl, master: DictConfig) -> None:
        self._loader, self._master = loader, master
        self._override = cache(OverridesParser.create().parse_override)
        self._is_group = cache(loader.repository.group_exists)
        self._base = cache(self.compose)

    def compose(self, overrides: tuple[str, ...]) -> DictConfig:
        """The job's whole config, by Hydra alone."""
        config: DictConfig = self._loader.load_sweep_config(self._master, list(overrides))
        return config

    def job(self, overrides: Sequence[str]) -> Composed:
        """The job as it is read. Raises what Hydra raises."""
        values = [one for one in map(self._override, overrides) if not self._chooses(one)]
        chosen = [line for line in overrides if self._chooses(self._override(line))]
        if any(isinstance(self._override(line).value(), dict) for line in chosen):
            values, chosen = [], list(overrides)  # sets values of a group: the order matters
        base = self._base(tuple(chosen))
        with _changed(base, values):
            return Composed(plain(base), dict(base.hydra.runtime.choices), tuple(overrides))

    def all(self, sweep: Sequence[Sequence[str]]) -> list[Composed]:
        """Every job. Raises what Hydra raises, and UserError for a key that only some of the
        swept choices have."""
        try:
            return [self.job(overrides) for overrides in sweep]
        except ConfigCompositionException as error:
            if unknown := NOT_A_KEY.match(str(error)):
                self._refuse_some(unknown.group(1), sweep)
            raise

    def _refuse_some(self, key: str, sweep: Sequence[Sequence[str]]) -> None:
        """Raises UserError where some of the choices swept have the key."""
        group, _, _ = key.partition(".")
        has: dict[str, bool] = {}
        for overrides in sweep:
            base = self._base(tuple(o for o in overrides if self._chooses(self._override(o))))
            choice = str(base.hydra.runtime.choices.get(group))
            has[choice] = OmegaConf.select(base, key, default=has) is not has
        if len(set(has.values())) == 2:
            lack, have = (", ".join(c for c in has if has[c] is own) for own in (False, True))
            raise UserError(
                f"{key} is not a key of {group}={lack}, only of {group}={have}; "
                "run these by themselves"
            )

    def _chooses(self, override: Override) -> bool:
        """Whether it is about a group, and so about which files are composed."""
        return override.package is not None or self._is_group(override.key_or_group)


@contextmanager
def _changed(config: DictConfig, values: list[Override]) -> Iterator[None]:
    """The config with these values meanwhile."""
    content: dict[str, Any] = config.__dict__["_content"]
    tops = {re.split(r"[.\[]", one.key_or_group)[0] for one in values}
    kept = {top: content[top] for top in tops if top in content}
    content.update({top: copy.deepcopy(node) for top, node in kept.items()})
    try:
        ConfigLoaderImpl._apply_overrides_to_config(values, config)
        yield
    finally:
        content.update(kept)
        for top in tops - kept.keys():
            content.pop(top, None)
