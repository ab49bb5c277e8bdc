"""A Ray session: local to this machine, or in a running cluster.

Anyone who can reach an unprotected Ray can run code as its user. So every session and every process
that the project starts sets its authentication: a token, in a file that only its owner can read. A
local session listens only on the loopback interface.
"""

from __future__ import annotations

import logging
import os
import resource
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from gauntlet.common.errors import UserError, counted
from gauntlet.pipeline.config.read import Node

TOKEN_FILE = Path(".ray/auth_token")
"""Ray's own token file, in the home folder."""

LOOPBACK_SWITCH = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Named after the systems where "0" is the default. There is no other way to keep Ray on Linux on
the loopback interface: Ray replaces a node address of 127.0.0.1 by a reachable one."""

START_SECONDS = 120
"""Seconds that a Ray node may take to start; Ray's default of 30 is too short on a busy machine."""

FILES, FILES_A_WORKER = 48, 16
"""File descriptors that each Ray process must be allowed; two workers run with 64."""

ADDRESS_SPACE = 15 * 2**30
"""Bytes; Ray maps more than it uses, and hangs with 8 GB."""

MEGABYTES, MEGABYTES_A_WORKER = 300, 100
"""Memory below which Ray does not start, or a worker dies while loading."""

WATCHDOG = """
import shutil, sys, time

sys.stdin.read()  # ends when the driver does
time.sleep(1)  # Ray's own reaper ends most of them in this time
import psutil

for child in sys.argv[2:]:
    pid, _, created = child.partition(":")
    try:
        process = psutil.Process(int(pid))
        if process.create_time() == float(created):
            process.kill()
    except psutil.Error:
        pass
shutil.rmtree(sys.argv[1], ignore_errors=True)
"""
"""Source of a process that outlives a killed driver by a second or two, to clean up."""

LONGEST_FOLDER = 40
"""Characters of the folder below which Ray makes its sockets."""

JOIN_SECONDS = 300
"""Seconds that a cluster's nodes may take to join it."""


@contextmanager
def session(launch: Node) -> Iterator[None]:
    """Connect this process to the Ray of the launch config, until exit.

    Without an `address`, start a local Ray, and stop it on exit. With one, join the running cluster
    and leave it running. Raises UserError if that fails.
    """
    import ray

    try:
        if launch.get("address") is None:
            with tempfile.TemporaryDirectory(prefix="gauntlet-") as folder:
                _start(launch["workers"], Path(folder) / "token")
                with watched(Path(folder)):
                    yield
        else:
            _join(launch)
            yield
    finally:
        ray.shutdown()


@contextmanager
def watched(folder: Path) -> Iterator[None]:
    """If this process is killed inside the block, end its children within two seconds and remove
    `folder`: two of Ray's own processes would otherwise live on for a minute."""
    children = [
        f"{child.pid}:{child.create_time()}" for child in psutil.Process().children(recursive=True)
    ]
    command = [sys.executable, "-P", "-c", WATCHDOG, str(folder), *children]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as watchdog:
        try:
            yield
        finally:
            watchdog.kill()


