"""Count the words that the documents ask a reader to read: `python docs/words.py [--files]`.

Tables, code blocks, and text between `<!-- made by ... -->` and `<!-- end -->` do not count, nor do
the changelog and the targets of links.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence

from figures import ROOT, documents

NOT_READ = re.compile(
    r"<!-- made by.*?<!-- end -->|^[ ]*(```|:::).*?^[ ]*\1|^[ ]*\|.*?$|\]\([^)]*\)|<!--.*?-->",
    re.DOTALL | re.MULTILINE,
)


def words(text: str) -> int:
    return len(re.findall(r"\S*\w\S*", NOT_READ.sub(" ", text)))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python docs/words.py", description="Count the words of the documents."
    )
    parser.add_argument("--files", action="store_true", help="each document's too, longest first")
    counts = {
        str(file.relative_to(ROOT)): words(file.read_text(encoding="utf-8")) for file in documents()
    }
    if parser.parse_args(arguments).files:
        for name, count in sorted(counts.items(), key=lambda item: -item[1]):
            print(f"{count:>6,}  {name}")
    print(f"{sum(counts.values()):,}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
