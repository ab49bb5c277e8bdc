"""Who may import whom, read from the source: imports inside functions count too."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("agents", "games", "hydra_plugins", "models", "pipeline", "stats")

SEES: dict[str, tuple[str, ...]] = {
    "games": ("games",),
    "models": ("models",),
    "models.pocket": ("models", "games", "agents"),
    "agents": ("agents", "games.base", "models.base"),
    "agents.dqn.evaluate": ("agents", "games.base", "stats"),
    "stats": ("stats",),
    "pipeline": PACKAGES,
    "hydra_plugins": PACKAGES,
}
"""What of the project a package may import; the longest name that fits a module counts. The
trainer of the shipped model plays games and words prompts; the rest of models knows neither."""

ONLY_IN: dict[str, tuple[str, ...]] = {
    "hydra": ("pipeline.config", "pipeline.run", "hydra_plugins"),
    "omegaconf": ("pipeline.config", "pipeline.run", "hydra_plugins"),
    "ray": ("pipeline.launch",),
    "mlflow": ("pipeline.curves", "pipeline.follow", "pipeline.track"),
    "openai": ("models.asking",),
    "httpx2": ("models.asking",),
    "torch": ("models", "agents.dqn.learner"),
    "deepspeed": ("models",),
    "transformers": ("models",),
    "tokenizers": ("models",),
}
"""Where a heavy library may be imported."""


def modules() -> dict[str, Path]:
    """Every module of the project by its dotted name."""
    files = (file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py")))
    return {_dotted(file): file for file in files}


def _dotted(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(source: str, package: str) -> Iterator[str]:
    """The modules that a source imports, absolute; `from x import y` gives x.y, whatever y is."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            start = [*above, node.module] if node.level else [node.module]
            whole = ".".join(part for part in start if part)
            yield from (f"{whole}.{alias.name}" for alias in node.names)


def within(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


MODULES = modules()


def imports_of(module: str) -> list[str]:
    file = MODULES[module]
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    return list(imports(file.read_text(encoding="utf-8"), package))


@pytest.mark.parametrize("module", MODULES)
def test_a_module_sees_only_the_layers_below_it(module: str) -> None:
    layer = max((name for name in SEES if within(module, (name,))), key=len)
    project = [name for name in imports_of(module) if within(name, (*PACKAGES, "tests"))]
    assert [name for name in project if not within(name, SEES[layer])] == []


def test_only_the_trainer_of_the_shipped_model_knows_games() -> None:
    others = [name for name in MODULES if within(name, ("models",))]
    others = [name for name in others if not within(name, ("models.pocket",))]
    used = {name for module in others for name in imports_of(module)}
    assert not any(within(name, ("models.pocket",)) for name in used)


@pytest.mark.parametrize("library", ONLY_IN)
def test_a_heavy_library_stays_in_its_place(library: str) -> None:
    users = [name for name in MODULES if any(within(i, (library,)) for i in imports_of(name))]
    assert [name for name in users if not within(name, ONLY_IN[library])] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_name_means_this_tree(package: str) -> None:
    """The names are common ones: an installed package must not take their place."""
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert str(ROOT / package) in map(str, spec.submodule_search_locations or ())
    assert spec.origin in (None, str(ROOT / package / "__init__.py"))


def test_the_packages_to_install_are_the_packages_there_are() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    folders = {".".join(file.relative_to(ROOT).parts[:-1]) for file in MODULES.values()}
    assert set(listed["tool"]["setuptools"]["packages"]) == folders | {"benchmarks"}


@pytest.mark.parametrize("name", ["arena", "luck", "scaling", "scoring", "stopping", "uno"])
def test_a_benchmark_starts_as_a_file_too(name: str, tmp_path: Path) -> None:
    command = [sys.executable, ROOT / "benchmarks" / f"{name}.py", "--help"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "--json" in done.stdout


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
