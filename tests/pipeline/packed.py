"""Reads what pages and files hold for the viewer of matches."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode
from typing import Any

PACKED = re.compile(r'data-packed="([^"]*)"|gauntlet\.take\("([^"]*)"\)')


def unpacked(text: str) -> dict[str, Any]:
    """Return the data in a page, or in a file of a published site."""
    found = PACKED.search(text)
    assert found
    data: dict[str, Any] = json.loads(zlib.decompress(b64decode(found[1] or found[2])))
    return data


def html_of(data: dict[str, Any], match: str) -> list[str]:
    """Return the HTML of each ply of a match, its end included."""
    shown = data["matches"][match]
    plies = [
        "".join(part["pieces"][at] for at in ply) for part in data["parts"] for ply in part["plies"]
    ]
    return plies[shown["start"] : shown["start"] + len(shown["plies"])]
