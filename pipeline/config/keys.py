"""The keys of a run's config and what each may be. Hydra takes `+key=value`, `~key` and whatever
stands in a file without a word; a run does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypedDict, get_type_hints

from msgspec import Meta

from gauntlet.common.errors import UserError
from gauntlet.pipeline.config.players import Node
from gauntlet.pipeline.config.values import checked, settings, shown

GROUPS = ("game", "agent", "model", "prompt", "seats")
"""The choices that make a cell."""
MOST = 1_000_000_000
"""The most deals of a seed."""
MOST_PLAYED = 10**8
"""The most deals of a sweep that are played and kept as records, of all seeds together."""
MOST_SEED = 2**63 - 1

Text = Annotated[str, Meta(pattern=r"\S")]
Share = Annotated[float, Meta(gt=0, lt=1)]
Count = Annotated[int, Meta(ge=1)]
Texts = tuple[str, ...]
TestName = Literal["two_sided", "above", "non_inferior"]
Stop = Literal["fixed", "sprt", "precision"]
Traces = Literal["sample", "all", "none"]
TRACES = ("sample", "all", "none")
"""Of which matches the model calls go to MLflow; a config of an older version says nothing."""


RENAMED = {
    "width": "concurrent_matches",
    "accept_code": "allow_code_change",
    "pairs": "comparisons",
}
"""What keys were called before."""


class Keys(TypedDict):
    """All keys of a run; conf/config.yaml says what each is for."""

    game: Any
    agent: Any
    model: Any
    prompt: Any
    seats: Any
    launch: Any
    tracking: Any
    name: Text
    deals: Annotated[int, Meta(ge=1, le=MOST)] | Literal["auto"]
    simulate: bool
    seed: Annotated[int, Meta(ge=0, le=MOST_SEED)]
    samples: Annotated[int, Meta(ge=1, le=10_000)]
    output_dir: Text
    concurrent_matches: Annotated[int, Meta(ge=1, le=100_000)]
    rotate: bool
    quirks: Literal["none", "paper"]
    baseline: Text | None
    stop: Stop
    expect: Any
    pairing: Literal["seats", "round_robin"]
    players: Any
    controls: Any
    test: TestName
    margin: Share
    measure: Text | None
    packages: Texts
    allow_env: Texts
    comparisons: Any
    allow_code_change: bool
    noise_floor: bool
    max_failures: Count | None


HINTS = get_type_hints(Keys, include_extras=True)
KEYS = tuple(HINTS)

_PLACED = {"workers": Count | None, "patience": Any}
_MANY = {**_PLACED, "nodes": Count | None}
LAUNCH: Mapping[str, Mapping[str, Any]] = {
    "inline": {"workers": Count | None},
    "ray": {**_MANY, **dict.fromkeys(("address", "auth", "token_file"), Any)},
    "slurm": {
        **_MANY,
        **dict.fromkeys(("partition", "account", "time", "gpus_per_node", "cpus_per_task"), Any),
        **dict.fromkeys(("extra", "signal", "requeues", "dry_run"), Any),
    },
}
"""The settings of each kind of launch."""
TRACKING: Mapping[str, Mapping[str, Any]] = {
    "none": {"store": Any, "traces": Any},
    "mlflow": {"store": Text, "traces": Traces},
}


def read(plain: Node) -> dict[str, Any]:
    """The value of every key, checked; what is within groups only as far as any run needs it.
    Raises UserError."""
    for key in RENAMED.keys() & plain.keys():
        raise UserError(f"{key} is now called {RENAMED[key]}")
    for group in (*GROUPS, "launch"):
        if not isinstance(plain.get(group), Mapping):
            raise UserError(
                f"{group} is {shown(plain.get(group))}; a run needs one: {group}=NAME "
                "(python -m pipeline.run --help lists them)"
            )
    tracking = plain.get("tracking", {"kind": "none"})
    if isinstance(tracking, Mapping):
        tracking = {"store": None, "traces": TRACES[0], **tracking}
    values = settings({**plain, "tracking": tracking}, HINTS)
    values["launch"] = _kind("launch", values["launch"], LAUNCH)
    values["tracking"] = _kind("tracking", values["tracking"], TRACKING)
    return values


def _kind(group: str, node: Any, kinds: Mapping[str, Mapping[str, Any]]) -> Node:
    """The node of a group whose `kind` says which settings it may have."""
    if not isinstance(node, Mapping):
        raise UserError(f"{group} is {shown(node)}; choose one by {group}=NAME")
    kind = checked(node.get("kind"), Literal[tuple(kinds)], f"{group}.kind")
    return settings(node, {"kind": str, **kinds[kind]}, f"{group}.", optional=True)
