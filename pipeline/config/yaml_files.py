"""YAML files as Hydra reads them. A faulty one is refused by file, line and what is wrong."""

from __future__ import annotations

from pathlib import Path

import yaml
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigResult

from common.errors import UserError

MOST_BYTES = 1_000_000
DEEPEST = 50
"""Levels of brackets or indentation."""
MOST_VALUES = 10_000
"""Values of a file once every alias stands for what it repeats."""
TAG = "tag:yaml.org,2002:"
TAGS = {None, "!", *(TAG + kind for kind in ("str", "int", "float", "bool", "null", "seq", "map"))}


class YamlFiles(FileConfigSource):
    """Hydra's source of `file://`, with every file checked before it is loaded."""

    def load_config(self, config_path: str) -> ConfigResult:
        """The file's config. Raises UserError."""
        file = Path(self.path, self._normalize_file_name(config_path))
        try:
            check(_text(file))
            return super().load_config(config_path)
        except yaml.YAMLError as error:
            raise UserError(f"{file}{explained(error)}") from error
        except (ValueError, TypeError) as error:
            raise UserError(f"{file}: {error}") from error


def use() -> None:
    """From now on Hydra reads files by YamlFiles."""
    Plugins.instance()  # registers Hydra's own source, and none after it
    SourcesRegistry.instance().types[YamlFiles.scheme()] = YamlFiles


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
