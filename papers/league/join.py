"""Join the public league: `gauntlet join MODEL.yaml`, in a checkout.

MODEL.yaml describes the model as a file of conf/model does. It plays the league's deals against the
random player, by each method; its place is printed, and a folder is written that a pull request
adds. `--check` is what a reviewer, or the workflow, runs on such folders.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from rich.console import Console

from gauntlet.common.errors import UserError, counted
from gauntlet.common.process import as_process
from gauntlet.common.terminal import console
from gauntlet.papers.league.matches import ANCHOR, LOG, logs, read, unpacked_logs
from gauntlet.papers.league.results import leaderboard, leaderboard_lines
from gauntlet.pipeline import run
from gauntlet.pipeline.config import secrets
from gauntlet.pipeline.config.compose import CONF
from gauntlet.pipeline.log import archive
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.progress import Waiting
from gauntlet.pipeline.log.results import CellInfo
from gauntlet.pipeline.plan.build import build_model
from gauntlet.pipeline.verify import Findings, replay, report, verify

MORE = ("tracking=none",)
REFERENCE = "smollm2_135m"
"""The model whose place in the league's games a new one takes."""
METHODS = "pride,cloze,counterfactual,vanilla,direct"
ENTRIES = Path("papers/league/entries")
"""Relative: the entry is written into the checkout in which the model joins."""
MODEL = "model.yaml"
NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")
DEALS = 4
"""Deals of each game that a joining model plays."""


def join(model: Path, methods: Sequence[str], deals: int, out: Console) -> int:
    """Play, print the place, write the entry; returns the exit status. Raises UserError."""
    name = checked_name(model, model.stem)
    if unknown := [method for method in methods if method not in METHODS.split(",")]:
        raise UserError(f"the league does not ask by {', '.join(unknown)}; it does by {METHODS}")
    refuse_known(model, name)
    folder = Path("outputs/join") / name
    with TemporaryDirectory() as configs:
        for group, text in (
            ("model", model.read_text("utf-8")),
            ("experiment", plays(name, methods)),
        ):
            (Path(configs) / group).mkdir()
            (Path(configs) / group / f"{name}.yaml").write_text(text, "utf-8")
        words = (f"experiment={name}", f"deals={deals}", f"output_dir={folder}", *MORE)
        status = run.main([*words, "--config-dir", configs])
    if status:
        return status
    for line in place(folder, name):
        out.print(line, soft_wrap=True, highlight=False, markup=False)
    entry = ENTRIES / name
    entry.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(model, entry / MODEL)
    archive.pack(Folder(folder), entry / LOG.name)
    out.print(f"{entry}: add this folder by a pull request", soft_wrap=True)
    return 0


def refuse_known(model: Path, name: str) -> None:
    """Raises UserError if the league has a model of these weights, or if they are not here. A file
    that takes values from the environment is left to the check of its entry."""
    text = model.read_text(encoding="utf-8")
    if "${" in text:
        return
    identity = build_model(yaml.safe_load(text), f"model {name}", ()).identity()
    with unpacked_logs(_other_logs(name)) as folders:
        known = _models(map(Folder, folders)).get(_weights(identity))
    if known:
        raise UserError(f"{model}: the league has these weights, as {known}")


def _other_logs(name: str) -> list[Path]:
    """The league's own log, then those of all models that joined but this one."""
    return [log for log in logs() if log == LOG or log.parent.name != name]


def _models(folders: Iterable[Folder]) -> dict[str, str]:
    """The models of these logs by their weights, where these have a hash."""
    return {
        key: about.labels["model"]
        for log in folders
        for about in log.sweep_cells()
        for player in log.cell(about.key)["identity"]["players"]
        if (key := _weights(player.get("model", {})))
    }


def _weights(identity: Mapping[str, Any]) -> str:
    """The hash of a model's weights: of a folder, a hub's commit, a GGUF file; "" without one."""
    return next(
        (str(identity[key]) for key in ("content", "commit", "gguf") if key in identity), ""
    )


def plays(name: str, methods: Sequence[str]) -> str:
    """The league's experiment in which this model, by these methods, plays what REFERENCE plays."""
    league = yaml.safe_load((CONF / "experiment" / "league.yaml").read_text("utf-8"))
    grids = league["sweep"]
    lists = {key: grid.get("players", league["players"]) for key, grid in grids.items()}
    own = {key: [*_renamed(players, name, methods)] for key, players in lists.items()}
    league["sweep"] = {
        key: {**grid, "players": [ANCHOR, *own[key]]} for key, grid in grids.items() if own[key]
    }
    return f"# @package _global_\n{yaml.safe_dump(league | {'players': []}, sort_keys=False)}"


def _renamed(players: Sequence[str], name: str, methods: Sequence[str]) -> Iterator[str]:
    for player in players:
        model, _, method = player.partition("/")
        if model == REFERENCE and method.removesuffix("?") in methods:
            yield f"{name}/{method}"


