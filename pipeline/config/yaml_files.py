"""YAML files as Hydra reads them. A faulty one is refused by file, line and what is wrong."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from hydra import initialize_config_dir
from hydra.core.config_loader import ConfigLoader
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigResult, ConfigSource
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import OmegaConf

from gauntlet.common.errors import UserError

CONF = Path(__file__).parent.parent.parent / "conf"
MOST_BYTES = 1_000_000
DEEPEST = 50
"""Levels of brackets or indentation."""
MOST_VALUES = 10_000
"""Values of a file once every alias stands for what it repeats."""
TAG = "tag:yaml.org,2002:"
TAGS = {None, "!", *(TAG + kind for kind in ("str", "int", "float", "bool", "null", "seq", "map"))}
_folders: ContextVar[tuple[Path, ...]] = ContextVar("_folders", default=())


class YamlFiles(ConfigSource):
    """A folder of configs, `yaml:///path`, with every file checked before it is loaded."""

    @staticmethod
    def scheme() -> str:
        return "yaml"

    def load_config(self, config_path: str) -> ConfigResult:
        """The file's config. Raises UserError."""
        file = self._file(config_path)
        try:
            text = _text(file)
            header = self._get_header_dict(text)
            config = copy.deepcopy(_loaded(text))
        except yaml.YAMLError as error:
            raise UserError(f"{file}{explained(error)}") from error
        except (ValueError, TypeError, OSError) as error:
            raise UserError(f"{file}: {getattr(error, 'strerror', None) or error}") from error
        if "hydra" in config or str(header["package"]).startswith("hydra"):
            raise UserError(
                f"{file}: Hydra's own settings are not for a run; `sweep` lists choices"
            )
        return ConfigResult(self.provider, self.full_path(), config, header)

    def available(self) -> bool:
        return self.is_group("")

    def is_group(self, config_path: str) -> bool:
        return Path(self.path, config_path).is_dir()

    def is_config(self, config_path: str) -> bool:
        return self._file(config_path).is_file()

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        names: list[str] = []
        for file in Path(self.path, config_path).iterdir():
            where = f"{config_path}/{file.name}".lstrip("/")
            self._list_add_result(names, where, file.name, results_filter)
        return sorted(set(names))

    def _file(self, config_path: str) -> Path:
        return Path(self.path, self._normalize_file_name(config_path))


class OurFolders(SearchPathPlugin):
    """Has Hydra read conf/ and further folders as YamlFiles."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        search_path.prepend("gauntlet", f"yaml://{CONF}", anchor="main")
        for folder in _folders.get():
            search_path.append("command-line", f"yaml://{folder}")


@contextmanager
def reading(folders: Sequence[Path]) -> Iterator[ConfigLoader]:
    """Hydra's loader of conf/ and of these folders, with no plugins but its own and ours: it would
    run whatever lies in a folder `hydra_plugins`."""
    sys.modules.setdefault("hydra_plugins", None)  # type: ignore[arg-type]  # cannot be imported
    for plugin in (YamlFiles, OurFolders):
        Plugins.instance().register(plugin)
    before = _folders.set(tuple(folders))
    try:
        with initialize_config_dir(str(CONF), version_base="1.3"):
            yield GlobalHydra.instance().config_loader()
    finally:
        _folders.reset(before)


@lru_cache(maxsize=256)
def _loaded(text: str) -> Any:
    check(text)
    return OmegaConf.create(text)


def explained(error: yaml.YAMLError) -> str:
    """The line, where the error knows it, and what is wrong there: " line 3: found ..."."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    where = "" if mark is None else f" line {mark.line + 1}"
    said = getattr(error, "problem", None) or error
    return f"{where}: {said}"


def check(text: str) -> None:
    """Raises YAMLError for a document that is no mapping, is nested too deeply, grows too large by
    its aliases or has a tag that makes more than plain data. It is read event by event, so none of
    that costs time or memory."""
    sizes: dict[str, int] = {}
    opened: list[tuple[str | None, int]] = []
    size = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _ in opened):
                raise _fault(event, f"the anchor {event.anchor!r} holds itself")
            size += sizes.get(event.anchor, 1)
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = opened.pop()
            if anchor is not None:
                sizes[anchor] = size - before
        elif isinstance(event, yaml.NodeEvent):
            _refuse_node(event, len(opened))
            if isinstance(event, yaml.CollectionStartEvent):
                opened.append((event.anchor, size))
            elif event.anchor is not None:
                sizes[event.anchor] = 1
            size += 1
        if size > MOST_VALUES:
            raise _fault(event, f"a config has at most {MOST_VALUES:,} values, aliases counted out")
    if size == 0:
        raise yaml.YAMLError("the file is empty; a config is a mapping, KEY: VALUE")


def _refuse_node(event: yaml.NodeEvent, depth: int) -> None:
    if event.tag not in TAGS:
        raise _fault(event, f"the tag {event.tag} is not allowed; a config is plain data")
    if depth == 0 and not isinstance(event, yaml.MappingStartEvent):
        raise _fault(event, "a config is a mapping, KEY: VALUE")
    if isinstance(event, yaml.ScalarEvent) and "\0" in event.value:
        raise _fault(event, "a text with the character NUL, which no name or path may hold")
    if depth == DEEPEST:
        raise _fault(event, f"nested deeper than {DEEPEST} levels")


def _text(file: Path) -> str:
    """What the file holds. Raises YAMLError where that is too long or no text."""
    if file.stat().st_size > MOST_BYTES:
        raise yaml.YAMLError(f"the file is larger than {MOST_BYTES:,} bytes")
    data = file.read_bytes()
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        problem = f"the byte {data[error.start]:#04x} is not UTF-8"
        raise _at(data.count(b"\n", 0, error.start), problem) from error
    if found := yaml.reader.Reader.NON_PRINTABLE.search(text):
        raise _at(text.count("\n", 0, found.start()), f"the character {found.group()!a} is no text")
    return text


def _fault(event: yaml.Event, problem: str) -> yaml.MarkedYAMLError:
    return _at(event.start_mark.line, problem)


def _at(line: int, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=yaml.Mark("", 0, line, 0, None, None))
