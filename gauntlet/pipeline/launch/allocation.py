"""Inside a SLURM job: start Ray on its nodes, run the sweep, and clean up both.

    python -m pipeline.launch.allocation FOLDER --requeues=N --seconds=S -- ARGUMENTS

The batch process runs this on the first node. It starts one task per node with srun; each keeps a
Ray node alive as long as its standard input is open, so anything that ends the batch process ends
them too. Then it runs `pipeline.run ARGUMENTS`. On SIGUSR1 (the time limit is near) or SIGTERM
(preemption) the sweep flushes its log and stops, and the job is requeued.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from gauntlet.common.errors import UserError
from gauntlet.pipeline.launch.session import JOIN_SECONDS, new_token, starting

LOOPBACK = "127.0.0.1"
STOP_SECONDS = 20
"""Seconds that a Ray node may take to shut down before it is killed."""

PR_SET_CHILD_SUBREAPER = 36


class StopSignal:
    """Whether the job was asked to stop, and by which signal.

    SLURM sends the warning before a preemption to the tasks only; they create a file.
    """

    def __init__(self) -> None:
        self._by: str | None = None
        self.file: Path | None = None
        for number in (signal.SIGUSR1, signal.SIGTERM):
            signal.signal(number, self._ask)

    @property
    def by(self) -> str | None:
        if self._by is None and self.file is not None and self.file.exists():
            self._by = signal.SIGTERM.name
        return self._by

    def _ask(self, number: int, _: object) -> None:
        self._by = signal.Signals(number).name


def run(folder: Path, requeues: int, seconds: int, arguments: Sequence[str]) -> int:
    """Play the sweep on the job's nodes; return its exit status. Raises UserError."""
    stop_signal = StopSignal()
    nodes = int(os.environ["SLURM_JOB_NUM_NODES"])
    host = LOOPBACK if nodes == 1 else first_node()
    address = f"{host}:{free_port(host)}"
    with tempfile.TemporaryDirectory(prefix="token-", dir=folder) as private:
        token = Path(private) / "token"
        new_token(token)
        env = {**os.environ, **starting(token, host == LOOPBACK), "RAY_ADDRESS": address}
        with ray_nodes(nodes, env) as step:
            status = play(arguments, env, step, stop_signal, seconds / 2)
    if stop_signal.by is not None and status not in (0, 2):
        return requeue(stop_signal.by, requeues, status)
    return status


def play(
    arguments: Sequence[str],
    env: Mapping[str, str],
    step: subprocess.Popen[bytes],
    stop_signal: StopSignal,
    patience: float,
) -> int:
    """Run the sweep to its end, or until it is asked to stop and has stopped within `patience`
    seconds. Returns its exit status, 130 if it was stopped. Raises UserError."""
    ready, stop_signal.file = beside_token(env, "ready"), beside_token(env, "asked")
    while not ready.exists() and stop_signal.by is None and step.poll() is None:
        time.sleep(0.2)
    if stop_signal.by is not None:
        return 130
    if step.poll() is not None:
        raise UserError("Ray did not start on the job's first node; see the log above")
    command = [sys.executable, "-m", "gauntlet.pipeline.run", *arguments]
    sweep = subprocess.Popen(command, env=env, start_new_session=True)
    while sweep.poll() is None and stop_signal.by is None and step.poll() is None:
        time.sleep(0.2)
    if sweep.poll() is None:
        # kill it if slow: a log may be cut anywhere, but the job must be requeued in time
        _end(sweep, patience)
        if stop_signal.by is None:
            raise UserError("Ray on the job's first node ended before the sweep; see the log above")
    return sweep.returncode if sweep.returncode >= 0 else 130


def requeue(cause: str, requeues: int, status: int) -> int:
    """Requeue the job, unless SLURM has ended it for good or it was requeued often enough."""
    job, restarts = os.environ["SLURM_JOB_ID"], int(os.environ.get("SLURM_RESTART_COUNT", 0))
    state = _output("squeue", "--noheader", "--format=%T", f"--jobs={job}")
    if state != "RUNNING":  # cancelled, or already requeued by SLURM
        say(f"{cause}: the sweep stopped; the job is {state or 'gone'} and is not queued again")
    elif restarts >= requeues:
        say(f"{cause}: the sweep stopped; not queued again after launch.requeues={requeues} times")
    else:
        say(f"{cause}: the sweep stopped; queued again, time {restarts + 1} of {requeues}")
        subprocess.run(["scontrol", "requeue", job], check=True)
    return status


