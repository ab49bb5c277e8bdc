"""Which package may import which, read from the source: imports inside functions and for types
count too.

The packages are layered. Each may import only from lower layers: so there are no import cycles, and
a package can be understood from itself and the layers below.
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "gauntlet"
PACKAGES = (
    *("agents", "common", "games", "models"),
    *("papers", "pipeline", "stats", "training"),
)

FLOORS: tuple[tuple[str, ...], ...] = (
    ("common", "stats"),
    ("games", "models"),
    ("models.engine",),
    ("models.api", "models.checkpoint", "models.llama_cpp"),
    ("agents",),
    ("pipeline.config",),
    ("pipeline.plan",),
    ("pipeline.log",),
    ("pipeline.play", "pipeline.judging", "pipeline.viewer"),
    ("pipeline.tables",),
    ("pipeline.tables.media",),
    ("pipeline.tables.sweep",),
    ("pipeline.tables.commands",),
    ("pipeline.sizing",),
    ("pipeline.launch", "pipeline.tracking"),
    ("pipeline.sweep",),
    ("pipeline",),
    ("papers", "training", "pipeline.pages", "pipeline.publish"),
    ("benchmarks", "gauntlet"),
)
"""Every package on its layer, from the bottom up; a module belongs to the longest matching name."""

COMMANDS_IN_ROOMS = {"pipeline.plan.__main__": "pipeline"}
"""`python -m pipeline.plan` is a command, though its file is in that package."""

NARROW: dict[str, tuple[str, ...]] = {
    "stats": ("stats",),
    "games": ("common", "games"),
    "models": ("common", "models"),
    "agents": (
        *(
            "common",
            "agents",
            "games.base",
            "games.capabilities",
            "games.contract",
            "games.playouts",
        ),
        "models.base",
    ),
}
"""Packages that may import less than all lower layers."""

ONLY_IN: dict[str, tuple[str, ...]] = {
    "hydra": ("pipeline.config",),
    "omegaconf": ("pipeline.config",),
    "ray": ("pipeline.launch",),
    "mlflow": ("pipeline.tracking", "training.dqn.curves"),
    "openai": ("training.verifiers_env",),
    "verifiers": ("training.verifiers_env",),
    "openenv": ("training.openenv_server",),
    "httpx2": ("models.api",),
    "genai_prices": ("models.api",),
    "starlette": ("pipeline.pages",),
    "uvicorn": ("pipeline.pages", "training.openenv_server"),
    "fastapi": ("pipeline.pages",),
    "nicegui": ("pipeline.pages",),
    "markupsafe": ("common.markup", "games", "pipeline"),
    "sklearn": ("games.holdem.policies", "stats.beliefs"),
    "torch": ("models", "training"),
    "deepspeed": ("models",),
    "transformers": ("models", "training"),
    "tokenizers": ("models", "training"),
    "xllamacpp": ("models.llama_cpp",),
}
"""Where a heavy library may be imported; benchmarks may import all of them."""


def modules() -> dict[str, Path]:
    """Every module of the project by its dotted name."""
    files = (*sorted(PACKAGE.rglob("*.py")), *sorted((ROOT / "benchmarks").rglob("*.py")))
    return {_dotted(file): file for file in files}


def _dotted(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ours(".".join(parts[:-1] if parts[-1] == "__init__" else parts))


def imports(source: str, package: str) -> Iterator[str]:
    """The modules that a source imports, absolute; `from x import y` gives x.y, whatever y is."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (ours(alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            start = [*above, node.module] if node.level else [node.module]
            whole = ".".join(part for part in start if part)
            yield from (ours(f"{whole}.{alias.name}") for alias in node.names)


def ours(name: str) -> str:
    """Return the name of a module of a room without the package's."""
    inner = name.removeprefix("gauntlet.")
    return inner if inner.partition(".")[0] in PACKAGES else name


def within(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


MODULES = modules()
ROOMS = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}


@cache
def imports_of(module: str) -> tuple[str, ...]:
    file = MODULES[module]
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    return tuple(imports(file.read_text(encoding="utf-8"), package))


def room_of(module: str) -> str:
    """Return the package of a module, or of a name in one."""
    if module in COMMANDS_IN_ROOMS:
        return COMMANDS_IN_ROOMS[module]
    return max((room for room in ROOMS if within(module, (room,))), key=len)


def upward(module: str, names: Sequence[str]) -> list[str]:
    """Return those of the imported names that a module of this name must not import."""
    own = room_of(module)
    narrow = NARROW.get(own.partition(".")[0], PACKAGES)
    project = [name for name in names if within(name, (*PACKAGES, "tests"))]
    return [
        name
        for name in project
        if not within(name, narrow) or (room_of(name) != own and ROOMS[room_of(name)] >= ROOMS[own])
    ]


