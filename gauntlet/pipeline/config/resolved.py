"""A sweep's resolved config as one document: what its jobs share, and what each sets.

    name: quickstart
    prompt:
      moves: 5
    jobs:
    - overrides: [prompt=cloze]
      prompt:
        _target_: agents.prompting.cloze.Cloze

A job's full config is the shared part with the job's own merged in. A job gives one cell of the
table, or in a round robin one per pair of players; jobs that differ only in the seed share cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from gauntlet.pipeline.config.jobs import Composed
from gauntlet.pipeline.config.players import Node

HEAD = (
    "# The config of the latest run, resolved: what its jobs share; under `jobs` what each sets.\n"
)


def document(jobs: Sequence[Composed]) -> dict[str, Any]:
    """The shared config and, if there are several jobs, under `jobs` what distinguishes each: its
    command-line words and its keys."""
    first, *other_configs = (job.config for job in jobs)
    shared = dict(first)
    for other in other_configs:
        shared = _split(shared, other)[0]
    if not other_configs:
        return shared
    words = set(jobs[0].overrides).intersection(*(job.overrides for job in jobs))
    differing = [
        {
            "overrides": [word for word in job.overrides if word not in words],
            **_split(job.config, shared)[1],
        }
        for job in jobs
    ]
    return {**shared, "jobs": differing}


def as_yaml(document: Mapping[str, Any]) -> str:
    """The document as YAML text."""
    how = {"sort_keys": False, "allow_unicode": True, "width": 100}
    return f"{HEAD}{yaml.dump(document, Dumper=yaml.CSafeDumper, **how)}"


def _split(config: Node, other: Node) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split the config, recursively, into what the other also has under the same keys, and the
    rest."""
    shared, rest = dict[str, Any](), dict[str, Any]()
    for key, value in config.items():
        if isinstance(value, Mapping) and isinstance(other.get(key), Mapping):
            inner, more = _split(value, other[key])
            shared |= {key: inner} if inner or not value else {}
            rest |= {key: more} if more else {}
        else:
            same = key in other and repr(value) == repr(other[key])  # 1, 1.0 and True differ
            (shared if same else rest)[key] = value
    return shared, rest
