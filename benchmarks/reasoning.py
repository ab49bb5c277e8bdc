"""Decisions per second of the reasoning methods, with the pocket model.

    python -m benchmarks.reasoning [--methods tot,talaga] [--matches 16] [--json F]

Tic-tac-toe, each method against a random player, the same matches run in three modes that give the
same records, answer for answer:

- flight: all matches concurrently, through the scheduler;
- alone: the same, one match at a time;
- calls: one match at a time, with one call per sample of each prompt, on the same engine with its
  prefix caching.

`METHOD.ratio` is flight over calls, `METHOD.alone_ratio` alone over calls, in decisions per second
of CPU time, so that other load on the machine does not count. `METHOD.calls` and `METHOD.tokens`
are per decision, `METHOD.usable` the share of decisions without a fallback. The slow modes play one
match in sixteen. Needs torch and transformers, no network.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.cot import Cot
from gauntlet.agents.prompting.direct import Direct
from gauntlet.agents.prompting.react import React
from gauntlet.agents.prompting.talaga import Talaga
from gauntlet.agents.prompting.tot import Tot
from gauntlet.agents.random import Random
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.models.base import Generate, Generation, Reply, Request, merge_samples
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.engine.generate import Generator
from gauntlet.models.engine.local import Local
from gauntlet.models.exchanges import ScoreExchange
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.plan.cells import Cell, Plan, Player, Task
from gauntlet.pipeline.play.chains import run
from gauntlet.pipeline.play.match import play
from gauntlet.pipeline.play.scheduler import Scheduler

METHODS: dict[str, Any] = {
    "direct": Direct(),
    "cot": Cot(),
    "cot_sc": Cot(samples=3),
    "react": React(),
    "tot": Tot(),
    "talaga": Talaga(),
}
SOURCE = Checkpoint("pkg:models/pocket/weights")
SLOW = 16
"""The slow modes play one match in this many."""
clock = time.process_time


def measure(name: str, matches: int, max_tokens: int) -> dict[str, float]:
    """Return the results of one method."""
    cell = table(replace(METHODS[name], max_tokens=max_tokens))
    plan = Plan((cell,), matches, seed=1)
    tasks = list(plan.tasks())
    few = tasks[: max(1, matches // SLOW)]
    ways: dict[str, tuple[Sequence[Task], Callable[[Local], list[MatchRecord]]]] = {
        "flight": (tasks, lambda model: scheduled(cell, tasks, model, matches)),
        "alone": (few, lambda model: scheduled(cell, few, model, 1)),
        "calls": (few, lambda model: one_by_one(cell, few, model)),
    }
    rates, records = {}, {}
    for way, (own, go) in ways.items():
        model = SOURCE.load()  # anew: a scheduler that closes ends its models
        model.answer([Generate(first_prompt(cell, tasks[0]), 4)])  # one-time initialisation
        started = clock()
        records[way] = go(model)
        decisions = sum(len(decided(record)) for record in records[way])
        rates[way] = decisions / (clock() - started)
        if [without_timings(one) for one in records[way]] != [
            without_timings(one) for one in records["flight"]
        ][: len(own)]:
            raise SystemExit(f"{name}: the answers of way {way!r} are others")
        model.close()
    made = [decision for record in records["flight"] for decision in decided(record)]
    each = {
        "calls": sum(decision.attempts for decision in made) / len(made),
        "tokens": sum(decision.tokens for decision in made) / len(made),
        "usable": 1 - sum(decision.fallback for decision in made) / len(made),
    }
    ratios = {
        "ratio": rates["flight"] / rates["calls"],
        "alone_ratio": rates["alone"] / rates["calls"],
    }
    speeds = {f"{way}_decisions_per_s": rate for way, rate in rates.items()}
    return {f"{name}.{key}": value for key, value in (ratios | speeds | each).items()}


def table(method: Any) -> Cell:
    """Return a cell with the model in seat 0 against a random player; nothing is stored, so its
    identity is a placeholder."""
    players = (Player("llm", LLM(method), SOURCE, None), Player("random", Random(), None, None))
    known = {"players": [{"agent": repr(method)}]}
    labels = {"game": "tic_tac_toe", "seats": "solo"}
    return Cell(
        "reasoning", labels, TicTacToe(), players, (0,), (0,), "win", False, False, None, known
    )


def scheduled(cell: Cell, tasks: Sequence[Task], model: Local, width: int) -> list[MatchRecord]:
    scheduler = Scheduler({cell.key: cell}, 1, {SOURCE: model}, width)
    try:
        finished = [future.result() for future in scheduler.submit(tasks)]
    finally:
        scheduler.close()
    for each in finished:
        if each.record is None:
            raise SystemExit(f"a match failed: {each.error}")
    return [each.record for each in finished if each.record is not None]


def one_by_one(cell: Cell, tasks: Sequence[Task], model: Local) -> list[MatchRecord]:
    return [run(play(cell, task, 1), lambda ask: alone(model, ask.request)) for task in tasks]


def alone(model: Local, request: Request) -> Reply:
    """Return the reply with each of its samples generated separately."""
    assert isinstance(request, Generate)
    writer: Generator = model._writer
    said: list[Generation] = []
    for text in writer._texts(request, writer.tokens.encode_all([request.prompt])[0]):
        writing = writer._new_writing()
        assert writing is not None
        writing.join([text])
        while text.reply is None:
            writing.step()
        said.append(text.reply)
    return merge_samples(said, request.n)


def first_prompt(cell: Cell, task: Task) -> Any:
    """Return the first prompt of a match."""
    prompts: list[Any] = []

    def stop(ask: Any) -> Reply:
        prompts.append(ask.request.prompt)
        raise StopAsyncIteration

    with suppress(StopAsyncIteration):
        run(play(cell, task, 1), stop)
    return prompts[0]


def decided(record: MatchRecord) -> list[Any]:
    """Return the decisions made by the model."""
    return [decision for decision in record.decisions if decision.asked]


def without_timings(record: MatchRecord) -> Any:
    """Return replies, moves and returns, without timings."""
    told = [
        [one.text for one in decision.asked if not isinstance(one, ScoreExchange)]
        for decision in record.decisions
    ]
    return told, [decision.chosen for decision in record.decisions], record.returns


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--matches", type=int, default=16)
    parser.add_argument("--max-tokens", type=int, default=48)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    figures: dict[str, float] = {
        "matches_in_flight": options.matches,
        "max_tokens": options.max_tokens,
    }
    for name in options.methods.split(","):
        if name not in METHODS:
            raise SystemExit(f"there is no method {name!r}: {', '.join(METHODS)}")
        found = measure(name, options.matches, options.max_tokens)
        figures |= found
        told = {key.partition(".")[2]: value for key, value in found.items()}
        print(
            f"{name:8} {told['flight_decisions_per_s']:8.2f} decisions/s,"
            f" {told['ratio']:5.1f} x call by call; {told['alone_ratio']:5.1f} x"
            f" with one match in flight; {told['calls']:.1f} calls, {told['tokens']:,.0f} tokens",
            flush=True,
        )
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
