"""The tree of errors, and the words of some. A UserError is one that a user can mend: a run ends
with its one line and status 2.

GauntletError
├── UserError             something asked for cannot be done
│   ├── ModelError        a model cannot be used as asked
│   │   └── Stopped       a model answers no more in this run
│   └── Halted            a run ends early because of that; what was played is kept
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
    """Whatever the project itself raises, but for wrong arguments of its functions (ValueError).
    Its message is fit for a terminal, whatever name it repeats."""

    def __str__(self) -> str:
        return visible(super().__str__())


class UserError(GauntletError):
    """Something asked for cannot be done; the message is one line that says what would do."""


class ModelError(UserError):
    """A model cannot be used as asked; the message says which, why, and what would do."""


class Stopped(ModelError):
    """A model answers no more in this run, whoever asks; the message says why and what would do."""


class Halted(UserError):
    """A model answers no more: the run ends early, and all that was played is kept."""


class IllegalAction(GauntletError, ValueError):
    """A move that the rules do not allow in this state; the message names move and state."""


class WorkerLost(GauntletError):
    """The worker died with its lease; the message says how."""


def raised(error: BaseException) -> str:
    """What was raised, in one line: its kind and what it says."""
    said = " ".join(str(error.msg if isinstance(error, SyntaxError) else error).split())
    return f"{type(error).__name__}: {said}".removesuffix(": ")


def raised_at(error: BaseException, packages: Collection[str]) -> str:
    """The file and line in these packages that raised it, the innermost, or of their function that
    cannot be called as it was; "" where there is none."""
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


def suggest(word: str, choices: Iterable[str]) -> str:
    """ "; did you mean 'x'?" where a known name is close to `word`, and the names there are."""
    names = sorted(choices)
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"{hint} (known: {', '.join(names) or 'none'})"


def extra(module: str, name: str, package: str = "") -> ModuleType:
    """The module `module`, which the extra `name` installs. Raises UserError with the command
    that installs it where it is not there. package: what people know it by, where the module is
    called otherwise."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        absent = (error.name or module).partition(".")[0]
        if absent != module.partition(".")[0]:
            raise
        raise _absent(package or absent, name) from error


def require(package: str, name: str) -> None:
    """Raises what `extra` does, and imports nothing: for packages that take seconds, or that
    another process needs."""
    try:
        found = find_spec(package)
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise _absent(package, name)


def _absent(package: str, name: str) -> UserError:
    return UserError(f"{package} is not installed: pip install 'gauntlet[{name}]'")