def new_token(path: Path) -> None:
    """Write a fresh token to a new file that only its owner can read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_hex(32))


def authentication(token: Path | None) -> dict[str, str]:
    """The environment variables that make a process use this token, or no authentication."""
    if token is None:
        return {"RAY_AUTH_MODE": "disabled"}
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}


def starting(token: Path, loopback: bool) -> dict[str, str]:
    """The environment variables of a process that starts Ray: this token, a long start timeout, and
    with `loopback` no access from outside this machine."""
    return {
        **authentication(token),
        LOOPBACK_SWITCH: "0" if loopback else "1",
        "RAY_raylet_start_wait_time_s": str(START_SECONDS),
    }


def _start(workers: int | None, token: Path) -> None:
    """Raises UserError if this machine lacks resources for Ray; nothing is left behind."""
    import ray

    cores = max(len(os.sched_getaffinity(0)), workers or 1)
    check_resources(workers or cores)
    new_token(token)
    _set(starting(token, loopback=True))
    with _none_left():
        try:
            ray.init(
                address="local",
                num_cpus=cores,
                include_dashboard=False,
                logging_level=logging.ERROR,
                log_to_driver=False,
                _temp_dir=_folder_of_sockets(),
            )
        except Exception as error:  # Ray raises plain Exception if one of its processes fails
            why = next(iter(str(error).strip().splitlines()), type(error).__name__)
            raise UserError(
                f"Ray could not start on this machine: {why[:200]} (memory, /tmp and the limits of "
                "`ulimit -a` are its needs); launch=inline plays in this process, without it"
            ) from error
    _end_autoscaler()


def _folder_of_sockets() -> str | None:
    """Where Ray keeps its sockets, whose paths have at most 107 characters, its own 62 included;
    None for its default. Raises UserError."""
    if chosen := os.environ.get("RAY_TMPDIR", ""):
        if len(chosen) > LONGEST_FOLDER:
            raise UserError(
                f"RAY_TMPDIR is {chosen!r}, of {len(chosen)} characters; Ray's sockets need one of "
                f"at most {LONGEST_FOLDER}"
            )
        return None
    return None if len(tempfile.gettempdir()) <= LONGEST_FOLDER else "/tmp/ray"


def _end_autoscaler() -> None:
    """Kill the process that would add nodes to a cluster: a local Ray never adds any, and would
    wait a second for it at shutdown."""
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            script = next((word for word in process.cmdline() if word.endswith("monitor.py")), "")
            if "autoscaler" in script:
                process.kill()


def check_resources(workers: int) -> None:
    """Raise this process's soft limit of file descriptors to the hard one. Raises UserError if
    that, or the memory, is too small for a Ray with this many workers."""
    files = FILES + FILES_A_WORKER * workers
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < files:
        raise UserError(
            f"Ray with {counted(workers, 'worker')} needs {files} file descriptors, and this "
            "process may "
            f"have {hard} (ulimit -Hn); allow more, or say launch=inline or fewer launch.workers"
        )
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if space != resource.RLIM_INFINITY and space < ADDRESS_SPACE:
        raise UserError(
            f"Ray needs an address space of {ADDRESS_SPACE // 2**30} GiB, and this process may "
            f"have {space / 2**30:.1f} (ulimit -v); allow more, or say launch=inline"
        )
    needed = MEGABYTES + MEGABYTES_A_WORKER * workers
    free = int(psutil.virtual_memory().available) // 2**20
    if free < needed:
        raise UserError(
            f"Ray with {counted(workers, 'worker')} needs {needed:,} MB of memory beside the "
            "models, and "
            f"{free:,} MB are free; say launch=inline or fewer launch.workers"
        )


@contextmanager
def _none_left() -> Iterator[None]:
    """On UserError, kill the processes started inside the block: Ray leaves half of its own."""
    before = set(psutil.Process().children(recursive=True))
    try:
        yield
    except UserError:
        for process in set(psutil.Process().children(recursive=True)) - before:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        raise


def _join(launch: Node) -> None:
    import ray
    from ray.exceptions import AuthenticationError

    address = _address_of(launch)
    _set(authentication(_token_of(launch)))
    try:
        _knock(address)
        ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False)
    except (AuthenticationError, OSError, RuntimeError, ValueError) as error:
        why = next(iter(str(error).splitlines()), type(error).__name__)
        raise UserError(
            f"launch.address={address} cannot be joined: {why}. A Ray must run there, this "
            "machine must be one of its nodes, and launch.token_file must hold its token"
        ) from error
    _wait_for_nodes(launch["nodes"])


def _address_of(launch: Node) -> str:
    address = str(launch["address"])
    ray_address = os.environ.get("RAY_ADDRESS", "???") if address == "auto" else address
    if ray_address == "???":
        raise UserError(
            "launch=ray needs launch.address=HOST:PORT, the address of a running Ray; or "
            "launch.address=auto and the environment variable RAY_ADDRESS"
        )
    return ray_address


def _knock(address: str) -> None:
    """Raises OSError or ValueError at once if nothing listens: Ray itself retries for minutes."""
    host, _, port = address.rpartition(":")
    socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()


def _wait_for_nodes(count: int) -> None:
    """Return once `wanted` nodes have joined. Raises UserError after JOIN_SECONDS."""

    deadline = time.monotonic() + JOIN_SECONDS
    while (there := nodes_alive()) < count:
        if time.monotonic() > deadline:
            raise UserError(
                f"launch.nodes={count}: only {there} had joined the cluster in "
                f"{JOIN_SECONDS} seconds"
            )
        time.sleep(0.5)


def _token_of(launch: Node) -> Path | None:
    """The token file of the cluster to join; None if the cluster has no token."""
    if launch["auth"] == "disabled":
        return None
    given = launch["token_file"] or os.environ.get("RAY_AUTH_TOKEN_PATH")
    token = Path(given).expanduser() if given else Path.home() / TOKEN_FILE
    if not token.is_file():
        raise UserError(
            f"launch.token_file: {token} is not there; name the file that the cluster's token is "
            "in, or say launch.auth=disabled where it was started without one"
        )
    return token.absolute()


def _set(variables: dict[str, str]) -> None:
    """Set the variables that Ray reads, including those it has already read in this process."""
    from ray._private import ray_constants
    from ray._raylet import AuthenticationTokenLoader, Config  # type: ignore[attr-defined]

    os.environ.update(variables)
    os.environ.pop("RAY_AUTH_TOKEN", None)  # it would override the file
    ray_constants.ENABLE_RAY_CLUSTER = os.environ.get(LOOPBACK_SWITCH, "1") == "1"
    Config.initialize("")
    AuthenticationTokenLoader.instance().reset_cache()


def nodes_alive() -> int:
    """The number of live nodes in this session's cluster."""
    import ray

    # Ray's annotations lack `nodes`.
    return sum(node["Alive"] for node in ray.nodes())  # type: ignore[no-untyped-call]
