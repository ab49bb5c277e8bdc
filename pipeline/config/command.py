"""The words of a command line before Hydra reads them, and its refusals in one line."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from gauntlet.common.errors import UserError, suggest
from gauntlet.pipeline.config.keys import GROUPS, RENAMED
from gauntlet.pipeline.config.seatings import fitting

LISTS = "sweep"
"""The key of an experiment's lists."""
CHOICES = (*GROUPS, "launch", "tracking", "experiment")
OF_HYDRA = re.compile(r"(.*@)?hydra([./:]|$)")


@dataclass(frozen=True)
class Asked:
    """What a command line asks for. show: "help" or "config" in place of a run."""

    show: str
    resolve: bool
    folders: tuple[Path, ...]
    words: tuple[str, ...]


def read(given: Sequence[str]) -> Asked:
    """The options, and the words as Hydra is to have them. Raises UserError."""
    for word in given:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise UserError(f"{word!r} holds bytes that are no text in UTF-8") from None
    asked, typed = _options(given)
    if "~experiment" in typed and not any(word.lstrip("+").startswith("name=") for word in typed):
        raise UserError("~experiment: a run needs a name: ~experiment +name=NAME")
    for word in typed:
        _refuse_word(word)
    folders = tuple(Path(folder).absolute() for folder in asked.config_dir)
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"--config-dir {folder}: the folder is not found")
    # what is about a seat may add to it: a seat's file need not list all its keys
    words = [f"++{word}" if word.startswith("seats.") else word for word in typed]
    show = "help" if asked.help else "config" if asked.cfg else ""
    return Asked(show, asked.resolve, folders, (*words, *_named(words)))


def _options(given: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("-h", "--help", action="store_true")
    for same in (("-m", "--multirun"), ("-r", "--run")):  # as Hydra has them: all runs are sweeps
        parser.add_argument(*same, action="store_true")
    parser.add_argument("-c", "--cfg", choices=["job"])
    parser.add_argument("--resolve", action="store_true")
    parser.add_argument("-cd", "--config-dir", action="append", default=[])
    try:
        asked, rest = parser.parse_known_args(list(given))
    except argparse.ArgumentError as error:
        raise UserError(str(error)) from error
    known = [name for action in parser._actions for name in action.option_strings]
    for word in rest:
        if word.startswith("-"):
            raise UserError(f"{word} is not an option{suggest(word, known)}")
    return asked, rest


def _refuse_word(word: str) -> None:
    key, _, value = word.lstrip("+~").partition("=")
    if OF_HYDRA.match(key):
        raise UserError(
            f"{word}: Hydra's own settings are not for a run; output_dir=DIR says where it writes, "
            "launch=NAME where it plays, --config-dir DIR where more configs lie"
        )
    if key.partition(".")[0] == LISTS:
        raise UserError(f"{word}: {LISTS} is for experiments; here list values, as in seed=1,2")
    if key in RENAMED:
        raise UserError(f"{word}: {key} is now called {RENAMED[key]}")
    if key == "game.num_seats":
        named = fitting(lambda seats: str(seats) == value)
        more = "seats=NAME; seats.2={player: random} adds one to seats=solo"
        raise UserError(f"{word}: as many play as sit in {named or more}")
    if key in CHOICES and value == "null":
        raise UserError(
            f"{word}: a run needs one: {key}=NAME (python -m pipeline.run --help lists them)"
        )


def _named(words: Sequence[str]) -> list[str]:
    """The run's name where none was typed: that of the folder, if one was."""
    typed = {word.lstrip("+").partition("=")[0]: word for word in words}
    if "name" in typed or "output_dir" not in typed:
        return []
    with explained():
        (override,) = OverridesParser.create().parse_overrides([typed["output_dir"]])
    folder = override.value()
    if not isinstance(folder, str) or not folder.strip() or "${" in folder:
        return []
    name = Path(folder).resolve().name.replace("\\", "\\\\").replace('"', '\\"')
    return [f'++name="{name}"']


@contextmanager
def explained(choices: Mapping[str, str] | None = None) -> Iterator[None]:
    """Whatever Hydra or OmegaConf refuses or trips over meanwhile, as a UserError of one line.

    choices: those of the job, for what is wrong with them alone.
    """
    try:
        yield
    except (UserError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and not isinstance(error, HydraException):
            raise
        raise UserError(_explain(error, choices or {})) from error


def _explain(error: BaseException, choices: Mapping[str, str]) -> str:
    errors = list(_causes(error))
    for each in errors:
        if isinstance(each, UserError):  # ours, raised in a resolver: OmegaConf knows at which key
            keys = [getattr(outer, "full_key", None) for outer in errors]
            return ": ".join([str(key) for key in keys[:1] if key] + [str(each)])
        if isinstance(each, RecursionError):
            return "a config includes or refers to itself, or is nested too deeply"
        if isinstance(each, MissingConfigException) and each.missing_cfg_file:
            group, _, choice = str(each.missing_cfg_file).rpartition("/")
            near = suggest(choice, each.options) if each.options else ""
            return f"{group}={choice} does not exist{near}".removeprefix("=")
        if isinstance(each, OverrideParseException):
            return (
                f"{each.override!r} cannot be read; it should be KEY=VALUE, a value with odd "
                "characters in quotes of its own: 'KEY=\"VALUE\"'"
            )
        if (
            isinstance(each, (ConfigAttributeError, ConfigKeyError))
            and each.parent_node is not None
        ):
            known = [str(key) for key in each.parent_node if key != "_target_"]
            key = str(each.full_key or each.key)
            group = key.partition(".")[0]
            owner = f"{group}={choices[group]}" if group in choices else "the config"
            return f"{key} is not a key of {owner}{suggest(str(each.key), known)}"
    lines = [line.strip() for line in str(errors[-1]).splitlines() if line.strip()]
    first = lines[0] if lines else type(errors[-1]).__name__
    if isinstance(errors[-1], (HydraException, OmegaConfBaseException, ValueError)):
        return first
    return f"{type(errors[-1]).__name__}: {first}"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
