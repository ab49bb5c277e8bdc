"""Every file that a class reads counts: with other content under the same path, the cell's identity
or code changes, or the run refuses it with a message.

All classes that a config can name are built, prepared and played, and every file that they open is
recorded, so a class with a new input is found.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
import importlib
import io
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from gauntlet.agents.base import check
from gauntlet.agents.dqn.network import save
from gauntlet.agents.fixed import Fixed
from gauntlet.agents.human import Human
from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.cloze import Cloze
from gauntlet.agents.random import Random
from gauntlet.agents.search import Search
from gauntlet.common.errors import ModelError, UserError
from gauntlet.common.ids import PACKAGE, ROOMS
from gauntlet.games.air_land_sea import AirLandSea
from gauntlet.games.holdem import Holdem
from gauntlet.games.rock_paper_scissors import RockPaperScissors
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.games.uno import Uno
from gauntlet.games.uno.arena import UnoArena
from gauntlet.games.watch import Watch
from gauntlet.models.base import ModelSource, Prompt, Score
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.engine.equivalence_check import kept_folder
from gauntlet.models.fake import Fake
from gauntlet.pipeline.config.nodes import OWN_PACKAGES, build, takes
from gauntlet.pipeline.log.lines import line
from gauntlet.pipeline.plan import fingerprint
from gauntlet.pipeline.plan.build import methods_of
from gauntlet.pipeline.plan.cells import Cell, Task, digest
from gauntlet.pipeline.plan.identity import cell_identity
from gauntlet.pipeline.play.chains import run
from gauntlet.pipeline.play.match import play
from gauntlet.pipeline.play.prepare import prepare
from tests.agents.test_dqn import random_network
from tests.gguf_files import write_gguf
from tests.nodes import ROOT, nodes
from tests.pipeline.asking import cell_of, fakes_reply
from tests.pipeline.records import decided, ended, scored, write

Settings = dict[str, Any]

FOLDERS = (*(ROOT / "gauntlet" / room for room in (*ROOMS, "training")), ROOT / "benchmarks")
ALLOWED = ("gauntlet.training", "benchmarks", "tests")
FURTHER = (
    *("tests.pipeline.filed.Filed", "tests.pipeline.wrapped.Wrapped", "tests.agents.hints.Hints"),
    *("tests.pipeline.habits.Silent", "tests.pipeline.scored.Harvest"),
)
"""Classes of the tests that configs name."""
MADE_INSIDE = {
    *("agents.prompting.label_study.Studied", "agents.prompting.priors.Divided"),
    *("benchmarks.slots.Sleeping", "benchmarks.slots.Asking", "benchmarks.scaling.Asking"),
    "models.llama_cpp.sources.LlamaServer",
}
"""Classes that no config makes, as they need objects made by others, or that ask a server who they
are."""
NOT_LOADED = {
    *("models.api.openai.OpenAI", "models.human.Terminal", "models.llama_cpp.sources.Gguf"),
    "gauntlet.training.environment.outside.Outside",
}
"""Models that call a server, a person, or a trainer."""
WAISTS = {
    "game": {"deal", "to_move", "legal", "play", "returns"},
    "agent": {"decide"},
    "method": {"ask", "labels"},
    "model": {"identity", "check_choices", "load"},
}
"""Attributes that identify a class of each kind."""


@cache
def kinds() -> dict[str, str]:
    """Return every class that a config can name, and its kind."""
    found = {}
    for module in {*modules(), *(name.rpartition(".")[0] for name in FURTHER)}:
        for cls in vars(importlib.import_module(module)).values():
            if isinstance(cls, type) and dataclasses.is_dataclass(cls) and cls.__module__ == module:
                name = f"{module}.{cls.__qualname__}"
                name = name.removeprefix(PACKAGE) if name.startswith(OWN_PACKAGES) else name
                kind = next((kind for kind, has in WAISTS.items() if has <= {*dir(cls)}), None)
                nameable = name in FURTHER or not module.startswith("tests.")
                if kind and nameable and name not in MADE_INSIDE:
                    found[name] = kind
    return dict(sorted(found.items()))


def modules() -> Iterator[str]:
    """Return our packages that may contain such a class."""
    for folder in FOLDERS:
        for file in sorted(folder.rglob("*.py")):
            text = file.read_text()
            own = folder.name in ROOMS or re.search(r"def (decide|deal|ask|identity)\(", text)
            if "@dataclass" in text and own:
                name = ".".join(file.relative_to(ROOT).with_suffix("").parts)
                yield name.removesuffix(".__init__")


def networks(folder: Path) -> Settings:
    save(folder / "uno-2.npz", [random_network(Uno())])
    return {"weights": str(folder)}


def checkpoint(folder: Path) -> Settings:
    """Write the smallest one, with every further file that the library looks for."""
    weights, left_out = (
        ROOT / "gauntlet" / "models" / "pocket" / "weights",
        shutil.ignore_patterns("training.*"),
    )
    shutil.copytree(weights, folder, ignore=left_out, dirs_exist_ok=True)
    (folder / "additional_chat_templates").mkdir()
    for name in ("chat_template.jinja", "additional_chat_templates/tools.jinja"):
        (folder / name).write_text("{% for one in messages %}{{ one['content'] }}{% endfor %}")
    for name in ("special_tokens_map.json", "added_tokens.json", "vocab.json", "tokenizer.model"):
        (folder / name).write_text("{}")
    return {"path": str(folder), "chat": True}


def records(folder: Path) -> Settings:
    write(folder / "cell-c.jsonl", [ended(decided(1))])
    return {"records": str(folder)}


def filed(folder: Path) -> Settings:
    (folder / "opinions").write_text("1")
    return {"path": str(folder / "opinions")}


def tree(folder: Path) -> Settings:
    """A game of two moves each in a format that OpenSpiel reads."""
    ends = [f't "" {n} "" {{ {n} -{n} }}' for n in (1, 2, 3, 4)]
    mine, theirs = 'p "" 1 1 "" { "l" "r" } 0', [f'p "" 2 {n} "" {{ "L" "R" }} 0' for n in (1, 2)]
    lines = ['EFG 2 R "Two" { "A" "B" }', mine, theirs[0], *ends[:2], theirs[1], *ends[2:]]
    (folder / "game.efg").write_text("\n".join(lines) + "\n")
    return {"name": "efg_game", "parameters": {"filename": str(folder / "game.efg")}}


def conf(group: str, name: str) -> Callable[[Path], Settings]:
    """The settings of a file of conf/."""
    node = nodes(group)[name]
    return lambda _: {key: value for key, value in node.items() if key != "_target_"}


RANDOM = {"_target_": "agents.random.Random"}
BOARD = {"_target_": "games.tic_tac_toe.TicTacToe", "num_seats": 2}
SETTINGS: dict[str, Callable[[Path], Settings]] = {
    "agents.dqn.player.DQN": networks,
    "models.checkpoint.Checkpoint": checkpoint,
    "models.llama_cpp.sources.Gguf": lambda folder: {"path": str(write_gguf(folder / "m.gguf"))},
    "models.replay.Replay": records,
    "tests.pipeline.filed.Filed": filed,
    "games.openspiel.game.OpenSpiel": tree,
    "games.openspiel.game.OpenSpiel of known rules": lambda _: {"name": "kuhn_poker"},
    "games.textarena.game.TextArena": conf("game", "textarena"),
    "games.pettingzoo.game.PettingZoo": conf("game", "pettingzoo"),
    "games.obfuscated.game.Obfuscated": lambda _: {"of": BOARD},
    "games.watch.game.Watch": lambda _: {"of": BOARD, "num_seats": 1},
    "agents.noise.Noisy": lambda _: {"agent": RANDOM},
    "agents.reordered.Reordered": lambda _: {"agent": RANDOM},
    "agents.epsilon_random.EpsilonRandom": conf("agent", "minimax_eps"),
    "agents.actors.LookAhead": conf("agent", "lookahead"),
    "agents.local_response.LocalBestResponse": lambda _: {"believed": "random"},
    "agents.observers.Constant": conf("agent", "constant"),
    "agents.rule.Rule": conf("agent", "rule"),
    "models.api.openai.OpenAI": lambda _: {"name": "some-model"},
    "gauntlet.training.environment.outside.Outside": lambda _: {"player": 0},
    "tests.pipeline.wrapped.Wrapped": lambda _: {"game": BOARD},
}
"""Settings by case: a class name, which a word may follow to tell its cases apart."""
GAMES = (
    *(TicTacToe(), RockPaperScissors(rounds=4), Uno(), UnoArena(2), AirLandSea()),
    Watch(of=RockPaperScissors(rounds=12), catalogue=("H", "Y")),
    Holdem(mode="hands", hands=2),
)


def settings(case: str, folder: Path) -> Settings:
    return SETTINGS[case](folder) if case in SETTINGS else {}


class Used(NamedTuple):
    """What a cell's key hashes, and a hash of the matches or replies."""

    key: str
    played: str


