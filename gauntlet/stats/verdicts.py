"""What an adaptive tournament settles; apart from `stats.tournament`, so that configs are read
without its libraries."""

from __future__ import annotations

from typing import Literal

Verdict = Literal["order", "top1", "pair", "all"]
"""What is to be settled: how all players rank; which is the best; which of the first two is better;
who is better in every pair, each by its own matches."""
