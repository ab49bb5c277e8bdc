"""Build objects from YAML nodes: `_target_` names a class, the other keys are its arguments.

The class's dataclass fields are the schema. Arguments may be nodes themselves, or lists or mappings
of nodes: a game that wraps a game, an agent made of several. Only classes from the project and from
packages that the user lists are allowed, so a config cannot run anything else.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import sys
import typing
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from gauntlet.common.errors import UserError, raised, raised_at, suggest
from gauntlet.common.ids import PACKAGE, ROOMS, dotted_name
from gauntlet.pipeline.config.values import check_value

OWN_PACKAGES = tuple(PACKAGE + room for room in ROOMS)
PACKAGES = "GAUNTLET_PACKAGES"
"""The environment variable with the packages of the user's own that records may name."""
TARGET = "_target_"
DEEPEST = 12
"""Most levels of nesting in a node."""


class _Links:
    """Refuses to import our modules by the links at the top of a checkout (`games.base`): they
    would be second copies, whose classes are not those of the first."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: object = None) -> None:
        room = name.partition(".")[0]
        if path and Path(*path[:1]).resolve() == Path(__file__).resolve().parents[2] / room:
            raise ImportError(f"{name} is {PACKAGE}{name}: import it by its full name")


def build(node: Mapping[str, Any], where: str, packages: Sequence[str], **supplied: Any) -> Any:
    """Build the object that `node` describes; `where` is its config key, for messages.

    The pipeline provides the `supplied` arguments, and the node may not set them. They are also
    passed to nested nodes that do not set them. Raises UserError for an unknown target, a missing
    or unknown key, a wrong type, or a value that the class rejects.
    """
    if TARGET not in node:
        raise UserError(f"{where}.{TARGET} must be given: the class to be built")
    fields = _settings(_find(node, where, packages))
    for key in sorted(supplied.keys() & node.keys() & fields.keys()):
        raise UserError(f"{where}.{key} is not a setting: the pipeline gives it")
    return _Builder(packages, supplied).build_value(node, where, DEEPEST)


def takes(node: Any, setting: str, where: str, packages: Sequence[str]) -> bool:
    """Whether the class of `node`, or of a node nested in it, has this setting. Raises UserError
    for an unknown target."""
    if isinstance(node, (list, tuple)):
        return any(takes(item, setting, where, packages) for item in node)
    if not isinstance(node, Mapping):
        return False
    own = TARGET in node and setting in _settings(_find(node, where, packages))
    return own or any(takes(value, setting, where, packages) for value in node.values())


class _Builder(NamedTuple):
    packages: Sequence[str]
    supplied: Mapping[str, Any]

    def build_value(self, value: Any, where: str, depth: int) -> Any:
        """The value, with every node in it replaced by its object."""
        if depth < 0:
            raise UserError(f"{where} lies too deep: a node has at most {DEEPEST} levels")
        if isinstance(value, (list, tuple)):
            return [self.build_value(v, f"{where}.{k}", depth - 1) for k, v in enumerate(value)]
        if not isinstance(value, Mapping):
            return value
        arguments = {str(key): item for key, item in value.items() if key != TARGET}
        if TARGET in value:
            return self._instance(_find(value, where, self.packages), arguments, where, depth)
        return {k: self.build_value(v, f"{where}.{k}", depth - 1) for k, v in arguments.items()}

    def _instance(self, cls: type[Any], arguments: dict[str, Any], where: str, depth: int) -> Any:
        fields, hints = _settings(cls), _hints(cls, where)
        values = {key: item for key, item in self.supplied.items() if key in fields}
        for key, value in arguments.items():
            if key not in fields:
                known = fields.keys() - (values.keys() - arguments.keys())
                raise UserError(f"{where}.{key} is not a setting{suggest(key, known)}")
            built = self.build_value(value, f"{where}.{key}", depth - 1)
            arguments[key] = check_value(built, hints[key], f"{where}.{key}")
        values |= arguments
        for name, field in fields.items():
            required = field.default is field.default_factory is dataclasses.MISSING
            if required and name not in values:
                raise UserError(f"{where}.{name} must be given")
        try:
            instance = cls(**values)
            if not isinstance(instance, cls):
                kind = f"{cls.__module__}.{cls.__qualname__}"
                raise TypeError(f"{kind}() gave a {type(instance).__name__}")
            return instance
        except UserError:
            raise
        except (Exception, SystemExit) as error:
            at = raised_at(error, self.packages)
            if isinstance(error, ValueError):
                raise UserError(f"{where}: {error}" + f" ({at})" * bool(at)) from error
            if _lies_in(cls.__module__, OWN_PACKAGES):
                raise
            raise UserError(f"{where}: {at or cls.__qualname__}: {raised(error)}") from error


def _hints(cls: type[Any], where: str) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls)
    except (Exception, SystemExit) as error:  # annotations are user code
        named = f"{cls.__module__}.{cls.__qualname__}"
        raise UserError(f"{where}: an annotation of {named}: {raised(error)}") from error


def _settings(cls: type[Any]) -> dict[str, dataclasses.Field[Any]]:
    return {field.name: field for field in dataclasses.fields(cls) if field.init}


def _lies_in(module: str, packages: Sequence[str]) -> bool:
    return any(f"{module}.".startswith(f"{package}.") for package in packages)


@contextmanager
def loading(module: str, what: str, allowed: Sequence[str]) -> Iterator[None]:
    """Imports of a module, which may also lie in the current folder. Raises UserError for whatever
    its code raises. what: how the message begins."""
    if not _lies_in(module, OWN_PACKAGES) and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    sys.meta_path.insert(0, _Links)
    try:
        yield
    except KeyboardInterrupt:  # `compose` decides whether it was Ctrl-C
        raise
    except BaseException as error:  # also SystemExit: a module must not end a run silently
        at = raised_at(error, allowed)
        reason = f"{at}: {raised(error)}" if at else error
        if isinstance(error, ModuleNotFoundError) and error.name == module.partition(".")[0]:
            reason = f"{reason}; install the package, or put it in the current folder"
        raise UserError(f"{what} cannot be loaded: {reason}") from error
    finally:
        sys.meta_path.remove(_Links)


def _find(node: Mapping[str, Any], where: str, packages: Sequence[str]) -> type[Any]:
    target = str(node.get(TARGET))
    module, _, name = dotted_name(target).rpartition(".")
    allowed = (*OWN_PACKAGES, *packages)
    if not _lies_in(module, allowed):
        names = ",".join((*packages, module.partition(".")[0] or "NAME"))
        raise UserError(
            f"{where}._target_ is {target!r}; it must lie in {', '.join(allowed)}; if you trust "
            f"it, add packages=[{names}] to a run, {PACKAGES}={names} before any other command"
        )
    with loading(module, f"{where}._target_ {target!r}", allowed):
        cls = getattr(importlib.import_module(module), name)
    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
        raise UserError(f"{where}._target_ {target!r} is not a dataclass")
    if not _lies_in(cls.__module__, allowed):
        raise UserError(f"{where}._target_ {target!r} is only imported there; name it where it is")
    return cls