def used(case: str, settings: Settings, before: Sequence[Used] = ()) -> list[Used]:
    """Build the class's object and play matches with it, or let it answer; a model is loaded only
    if its key is the same as before. Raises as a run does."""
    name = case.partition(" ")[0]
    kind, supplied = kinds()[name], dict[str, Any]()
    if kind == "game" and "num_seats" not in settings:
        supplied["num_seats"] = 2
    if kind == "agent" and takes({"_target_": name}, "method", name, ALLOWED):
        supplied["method"] = Cloze()
    made = build({"_target_": name, **settings}, kind, ALLOWED, **supplied)
    if kind == "model":
        key = digest(dict(made.identity()))
        idle = name in NOT_LOADED or bool(before and before[0].key != key)
        return [Used(key, "" if idle else answered(made))]
    return [matched(cell) for cell in cells_with(made, kind)]


def answered(source: ModelSource) -> str:
    model, said = source.load(), ""
    with suppress(ModelError):  # a replay holds no reply to this
        said = repr(model.answer([Score((Prompt("a", "b", "c"),), ("A", "B"))]))
    model.close()
    return digest(said)


def matched(cell: Cell) -> Used:
    key = digest(cell_identity(cell))
    ready = run(prepare(cell), fakes_reply)
    record = run(play(ready.cell, Task("", 0, 0, "m"), 1), fakes_reply)
    return Used(key, digest(repr((ready.asked, record))))


