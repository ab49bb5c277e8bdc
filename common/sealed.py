"""JSON objects that notice damage: the last key is a checksum over all bytes before it.

    {"kind":"match","deal":48,"crc32":"5a0c81f2"}

CRC-32 finds every burst of up to 32 bits, and any other change but one in four thousand million.
Whoever means to deceive can compute it too.
"""

from __future__ import annotations

import re
from zlib import crc32

KEY = "crc32"
SEAL = re.compile(rb',\s*"crc32":\s*"([0-9a-f]{8})"\s*\}\s*\Z')
LONGEST = 64
"""More bytes than a seal takes."""


def sealed(text: bytes) -> bytes:
    """The object, of at least one key, with its checksum."""
    body = text[: text.rindex(b"}")].rstrip()
    return b'%b,"crc32":"%08x"}' % (body, crc32(body))


def unsealed(text: bytes) -> bytes:
    """The object without its checksum. Raises ValueError where it has none, where the checksum is
    another's, or stands elsewhere."""
    found = SEAL.search(text, max(0, len(text) - LONGEST))
    if found is None:
        if b'"crc32":' in text:
            raise ValueError("its checksum is not where it belongs")
        raise ValueError("it has no checksum")
    body = text[: found.start()]
    if crc32(body) != int(found[1], 16):
        raise ValueError("its checksum is wrong")
    return body + b"}"
