"""The resolved config of a sweep as one document: what all its jobs share, and what each sets.

    name: quickstart
    prompt:
      moves: 5
    jobs:
    - overrides: [prompt=cloze]
      prompt:
        _target_: agents.prompting.cloze.Cloze

A job's whole config is what is shared with the job's own merged in. A job makes a cell of the
table, of a round robin one for every pair of players; jobs of several seeds make the same ones.
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
    """What all jobs share, and under `jobs`, where there are several, what tells each from the
    others: the words of the command line, and the keys."""
    common = _shared([job.config for job in jobs])
    if len(jobs) == 1:
        return common
    typed = set(jobs[0].overrides).intersection(*(job.overrides for job in jobs))
    own = [
        {
            "overrides": [word for word in job.overrides if word not in typed],
            **_rest(job.config, common),
        }
        for job in jobs
    ]
    return {**common, "jobs": own}


def as_yaml(document: Mapping[str, Any]) -> str:
    """The document as a file."""
    how = {"sort_keys": False, "allow_unicode": True, "width": 100}
    return f"{HEAD}{yaml.dump(document, Dumper=yaml.CSafeDumper, **how)}"


def _shared(configs: Sequence[Node]) -> dict[str, Any]:
    """What stands in all of them under the same keys, however deep."""
    found = {}
    for key, value in configs[0].items():
        if not all(key in other for other in configs):
            continue
        values = [other[key] for other in configs]
        if all(isinstance(one, Mapping) for one in values):
            inner = _shared(values)
            if inner or not value:
                found[key] = inner
        elif all(_same(one, value) for one in values):
            found[key] = value
    return found


def _same(one: Any, other: Any) -> bool:
    """1, 1.0 and True are not."""
    return repr(one) == repr(other)


def _rest(config: Node, common: Node) -> dict[str, Any]:
    """What the config has beyond that."""
    found = {}
    for key, value in config.items():
        if key not in common:
            found[key] = value
        elif isinstance(value, Mapping) and (inner := _rest(value, common[key])):
            found[key] = inner
    return found
