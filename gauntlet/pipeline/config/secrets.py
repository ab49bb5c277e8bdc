"""Keep secrets out of configs, which are sent to servers, printed and stored.

`${oc.env:NAME}` refuses variables that look like a secret (`interpolation`). A secret that enters a
config in any other way is refused by its value.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from gauntlet.common.errors import UserError
from gauntlet.common.sanitize import SHORTEST

LOOKS_SECRET = re.compile(
    r"(?:^|_)(?:(?:api|access|private|secret)?(?:key|token)|secret|auth|authorization|credential"
    r"|pass|pwd)s?(?:_|$)|passw(?:or)?d",
    re.IGNORECASE,
)
"""Matches variable names by whole words between underscores."""
SETTING = re.compile(r"_(?:mode|type|method|scheme|file|path|dir)$", re.IGNORECASE)
"""How names end that say how or where to authenticate, as RAY_AUTH_MODE=token does."""
PATH = re.compile(r"[/~.]")
"""How a value begins if it is the path of a secret rather than the secret."""
NAMES_ONE = ("api_key_env", "key_env")
"""The settings that name the variable that holds a key."""


def refuse(config: Any, environment: Mapping[str, str] = os.environ) -> None:
    """Raises UserError if a key or value of the config, which is plain data, contains the value of
    a variable that looks like a secret or is named by an `api_key_env` or `key_env`."""
    texts = list(_leaves(config, ()))
    named = [text for path, text in texts if path and path[-1] in NAMES_ONE]
    for name, secret in _secrets(environment, named):
        for path, text in texts:
            if any(isinstance(part, str) and secret in part for part in (*path, text)):
                raise UserError(
                    f"{'.'.join(path)} holds the value of the environment variable {name}; no "
                    "config may hold a secret"
                )


def cut(message: str, environment: Mapping[str, str] = os.environ) -> str:
    """The message with the values of such variables replaced by their names."""
    for name, secret in _secrets(environment):
        message = message.replace(secret, f"${name}")
    return message


def _leaves(node: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every leaf of plain data, with its key path below `path`; empty mappings and lists are
    leaves."""
    if isinstance(node, (list, tuple)):
        node = dict(enumerate(node))
    if not isinstance(node, Mapping) or not node:
        yield path, node
        return
    for key, value in node.items():
        yield from _leaves(value, (*path, str(key)))


def looks_secret(name: str) -> bool:
    """Whether the value of a variable of this name may be a secret."""
    return bool(LOOKS_SECRET.search(name)) and not SETTING.search(name)


def _secrets(
    environment: Mapping[str, str], secret_names: Collection[str] = ()
) -> Iterator[tuple[str, str]]:
    for name, secret in environment.items():
        looks = looks_secret(name) and not PATH.match(secret)
        if len(secret) >= SHORTEST and (looks or name in secret_names):
            yield name, secret
