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
from functools import cache
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml
from rich.console import Console

from gauntlet.common.conf_folders import CONF
from gauntlet.common.errors import ModelError, UserError, counted
from gauntlet.common.process import as_process
from gauntlet.common.terminal import console
from gauntlet.models.base import ModelSource
from gauntlet.models.checkpoint import Checkpoint, cached_folder
from gauntlet.models.engine.files import local_folder
from gauntlet.models.llama_cpp.sources import Gguf, LlamaServer
from gauntlet.papers.league.matches import ANCHOR, LOG, entries, logs, read, unpacked_logs
from gauntlet.papers.league.results import leaderboard, leaderboard_lines
from gauntlet.pipeline import run
from gauntlet.pipeline.config import secrets
from gauntlet.pipeline.config.nodes import DEEPEST, TARGET
from gauntlet.pipeline.config.players import Node
from gauntlet.pipeline.config.yaml_files import load
from gauntlet.pipeline.log import archive
from gauntlet.pipeline.log.differences import differences
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.progress import Waiting
from gauntlet.pipeline.log.results import CellInfo
from gauntlet.pipeline.plan.build import build_model, parameters_of
from gauntlet.pipeline.plan.identity import model_identity
from gauntlet.pipeline.verify import Findings, replay, report, verify

MORE = ("tracking=none",)
REFERENCE = "smollm2_135m"
"""The model whose place in the league's games a new one takes."""
METHODS = "pride,cloze,counterfactual,vanilla,direct"
EXPERIMENT = Path(__file__).parent / "conf" / "experiment" / "league.yaml"
ENTRIES = Path("gauntlet/papers/league/entries")
"""Relative: the entry is written into the checkout in which the model joins."""
MODEL = "model.yaml"
NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")
LARGEST = 2**16
"""Bytes of a model's file."""
DEALS = 4
"""Deals of each game that a joining model plays."""
OWN = ("key", "name", "experiment", "parameters", "code", "described")
"""What a cell's description has that differs by model or by when it was played."""
MINE = "the model"
WEIGHTS: Mapping[type, tuple[str, ...]] = {
    Checkpoint: ("content", "commit"),
    Gguf: ("gguf",),
    LlamaServer: ("llama_server",),
}
"""What the identity of such a model says of its weights."""


def join(model: Path, methods: Sequence[str], deals: int, out: Console) -> int:
    """Play, print the place, write the entry; returns the exit status. Raises UserError."""
    name, node = model.stem, model_node(model, model.stem)
    if unknown := [method for method in methods if method not in METHODS.split(",")]:
        raise UserError(f"the league does not ask by {', '.join(unknown)}; it does by {METHODS}")
    shipped = CONF / "model" / f"{name}.yaml"
    if shipped.exists() and shipped.read_bytes() != model.read_bytes():
        raise UserError(f"{model}: conf/model has another model of this name; rename the file")
    _refuse_known(model, name, node)
    folder, experiment = Path("outputs/join") / name, f"join_{name}"
    with TemporaryDirectory() as configs:
        for group, file, text in (
            ("model", name, model.read_text("utf-8")),
            ("experiment", experiment, plays(name, methods)),
        ):
            (Path(configs) / group).mkdir()
            (Path(configs) / group / f"{file}.yaml").write_text(text, "utf-8")
        words = (f"experiment={experiment}", f"deals={deals}", f"output_dir={folder}", *MORE)
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


def _refuse_known(model: Path, name: str, node: Node) -> None:
    """Raises UserError if the league has a model of this name or of these weights, or if they are
    not here."""
    identity = build_model(node, f"model {name}", ()).identity()
    with unpacked_logs(_other_logs(name)) as folders:
        league, *joined = map(Folder, folders)
        faults = [*_known_name(name, league)]
        if known := _models([league, *joined]).get(_weights(identity)):
            faults.append(f"the league has these weights, as {known}")
    for fault in faults:
        raise UserError(f"{model}: {fault}")


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
    league = yaml.safe_load(EXPERIMENT.read_text("utf-8"))
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


