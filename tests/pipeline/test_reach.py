"""Which definitions count for a class: what it names, however it names it, and nothing else."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.plan import sources
from pipeline.plan.code import Code, differences
from pipeline.plan.reach import reach

OWN = {
    "__init__": "from own.game import Game\n",
    "game": '''
from __future__ import annotations

from typing import TYPE_CHECKING

import own.far.away
from own import odd, rules as r, shelf
from own.base import *
from own.lists import entered

if TYPE_CHECKING:
    from own.never import Never

try:
    from own.fast import speed
except ImportError:
    speed = None

LIMIT, OTHER = 3, 4


class Game(Base):
    """A game."""

    size: int = LIMIT

    def deal(self, rng: Never) -> Never:
        return r.first(self.size) + own.far.away.reach()

    def legal(self, state, seat):
        from own.late import later

        return later(odd) + speed()

    def play(self, state, moves):
        return shelf.Shelf().take("kept")

    @property
    def helping(self):
        return 1

    def luck(self):
        return 2
''',
    "base": "class Base:\n    def to_move(self, state):\n        return low()\n\n\n"
    "def low():\n    return 1\n",
    "rules": "from own.deep import second as first\n\n\ndef unused():\n    return first\n",
    "deep": "A = 1\n\n\ndef second(size):\n    return A + size\n\n\ndef third():\n    return 5\n",
    "far/away": "def reach():\n    return 1\n",
    "never": "class Never:\n    x = 1\n",
    "fast": "def speed():\n    return 1\n",
    "late": "def later(of):\n    return 1\n",
    "odd": "def whatever():\n    return 1\n",
    "shelf": """
from html.parser import HTMLParser


class Shelf:
    def take(self, what):
        return getattr(self, "_" + what)()

    def _kept(self):
        return Reader().text


class Reader(HTMLParser):
    def handle_data(self, data):
        self.text = data


class Other:
    def thing(self):
        return 1
""",
    "lists": """
LIST = []
COUNT = 0
COUNT += 1


def entered(function):
    LIST.append(function)
    return function


@entered
def one():
    return 1


def two():
    return 2
""",
}

COUNTS = [
    ("game", "size: int = LIMIT", "size: int = LIMIT + 1", "Game"),
    ("game", "LIMIT, OTHER = 3, 4", "LIMIT, OTHER = 4, 4", "LIMIT"),
    ("game", "r.first(self.size)", "r.first(0)", "Game.deal"),
    ("base", "return low()", "return low() + 1", "Base.to_move"),
    ("base", "return 1", "return 2", "low"),
    ("deep", "A = 1", "A = 2", "A"),
    ("deep", "A + size", "A - size", "second"),
    ("far/away", "return 1", "return 2", "reach"),
    ("fast", "return 1", "return 2", "speed"),
    ("late", "return 1", "return 2", "later"),
    ("odd", "return 1", "return 2", "whatever"),
    ("shelf", "Reader().text", "Reader()", "Shelf._kept"),
    ("shelf", "self.text = data", "self.text = 1", "Reader.handle_data"),
    ("lists", "return 1", "return 3", "one"),
    ("lists", "LIST.append(function)", "LIST.insert(0, function)", "entered"),
    ("game", "    speed = None", "    speed = max", sources.BODY),
]
SILENT = [
    ("game", '    """A game."""\n', "    # A game.\n\n"),
    ("game", "rng: Never) -> Never", "rng) -> int"),
    ("game", "return 2", "return 3"),
    ("game", "return 1", "return 3"),
    ("deep", "return 5", "return 6"),
    ("rules", "return first", "return 1"),
    ("never", "x = 1", "x = 2"),
    ("shelf", "return 1", "return 2"),
    ("lists", "return 2", "return 3"),
    ("lists", "COUNT += 1", "COUNT += 2"),
]


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Code]:
    """The code of `own.game.Game`, with one of its texts changed."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(changed: str = "", old: str = "", new: str = "") -> Code:
        for name, text in OWN.items():
            assert name != changed or text.count(old) == 1, (changed, old)
            path = tmp_path / "own" / f"{name}.py"
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(text.replace(old, new) if name == changed else text)
        for known in (sources.source, sources.modules_of, sources.is_library, sources._place):
            known.cache_clear()
        importlib.invalidate_caches()
        return Code(reach(frozenset({("own.game", "Game")}), frozenset()))

    return write


def test_what_a_class_names_counts_and_nothing_else(code: Callable[..., Code]) -> None:
    whole = code()
    for file, old, new, name in COUNTS:
        found = {change[:2] for change in differences(whole, code(file, old, new))}
        assert found == {(f"own/{file}.py", name)}, (file, old)
    for file, old, new in SILENT:
        assert differences(whole, code(file, old, new)) == set(), (file, old)


@pytest.mark.parametrize(
    ("called", "luck", "module"),
    [
        ("getattr(of, of.name)()", True, False),
        ("getattr(Game, of.name)(of)", True, False),
        ("getattr(json, of.name)()", False, False),
        ("getattr(of, 'name')()", False, False),
        ("import_module(of.name)", True, True),
    ],
)
def test_what_is_named_at_run_time_may_be_anything(
    code: Callable[..., Code], called: str, luck: bool, module: bool
) -> None:
    late = f"import json\n\nfrom own.game import Game\n\n\ndef later(of):\n    return {called}\n"

    def counts(file: str, old: str, new: str) -> bool:
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(OWN, "late", late)
            return bool(differences(code(), code(file, old, new)))

    assert counts("game", "return 2", "return 3") == luck
    assert counts("deep", "return 5", "return 6") == module
