"""The nodes of the config folders, built without Hydra: of a group, and what they describe."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import yaml

from gauntlet.common.conf_folders import conf_folders

ROOT = Path(__file__).parent.parent

FOLDERS = conf_folders()
"""Where configs lie; `python -m tests.games --config-dir DIR` adds one."""

Node = dict[str, Any]


def nodes(group: str) -> dict[str, Node]:
    """Every node of a config group, by name."""
    files = [file for folder in FOLDERS for file in sorted((folder / group).glob("*.yaml"))]
    return {file.stem: yaml.safe_load(file.read_text(encoding="utf-8")) for file in files}


def build(node: Node, **more: Any) -> Any:
    """The object a node describes, with those of the nodes in it, its lists as tuples; `more` are
    further arguments."""
    module, _, name = node["_target_"].rpartition(".")
    plain = {key: _built(value) for key, value in node.items() if key != "_target_"}
    return getattr(importlib.import_module(module), name)(**plain | more)


def _built(value: Any) -> Any:
    if isinstance(value, dict) and "_target_" in value:
        return build(value)
    return tuple(value) if isinstance(value, list) else value
