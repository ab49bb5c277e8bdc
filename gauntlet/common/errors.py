"""The error tree, and helpers for messages.

A UserError is one that the user can fix: a run ends with its one-line message and status 2.

    GauntletError
    ├── UserError             a request cannot be fulfilled
    │   ├── ModelError        a model cannot be used as configured
    │   │   └── Stopped       a model gives no more answers in this run
    │   └── Halted            a run ends early for that reason; played matches are kept
    ├── IllegalAction         a move that the rules do not allow
    └── WorkerLost            a worker died with its matches; others play them
"""

from __future__ import annotations

import difflib
import re
import sys
import traceback
from collections.abc import Collection, Iterable
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from operator import attrgetter
from types import ModuleType

from gauntlet.common.sanitize import visible


class GauntletError(Exception):
    """Base of the project's errors, except for wrong arguments of functions (ValueError).

    Its message is safe for a terminal, whatever names it contains.
    """

    def __str__(self) -> str:
        return visible(super().__str__())


class UserError(GauntletError):
    """A request cannot be fulfilled; the message is one line that says what would work."""


class ModelError(UserError):
    """A model cannot be used as configured; the message says which, why, and what would work."""


class Stopped(ModelError):
    """A model gives no more answers in this run; the message says why and what would help."""


class Halted(UserError):
    """The run ends early because a model gives no more answers; played matches are kept."""


class IllegalAction(GauntletError, ValueError):
    """A move that the rules do not allow in this state; the message names move and state."""


class WorkerLost(GauntletError):
    """The worker died with its lease; the message says how."""


def raised(error: BaseException) -> str:
    """The exception's type and message in one line."""
    said = " ".join(str(error.msg if isinstance(error, SyntaxError) else error).split())
    return f"{type(error).__name__}: {said}".removesuffix(": ")


def raised_at(error: BaseException, packages: Collection[str]) -> str:
    """The innermost file and line in these packages that raised the error; "" if there is none. For
    a call with wrong arguments, the definition of the function."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f"{error.filename} line {error.lineno}"
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        file, module = frame.f_code.co_filename, str(frame.f_globals.get("__name__"))
        if module.partition(".")[0] in packages and not file.startswith("<"):
            return f"{file} line {line}"
    return _called(error, packages)


def _called(error: BaseException, packages: Collection[str]) -> str:
    wrong = re.match(r"([\w.]+)\(\) (takes|missing|got) ", str(error))
    if not (isinstance(error, TypeError) and wrong):
        return ""
    for module in [m for name, m in sys.modules.items() if name.partition(".")[0] in packages]:
        with suppress(AttributeError):
            function = attrgetter(wrong[1])(module)
            code = getattr(function, "fget", function).__code__
            return f"{code.co_filename} line {code.co_firstlineno}"
    return ""


def counted(count: int, noun: str, plural: str = "s") -> str:
    """The count with its noun: "1 cell", "1,200 matches"."""
    return f"{count:,} {noun}{plural if count != 1 else ''}"


def suggest(word: str, choices: Iterable[str]) -> str:
    """ "; did you mean 'x'?" if a known name is close to `word`, and the list of known names."""
    names = sorted(choices)
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"{hint} (known: {', '.join(names) or 'none'})"


def extra(module: str, name: str, package: str = "") -> ModuleType:
    """Import `module`, which the extra `name` installs.

    package: the distribution's name, if it differs from the module's.

    Raises UserError with the install command if it is missing.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        absent = (error.name or module).partition(".")[0]
        if absent != module.partition(".")[0]:
            raise
        raise _absent(package or absent, name) from error


def require(package: str, name: str) -> None:
    """Raise like `extra` without importing: for packages that are slow to import or only needed
    by another process."""
    if not installed(package):
        raise _absent(package, name)


def installed(package: str) -> bool:
    """Whether a package can be imported."""
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def _absent(package: str, name: str) -> UserError:
    return UserError(f"{package} is not installed: pip install 'gauntlet[{name}]'")
