"""Keys of servers: each in an environment variable, and in no message."""

from __future__ import annotations

import os

from gauntlet.common.errors import ModelError


def read_key(variable: str) -> str:
    """The key, without white space around it; "" if the variable is not set. Raises ModelError for
    one that no header can carry."""
    given = os.environ.get(variable, "")
    key = given.strip()
    if given and not key:
        raise ModelError(f"the variable {variable} is blank; give it a key, or unset it")
    if not all("!" <= character <= "~" for character in key):
        raise ModelError(
            f"the variable {variable} holds a space or a character that no key has; only printable "
            "ASCII characters are allowed"
        )
    return key
