"""Print the meaning of a table's columns as Markdown: `python docs/columns.py summary`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from gauntlet.pipeline.tables.registry import tables


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python docs/columns.py", description="What each column of a table means."
    )
    parser.add_argument("table", choices=[*tables()], help="the name of its CSV")
    given = parser.parse_args(arguments)
    print("| column | meaning |\n|---|---|")
    for column, meaning in tables()[given.table].columns.items():
        print(f"| `{column}` | {meaning} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
