"""A cell's code fingerprint covers every change that may affect a match, and no others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from gauntlet.agents.dqn.player import DQN
from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.tutri import Tutri
from gauntlet.agents.prompting.vanilla import Vanilla
from gauntlet.agents.random import Random
from gauntlet.agents.rule import Rule
from gauntlet.common import ids
from gauntlet.common.errors import UserError
from gauntlet.common.ids import PACKAGE
from gauntlet.games.holdem import Holdem
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.games.uno import Uno
from gauntlet.games.uno.arena import UnoArena
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.fake import Fake
from gauntlet.pipeline import verify
from gauntlet.pipeline.config.nodes import PACKAGES
from gauntlet.pipeline.plan import fingerprint
from gauntlet.pipeline.plan.cells import Cell
from gauntlet.pipeline.plan.fingerprint import Code, code_of, differences, file_list
from tests.nodes import ROOT
from tests.pipeline import scored
from tests.pipeline.asking import cell_of
from tests.pipeline.conftest import Capsys, Edit, Sweep, forget_code
from tests.pipeline.logs import matches

USERS_PACKAGE = {
    "own/__init__.py": "from own.game import Game\n",
    "own/game.py": '''
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import own.far.away
from helping import begins
from own import odd, policies as p
from own.rules import *
from . import words

if TYPE_CHECKING:
    from own.never import Never

try:
    from own.fast import speed
except ImportError:
    speed = None


@dataclass(frozen=True)
class Game:
    """A game."""

    size: int = 3  # the least

    def deal(self, rng: np.random.Generator) -> Never:
        """Shuffles."""
        return begins(self.size)

    def returns(self, state):
        from .measures import points

        return points(state)

    def __getattr__(self, name):
        return getattr(self, f"_{name}")
''',
    "own/rules.py": "def legal(state):\n    return [1, 2]\n",
    "own/words.py": "def facts(state):\n    return f'You hold {state}'\n",
    "own/measures.py": "def points(state):\n    return (1.0, -1.0)\n",
    "own/fast.py": "from numba import njit\n\n\n@njit\ndef speed(n):\n    return n + 1\n",
    "own/odd.py": "class Parser:\n    def read(self, reply):\n        return reply[0]\n",
    "own/far/away.py": "def reach():\n    return 1\n",
    "own/policies/__init__.py": "import importlib\n\n\n"
    "def policy(name):\n    return importlib.import_module(f'.{name}', __name__).choose\n",
    "own/policies/greedy.py": "def choose(weights):\n    return max(weights)\n",
    "own/never.py": "class Never:\n    x = 1\n",
    "own/other/game.py": "class Other:\n    x = 1\n",
    "helping.py": "def begins(size):\n    return size\n",
    "own/words.txt": "apple\npear\n",
    "own/weights/deep/net.npz": "weights of 1\n",
    "own/notes.md": "to do: 1\n",
    "own/other/cards.json": "[1]\n",
    "own/outputs/quickstart/sweep.json": "1\n",
}

COUNTS = {
    "a rule": ("own/rules.py", "[1, 2]", "[1, 2, 3]"),
    "a rule's default": ("own/game.py", "size: int = 3", "size: int = 4"),
    "a policy by name": ("own/policies/greedy.py", "max", "min"),
    "a wording": ("own/words.py", "You hold", "You have"),
    "a parser": ("own/odd.py", "reply[0]", "reply[-1]"),
    "a measure": ("own/measures.py", "-1.0", "0.0"),
    "a numba function": ("own/fast.py", "n + 1", "n + 2"),
    "a module of a package without __init__": ("own/far/away.py", "return 1", "return 2"),
    "a helper beside the package": ("helping.py", "return size", "return size + 1"),
    "a decorator": ("own/fast.py", "@njit", "@njit(fastmath=True)"),
    "the package itself": ("own/__init__.py", "import Game", "import Game as Game"),
    "a word list": ("own/words.txt", "pear", "plum"),
    "weights": ("own/weights/deep/net.npz", "of 1", "of 2"),
}
SILENT = {
    "a comment": ("own/game.py", "# the least", "# or more"),
    "a docstring": ("own/game.py", '        """Shuffles."""\n', ""),
    "layout": (
        "own/game.py",
        "    return begins(self.size)",
        "    return (\n begins( self.size ))",
    ),
    "an import for types": ("own/game.py", "from own.never", "import os\n    from own.never"),
    "a module for types": ("own/never.py", "x = 1", "x = 2"),
    "another game": ("own/other/game.py", "x = 1", "x = 2"),
    "another game's cards": ("own/other/cards.json", "1", "2"),
    "what a run writes": ("own/outputs/quickstart/sweep.json", "1", "2"),
    "notes": ("own/notes.md", "1", "2"),
}


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Code]]:
    """Return the code of `own.game.Game` as a new process would find it, with one text changed."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "helping", raising=False)  # another test's

    def write(changed: str = "", old: str = "", new: str = "") -> Code:
        for name, text in USERS_PACKAGE.items():
            assert name != changed or text.count(old) == 1, (changed, old)
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(text.replace(old, new) if name == changed else text)
        forget_code()
        return fingerprint._code(frozenset({"own.game"}))

    yield write
    forget_code()


