"""What `${...}` may do in a config: refer to another key, read a variable listed in `allow_env`, or
decode text. Interpolations that would grow too large are refused before they are resolved."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from omegaconf import DictConfig, OmegaConf

from gauntlet.common.errors import UserError
from gauntlet.pipeline.config.secrets import leaves, looks_secret

RESOLVERS = ("oc.env", "oc.decode")
MOST_CHARACTERS = 200_000
"""Most characters that all interpolations of a key may insert."""
MOST_BITS = 4096
"""Largest number, in bits; Python does not print much larger ones."""
INTERPOLATION = re.compile(r"\$\{\s*([^${}:,\s]*)\s*([:$]?)")


def variable(name: str, *default: Any, _root_: DictConfig) -> Any:
    """The value of an environment variable, or the default. Raises UserError if `allow_env` does
    not list it, and for a secret."""
    where = f"${{oc.env:{name}}}"
    if looks_secret(str(name)):
        raise UserError(f"{where}: {name} looks like a secret, and no config may hold one")
    if name not in (OmegaConf.select(_root_, "allow_env", default=None) or ()):
        raise UserError(f"{where}: {name} is not in allow_env; allow_env=[{name}] lets it be read")
    if name not in os.environ and not default:
        raise UserError(f"{where}: the environment has no variable {name}")
    return os.environ.get(name, *default)


OmegaConf.register_new_resolver("oc.env", variable, replace=True)


def check(config: Mapping[str, Any]) -> None:
    """Raises UserError if the unresolved config uses a forbidden resolver, holds a number too large
    to print, or would grow too large; RecursionError if it refers to itself."""

    @cache
    def size(path: tuple[str, ...]) -> int:
        """The number of characters at this path after resolution."""
        node = _node_at(config, path)
        targets = (target for at, leaf in leaves(node, path) for target in _targets(at, leaf))
        return sum(map(size, targets)) + len(str(node))

    for key, node in config.items():
        if size((str(key),)) > len(str(node)) + MOST_CHARACTERS:
            raise UserError(
                f"{key}: its interpolations make more than {MOST_CHARACTERS:,} characters"
            )


def _targets(path: tuple[str, ...], leaf: Any) -> Iterator[tuple[str, ...]]:
    """The key paths that a value refers to."""
    where = ".".join(path)
    if isinstance(leaf, int) and leaf.bit_length() > MOST_BITS:
        raise UserError(f"{where} is a number of more than {MOST_BITS} bits")
    for name, after in INTERPOLATION.findall(leaf) if isinstance(leaf, str) else ():
        if after == "$":
            raise UserError(f"{where} is {leaf!r}; the name of a key is written out")
        if after == ":" and name not in RESOLVERS:
            raise UserError(
                f"{where} is {leaf!r}; ${{...}} names a key, or begins with "
                f"{': or '.join(RESOLVERS)}:"
            )
        if not after:
            up = len(name) - len(name.lstrip("."))
            start = path[: len(path) - up] if up else ()
            yield (*start, *re.findall(r"[^.\[\]]+", name))


def _node_at(config: Any, path: tuple[str, ...]) -> Any:
    """The node at this path, or the unresolved text above it; None if there is none."""
    for key in path:
        if isinstance(config, str):
            return config
        if isinstance(config, list):
            config = {str(number): item for number, item in enumerate(config)}
        config = config.get(key) if isinstance(config, Mapping) else None
    return config
