"""Networks in two shards on two processes answer like whole ones."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from queue import Queue
from typing import Any

import numpy as np
import pytest

from gauntlet.common.errors import ModelError
from gauntlet.models.base import Generate, Reply, Request, Scores
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.engine.memory import PACK_LEAST
from gauntlet.models.engine.shards import Rank, layer_weights

SPOILT = ("no sum", "no memory", "little free", "no DeepSpeed")
RANKS = 2
EXACT = 1e-4
CASES: dict[str, tuple[str, dict[str, object]]] = {
    "llama": ("llama", {}),
    "mistral, 3 key heads": ("mistral", {"num_attention_heads": 6, "num_key_value_heads": 3}),
    "qwen2, tied": ("qwen2", {"tie_word_embeddings": True}),
    "qwen3, tied, odd": ("qwen3", {"tie_word_embeddings": True, "intermediate_size": 81}),
    "gemma": ("gemma", {}),
}
"""Shapes with even and uneven shards; Gemma, sharded, uses the portable path."""


@dataclass(frozen=True)
class RankReport:
    """A rank's report on one case: its replies, its weights in the layers, the error it got, how
    often it computed a static part, and the final tokens of its packs."""

    replies: tuple[Reply, ...] = ()
    weights: int = 0
    error: str = ""
    computed: int = 0
    pack: int = 0


def run_rank(number: int, meeting: str, jobs: dict[str, Job], out: Queue[Any]) -> None:
    """A rank's process: every case in turn. Not in a fixture, so that it can be spawned."""
    import torch

    sys.modules["mlflow"] = None  # type: ignore[assignment]  # DeepSpeed would import it, for seconds
    torch.set_num_threads(1)
    out.put((number, {name: job(Rank(number, RANKS, meeting)) for name, job in jobs.items()}))


@dataclass(frozen=True)
class Job:
    """One checkpoint and its requests; `spoil` breaks something first."""

    source: Checkpoint
    requests: tuple[Request, ...]
    spoil: str = ""

    def __call__(self, rank: Rank) -> RankReport:
        with pytest.MonkeyPatch.context() as patch:
            if self.spoil == "no sum":
                patch.setattr("deepspeed.comm.inference_all_reduce", lambda *_, **__: None)
            if self.spoil == "no DeepSpeed":
                patch.setattr("deepspeed.init_inference", refuse)
            if self.spoil == "little free" and rank.number == 1:
                patch.setattr("gauntlet.models.engine.memory.free_bytes", lambda device: 1 << 20)
            try:
                local = self.source.load_part(rank)
            except ModelError as error:
                return RankReport(error=str(error))
            scorer: Any = local._scorer
            if self.spoil == "no memory" and rank.number == 1:
                patch.setattr(scorer.memory, "_has", lambda wanted: wanted < 3_000_000)
            scorer.proof.covers(128)
            computed: list[object] = []
            compute = scorer.engine.keys_values
            patch.setattr(
                scorer.engine, "keys_values", lambda head: computed.append(head) or compute(head)
            )
            replies = [*local.answer(self.requests), *local.answer(self.requests)]
            weights = layer_weights(scorer._plain.network)
            return RankReport(
                tuple(replies), weights, computed=len(computed), pack=scorer.pack_tokens
            )


def refuse(*_: object, **__: object) -> None:
    raise ValueError("cannot")


@pytest.fixture(scope="module")
def requests_(decisions) -> tuple[Request, ...]:
    written = [
        Generate(decision.prompts[0], 8, temperature=float(seed % 2), seed=seed)
        for seed, decision in enumerate(decisions[:6])
    ]
    return (*decisions[:12], *written)


@pytest.fixture(scope="module")
def jobs(make_checkpoint, requests_) -> dict[str, Job]:
    def job(family: str, settings: dict[str, object], spoil: str = "") -> Job:
        folder = str(make_checkpoint(family, **settings))
        return Job(Checkpoint(folder, device="cpu", shards=RANKS), requests_, spoil)

    llama = job("llama", {})
    spoilt = {spoil: replace(llama, spoil=spoil) for spoil in SPOILT}
    one_head = job("llama", {"num_key_value_heads": 1})
    cases = {name: job(*case) for name, case in CASES.items() if name != "llama"}
    return {"llama": llama, **cases, **spoilt, "one head": one_head}


