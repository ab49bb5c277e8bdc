"""From a command line to the sweep that Hydra composes of it.

Hydra calls the project's launcher with all jobs of the sweep (`hydra_plugins/`), and the launcher
calls `take` here: whoever asked for the composition said what is to be done with it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import NoneType
from typing import Any

from common.errors import UserError, raised, raised_at
from pipeline.config import secrets, yaml_files
from pipeline.config.command import INSTEAD, explain, words
from pipeline.config.keys import GROUPS
from pipeline.config.read import CellConfig, SweepConfig

CONF = Path(__file__).parent.parent.parent / "conf"
OF_A_CHOICE = re.compile(rf"[+~]*({'|'.join(GROUPS)})\.")
"""How a word begins that sets a key of a choice, as in prompt.moves=3."""
OWN_PLUGINS = "hydra_plugins.gauntlet_launcher.Gauntlet"
PLUGIN_SETTINGS: Mapping[str, tuple[str, ...]] = {"sweeper": ("params",), "launcher": ()}
PLUGINS = (OWN_PLUGINS, "hydra._internal.core_plugins.")

Act = Callable[[Sequence[CellConfig], SweepConfig], int]
Composed = tuple[Sequence[CellConfig], SweepConfig]
_composed: list[Composed] = []


def take(cells: Sequence[CellConfig], sweep: SweepConfig) -> None:
    """What the launcher does with the sweep that Hydra composed: `compose` acts on it."""
    _composed.append((cells, sweep))


def compose(arguments: Sequence[str] | None, then: Act) -> int:
    """Composes the command line, or `arguments`, and does `then` with it.

    Returns the exit status: what `then` does, 2 (user's mistake) or 130 (interrupted).
    """
    packages: set[str] = set()
    try:
        sweeps = composed(words(sys.argv[1:] if arguments is None else arguments))
        packages.update(name for cells, _ in sweeps for cell in cells for name in cell.packages)
        return max([then(cells, sweep) for cells, sweep in sweeps], default=0)
    except KeyboardInterrupt:
        print("\ninterrupted; the same command again goes on", file=sys.stderr)
        return 130
    except (Exception, SystemExit) as error:
        message = _refusal(error, packages)
        if not message:
            raise
    print(f"gauntlet: {secrets.cut(' '.join(message.split()))}", file=sys.stderr)
    return 2


def _refusal(error: BaseException, packages: Collection[str]) -> str:
    """One line for what a user can mend, also in a module of these packages; "" for a bug of
    ours."""
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, MemoryError):
        return f"memory is used up: {error or 'an allocation failed'}"
    if at := raised_at(error, packages):
        return f"{at}: {raised(error)}"
    if isinstance(error, OSError):
        named = error.filename2 or error.filename or "the system"
        return f"{named}: {error.strerror or error}; what was played is safe"
    return ""


def composed(given: Sequence[str]) -> list[Composed]:
    """What Hydra makes of the words: one sweep, or none where it was asked to show something.
    Raises UserError."""
    import hydra
    from hydra.errors import HydraException
    from omegaconf import DictConfig
    from omegaconf.errors import OmegaConfBaseException

    os.environ["HYDRA_FULL_ERROR"] = "1"  # else Hydra prints and exits before we can explain
    yaml_files.use()
    secrets.use()

    @hydra.main(config_path=str(CONF), config_name="config", version_base="1.3")
    def composing(config: DictConfig) -> None:
        raise AssertionError("the launcher takes the jobs")

    before, sys.argv = sys.argv, [sys.argv[0], *given]
    _composed.clear()
    try:
        with only_plugins():
            composing()
        return list(_composed)
    except (HydraException, OmegaConfBaseException, ValueError) as error:
        raise UserError(explain(error)) from error
    finally:
        sys.argv = before


@contextmanager
def only_plugins() -> Iterator[None]:
    """Hydra composes nothing meanwhile that would make it call anything but its own plugins.

    Hydra builds whatever `hydra.callbacks` and its logging configs name, before any launcher is
    asked, so an experiment file could run any function. It has no setting against that. Nor does it
    compose everything once more to learn that this is to be a sweep, as all are; nor set a choice's
    keys in the config of the whole sweep, where the choice is still the default.
    """
    from hydra._internal.config_loader_impl import ConfigLoaderImpl
    from hydra._internal.hydra import Hydra
    from hydra.errors import HydraException
    from hydra.types import RunMode
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    load, mode = ConfigLoaderImpl.load_configuration, Hydra.get_mode

    def checked(self: Any, *arguments: Any, **more: Any) -> Any:
        given = more.get("overrides", ())
        if more.get("run_mode") is RunMode.MULTIRUN:
            more["overrides"] = [word for word in given if not OF_A_CHOICE.match(word)]
        try:
            config = load(self, *arguments, **more)
        except (HydraException, OmegaConfBaseException, OSError, MemoryError):
            raise
        except Exception as error:  # whatever a file or a word made Hydra trip over
            raise UserError(explain(error)) from error
        if more.get("config_name") is not None:  # --hydra-help composes Hydra's own files alone
            whole: Any = OmegaConf.to_container(config, resolve=False)
            typed = (word.partition("=") for word in given)
            secrets.refuse({**{key: value for key, _, value in typed}, **whole})
            refuse_calls(whole["hydra"], "hydra")
            refuse_others(whole["hydra"])
        if more.get("run_mode") is RunMode.MULTIRUN:
            config.hydra.overrides.task = [
                word for word in given if word not in config.hydra.overrides.hydra
            ]
        return config

    setattr(ConfigLoaderImpl, "load_configuration", checked)  # noqa: B010
    setattr(Hydra, "get_mode", lambda *_, **__: RunMode.MULTIRUN)  # noqa: B010
    try:
        yield
    finally:
        setattr(ConfigLoaderImpl, "load_configuration", load)  # noqa: B010
        setattr(Hydra, "get_mode", mode)  # noqa: B010


def refuse_others(hydra: Mapping[str, Any]) -> None:
    """Raises UserError where Hydra's sweeper or launcher is not ours, and where its job copies
    variables of the environment into the config."""
    for kind, settings in PLUGIN_SETTINGS.items():
        node = hydra[kind]
        known = isinstance(node, Mapping) and node.keys() <= {"_target_", *settings}
        if not known or node.get("_target_") != f"{OWN_PLUGINS}{kind.title()}":
            raise UserError(f"hydra.{kind} is {node!r}; {INSTEAD[f'hydra/{kind}']}")
    params = hydra["sweeper"].get("params")
    if not isinstance(params, (Mapping, NoneType)):
        raise UserError(f"hydra.sweeper.params is {params!r}; it must be a mapping, KEY: VALUES")
    for key in ("env_copy", "env_set"):
        if hydra["job"][key]:
            raise UserError(f"hydra.job.{key} is not for a run; {INSTEAD[f'hydra.job.{key}']}")


def refuse_calls(node: Any, where: str) -> None:
    """Raises UserError where the node names something to call that is no plugin."""
    if isinstance(node, list):
        node = dict(enumerate(node))
    if not isinstance(node, Mapping):
        return
    for key, value in node.items():
        plugin = key == "_target_" and str(value).startswith(PLUGINS)
        if key in ("_target_", "()", "class") and not plugin:
            raise UserError(
                f"{where}.{key} is {value!r}; a config names classes of games, agents and models "
                "only, and nothing else that is to be called"
            )
        refuse_calls(value, f"{where}.{key}")
