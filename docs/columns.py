"""What each column of a table means, as Markdown: `python docs/columns.py summary`."""

from __future__ import annotations

import sys

from gauntlet.pipeline.tables.registry import tables


def main() -> int:
    print("| column | meaning |\n|---|---|")
    for name in sys.argv[1:]:
        for column, meaning in tables()[name].columns.items():
            print(f"| `{column}` | {meaning} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