@pytest.fixture(scope="module")
def reports(jobs, tmp_path_factory) -> list[dict[str, RankReport]]:
    """The reports of both ranks; they are started once for all cases."""
    spawn = multiprocessing.get_context("spawn")
    out = spawn.Queue()
    meeting = (tmp_path_factory.mktemp("meeting") / "file").as_uri()
    ranks = [
        spawn.Process(target=run_rank, args=(number, meeting, jobs, out), daemon=True)
        for number in range(RANKS)
    ]
    for rank in ranks:
        rank.start()
    by_rank = dict(out.get(timeout=900) for _ in ranks)
    for rank in ranks:
        rank.join()
    return [by_rank[number] for number in range(RANKS)]


class Whole:
    """A checkpoint in one process, and its replies."""

    def __init__(self, job: Job) -> None:
        local: Any = job.source.load()
        self.weights = layer_weights(local._scorer._plain.network)
        self.replies = list(local.answer(job.requests))


@pytest.fixture(scope="module")
def unsharded(jobs) -> Callable[[str], Whole]:
    whole = cache(lambda folder: Whole(next(j for j in jobs.values() if j.source.path == folder)))
    return lambda name: whole(jobs[name].source.path)


def scores(replies) -> np.ndarray:
    rows = [row for reply in replies if isinstance(reply, Scores) for row in reply.logprobs]
    return np.array([value for row in rows for value in row])


def off(report: RankReport, unsharded: Whole) -> float:
    ours = scores(report.replies[: len(unsharded.replies)])
    return float(np.abs(ours - scores(unsharded.replies)).max())


@pytest.mark.parametrize("name", CASES)
def test_two_ranks_answer_as_one_network(name, reports, unsharded, figure):
    full = unsharded(name)
    weights = [report[name].weights for report in reports]
    all_weights = full.weights
    difference = off(reports[0][name], full)
    figure(
        f"2 shards of {name}: log-probabilities within {difference:.1e} of one network, ranks "
        f"hold {' and '.join(f'{100 * w / all_weights:.0f}%' for w in weights)} of its layers"
    )
    assert difference < EXACT
    written = [reply for reply in full.replies if not isinstance(reply, Scores)]
    assert [r for r in reports[0][name].replies if not isinstance(r, Scores)] == [
        *written,
        *written,
    ]
    assert max(weights) < 0.75 * all_weights
    assert sum(weights) >= all_weights


@pytest.mark.parametrize("name", CASES)
def test_ranks_say_the_same_to_the_bit_and_again(name, jobs, reports):
    first, second = (report[name].replies for report in reports)
    assert first == second
    count = len(jobs[name].requests)
    assert first[:count] == first[count:]


def test_static_parts_stay_resident_on_every_rank(reports):
    assert [report["llama"].computed for report in reports] == [1, 1]


def test_without_the_sum_over_ranks_the_answers_are_others(reports, unsharded):
    assert off(reports[0]["no sum"], unsharded("no sum")) > 100 * EXACT


def test_all_ranks_halve_their_packs_when_one_lacks_memory(reports, unsharded):
    assert off(reports[0]["no memory"], unsharded("no memory")) < EXACT
    packs = [report["no memory"].pack for report in reports]
    assert packs[0] == packs[1] < reports[0]["llama"].pack


def test_all_ranks_keep_to_the_memory_of_the_least(reports, unsharded):
    assert off(reports[0]["little free"], unsharded("little free")) < EXACT
    packs = [report["little free"].pack for report in reports]
    assert packs == [PACK_LEAST, PACK_LEAST]


def test_where_deepspeed_cannot_the_library_cuts_the_network(reports, unsharded, figure):
    name = "no DeepSpeed"
    full = unsharded(name)
    difference = off(reports[0][name], full)
    figure(f"2 shards of llama by transformers: log-probabilities within {difference:.1e}")
    assert difference < EXACT
    assert reports[0][name].weights < 0.75 * full.weights


def test_more_ranks_than_key_heads_are_refused(reports):
    for report in reports:
        assert "has 1 key head: it can be cut into at most 1 shards, not 2" in (
            report["one head"].error
        )


@pytest.mark.parametrize(
    ("settings", "why"),
    [({"shards": 0}, "at least 1"), ({"shards": 2, "offload": "disk"}, "for one device")],
)
def test_shards_that_cannot_be_meant_are_refused(settings, why):
    with pytest.raises(ValueError, match=why):
        Checkpoint("folder", dtype="bfloat16", **settings)