def cells_with(instance: Any, kind: str) -> Iterator[Cell]:
    """Cells with the game, agent or method in them; a game is played with a parsing player, too."""
    others = [(Random(), None)] * 20
    if kind == "game":
        yield cell_of(instance, *others[: instance.num_seats])
        yield cell_of(instance, (LLM(Cloze()), Fake()), *others[: instance.num_seats - 1])
        return
    agent = LLM(instance) if kind == "method" else instance
    methods = methods_of(agent)
    game = next(game for game in GAMES if playable((agent, *methods), game))
    asks = Fake() if methods or isinstance(agent, Human) else None
    yield cell_of(game, (agent, asks), *others[: game.num_seats - 1])


def playable(parts: Sequence[Any], game: Any) -> bool:
    try:
        for part in parts:
            check(part, game)
    except ValueError:
        return False
    return True


CODE = (".py", ".pyc", ".so", ".nbi", ".nbc")
_opened: list[str] | None = None


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and _opened is not None:
        name, _, flags = arguments
        if isinstance(name, str | bytes | Path) and not flags & (os.O_WRONLY | os.O_RDWR):
            _opened.append(os.fsdecode(name))


sys.addaudithook(_note)


def watched(case: str, settings: Settings) -> tuple[list[Used], list[Path]]:
    """Return the results of the case, and the files that it reads, except code and files of
    installed packages."""
    global _opened
    _opened = []
    try:
        found = used(case, settings)
        paths = {Path(name).resolve() for name in _opened}
    finally:
        _opened = None
    return found, sorted(path for path in paths if path.is_file() and not _is_data(path))


def _is_data(path: Path) -> bool:
    if path.is_relative_to(kept_folder()):  # of equivalence checks, by the weights' content
        return True
    installed = "site-packages" in path.parts or path.parent.suffix == ".egg-info"
    packages = path.is_relative_to(sys.base_prefix) or installed
    return path.suffix in CODE or packages or path.parts[1] in ("proc", "sys", "dev", "etc", "usr")


def other_networks(_: bytes) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        save(Path(folder) / "x.npz", [random_network(Uno(), 1)])
        return (Path(folder) / "x.npz").read_bytes()


def other_rules(content: bytes) -> bytes:
    entries = yaml.safe_load(content)
    return str(
        yaml.safe_dump({name: {**one, "rules": "Win."} for name, one in entries.items()})
    ).encode()


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    ".npz": other_networks,
    ".gguf": lambda content: content[:-1] + bytes([content[-1] ^ 1]),
    ".safetensors": lambda content: content[:-1] + bytes([content[-1] ^ 1]),
    ".jsonl": lambda _: line(ended(decided(1, asked=(scored(logprobs=((-2.0, -1.0),)),)))),
    ".efg": lambda content: content.replace(b"{ 3 -3 }", b"{ 5 -5 }"),
    ".yaml": other_rules,
    **dict.fromkeys((".csv", ".json", ".jinja", ".model"), lambda content: content + b"\n"),
    "": lambda _: b"2",
}
"""Return other valid content, by the file's ending: damaged files are refused anyway."""


