"""The config folders as Hydra reads them: each file is parsed once, and an error names the file.

`${oc.env:NAME}` reads only variables that `allow_env` lists, and no secrets.
"""

from __future__ import annotations

import copy
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Any, ClassVar

import yaml
from hydra import initialize_config_dir
from hydra.core.config_loader import ConfigLoader
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigResult, ConfigSource
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf
from omegaconf._utils import get_yaml_loader

from gauntlet.common.conf_folders import CONF, conf_folders
from gauntlet.common.errors import UserError
from gauntlet.common.sanitize import visible
from gauntlet.pipeline.config.secrets import looks_secret

SWEEP = "sweep"
"""The key of an experiment's sweep lists."""
_folders: ContextVar[tuple[Path, ...]] = ContextVar("_folders", default=())


class YamlFiles(ConfigSource):
    """A config folder, `yaml:///path`."""

    @staticmethod
    def scheme() -> str:
        return "yaml"

    def load_config(self, config_path: str) -> ConfigResult:
        """The file's config. Raises UserError."""
        file = self._file(config_path)
        try:
            text = file.read_text(encoding="utf-8")
            config = copy.deepcopy(_parsed(text))
            header = self._get_header_dict(text)
        except yaml.MarkedYAMLError as error:
            where = f" line {mark.line + 1}" if (mark := error.problem_mark) else ""
            raise UserError(f"{file}{where}: {error.problem}") from error
        except (yaml.YAMLError, ValueError, TypeError, OSError) as error:
            raise UserError(f"{file}: {getattr(error, 'strerror', None) or error}") from error
        except RecursionError as error:
            raise UserError(f"{file}: nested too deeply, or an anchor holds itself") from error
        if not isinstance(config, DictConfig) or not config:
            raise UserError(f"{file}: a config is a mapping, KEY: VALUE")
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
        for folder in (*conf_folders()[1:], *_folders.get()):
            search_path.append("command-line", f"yaml://{folder}")


def existing(folders: Sequence[Path]) -> list[Path]:
    """The config folders as absolute paths. Raises UserError if one is missing."""
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"--config-dir {folder}: the folder is not found")
    return [folder.absolute() for folder in folders]


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


class Loader(get_yaml_loader()):  # type: ignore[misc]  # OmegaConf makes its class in a function
    """OmegaConf's loader by the core schema of YAML 1.2: `on` and `no` are no switches, 12:00:00 no
    number of seconds and 0123 not octal, but what was typed, as on a command line."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}


for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", [*"tTfF"]),
    ("int", r"[-+]?(0|[1-9][0-9]*)", [*"-+0123456789"]),
    ("float", r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+"
     r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", [*"-+.0123456789"]),
    ("merge", r"<<", ["<"]),
):  # fmt: skip
    Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern})\Z"), _first
    )


def load(text: str) -> Any:
    """A file's content as plain data. Raises yaml.YAMLError."""
    return yaml.load(text, Loader)


@lru_cache(maxsize=256)
def _parsed(text: str) -> Any:
    return OmegaConf.create(load(text) or {})


def _variable(name: str, *default: Any, _root_: DictConfig) -> Any:
    """The value of an environment variable, or the default. Raises UserError if `allow_env` does
    not list it, and for a secret."""
    where = f"${{oc.env:{name}}}"
    if looks_secret(str(name)):
        raise UserError(f"{where}: {name} looks like a secret, and no config may hold one")
    if name not in (OmegaConf.select(_root_, "allow_env", default=None) or ()):
        raise UserError(f"{where}: {name} is not in allow_env; allow_env=[{name}] lets it be read")
    if name not in os.environ and not default:
        raise UserError(f"{where}: the environment has no variable {name}")
    return os.environ.get(name, *default)


OmegaConf.register_new_resolver("oc.env", _variable, replace=True)
