"""What `${...}` in a config may do: name another key, read a variable that `allow_env` lists, or
decode text. What would grow too large is refused before it is resolved."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from omegaconf import DictConfig, OmegaConf

from gauntlet.common.errors import UserError
from gauntlet.pipeline.config.secrets import LOOKS_SECRET

RESOLVERS = ("oc.env", "oc.decode")
MOST_CHARACTERS = 200_000
"""What all interpolations of a config may put in."""
MOST_BITS = 4096
"""Of a number; Python shows none that is much larger."""
INTERPOLATION = re.compile(r"\$\{\s*([^${}:,\s]*)\s*([:$]?)")


def use() -> None:
    """From now on `${oc.env:NAME}` is `variable`."""
    OmegaConf.register_new_resolver("oc.env", variable, replace=True)


def variable(name: str, *default: Any, _root_: DictConfig) -> Any:
    """The value of an environment variable, or the default. Raises UserError for one that no list
    allows, and for a secret."""
    where = f"${{oc.env:{name}}}"
    if LOOKS_SECRET.search(str(name)):
        raise UserError(f"{where}: {name} looks like a secret, and no config may hold one")
    allowed = OmegaConf.select(_root_, "allow_env", default=None) or ()
    if name not in allowed:
        raise UserError(f"{where}: {name} is not in allow_env; allow_env=[{name}] lets it be read")
    if name not in os.environ and not default:
        raise UserError(f"{where}: the environment has no variable {name}")
    return os.environ.get(name, *default)


def check(config: Mapping[str, Any]) -> None:
    """Raises UserError where the config, unresolved, uses a resolver that it may not, holds itself
    or a number that cannot be shown, or would grow too large."""
    sizes: dict[tuple[str, ...], int | None] = {}

    def size(path: tuple[str, ...]) -> int:
        """The characters of what stands there once it is resolved."""
        if path not in sizes:
            sizes[path], node = None, _at(config, path)
            sizes[path] = added(node, path) + len(str(node))
        if (known := sizes[path]) is None:
            raise UserError(f"{'.'.join(path)}: a config includes or refers to itself")
        return known

    def added(node: Any, path: tuple[str, ...]) -> int:
        """The characters that interpolations put into the node."""
        if isinstance(node, Mapping):
            return sum(added(value, (*path, str(key))) for key, value in node.items())
        if isinstance(node, list):
            return sum(added(value, (*path, str(key))) for key, value in enumerate(node))
        if isinstance(node, int) and node.bit_length() > MOST_BITS:
            raise UserError(f"{'.'.join(path)} is a number of more than {MOST_BITS} bits")
        if not isinstance(node, str):
            return 0
        return sum(size(target) for target in _targets(node, path))

    for key, node in config.items():
        if added(node, (str(key),)) > MOST_CHARACTERS:
            raise UserError(
                f"{key}: its interpolations make more than {MOST_CHARACTERS:,} characters"
            )


def _targets(text: str, path: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The keys that a text refers to."""
    targets = []
    for name, after in INTERPOLATION.findall(text):
        if after == "$":
            raise UserError(f"{'.'.join(path)} is {text!r}; the name of a key is written out")
        if after == ":":
            if name not in RESOLVERS:
                raise UserError(
                    f"{'.'.join(path)} is {text!r}; ${{...}} names a key, or begins with "
                    f"{': or '.join(RESOLVERS)}:"
                )
            continue
        up = len(name) - len(name.lstrip("."))
        start = path[: len(path) - up] if up else ()
        targets.append((*start, *re.findall(r"[^.\[\]]+", name)))
    return targets


def _at(config: Any, path: tuple[str, ...]) -> Any:
    """What stands there, or on the way to it the text that is to be resolved; None for nothing."""
    for key in path:
        if isinstance(config, str):
            return config
        if isinstance(config, list) and key.isdecimal() and int(key) < len(config):
            config = config[int(key)]
        else:
            config = config.get(key) if isinstance(config, Mapping) else None
    return config