@contextmanager
def exchanged(path: Path) -> Iterator[None]:
    """Use other content under this path; for a file of the project itself only as read by this
    process."""
    before, now = path.read_bytes(), CHANGES[path.suffix](path.read_bytes())
    assert now != before
    with pytest.MonkeyPatch.context() as patched:
        if path.is_relative_to(ROOT):
            mine = Path(tempfile.mkdtemp()) / path.name
            mine.write_bytes(now)
            for module in (io, builtins):
                patched.setattr(module, "open", redirected(path, mine))
        else:
            path.write_bytes(now)
        forget()
        yield
    if not path.is_relative_to(ROOT):
        path.write_bytes(before)
    forget()


def redirected(path: Path, other: Path) -> Callable[..., Any]:
    opens = open
    return lambda name, *how, **more: opens(other if name == path else name, *how, **more)


def forget() -> None:
    """Clear all caches of our modules, as another process would start without them."""
    for name in [name for name in sys.modules if MAY_READ.match(name)]:
        for one in [*vars(sys.modules[name]).values()]:
            if type(one) is functools._lru_cache_wrapper:
                one.cache_clear()


MAY_READ = re.compile(r"(gauntlet\.(agents|games|models|pipeline)|tests)\.(?!.*compil)")
"""Modules whose caches may depend on a file; compiled engines are code."""


def test_every_file_that_a_class_reads_counts(
    tmp_path: Path, figure: Callable[[str], None]
) -> None:
    wrong, read, cases = [], dict[str, list[str]](), sorted({*kinds(), *SETTINGS})
    for number, case in enumerate(cases):
        folder = tmp_path / str(number)
        folder.mkdir()
        given = settings(case, folder)
        before, found = watched(case, given)
        read[case] = [path.name for path in found]
        placed = {path.resolve() for path in folder.rglob("*") if path.is_file()}
        wrong += [f"{case}: {path.name} is not read by Python" for path in placed - {*found}]
        for path in found:
            with exchanged(path):
                try:
                    after = used(case, given, before)
                except (UserError, ValueError):
                    continue
            own = path.is_relative_to(ROOT)  # it may concern other games alone
            if not (own and path.relative_to(ROOT / "gauntlet").as_posix() in code_files(case)):
                wrong += [f"{case}: {path.name}"] * unnoticed(before, after, own)
    assert wrong == []
    reading = {case: names for case, names in read.items() if names}
    for case, names in reading.items():
        figure(f"inputs: {case} reads {', '.join(names)}")
    others = [case.rpartition(".")[2] for case in cases if case not in reading]
    figure(f"inputs: {len(others)} classes read no file: {', '.join(others)}")


def code_files(case: str) -> Mapping[str, str]:
    """Return the files of the class's code: `test_fingerprint` checks that changes in them are
    noticed."""
    module = case.partition(" ")[0].rpartition(".")[0]
    return fingerprint._code(frozenset({module})).files


def unnoticed(before: Sequence[Used], after: Sequence[Used], may_be_idle: bool) -> bool:
    """Whether other matches are stored under one key, or no key has changed at all."""
    pairs = [*zip(before, after, strict=True)]
    mixed = any(one.key == two.key and one.played != two.played for one, two in pairs)
    return mixed or (not may_be_idle and all(one.key == two.key for one, two in pairs))


@pytest.mark.parametrize("case", ["agents.dqn.player.DQN", "models.checkpoint.Checkpoint"])
def test_the_same_content_elsewhere_is_the_same_player(case: str, tmp_path: Path) -> None:
    keys = set()
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        keys |= {one.key for one in used(case, settings(case, folder))}
    assert len(keys) == 1


def test_keys_of_cells_that_read_no_file_stay() -> None:
    """Records under them would be played again."""
    told = ((Uno(2), Random()), (TicTacToe(), Search()), (RockPaperScissors(), Fixed(2)))
    cells = [cell_of(game, (agent, None), (Random(), None)) for game, agent in told]
    found = [digest(cell_identity(cell)) for cell in cells]
    assert found == ["f1932eed03fec9f6", "8e361c1923c2d78d", "8ad4ae665772d0ad"]
    pocket = Checkpoint("pkg:models/pocket/weights")
    assert digest(dict(pocket.identity())) == "b3daa6173a634104"