def checked_name(model: Path, name: str) -> str:
    """The name, if it and the model's file will do. Raises UserError."""
    if not NAME.fullmatch(name):
        raise UserError(f"{name}: a name has small letters, digits, _ . -, as in qwen3_600m.yaml")
    try:
        node = yaml.safe_load(model.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{model}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{model}: {' '.join(str(error).split())}") from error
    if not isinstance(node, dict) or "_target_" not in node:
        raise UserError(f"{model}: a model's file has a _target_, as those of conf/model")
    secrets.refuse({"model": node})
    return name


def place(folder: Path, name: str) -> Iterator[str]:
    """The place of the model by each method among all of the league, and its rows."""
    with unpacked_logs([*_other_logs(name), folder]) as folders:
        games = read(folders)
        board = leaderboard(games, folders)
        order = [*board["player"]]
        for player in order:
            if player.startswith(f"{name}/"):
                yield f"{player} is number {order.index(player) + 1} of {len(order)}"
        head, rule, *rows = leaderboard_lines(board)
        yield from (head, rule, *(row for row in rows if f"`{name}/" in row))


def checked(entry: Path) -> Findings:
    """An entry's faults: the log damaged, edited or not to be played again; another seed; games or
    opponents that are not the league's; weights that play already; games, deals or seats left out.
    Raises UserError if it cannot be read."""
    name = checked_name(entry / MODEL, entry.resolve().name)
    with unpacked_logs([entry / LOG.name, *_other_logs(name)]) as folders:
        own, league, *entries = map(Folder, folders)
        findings = verify(own.path)
        with Waiting(console(), "replay", "matches") as waiting:
            replay(findings, None, 0, waiting.reach)
        others = {
            "not checked": findings.notes,
            "not of the league": [
                *_foreign(name, own, league),
                *_known_weights(name, own, [league, *entries]),
            ],
            "left out": [*_left_out(own, league)],
        }
    problems = findings.problems | {kind: lines for kind, lines in others.items() if lines}
    return replace(findings, problems=problems, notes=[])


def _foreign(name: str, entry: Folder, league: Folder) -> Iterator[str]:
    """What in an entry is not of the league, or not of this name."""
    if entry.seed != league.seed:
        yield f"seed {entry.seed} is not the league's {league.seed}"
    known = {_terms(about) for about in league.sweep_cells()}
    cells = entry.sweep_cells()
    for about in cells:
        if _terms(about) not in known or about.players[0] != ANCHOR:
            yield f"{about.name}: the league has no such game, or another opponent"
    players = sorted({about.labels["agent"] for about in cells})
    yield from (f"{one} is not {name}" for one in players if not one.startswith(f"{name}/"))


def _known_weights(name: str, entry: Folder, others: Sequence[Folder]) -> Iterator[str]:
    """The models whose weights are there under another name."""
    models = _models(others)
    for key in sorted(_models([entry]).keys() & models.keys()):
        yield f"{name} has the weights of {models[key]}"


def _left_out(entry: Folder, league: Folder) -> Iterator[str]:
    """Games that REFERENCE plays by the entry's methods, and matches of its deals."""
    cells = entry.sweep_cells()
    played = {(about.labels["prompt"], *_terms(about)) for about in cells}
    methods = {method for method, *_ in played}
    for about in league.sweep_cells():
        model, method = (about.labels[key] for key in ("model", "prompt"))
        if model == REFERENCE and method in methods and (method, *_terms(about)) not in played:
            yield f"{about.labels['game']} by {method}"
    matches = [[record.deal for record in entry.matches(about.stem)] for about in cells]
    deals = 1 + max((deal for each in matches for deal in each), default=0)
    for about, each in zip(cells, matches, strict=True):
        if missing := deals * about.rotations - len(each):
            yield f"{about.name}: {counted(missing, 'match', 'es')} of {counted(deals, 'deal')}"


def _terms(about: CellInfo) -> tuple[object, ...]:
    """The game, its deals, its measure and who sits where."""
    return about.labels["game"], about.deal_key, about.measure, about.seatings


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="gauntlet join",
        description="Play the public league's deals with a model, print its place, and write the "
        "folder that a pull request adds.",
        epilog="More: docs/league.md; the columns: docs/results.md.",
    )
    add = parser.add_argument
    add("model", type=Path, nargs="*", help="MODEL.yaml, like those of conf/model")
    add("--methods", default=METHODS, help="some of these (default: %(default)s)")
    add("--deals", type=int, default=DEALS, metavar="N", help="of each game (default: %(default)s)")
    add("--check", action="store_true", help="check entries, which are folders, instead")
    options = parser.parse_args(arguments)
    out = console()
    try:
        if options.check:
            return max(map(_check, options.model), default=0)
        if len(options.model) != 1:
            raise UserError(f"one model joins at a time, got {len(options.model)}")
        return join(options.model[0], options.methods.split(","), options.deals, out)
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2


def _check(entry: Path) -> int:
    findings = checked(entry)
    print("\n".join(report(findings, entry)))
    return int(bool(findings.problems))


if __name__ == "__main__":
    as_process(main)
