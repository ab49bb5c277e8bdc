"""Load YAML files for Hydra; errors give the file, the line and the problem."""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from itertools import takewhile
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
from gauntlet.common.sanitize import visible

CONF = Path(__file__).parent.parent.parent / "conf"
SWEEP = "sweep"
"""The key of an experiment's sweep lists."""
MOST_BYTES = 1_000_000
DEEPEST = 50
"""Most levels of brackets or indentation."""
MOST_VALUES = 10_000
"""Most values in a file, with every alias expanded."""
TAG = "tag:yaml.org,2002:"
TAGS = {None, "!", *(TAG + kind for kind in ("str", "int", "float", "bool", "null", "seq", "map"))}
_folders: ContextVar[tuple[Path, ...]] = ContextVar("_folders", default=())


class YamlFiles(ConfigSource):
    """A config folder, `yaml:///path`, whose files are checked before they are loaded."""

    @staticmethod
    def scheme() -> str:
        return "yaml"

    def load_config(self, config_path: str) -> ConfigResult:
        """The file's config. Raises UserError."""
        file = self._file(config_path)
        try:
            if file.stat().st_size > MOST_BYTES:
                raise ValueError(f"the file is larger than {MOST_BYTES:,} bytes")
            data = file.read_bytes()
            config = copy.deepcopy(_loaded(data))
            header = self._get_header_dict(data.decode())
        except yaml.reader.ReaderError as error:
            line = data.count(b"\n", 0, error.position) + 1
            raise UserError(f"{file} line {line}: {error.reason}") from error
        except yaml.MarkedYAMLError as error:
            where = f" line {mark.line + 1}" if (mark := error.problem_mark) else ""
            raise UserError(f"{file}{where}: {error.problem}") from error
        except (yaml.YAMLError, ValueError, TypeError, OSError) as error:
            raise UserError(f"{file}: {getattr(error, 'strerror', None) or error}") from error
        if "hydra" in config or str(header["package"]).startswith("hydra"):
            raise UserError(
                f"{file}: Hydra's own settings are not for a run; `{SWEEP}` lists choices"
            )
        if SWEEP in config and config_path.partition("/")[0] not in ("config", "experiment"):
            raise UserError(f"{file}: `{SWEEP}` is for files of the group experiment")
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
    """Makes Hydra read conf/ and the further folders as YamlFiles."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        search_path.prepend("gauntlet", f"yaml://{CONF}", anchor="main")
        for folder in _folders.get():
            search_path.append("command-line", f"yaml://{folder}")


@contextmanager
def reading(folders: Sequence[Path]) -> Iterator[ConfigLoader]:
    """Yield Hydra's loader for conf/ and these folders. Only Hydra's plugins and ours are loaded;
    otherwise Hydra would run anything in a folder called `hydra_plugins`."""
    sys.modules.setdefault("hydra_plugins", None)  # type: ignore[arg-type]  # cannot be imported
    for plugin in (YamlFiles, OurFolders):
        Plugins.instance().register(plugin)
    before = _folders.set(tuple(folders))
    try:
        with initialize_config_dir(str(CONF), version_base="1.3"):
            yield GlobalHydra.instance().config_loader()
    finally:
        _folders.reset(before)


def first_sentence(group: str, name: str, folders: Sequence[Path]) -> str:
    """The first sentence of the comment that a choice's file begins with; "" without one."""
    files = (folder / group / f"{name}.yaml" for folder in folders)
    file = next((file for file in files if file.is_file()), None)
    lines = file.read_text(encoding="utf-8").splitlines() if file else []
    comments = takewhile(lambda line: line.startswith("#"), lines)
    words = [line.lstrip("# ") for line in comments if "@package" not in line]
    return re.split(r"(?<=[.?!]) (?=[A-Z])", visible(" ".join(words)))[0]


@lru_cache(maxsize=256)
def _loaded(data: bytes) -> Any:
    _check(data)
    return OmegaConf.create(data.decode())


def _check(data: bytes) -> None:
    """Raises YAMLError for a document that is not a mapping, is nested too deeply, grows too large
    through aliases, or has a tag for more than plain data. It reads events one by one, so a
    malicious file costs neither time nor memory."""
    sizes: dict[str | None, int] = {}
    open_nodes: list[tuple[str | None, int]] = []
    size = 0
    for event in yaml.parse(data, Loader=yaml.CSafeLoader):
        problem = ""
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_nodes.pop()
            sizes[anchor] = size - before
        elif isinstance(event, yaml.AliasEvent):
            size += sizes.get(event.anchor, 1)
            if any(anchor == event.anchor for anchor, _ in open_nodes):
                problem = f"the anchor {event.anchor!r} holds itself"
        elif isinstance(event, yaml.NodeEvent):
            if event.tag not in TAGS:
                problem = f"the tag {event.tag} is not allowed; a config is plain data"
            elif not open_nodes and not isinstance(event, yaml.MappingStartEvent):
                problem = "a config is a mapping, KEY: VALUE"
            elif "\0" in (getattr(event, "value", None) or ""):
                problem = "a text with the character NUL, which no name or path may hold"
            elif len(open_nodes) == DEEPEST:
                problem = f"nested deeper than {DEEPEST} levels"
            if isinstance(event, yaml.CollectionStartEvent):
                open_nodes.append((event.anchor, size))
            size += 1
        if size > MOST_VALUES:
            problem = f"a config has at most {MOST_VALUES:,} values, with every alias expanded"
        if problem:
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
    if size == 0:
        raise yaml.YAMLError("the file is empty; a config is a mapping, KEY: VALUE")
