"""config.yaml: the composed config can be restored from it, and it contains no secret."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from gauntlet.pipeline.config.jobs import Composed
from gauntlet.pipeline.config.resolved import as_yaml, document
from tests.pipeline.conftest import Sweep


def merged(common: Mapping[str, Any], specific: Mapping[str, Any]) -> dict[str, Any]:
    """As a reader of the file would."""
    found = dict(common)
    for key, value in specific.items():
        both = isinstance(value, dict) and isinstance(found.get(key), dict)
        found[key] = merged(found[key], value) if both else value
    return found


JOBS: list[dict[str, Any]] = [
    {"prompt": {"_target_": "cloze", "moves": 5, "deep": {}}, "seed": 1, "players": [1, 2]},
    {"prompt": {"_target_": "cot", "moves": 5, "deep": {}, "tokens": 9}, "seed": 1, "players": []},
    {"prompt": None, "seed": True, "players": [1, 2], "more": {"x": "on", "y": None}},
]


@pytest.mark.parametrize("jobs", [JOBS, JOBS[:2], JOBS[::2], JOBS[:1], [JOBS[0]] * 2])
def test_shared_with_a_jobs_own_is_what_was_composed(jobs: list[dict[str, Any]]) -> None:
    words = [("deals=3", f"prompt={number}") for number in range(len(jobs))]
    told = [Composed(job, {}, typed) for job, typed in zip(jobs, words, strict=True)]
    read = yaml.safe_load(as_yaml(document(told)))
    own = read.pop("jobs", [{}])
    if len(jobs) > 1:
        assert [one.pop("overrides") for one in own] == [[second] for _, second in words]
    for job, one in zip(jobs, own, strict=True):
        back = merged(read, one)
        assert json.dumps(back, sort_keys=True) == json.dumps(job, sort_keys=True)


def test_what_jobs_share_stands_once() -> None:
    told = document([Composed(job, {}, ()) for job in JOBS[:2]])
    assert told["prompt"] == {"moves": 5, "deep": {}}
    assert told["jobs"][1]["prompt"] == {"_target_": "cot", "tokens": 9}
    assert "seed" not in told["jobs"][1]


def test_a_run_writes_its_config_without_secrets(sweep: Sweep, folder: Path) -> None:
    words = ("agent=random,rule", "prompt=cloze", "deals=1", "name=sk-Zx81-horse", "seed=1,2")
    assert sweep(*words) == 0
    text = (folder / "config.yaml").read_text()
    assert "Zx81" not in text
    found = yaml.safe_load(text)
    assert (found["deals"], found["output_dir"]) == (1, str(folder))
    assert [(job["overrides"], job["seed"]) for job in found["jobs"]] == [
        (["agent=random", "seed=1"], 1),
        (["agent=random", "seed=2"], 2),
        (["agent=rule", "seed=1"], 1),
        (["agent=rule", "seed=2"], 2),
    ]
    assert found["jobs"][2]["agent"]["_target_"] == "gauntlet.agents.rule.Rule"
    assert sweep("agent=rule", "prompt=cloze", "deals=2", "name=other", "seed=1,2") == 0
    assert yaml.safe_load((folder / "config.yaml").read_text())["name"] == "other"
