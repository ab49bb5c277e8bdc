"""What small models believe: `python -m benchmarks.beliefs [--deals N] [--models NAME...]`.

Plays deals of small poker games with a model in each seat in turn against a scripted player, asks
it side questions after every decision, and scores the answers by what turned out and by the exact
probabilities. Replies are kept by their prompt, so that a deal costs milliseconds.

    gain    the Brier score of the baseline (probabilities over the deal alone, even ones for moves
            and wins) less that of the model, with its 95% interval by deals
    exact   the same by the distance from the exact probabilities
    saved   deals scored by outcomes that one deal scored by exact probabilities replaces
    cover   share of single answers whose recalibrated probability lies in the consistency band

--table DIR writes beliefs.csv with all columns. --models: of the box, or those that `make
real-models` fetches.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.cloze import Cloze
from gauntlet.agents.rule import Rule
from gauntlet.common.disk import write_atomically
from gauntlet.games.base import Game
from gauntlet.games.holdem import Holdem
from gauntlet.games.openspiel.game import OpenSpiel
from gauntlet.models.base import Model, ModelSource, Reply, Request
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.replay import key
from gauntlet.pipeline.log.beliefs import MatchBeliefs
from gauntlet.pipeline.plan.cells import Cell, Player, Task
from gauntlet.pipeline.play.chains import Ask, run
from gauntlet.pipeline.play.match import play
from gauntlet.pipeline.sweep.beliefs import Asking
from gauntlet.pipeline.tables.commands.beliefs import COLUMNS, KINDS, BeliefTable, belief_scores
from gauntlet.stats import beliefs as scores

MODELS = ("pocket", "pocket_duel")
GAMES: Mapping[str, tuple[Game[Any], str]] = {
    "Kuhn": (OpenSpiel(name="kuhn_poker"), "equilibrium"),
    "Leduc": (OpenSpiel(name="leduc_poker"), "equilibrium"),
    "hold'em": (Holdem(mode="hands", hands=1), "mixed"),
}
SHARE = {"hold'em": 20}
"""A game whose prompts hardly repeat plays a fraction of the deals."""
SEED, CHUNK = 1, 64
HEADS = "game, opponent: model", "question", "beliefs", "Brier", "gain", "exact", "saved", "cover"


@dataclass(frozen=True)
class Remembering:
    """A model that answers each request once, and then from memory."""

    model: Model
    replies: dict[bytes, Reply] = field(default_factory=dict)

    def answer(self, requests: Sequence[Request]) -> Sequence[Reply]:
        new = {key(one): one for one in requests if key(one) not in self.replies}
        if new:
            found = self.model.answer(list(new.values()))
            self.replies.update(zip(new, found, strict=True))
        return [self.replies[key(one)] for one in requests]

    def close(self) -> None:
        self.model.close()


def source_of(name: str) -> Checkpoint:
    if name in MODELS:
        return Checkpoint(path=f"pkg:models/{name}/weights", dtype="float32")
    return Checkpoint(path=f"cache:{name}", dtype="bfloat16")


def cell_of(game: Game, policy: str, source: ModelSource) -> Cell:
    """The model against a scripted player, in both seats."""
    model = Player("model", LLM(Cloze()), source, None)
    players = (model, Player(policy, Rule(policy), None, None))
    return Cell("", {}, game, players, (0,), (0,), "win", True, False, None, {})


def believed(cell: Cell, deals: int, model: Model) -> list[MatchBeliefs]:
    """The model's beliefs in all matches of these deals, at every decision."""
    source = cell.players[0].model
    assert source is not None
    asking, found = Asking(cell, SEED, 1, {source: model}), list[MatchBeliefs]()

    def answer(ask: Ask) -> Reply:
        return model.answer([ask.request])[0]

    for first in range(0, deals, CHUNK):
        chunk = range(first, min(first + CHUNK, deals))
        tasks = [Task("", deal, at, f"{deal}.{at}") for deal in chunk for at in cell.rotations]
        found += asking.about([run(play(cell, task, SEED), answer) for task in tasks])
    return found


def cover(table: BeliefTable) -> float:
    """The share of single answers whose recalibrated probability lies in the band."""
    p, right = scores.flattened(table.stated, table.truth, table.answers)
    band = scores.consistency_band(
        table.stated, table.answers, table.events, np.random.default_rng(0), resamples=100
    )
    at = np.searchsorted(band.p, np.round(p * scores.STEPS) / scores.STEPS - 1e-9)
    fitted = scores.recalibrated(p, right)
    return float(((band.low[at] <= fitted) & (fitted <= band.high[at])).mean())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.beliefs")
    parser.add_argument("--deals", type=int, default=2_000, metavar="N")
    parser.add_argument("--games", nargs="+", choices=GAMES, default=[*GAMES])
    parser.add_argument("--models", nargs="+", default=MODELS, metavar="NAME")
    parser.add_argument("--table", type=Path, metavar="DIR")
    options = parser.parse_args(arguments)
    rows: list[dict[str, Any]] = []
    print(f"| {' | '.join(HEADS)} |\n|{'---|' * len(HEADS)}")
    for name in options.models:
        source = source_of(name)
        model = Remembering(source.load())
        for game in options.games:
            rules, policy = GAMES[game]
            deals = options.deals // SHARE.get(game, 1)
            matches = believed(cell_of(rules, policy, source), deals, model)
            for kind in KINDS:
                own = BeliefTable.from_rows(
                    [(m, one) for m in matches for one in m.beliefs if one.kind == kind]
                )
                names = {"cell": f"{game}, {policy}: {name}", "question": kind}
                rows.append({**names, **belief_scores(own, kind)})
                print(_line(rows[-1], cover(own)), flush=True)
        model.close()
    total = sum(int(row["beliefs"]) for row in rows)
    print(f"\n{total:,} beliefs")
    if options.table:
        frame = pd.DataFrame(rows).reindex(columns=[*COLUMNS])
        options.table.mkdir(parents=True, exist_ok=True)
        write_atomically(options.table / "beliefs.csv", frame.to_csv(index=False))
    return 0


def _line(row: Mapping[str, Any], covered: float) -> str:
    spans = [_span(row, one) for one in ("gain", "gain_exact")]
    saved = f"{row['deals_saved']:.1f}" if "deals_saved" in row else "-"
    told = (row["cell"], row["question"], f"{row['beliefs']:,}", f"{row['brier']:.4f}", *spans)
    return f"| {' | '.join((*told, saved, f'{covered:.0%}'))} |"


def _span(row: Mapping[str, Any], name: str) -> str:
    """A column with its interval, which needs 100 deals."""
    if name not in row:
        return "-"
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return f"{row[name]:+.4f}" + ("" if np.isnan(low) else f" ({low:+.4f} to {high:+.4f})")


if __name__ == "__main__":
    raise SystemExit(main())
