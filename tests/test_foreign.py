"""Text from outside: it cannot control the terminal, and keys in it are redacted."""

from __future__ import annotations

import base64
import html
import json
import time
from urllib.parse import quote

import pytest

from gauntlet.common.sanitize import mask_secret, mask_secret_parts, one_line, visible

KEY = "sk-Ab/3+d9<f1\\7c>e5&a8"
SPELT = {
    "as it is": KEY,
    "in a URL": quote(KEY, safe=""),
    "in JSON": json.dumps({"key": KEY}),
    "with escaped slashes": json.dumps(KEY).replace("/", "\\/"),
    "in HTML": html.escape(KEY),
    "base64": base64.b64encode(KEY.encode()).decode(),
    "base64 of a password": base64.b64encode(f"me:{KEY}".encode()).decode(),
    "base64 of a header": base64.b64encode(f"Bearer {KEY}\r\n".encode()).decode(),
    "base64 for URLs": base64.urlsafe_b64encode(b"?" + KEY.encode()).decode(),
    "numbers": KEY.encode().hex(),
}


@pytest.mark.parametrize("spelling", SPELT)
def test_a_secret_goes_however_it_is_spelt(spelling: str) -> None:
    text = f"it is {SPELT[spelling]} as you said"
    for cut in (mask_secret, mask_secret_parts):
        left = cut(text, KEY, "*")
        assert left.startswith("it is ")
        assert left.endswith(" as you said")
        assert "*" in left
        # What is left is at most what stood beside it, and five bits of its ends.
        longest = max(len(part) for part in left.split("*"))
        assert longest <= len("it is ") + len(' {"key": "Bearer abc') or spelling == "in JSON"
        for at in range(2, len(SPELT[spelling]) - 10):
            piece = SPELT[spelling][at : at + 10]
            assert piece not in left or piece in '{"key": "' + "QmVhcmVyIA" + "bWU6"


@pytest.mark.parametrize(
    "part",
    [
        KEY[:12],
        KEY[5:16],
        f"{KEY[:4]}...",
        f"{KEY[:3]}**********{KEY[-4:]}",
        f"...{KEY[-4:]}",
        f"{KEY[:9]}…",
    ],
)
def test_a_part_of_a_secret_goes_too(part: str) -> None:
    assert mask_secret_parts(f"bad key: {part} !", KEY, "*") == "bad key: * !"
    assert mask_secret(f"bad key: {part} !", KEY, "*") == f"bad key: {part} !"


def test_ordinary_words_stay() -> None:
    text = "wait... ** nothing here **** needs to go; sk-learn, 3+d, … and so on."
    assert mask_secret_parts(text, KEY, "*") == text
    assert mask_secret_parts("empty EMPTY", "EMPTY", "*") == "empty EMPTY", "too short to be one"
    assert (
        mask_secret_parts("the fine-server said", "my-fine-server1", "*") == "the fine-server said"
    )


@pytest.mark.parametrize("text", ["x" * 50_000, "." * 50_000, "sk-" * 17_000, KEY * 2000])
def test_no_text_takes_long(text: str) -> None:
    started = time.process_time()
    mask_secret_parts(text, KEY, "*")
    assert time.process_time() - started < 2


def test_what_a_terminal_would_obey_is_shown() -> None:
    bad = "\x1b[2J\x9b1m\x07\r\x00\u202ereversed\u2066\u200f\ud800\U000e0041\u2028"
    assert visible(bad).isprintable()
    assert visible("\x1b[2J\u202e") == r"\x1b[2J\u202e"
    for fine in ("two\nlines\tand a tab", "žluťoučký 漢字 👩‍🚀 עברית"):
        assert visible(fine) == fine


def test_one_line_is_one_and_short() -> None:
    assert one_line(" a\r\nb\x1d c\u2028d ") == "a b c d"
    assert one_line("x" * 500) == "x" * 297 + "..."