def test_what_may_change_a_match_counts_and_all_else_does_not(code: Callable[..., Code]) -> None:
    before = code()
    for change, (file, *texts) in COUNTS.items():
        assert file_list(differences(before, code(file, *texts))) == file, change
    for change, edited in SILENT.items():
        assert differences(before, code(*edited)) == frozenset(), change


def test_a_file_that_comes_or_goes_is_a_change(code: Callable[..., Code]) -> None:
    before = code()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(USERS_PACKAGE, "own/more.csv", "1\n")
        after = code()
    assert file_list(differences(before, after)) == "own/more.csv"
    assert differences(before, after, shared=True) == frozenset()


def test_a_library_beside_which_pip_noted_an_installation_is_not_the_users_code(
    code: Callable[..., Code], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """As after `pip install --target FOLDER`, with FOLDER on PYTHONPATH."""
    folder = tmp_path_factory.mktemp("installed")
    (folder / "lends").mkdir()
    (folder / "lends" / "__init__.py").write_text("from . import parts\n")
    (folder / "lends" / "parts.py").write_text("from ... import beyond\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setitem(USERS_PACKAGE, "helping.py", "import lends\n" + USERS_PACKAGE["helping.py"])
        with pytest.raises(UserError, match=r"lends/parts\.py cannot be read"):
            code()
        (folder / "lends-1.0.dist-info").mkdir()
        assert not [file for file in code().files if file.startswith("lends")]


def test_a_module_that_is_no_python_is_named(code: Callable[..., Code]) -> None:
    with pytest.raises(UserError, match=r"own/rules.py cannot be read: "):
        code("own/rules.py", "def", "dfe")


def test_a_long_expression_is_read(code: Callable[..., Code]) -> None:
    long = "[1, 2" + " + 1" * 900 + "]"
    assert differences(code(), code("own/rules.py", "[1, 2]", long))


def asking(method: Any, model: Any = None) -> tuple[Any, Any]:
    return LLM(method), model or Fake()


CELLS: dict[str, Callable[[], Cell]] = {
    "uno": lambda: cell_of(Uno(2), asking(Vanilla()), (Rule(), None)),
    "arena": lambda: cell_of(UnoArena(2), asking(Tutri()), (DQN(), None)),
    "holdem": lambda: cell_of(Holdem(), (Random(), None), (Random(), None)),
    "pocket": lambda: cell_of(
        TicTacToe(), asking(Vanilla(), Checkpoint("pkg:models/pocket/weights")), (Random(), None)
    ),
}
EDITS = [
    ("games/uno/rules.py", "PLY_CAP = 5000", "PLY_CAP = 500", {"uno", "arena"}),
    ("games/compiling.py", "np.uint64(30)", "np.uint64(29)", {"uno", "arena", "holdem"}),
    ("games/uno/game.py", "return (0.0,) * self.num_seats", "return ()", {"uno", "arena"}),
    ("games/uno/policies.py", "if policy == RULE and plain:", "if plain:", {"uno", "arena"}),
    ("games/uno/arena/rules.py", "from __future__", "X = 1\nfrom __future__", {"arena"}),
    ("games/tic_tac_toe/__init__.py", "from __future__", "X = 1\nfrom __future__", {"pocket"}),
    ("agents/rule.py", "rng.choice(len(chances), p=chances)", "0", {"uno"}),
    ("agents/prompting/answers.py", 'find("}", start)', 'rfind("}")', {"uno", "arena", "pocket"}),
    ("agents/prompting/tutri.py", "from __future__", "X = 1\nfrom __future__", {"arena"}),
    ("models/fake.py", "sum(weights) + 1.0", "sum(weights) + 2.0", {"uno", "arena"}),
    ("models/engine/packed.py", "from __future__", "X = 1\nfrom __future__", {"pocket"}),
    ("pipeline/play/match.py", "options[decision.option]", "options[0]", {*CELLS}),
    ("pipeline/plan/rng.py", "DEAL, CHOICE, LUCK", "CHOICE, DEAL, LUCK", {*CELLS}),
    ("agents/dqn/weights/uno_arena-2.npz", "", "", {"arena"}),
    ("games/uno/rules.py", '"""A game that reaches', '"""One that reaches', set()),
    ("games/uno/rules.py", "PLY_CAP = 5000\n", "PLY_CAP = 5000  # at most\n\n\n", set()),
    ("pipeline/log/schema.py", "class MatchRecord", "X = 1\n\n\nclass MatchRecord", set()),
    ("pipeline/tables/sweep/summary.py", "from __future__", "X = 1\nfrom __future__", set()),
    ("models/pocket/weights/model.safetensors", "", "", set()),
]
"""An edit of the project, and the cells affected; a checkpoint is part of a cell's key."""


def test_an_edit_is_about_the_cells_that_import_the_file(edit: Edit) -> None:
    cells = {name: cell() for name, cell in CELLS.items()}
    before = {name: code_of(cell) for name, cell in cells.items()}
    for file, old, new, about in EDITS:
        edit(file, old, new)
        found = {name: differences(before[name], code_of(cell)) for name, cell in cells.items()}
        assert {name for name, changes in found.items() if changes} == about, (file, new)
        assert all(file_list(changes) == file for changes in found.values() if changes)


LOADED = """
import importlib, json, sys
import gauntlet
before = set(sys.modules)  # what any use of the package loads
for name in sys.argv[1:]:
    importlib.import_module(name)
loaded = [name for name, one in sys.modules.items()
    if name not in before and not hasattr(one, "__path__")]
from gauntlet.pipeline.plan import fingerprint
print(json.dumps([loaded, fingerprint._code(frozenset(sys.argv[1:])).fingerprint]))
"""


@pytest.mark.parametrize("name", ["arena", "pocket"])
def test_whatever_python_loads_for_a_cell_counts_and_another_process_finds_the_same(
    name: str,
) -> None:
    """Not so for hold'em: the package of UNO, whose random numbers it uses, loads all of UNO."""
    cell = CELLS[name]()
    players = [part for player in cell.players for part in (player.agent, player.model)]
    modules = sorted({each.__module__ for each in fingerprint.classes([cell.game, players])})
    command, env = [sys.executable, "-c", LOADED, *modules], {**os.environ, "PYTHONHASHSEED": "42"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    loaded, found = json.loads(done.stdout)
    own = [one for one in loaded if one.startswith(fingerprint.OWN)]
    assert len(own) > len(modules)
    files = {f"{one.removeprefix(PACKAGE).replace('.', '/')}.py" for one in own}
    assert files <= code_of(cell).files.keys()
    assert found == code_of(cell).fingerprint


# --- ids


@pytest.fixture
def homes(tmp_path: Path) -> Iterator[Path]:
    """A user's package with a game and its player, in which files can move."""
    package = tmp_path / "homes"
    package.mkdir()
    source = Path(scored.__file__).read_text(encoding="utf-8")
    (package / "first.py").write_text(source, encoding="utf-8")
    yield package
    for name in [name for name in sys.modules if name.partition(".")[0] == "homes"]:
        del sys.modules[name]


def test_a_class_that_moves_keeps_its_deals_and_its_key(
    homes: Path, sweep: Sweep, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    game = ("game=tic_tac_toe", "~game.size", "~game.win_length", "packages=[homes]")
    words = (*game, "agent=llm", "prompt=vanilla", "deals=8")
    assert sweep(*words, "game._target_=homes.first.Race") == 0
    before = matches(folder)
    (homes / "first.py").rename(homes / "second.py")
    del sys.modules["homes.first"]

    monkeypatch.setattr(ids, "MOVED", {"homes.second.Race": "homes.first.Race"})
    assert sweep(*words, "game._target_=homes.second.Race", "allow_code_change=true") == 0
    assert "8 of them already in the log" in capsys.readouterr().out
    assert matches(folder) == before
    again = folder.with_name("again")
    assert sweep(*words, "game._target_=homes.first.Race", f"output_dir={again}") == 0
    assert matches(again) == before
    capsys.readouterr()
    monkeypatch.setenv(PACKAGES, "homes")
    assert verify.main([str(folder), "--replay", "all"]) == 0
    assert "8 matches played again" in capsys.readouterr().out

    monkeypatch.setattr(ids, "MOVED", {})
    other = folder.with_name("other")
    assert sweep(*words, "game._target_=homes.second.Race", f"output_dir={other}") == 0
    assert [one.returns for one in matches(other).values()] != [
        one.returns for one in before.values()
    ]


def test_every_moved_class_is_where_the_table_says() -> None:
    assert len({*ids.MOVED.values()}) == len(ids.MOVED)
    for name in ids.MOVED:
        module, _, cls = name.rpartition(".")
        assert isinstance(getattr(import_module(module), cls), type)
