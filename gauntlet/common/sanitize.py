"""Makes untrusted text (from a server or a model) safe for a terminal and a log.

Terminals execute control characters, and bidirectional overrides mislead readers; both are shown by
number. A server may repeat the key it was sent; it is removed.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from functools import lru_cache
from urllib.parse import quote

CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Control characters except tabs and line breaks; bidirectional marks and overrides; separators
that some terminals break lines at; lone surrogates; invisible tags."""
SHORTEST = 6
"""Shorter values are not treated as secrets, because removing them would spoil ordinary words."""
RANDOM = 16
"""From this length on, parts of a secret are removed too."""
PART = 10
"""Length of a run of characters of a secret that is removed."""
MASK = r"(?:(?<![.*•])[.*•]{2,}+|…)"
"""The middle of a partially masked secret."""


def visible(text: str) -> str:
    r"""Replace each control character by its number, such as \x1b; lines are kept."""
    if text.isprintable():  # no such character is; most texts of one line end here
        return text
    return CONTROL.sub(lambda match: ascii(match.group())[1:-1], text)


def one_line(text: str, most: int = 300) -> str:
    """The text as one printable line of at most `most` characters."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= most else f"{line[: most - 3]}..."


def file_name(text: str) -> str:
    """The text as a file name of letters, digits, _ and -; different texts have different names."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", text)[:80]
    if plain == text:
        return plain
    return f"{plain}-{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()[:8]}"


def mask_secret(text: str, secret: str, mark: str) -> str:
    """Replace the secret by `mark`. It is found as it is and as encoded in URLs, JSON, HTML, base64
    (at any offset) and hexadecimal. Secrets shorter than SHORTEST are kept."""
    return _secret_pattern(secret).sub(lambda _: mark, text) if len(secret) >= SHORTEST else text


def mask_secret_parts(text: str, secret: str, mark: str) -> str:
    """The same, and also replace parts of a secret of RANDOM characters or more. Parts are PART
    characters in a row, or fewer at either end of a mask ("sk-a...9f3c")."""
    text = mask_secret(text, secret, mark)
    if len(secret) < RANDOM:
        return text
    masked, parts = _parts(secret)
    text = masked.sub(lambda _: mark, text)
    pieces, start, at = [], 0, 0
    while at <= len(text) - PART:
        if text[at : at + PART] not in parts:
            at += 1
            continue
        pieces += [text[start:at], mark]
        start = at + PART
        while text[start - PART + 1 : start + 1] in parts:
            start += 1
        at = start
    return "".join([*pieces, text[start:]])


@lru_cache(maxsize=64)
def _secret_pattern(secret: str) -> re.Pattern[str]:
    longest_first = sorted(_spellings(secret), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)))


@lru_cache(maxsize=64)
def _parts(secret: str) -> tuple[re.Pattern[str], frozenset[str]]:
    """A pattern for a mask with adjacent ends of the secret, and every part of PART characters."""
    lengths = range(len(secret) - 1, 2, -1)
    heads = "|".join(re.escape(secret[:length]) for length in lengths)
    tails = "|".join(re.escape(secret[-length:]) for length in lengths)
    rows = (word[at : at + PART] for word in _spellings(secret) for at in range(len(word)))
    parts = frozenset(row for row in rows if len(row) == PART)
    return re.compile(f"(?:{heads}){MASK}(?:{tails})?|{MASK}(?:{tails})"), parts


def _spellings(secret: str) -> set[str]:
    data = secret.encode()
    told = json.dumps(secret)[1:-1]
    candidates = {told, told.replace("/", "\\/"), quote(secret, safe=""), html.escape(secret)}
    candidates |= {data.hex(), data.hex().upper()}
    for before in range(3):  # a base64 letter is six bits: the number of preceding bytes matters
        coded = base64.b64encode(bytes(before) + data).decode().rstrip("=")
        end = len(coded) - bool((before + len(data)) % 3)
        own = coded[(0, 2, 3)[before] : end]
        candidates |= {own, own.replace("+", "-").replace("/", "_")}
    return {secret, *(spelling for spelling in candidates if len(spelling) >= SHORTEST)}
