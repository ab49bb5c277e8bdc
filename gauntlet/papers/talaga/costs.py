"""Cost of a move by method: calls, and tokens in and out, from the records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from pathlib import Path

import pandas as pd

from gauntlet.games.capabilities import seatings_of
from gauntlet.models.exchanges import TextExchange
from gauntlet.papers.talaga.ends import model_name
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.recorded import recorded_game
from gauntlet.pipeline.log.schema import DecisionRecord

COLUMNS = ("game", "method", "decisions", "calls", "tokens_in", "tokens_out", "fallbacks")


@dataclass
class Cost:
    """Sums over decisions. calls: samples generated; tokens_in: of prompts, each counted once for
    all of its samples; tokens_out: of all samples."""

    decisions: int = 0
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    fallbacks: int = 0

    def add(self, decision: DecisionRecord) -> None:
        self.decisions += 1
        self.fallbacks += decision.fallback
        for exchange in decision.asked:
            if isinstance(exchange, TextExchange):
                self.calls += exchange.n
                self.tokens_in += exchange.tokens[0]
                self.tokens_out += exchange.tokens[1]


def costs(folders: Iterable[Path]) -> pd.DataFrame:
    """Return one row per game and method with the columns COLUMNS: the number of decisions with
    model calls, and the mean cost of one; fallbacks are a share of them."""
    totals: dict[tuple[str, str], Cost] = {}
    for folder in dict.fromkeys(folders):
        place = Folder(folder)
        for about in place.sweep_cells():
            seatings = seatings_of(recorded_game(place.description(about)["identity"]["game"]))
            kind, players = (
                about.labels["game"].partition("[")[0],
                list(map(model_name, about.players)),
            )
            for record in place.matches(about.stem):
                seating = seatings[record.rotation % len(seatings)]
                for decision in record.decisions:
                    if decision.asked:
                        method = players[seating[decision.seat]]
                        totals.setdefault((kind, method), Cost()).add(decision)
    rows = [(*key, n, *(x / n for x in rest)) for key, (n, *rest) in _sums(totals).items()]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _sums(costs: dict[tuple[str, str], Cost]) -> dict[tuple[str, str], tuple[int, ...]]:
    return {key: astuple(cost) for key, cost in costs.items()}