@contextmanager
def ray_nodes(nodes: int, env: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a Ray node on each node of the job with one srun; end them on exit."""
    cores = os.environ.get("SLURM_CPUS_PER_TASK", "1")
    command = ["srun", f"--nodes={nodes}", f"--ntasks={nodes}", f"--cpus-per-task={cores}"]
    command.append("--kill-on-bad-exit=1")  # the first node's task fails only without a Ray head
    command.append("--no-kill")  # the sweep can do without another node
    task = [sys.executable, "-m", "gauntlet.pipeline.launch.allocation", "node"]
    step = subprocess.Popen(
        [*command, *task], env=env, stdin=subprocess.PIPE, start_new_session=True
    )
    assert step.stdin is not None
    try:
        yield step
    finally:
        with contextlib.suppress(BrokenPipeError):
            step.stdin.close()
        try:
            step.wait(2 * STOP_SECONDS)
        except subprocess.TimeoutExpired:
            _end(step, STOP_SECONDS)


def node() -> int:
    """Keep this node's Ray alive until standard input ends; leave no process and no file.

    The first node's task fails if its Ray ends early; the sweep can do without other nodes.
    """
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)  # adopt Ray's orphaned processes
    signal.signal(signal.SIGTERM, lambda *_: beside_token(os.environ, "asked").touch())
    first = os.environ["SLURM_PROCID"] == "0"
    with tempfile.TemporaryDirectory(prefix="gauntlet-", ignore_cleanup_errors=True) as folder:
        command = ray_start(first, folder)
        ray = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=_tell_when_ready, args=(ray, first), daemon=True).start()
        closed = False
        while ray.poll() is None and not closed:
            readable, _, _ = select.select([sys.stdin.buffer], [], [], 0.5)
            closed = bool(readable) and not os.read(sys.stdin.fileno(), 1024)
        _end_all(ray)
    if not closed:
        say(f"Ray ended on {os.environ['SLURMD_NODENAME']} with status {ray.returncode}")
    return int(first and not closed)


def ray_start(first: bool, folder: str) -> list[str]:
    """The command that starts this node's Ray; other nodes first wait for the first node's Ray."""
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block"]
    command += ["--disable-usage-stats", f"--num-cpus={os.environ['SLURM_CPUS_PER_TASK']}"]
    command.append(f"--temp-dir={folder}")
    host, _, port = os.environ["RAY_ADDRESS"].rpartition(":")
    if first:
        options = [
            f"--node-ip-address={host}",
            "--head",
            f"--port={port}",
            "--include-dashboard=false",
        ]
        return command + options
    deadline = time.monotonic() + JOIN_SECONDS
    while not beside_token(os.environ, "ready").exists() and time.monotonic() < deadline:
        time.sleep(0.2)
    options = [f"--node-ip-address={address_towards(host, port)}", f"--address={host}:{port}"]
    return command + options


def beside_token(env: Mapping[str, str], name: str) -> Path:
    """A file with which the job's processes signal each other: `ready` or `asked`."""
    return Path(env["RAY_AUTH_TOKEN_PATH"]).with_name(name)


def _tell_when_ready(ray: subprocess.Popen[str], first: bool) -> None:
    """Read the output of `ray start` to its end; on the first node, signal when Ray is ready."""
    assert ray.stdout is not None
    for line in ray.stdout:
        if first and "Ray runtime started" in line:
            beside_token(os.environ, "ready").touch()


def first_node() -> str:
    """The address at which the job's other nodes reach this first one. Raises UserError."""
    name = os.environ["SLURMD_NODENAME"]
    words = dict(
        word.partition("=")[::2]
        for word in _output("scontrol", "--oneliner", "show", "node", name).split()
    )
    host = socket.gethostbyname(words.get("NodeAddr", name))
    if host.startswith("127."):
        raise UserError(
            f"node {name} is known as {host}, which the job's other nodes cannot reach; its "
            "NodeAddr in slurm.conf, or its name, must lead to its address in the network"
        )
    return host


def free_port(host: str) -> int:
    """A free port on this machine."""
    with socket.socket() as listener:
        listener.bind((host, 0))
        port: int = listener.getsockname()[1]
        return port


def address_towards(host: str, port: str) -> str:
    """This machine's address on the route to `host`."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, int(port)))
        address: str = probe.getsockname()[0]
        return address


def say(line: str) -> None:
    print(f"gauntlet: {line}", flush=True)


def _end_all(ray: subprocess.Popen[str]) -> None:
    """End Ray and then any processes it leaves behind: they leave their parent's process group."""
    family = psutil.Process().children(recursive=True)
    _end(ray, STOP_SECONDS)
    for process in {*family, *psutil.Process().children(recursive=True)}:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def _end(process: subprocess.Popen[Any], patience: float) -> None:
    """Terminate a process; kill it if it does not exit in time."""
    process.terminate()
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def main() -> int:
    """Run the batch process, or with `node` one node's task; return the exit status."""
    if sys.argv[1:] == ["node"]:
        return node()
    ours, arguments = split(sys.argv[1:])
    parser = argparse.ArgumentParser(
        prog="pipeline.launch.allocation", description="inside a SLURM job"
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--requeues", type=int, required=True)
    parser.add_argument("--seconds", type=int, required=True)
    given = parser.parse_args(ours)
    try:
        return run(given.folder, given.requeues, given.seconds, arguments)
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2


def split(arguments: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The arguments before the first `--`, and those after it."""
    at = list(arguments).index("--")
    return arguments[:at], arguments[at + 1 :]


if __name__ == "__main__":
    sys.exit(main())
