"""From a command line to the sweep that Hydra composes of it.

Hydra calls the project's launcher with all jobs of the sweep (`hydra_plugins/`), and the launcher
calls `take` here: whoever asked for the composition said what is to be done with it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from common.errors import UserError
from pipeline.config.command import explain, words
from pipeline.config.keys import GROUPS
from pipeline.config.read import CellConfig, SweepConfig

CONF = Path(__file__).parent.parent.parent / "conf"
OF_A_CHOICE = re.compile(rf"[+~]*({'|'.join(GROUPS)})\.")
"""How a word begins that sets a key of a choice, as in prompt.moves=3."""
PLUGINS = ("hydra_plugins.gauntlet_launcher.", "hydra._internal.core_plugins.")

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
    try:
        sweeps = composed(words(sys.argv[1:] if arguments is None else arguments))
        return max((then(cells, sweep) for cells, sweep in sweeps), default=0)
    except UserError as error:
        message = str(error)
    except OSError as error:
        named = error.filename2 or error.filename or "the system"
        message = f"{named}: {error.strerror or error}; what was played is safe"
    except MemoryError as error:
        message = f"memory is used up: {error or 'an allocation failed'}"
    except KeyboardInterrupt:
        print("\ninterrupted; the same command again goes on", file=sys.stderr)
        return 130
    print(f"gauntlet: {' '.join(message.split())}", file=sys.stderr)
    return 2


def composed(given: Sequence[str]) -> list[Composed]:
    """What Hydra makes of the words: one sweep, or none where it was asked to show something.
    Raises UserError."""
    import hydra
    from hydra.errors import HydraException
    from omegaconf import DictConfig
    from omegaconf.errors import OmegaConfBaseException

    os.environ["HYDRA_FULL_ERROR"] = "1"  # else Hydra prints and exits before we can explain

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
    from hydra.types import RunMode
    from omegaconf import OmegaConf

    load, mode = ConfigLoaderImpl.load_configuration, Hydra.get_mode

    def checked(self: Any, *arguments: Any, **more: Any) -> Any:
        given = more.get("overrides", ())
        if more.get("run_mode") is RunMode.MULTIRUN:
            more["overrides"] = [word for word in given if not OF_A_CHOICE.match(word)]
        config = load(self, *arguments, **more)
        if more.get("run_mode") is RunMode.MULTIRUN:
            config.hydra.overrides.task = [
                word for word in given if word not in config.hydra.overrides.hydra
            ]
        if more.get("config_name") is not None:  # --hydra-help composes Hydra's own files alone
            refuse_calls(OmegaConf.to_container(config.hydra, resolve=False), "hydra")
        return config

    setattr(ConfigLoaderImpl, "load_configuration", checked)  # noqa: B010
    setattr(Hydra, "get_mode", lambda *_, **__: RunMode.MULTIRUN)  # noqa: B010
    try:
        yield
    finally:
        setattr(ConfigLoaderImpl, "load_configuration", load)  # noqa: B010
        setattr(Hydra, "get_mode", mode)  # noqa: B010


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
