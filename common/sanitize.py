"""Text from outside (a server's words, a model's), made fit for a terminal and a log.

A terminal obeys control characters, and a reader is deceived by those that turn the direction of
text; both are shown by their number. A server may repeat a key that it was sent; it is cut out.
"""

from __future__ import annotations

import base64
import html
import json
import re
from functools import lru_cache
from urllib.parse import quote

CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Control characters but for tabs and line breaks; marks and overrides of direction; separators
that some terminals break lines at; halves of characters; tags that nobody sees."""
SHORTEST = 6
"""A shorter value is no secret, and cutting it out would spoil ordinary words."""
RANDOM = 16
"""From so many characters on, a part of a secret says something of it that chance does not."""
PART = 10
"""Characters of a secret in a row that are cut out with it."""
MASK = r"(?:(?<![.*•])[.*•]{2,}+|…)"
"""What stands in the middle of a secret that is shown in part."""


def visible(text: str) -> str:
    r"""The text with each control character as its number, such as \x1b; lines stay lines."""
    return CONTROL.sub(lambda found: ascii(found.group())[1:-1], text)


def one_line(text: str, most: int = 300) -> str:
    """The text as one printable line of at most so many characters."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= most else f"{line[: most - 3]}..."


def without(text: str, secret: str, mark: str) -> str:
    """The text with `mark` for the secret, as it is or as URLs, JSON, HTML, base64 (also with
    something before it) and hexadecimal numbers spell it. One below SHORTEST stays."""
    return _secret_pattern(secret).sub(lambda _: mark, text) if len(secret) >= SHORTEST else text


def without_parts(text: str, secret: str, mark: str) -> str:
    """The same, and `mark` for parts of a secret of RANDOM characters or more: PART of them in a
    row, or fewer at either end of a mask ("sk-a...9f3c")."""
    text = without(text, secret, mark)
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
    """What a mask and the ends around it look like, and every part of PART characters."""
    lengths = range(len(secret) - 1, 2, -1)
    heads = "|".join(re.escape(secret[:length]) for length in lengths)
    tails = "|".join(re.escape(secret[-length:]) for length in lengths)
    rows = (word[at : at + PART] for word in _spellings(secret) for at in range(len(word)))
    parts = frozenset(row for row in rows if len(row) == PART)
    return re.compile(f"(?:{heads}){MASK}(?:{tails})?|{MASK}(?:{tails})"), parts


def _spellings(secret: str) -> set[str]:
    data = secret.encode()
    told = json.dumps(secret)[1:-1]
    found = {told, told.replace("/", "\\/"), quote(secret, safe=""), html.escape(secret)}
    found |= {data.hex(), data.hex().upper()}
    for before in range(3):  # a letter of base64 is six bits: how many bytes stand before matters
        coded = base64.b64encode(bytes(before) + data).decode().rstrip("=")
        end = len(coded) - bool((before + len(data)) % 3)
        own = coded[(0, 2, 3)[before] : end]
        found |= {own, own.replace("+", "-").replace("/", "_")}
    return {secret, *(spelling for spelling in found if len(spelling) >= SHORTEST)}
