"""The card of an exported data set: a README.md as Hugging Face reads it, and as a person does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables.columns import DECISIONS, MATCHES, listed
from gauntlet.pipeline.tables.run_metadata import facts

SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
"""Hugging Face's words for how many rows there are, below so many; beyond them LARGE."""
LARGE = "1M<n<10M"

FRONT = """\
---
pretty_name: {title}
license: other
license_name: none-given
language: [en]
task_categories: [text-generation]
tags: [games, language-models, gauntlet]
size_categories: [{size}]
configs:
- config_name: matches
  data_files: matches.parquet
  default: true
- config_name: decisions
  data_files: decisions.parquet
---
"""
BODY = """
# {name}

{matches:,} matches and {decisions:,} decisions, as Gauntlet's log of the sweep holds them: all that
was played, also beyond the deals that the tables count (`counted`). A row of `decisions` has every
prompt that was sent, whole, and every reply.

Licence: none is given yet. Whoever publishes this chooses one here and in the lines above, after a
look at the terms of the models that wrote the replies.

## How it was played

{facts}

## Cells

{cells}

## Loading

```python
import pandas as pd

matches = pd.read_parquet("matches.parquet")
matches[matches["counted"]].groupby("cell")["result"].mean()
```

`datasets.load_dataset("parquet", data_files="decisions.parquet")` reads it without this card.

## matches.parquet, a row a match

{of_matches}

## decisions.parquet, a row a decision, of all seats

{of_decisions}
"""


def card(folder: Path, results: Sequence[CellResults], matches: int, decisions: int) -> str:
    """The card of a folder whose export has so many rows."""
    name = folder.resolve().name
    size = next((words for limit, words in SIZES if decisions < limit), LARGE)
    return FRONT.format(title=json.dumps(name), size=size) + BODY.format(
        name=name,
        matches=matches,
        decisions=decisions,
        facts=_facts(folder, results),
        cells=_cells(results),
        of_matches=listed(MATCHES),
        of_decisions=listed(DECISIONS),
    )


def _facts(folder: Path, results: Sequence[CellResults]) -> str:
    """Those at the top of a report, but for the machine's name."""
    told = facts(folder, results, [result.about.name for result in results])
    shown = (fact for fact in told if fact.term != "last played")
    return "\n".join(f"- {fact.term}: {'; '.join(fact.values)}" for fact in shown)


def _cells(results: Sequence[CellResults]) -> str:
    """What each cell is, how many matches of it count, and their mean."""
    lines = [
        "| cell | game | model | prompt | matches that count | measure | mean |",
        "|---" * 7 + "|",
    ]
    for result in results:
        about, figures = result.about, result.outcomes.column("figure")
        named = (about.name, *(about.labels[name] for name in ("game", "model", "prompt")))
        mean = f"{figures.mean():.4f}" if len(figures) else "-"
        lines.append(
            "| " + " | ".join([*named, f"{len(figures):,}", about.measure.name, mean]) + " |"
        )
    return "\n".join(lines)
