"""The words of a command line before Hydra reads them, and its refusals in one line."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from hydra._internal.utils import get_args_parser
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from common.errors import UserError, nearest
from pipeline.config.keys import GROUPS
from pipeline.config.seatings import fitting

OURS = {"hydra.mode": "MULTIRUN", "hydra/launcher": "gauntlet", "hydra/sweeper": "gauntlet"}
"""What cannot be another."""

INSTEAD = {
    "hydra.mode": "every run is a sweep, of one cell where every key has one value; leave it out",
    "hydra/launcher": "launch=local, inline, ray or slurm says where matches are played",
    "hydra/sweeper": "all choices are planned together, as one table; leave it out",
    "hydra.run.dir": "output_dir=DIR says where a run writes",
    "hydra.sweep.dir": "output_dir=DIR says where a run writes",
    "hydra.sweep.subdir": "output_dir=DIR says where a run writes",
    "hydra.job.chdir": "output_dir=DIR says where a run writes",
    "hydra.job.env_copy": "allow_env=[NAME] lets a config read a variable of the environment",
    "hydra.job.env_set": "set variables of the environment where the run is started",
}
"""What of Hydra's own has no meaning here, and what has."""

CHOICES = (*GROUPS, "launch", "tracking", "experiment")

NOT_A_KEY = re.compile(r"Could not override '([^']+)'")
"""What Hydra says of a key that a config does not have."""


def words(given: Sequence[str]) -> list[str]:
    """The words as Hydra is to have them: a run is always its multirun, and what is about a seat
    may add to it. Raises UserError for what Hydra would stumble over."""
    for word in given:
        if not _encodes(word):
            raise UserError(f"{word!r} holds bytes that are no text in UTF-8")
        _refuse_instead(word)
    if "~experiment" in given and not any(word.lstrip("+").startswith("name=") for word in given):
        raise UserError("~experiment: a run needs a name: ~experiment +name=NAME")
    asked, overrides = _options(given)
    options = list(given)
    for word in overrides:  # Hydra wants them side by side
        options.remove(word)
    if asked.hydra_help:  # of Hydra's own config, which has none of our keys
        return ["--hydra-help"]
    if not any((asked.help, asked.hydra_help, asked.cfg, asked.info, asked.shell_completion)):
        runs = ("-r", "--run", "-m", "--multirun")
        options = ["--multirun", *(word for word in options if word not in runs)]
    return [*options, *map(opened, overrides), *named(overrides)]


def named(overrides: Sequence[str]) -> list[str]:
    """The run's name where none was typed: that of the folder, if one was."""
    typed = {word.lstrip("+").partition("=")[0]: word for word in overrides}
    if "name" in typed or "output_dir" not in typed:
        return []
    try:
        (override,) = OverridesParser.create().parse_overrides([typed["output_dir"]])
    except OverrideParseException:
        return []  # Hydra says what is wrong with it
    folder = override.value()
    if not isinstance(folder, str) or not folder.strip() or "${" in folder:
        return []
    name = Path(folder).resolve().name.replace("\\", "\\\\").replace('"', '\\"')
    return [f'++name="{name}"']


def opened(word: str) -> str:
    """The argument; one about a seat may add to it: a seat's file need not list all its keys."""
    return f"++{word}" if word.startswith("seats.") else word


def _encodes(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse_instead(word: str) -> None:
    key, _, value = word.lstrip("+~").partition("=")
    if key == "game.num_seats":
        named = fitting(lambda seats: str(seats) == value)
        more = "seats=NAME; seats.2={player: random} adds one to seats=solo"
        raise UserError(f"{word}: as many play as sit in {named or more}")
    if key in INSTEAD and OURS.get(key) != value:
        raise UserError(f"{word}: {INSTEAD[key]}")
    if key in CHOICES and value == "null":
        raise UserError(
            f"{word}: a run needs one: {key}=NAME (python -m pipeline.run --help lists them)"
        )


def _options(given: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Hydra's own options among the words, and all other words. Raises UserError for an option
    that Hydra does not have, and for two that exclude each other."""
    parser = get_args_parser()
    parser.exit_on_error = False
    known = [name for action in parser._actions for name in action.option_strings]
    try:
        asked, rest = parser.parse_known_args(list(given))
    except argparse.ArgumentError as error:
        raise UserError(str(error)) from error
    for word in rest:
        if word.startswith("-"):
            raise UserError(f"{word} is not an option{nearest(word, known)}")
    if asked.experimental_rerun is not None:
        raise UserError("--experimental-rerun: the same command again goes on by itself")
    commands = {"--cfg": asked.cfg, "--info": asked.info, "-sc": asked.shell_completion}
    commands["-m or -r"] = asked.multirun or asked.run
    both = [name for name, given_too in commands.items() if given_too]
    if len(both) > 1:
        raise UserError(f"{' and '.join(both)} exclude each other; give one of them")
    if asked.resolve and not (asked.cfg or asked.help):
        raise UserError("--resolve goes with --cfg; give both")
    return asked, [*asked.overrides, *rest]


def explain(error: Exception) -> str:
    """One line for what Hydra or OmegaConf refused, or tripped over."""
    if ours := _ours(error):
        return ours
    if isinstance(error, RecursionError):
        return "a config includes or refers to itself, or is nested too deeply"
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        group, _, choice = str(error.missing_cfg_file).rpartition("/")
        named = f"{group}={choice}" if group else f"the config {choice!r}"
        known = nearest(choice, error.options) if error.options else ""
        return f"{named} does not exist{known}"
    if isinstance(error, OverrideParseException):
        return (
            f"{error.override!r} cannot be read; it should be KEY=VALUE, a value with odd "
            "characters in quotes of its own: 'KEY=\"VALUE\"'"
        )
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines and isinstance(error.__cause__, Exception):
        return explain(error.__cause__)
    first = lines[0] if lines else type(error).__name__
    if not isinstance(error, (HydraException, OmegaConfBaseException, ValueError)):
        return f"{type(error).__name__}: {first}"
    if unknown := NOT_A_KEY.match(first):
        return f"{unknown.group(1)} is not a key of the config{_near(error.__cause__)}"
    swept = re.match(r"(?:Sweep parameters|Ambiguous value for argument) '(.+)'", first)
    if swept:
        return f"{swept.group(1)}: only one cell can be shown; give one value"
    if first.startswith("Error merging override") and error.__cause__ is not None:
        return f"{first}: {str(error.__cause__).splitlines()[0]}"
    return first


def _ours(error: BaseException | None) -> str:
    """The refusal of our own that OmegaConf wrapped in errors of its own, with the key that they
    know; "" where there is none."""
    where = ""
    while error is not None and not isinstance(error, UserError):
        where = str(getattr(error, "full_key", None) or where)
        error = error.__cause__ or error.__context__
    return "" if error is None else f"{where}: {error}".removeprefix(": ")


def _near(cause: BaseException | None) -> str:
    """The keys that there are in the place of one that is not."""
    parent = getattr(cause, "parent_node", None)
    if not isinstance(cause, (ConfigAttributeError, ConfigKeyError)) or parent is None:
        return " (python -m pipeline.run --help)"
    keys = [str(key) for key in parent if key != "_target_"]
    return nearest(str(cause.key).rpartition(".")[2], keys)