def graph() -> dict[str, set[str]]:
    """The modules of the project that each of them imports."""
    found: dict[str, set[str]] = {}
    for module in MODULES:
        found[module] = {_module_of(name) for name in imports_of(module)} - {module, ""}
    return found


def _module_of(name: str) -> str:
    """Return the module that an imported name is, or is in; "" if it is not in the project."""
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name


def a_circle(graph: Mapping[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        return circle
    return []


def test_a_module_sees_only_the_floors_below_it() -> None:
    found = {module: upward(module, imports_of(module)) for module in MODULES}
    assert {module: names for module, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("module", "planted"),
    [
        ("pipeline.log.records", "pipeline.play.match.play"),
        ("pipeline.judging.luck", "pipeline.play.match.play"),
        ("pipeline.plan.cells", "pipeline.log.records.Log"),
        ("pipeline.tables.sweep.summary", "pipeline.report.main"),
        ("pipeline.run", "papers.reproduce.main"),
        ("models.engine.local", "models.checkpoint.Checkpoint"),
        ("models.base", "games.base.Game"),
        ("agents.random", "games.uno.Uno"),
        ("stats.paired", "common.errors.UserError"),
        ("games.base", "tests.test_layers.PACKAGES"),
    ],
)
def test_a_planted_upward_import_is_found(module: str, planted: str) -> None:
    assert module in MODULES
    assert upward(module, [*imports_of(module), planted]) == [planted]


def test_no_module_imports_itself_on_a_detour() -> None:
    assert a_circle(graph()) == []


def test_a_planted_circle_is_found() -> None:
    found = graph()
    found["common.errors"] = {*found["common.errors"], "games.base"}
    found["games.base"] = {*found["games.base"], "common.errors"}
    assert {"common.errors", "games.base"} <= set(a_circle(found))


def test_only_viewers_import_drawings() -> None:
    """So a drawing is not part of the fingerprint of the code that plays a match."""
    drawings = [name for name in MODULES if name.endswith("drawing")]
    assert {"games.drawing", "games.uno.drawing", "games.tic_tac_toe.drawing"} <= set(drawings)
    users = {name for name, others in graph().items() if others & set(drawings)}
    viewers = (*drawings, "pipeline.viewer", "pipeline.pages")
    assert [name for name in sorted(users) if not within(name, viewers)] == []


def test_every_room_of_the_pipeline_has_its_floor() -> None:
    rooms = {f"pipeline.{file.parent.name}" for file in (PACKAGE / "pipeline").glob("*/*.py")}
    assert rooms <= ROOMS.keys()
    assert ROOMS.keys() <= {room_of(module) for module in MODULES}


def test_the_floors_stand_in_the_architecture_page() -> None:
    """The page's table of packages is printed by `python -m tests.test_layers`."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert floors_table() in page


def test_heavy_libraries_stay_in_their_places() -> None:
    for library, places in ONLY_IN.items():
        users = [name for name in MODULES if any(within(i, (library,)) for i in imports_of(name))]
        assert [name for name in users if not within(name, (*places, "benchmarks"))] == [], library


def test_the_package_is_this_tree() -> None:
    spec = importlib.util.find_spec("gauntlet")
    assert spec is not None
    assert spec.origin == str(PACKAGE / "__init__.py")


def test_every_file_is_there_once() -> None:
    """What is in the package is a file; links of the repository lead into it, for convenience."""
    assert [file for file in PACKAGE.rglob("*") if file.is_symlink()] == []
    links = {file.name: file.resolve() for file in ROOT.iterdir() if file.is_symlink()}
    names = ("agents", "conf", "games", "pipeline", "stats")
    assert links == {name: PACKAGE / name for name in names}


def test_no_module_is_imported_by_its_short_name() -> None:
    """Otherwise it is loaded twice, and its classes are duplicated."""
    for file in (*MODULES.values(), *sorted((ROOT / "tests").rglob("*.py"))):
        names = {
            name
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            for name in (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom) and not node.level
                else []
            )
        }
        assert not [name for name in names if within(name, PACKAGES)], file


def test_imports_are_found_wherever_they_stand() -> None:
    source = """
import a, b.c as d
from e import f
from . import g
from .h import i
from ..j import k
def later():
    import l.m
"""
    found = set(imports(source, "top.under"))
    assert found == {"a", "b.c", "e.f", "top.under.g", "top.under.h.i", "top.j.k", "l.m"}


def floors_table() -> str:
    """Return the layers as a table, top first: each package, and the packages that it imports."""
    used: dict[str, set[str]] = {room: set() for room in ROOMS}
    for module, others in graph().items():
        used[room_of(module)] |= {room_of(other) for other in others} - {room_of(module)}
    lines = ["| floor | room | uses |", "|---|---|---|"]
    for floor in reversed(range(len(FLOORS))):
        for room in FLOORS[floor]:
            uses = ", ".join(f"`{name}`" for name in sorted(used[room]))
            lines.append(f"| {floor} | `{room}` | {uses} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(floors_table())
