"""Which keys a run's config has. Hydra takes `+key=value`, `~key` and whatever stands in a file
without a word; a run does not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from common.errors import UserError, nearest
from pipeline.config.players import Node
from pipeline.config.values import one_of, shown, text, texts, whole

GROUPS = ("game", "agent", "model", "prompt", "seats")
"""The choices that make a cell."""

KEYS = (
    *(*GROUPS, "launch", "tracking", "name", "deals", "simulate", "seed", "samples", "output_dir"),
    *("width", "rotate", "quirks", "baseline", "stop", "expect", "pairing", "players", "controls"),
    *("test", "margin", "measure", "packages", "allow_env", "pairs", "accept_code", "noise_floor"),
    "max_failures",
)

LAUNCH = {
    "inline": {"workers"},
    "ray": {"workers", "patience", "address", "nodes", "auth", "token_file"},
    "slurm": {
        *("workers", "patience", "nodes", "partition", "account", "time", "gpus_per_node"),
        *("cpus_per_task", "extra", "signal", "requeues", "dry_run"),
    },
}
"""The settings of each kind of launch."""

TRACKING = {"none": {"store"}, "mlflow": {"store", "traces"}}
TRACES = ("sample", "all", "none")
"""Of which matches the model calls go to MLflow; a config of an older version says nothing."""


def check(plain: Node) -> None:
    """Raises UserError for a key that no run has, for one that is missing, and for a group without
    a choice."""
    _only("", plain, KEYS)
    for group in (*GROUPS, "launch"):
        if not isinstance(plain.get(group), Mapping):
            raise UserError(
                f"{group} is {shown(plain.get(group))}; a run needs one: {group}=NAME "
                "(python -m pipeline.run --help lists them)"
            )
    for key in KEYS:
        if key not in plain and key != "tracking":
            raise UserError(f"{key} is missing; a run needs it: {key}=VALUE")
    texts("allow_env", plain["allow_env"])


def launch(plain: Node) -> Node:
    """The launch node, its keys known and its workers a number. Raises UserError."""
    node: Node = plain["launch"]
    _settings("launch", node, LAUNCH)
    for key in {"workers", "nodes"} & node.keys():
        if node[key] is not None:
            whole(f"launch.{key}", node[key], 1, further="or null" if key == "workers" else "")
    return node


def tracking(plain: Node) -> Node:
    """The tracking node; none where the group was taken out. Raises UserError."""
    node: Any = plain.get("tracking")
    if node is None:
        return {"kind": "none", "store": None}
    _settings("tracking", node, TRACKING)
    if node["kind"] != "none":
        text("tracking.store", node.get("store"))
        one_of("tracking.traces", node.get("traces", TRACES[0]), TRACES)
    return {"traces": TRACES[0], **node}


def expect(node: Any, known: Iterable[str]) -> Mapping[str, Any]:
    """The node of `expect`, with exactly the known keys. Raises UserError."""
    names = tuple(known)
    if not isinstance(node, Mapping):
        raise UserError(f"expect is {shown(node)}; it must have the keys {', '.join(names)}")
    _only("expect.", node, names)
    for key in names:
        if key not in node:
            raise UserError(f"expect.{key} is missing; a run needs it: expect.{key}=VALUE")
    return node


def _settings(group: str, node: Any, kinds: Mapping[str, Iterable[str]]) -> None:
    if not isinstance(node, Mapping):
        raise UserError(f"{group} is {shown(node)}; choose one by {group}=NAME")
    kind = one_of(f"{group}.kind", node.get("kind"), tuple(kinds))
    _only(f"{group}.", node, ("kind", *kinds[kind]))


def _only(where: str, node: Mapping[str, Any], known: Iterable[str]) -> None:
    names = tuple(known)
    for key in node:
        if key not in names:
            raise UserError(f"{where}{key} is not a key of the config{nearest(str(key), names)}")