def model_node(model: Path, name: str) -> Node:
    """The node in a model's file, if it and the name will do: all its values written out, of a
    class that conf/model names. Raises UserError."""
    if not NAME.fullmatch(name):
        raise UserError(f"{name}: a name has small letters, digits, _ . -, as in qwen3_600m.yaml")
    try:
        if model.stat().st_size > LARGEST:
            raise UserError(f"{model}: more than {LARGEST:,} bytes")
        text = model.read_text(encoding="utf-8")
        _refuse_knots(text, model)
        node = load(text)
    except OSError as error:
        raise UserError(f"{model}: {error.strerror}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise UserError(f"{model}: {' '.join(str(error).split())}") from error
    if not isinstance(node, dict) or node.get(TARGET) not in _classes():
        raise UserError(f"{model}: a model's file has a {TARGET}, one of {', '.join(_classes())}")
    if "${" in text:
        raise UserError(f"{model}: write the values out; ${{...}} differs between machines")
    secrets.refuse({"model": node})
    return node


def _refuse_knots(text: str, model: Path) -> None:
    """Raises UserError for aliases, which can stand for gigabytes, and for too many levels."""
    depth = 0
    for event in yaml.parse(text):
        if isinstance(event, yaml.AliasEvent):
            raise UserError(f"{model} line {event.start_mark.line + 1}: write *{event.anchor} out")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise UserError(f"{model}: a model's file has at most {DEEPEST} levels")


@cache
def _classes() -> tuple[str, ...]:
    """The classes of the models in conf/model."""
    nodes = (load(file.read_text("utf-8")) for file in (CONF / "model").glob("*.yaml"))
    return tuple(sorted({node[TARGET] for node in nodes if TARGET in node}))


def place(folder: Path, name: str) -> Iterator[str]:
    """The place of the model by each method among all of the league, and its rows."""
    with unpacked_logs([*_other_logs(name), folder]) as folders:
        games = read(folders)
        board = leaderboard(games, folders)
        for number, row in enumerate(board.to_dict("records"), start=1):
            if row["player"].startswith(f"{name}/"):
                best, worst = ((board["rating"] > row[end]).sum() for end in ("high", "low"))
                place = f"{row['player']} is number {number} of {len(board)} by rating"
                limited = np.isfinite(row["low"])
                yield f"{place}; its 90% limits allow {1 + best} to {worst}" if limited else place
        head, rule, *rows = leaderboard_lines(board)
        yield from (head, rule, *(row for row in rows if f"`{name}/" in row))


def checked(entry: Path) -> Findings:
    """An entry's faults: the log damaged, edited or not to be played again; cells that are not as
    REFERENCE's in the league; another model than its file describes, or one that plays already;
    games, deals or seats left out; other files. Contacts nobody. Raises UserError if it cannot be
    read."""
    for path in (entry, *sorted(entry.iterdir() if entry.is_dir() else ())):
        if path.is_symlink() or not (path.is_dir() if path == entry else path.is_file()):
            raise UserError(f"{path}: an entry is a folder of plain files, {MODEL} and {LOG.name}")
    name = entry.resolve().name
    node = model_node(entry / MODEL, name)
    with unpacked_logs([entry / LOG.name, *_other_logs(name)]) as folders:
        own, league, *others = map(Folder, folders)
        findings = verify(own.path)
        with Waiting(console(), "replay", "matches") as waiting:
            replay(findings, None, 0, waiting.reach)
        notes = list[str]()
        faults = {
            "not checked": findings.notes,
            "not of the league": [
                *_known_name(name, league),
                *_foreign(name, own, league),
                *_known_weights(name, own, [league, *others]),
                *_other_model(node, own, notes),
                *_other_files(entry),
            ],
            "left out": [*_left_out(own, league)],
        }
    problems = findings.problems | {kind: lines for kind, lines in faults.items() if lines}
    return replace(findings, problems=problems, notes=notes)


def _known_name(name: str, league: Folder) -> Iterator[str]:
    if any(about.labels["model"] == name for about in league.sweep_cells()):
        yield f"the league has a model of this name, {name}"


def _foreign(name: str, entry: Folder, league: Folder) -> Iterator[str]:
    """What in an entry is not as in the league, where REFERENCE plays it."""
    if entry.seed != league.seed:
        yield f"seed {entry.seed} is not the league's {league.seed}"
    known = {_place(about): _terms(league, about, REFERENCE) for about in _reference(league)}
    for about in entry.sweep_cells():
        terms = known.get(_place(about))
        if terms is None:
            yield f"{about.name}: the league does not ask by this method in such a game"
        else:
            found = differences(_terms(entry, about, name), terms)
            yield from (
                f"{about.name}: {one.where} is {one.left}, not {one.right}"
                for one in islice(found, 1)
            )


def _place(about: CellInfo) -> tuple[str, str]:
    """The game and the method, by which REFERENCE has one cell."""
    return about.labels["game"], about.labels["prompt"]


def _reference(league: Folder) -> Iterator[CellInfo]:
    return (about for about in league.sweep_cells() if about.labels["model"] == REFERENCE)


def _terms(folder: Folder, about: CellInfo, model: str) -> dict[str, Any]:
    """A cell's description without the model, and with its name as MINE."""
    cell = {key: value for key, value in folder.cell(about.key).items() if key not in OWN}
    players = [
        {key: value for key, value in one.items() if key != "model"}
        for one in cell["identity"]["players"]
    ]
    cell["identity"] = cell["identity"] | {"players": players}
    method = _place(about)[1]
    names = {model: MINE, f"{model}/{method}": f"{MINE} by {method}"}
    cell["labels"] = {key: names.get(name, name) for key, name in cell["labels"].items()}
    cell["players"] = [names.get(name, name) for name in cell["players"]]
    return cell


def _other_model(node: Node, entry: Folder, notes: list[str]) -> Iterator[str]:
    """Where the log has another model than the file describes. notes: gets why its weights cannot
    be compared."""
    try:
        source = build_model(node, MODEL, ())
        described: dict[str, Any] = {"parameters": parameters_of(node, MODEL)}
        if why := _absent(source):
            notes.append(f"the model is not compared with the log: {why}")
        else:
            described["model"] = model_identity(source)
    except UserError as error:
        yield str(error)
        return
    for about in entry.sweep_cells():
        *_, player = entry.cell(about.key)["identity"]["players"]
        logged = {"model": player.get("model", {}), "parameters": about.parameters}
        if why and not set(WEIGHTS[type(source)]) & set(logged["model"]):
            yield f"{about.name}: the log has no {type(source).__name__}, which {MODEL} names"
        compared = {key: logged[key] for key in described}
        for one in islice(differences(compared, described), 1):
            yield f"{about.name}: {one.where} is {one.left}, in {MODEL} {one.right}"


def _absent(source: ModelSource) -> str:
    """Why the model's weights are not here; "" if they are, or if it has none. Asks no server."""
    match source:
        case LlamaServer():
            return "a check asks no server"
        case Gguf(path=path):
            return "" if Path(path).is_file() else f"there is no {path}"
        case Checkpoint(path=path, revision=revision):
            try:
                here = local_folder(path) or cached_folder(path, revision)
            except ModelError as error:
                return str(error)
            return "" if here else f"{path} has not been fetched"
    return ""


def _other_files(entry: Path) -> Iterator[str]:
    """Files that an entry has no use for."""
    names = [path.name for path in entry.iterdir() if path.name not in (MODEL, LOG.name)]
    yield from (f"{name} is no part of an entry" for name in sorted(names))
    found = archive.others(entry / LOG.name)
    yield from (f"{name} in {LOG.name} is no part of a log" for name in found)


def _known_weights(name: str, entry: Folder, others: Sequence[Folder]) -> Iterator[str]:
    """The models whose weights are there under another name."""
    models = _models(others)
    for key in sorted(_models([entry]).keys() & models.keys()):
        yield f"{name} has the weights of {models[key]}"


def _left_out(entry: Folder, league: Folder) -> Iterator[str]:
    """Games that REFERENCE plays by the entry's methods, and matches of its deals."""
    cells = entry.sweep_cells()
    played = {_place(about) for about in cells}
    methods = {method for _, method in played}
    for game, method in map(_place, _reference(league)):
        if method in methods and (game, method) not in played:
            yield f"{game} by {method}"
    matches = [[record.deal for record in entry.matches(about.stem)] for about in cells]
    deals = 1 + max((deal for each in matches for deal in each), default=0)
    for about, each in zip(cells, matches, strict=True):
        if missing := deals * about.rotations - len(each):
            yield f"{about.name}: {counted(missing, 'match', 'es')} of {counted(deals, 'deal')}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="gauntlet join",
        description="Play the public league's deals with a model, print its place, and write the "
        "folder that a pull request adds.",
        epilog="More: gauntlet/papers/league/README.md; the columns: docs/results.md.",
    )
    add = parser.add_argument
    add("model", type=Path, nargs="*", help="MODEL.yaml, like those of conf/model")
    add("--methods", default=METHODS, help="some of these (default: %(default)s)")
    add("--deals", type=int, default=DEALS, metavar="N", help="of each game (default: %(default)s)")
    add("--check", action="store_true", help="check entries instead: these folders, or all")
    options = parser.parse_args(arguments)
    out = console()
    try:
        if options.check:
            folders = options.model or entries()
            if not folders:
                out.print("no model has joined yet")
            return max(map(_check, folders), default=0)
        if len(options.model) != 1:
            raise UserError(f"one model joins at a time, got {len(options.model)}")
        return join(options.model[0], options.methods.split(","), options.deals, out)
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2


def _check(entry: Path) -> int:
    """The exit status of one entry; whatever it is, the others are checked too."""
    try:
        findings = checked(entry)
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    print("\n".join(report(findings, entry)))
    return 0 if findings.well else 1


if __name__ == "__main__":
    as_process(main)
