"""Real Ray sessions inspected from outside: who can reach them, and what they leave behind."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from gauntlet.pipeline.launch.session import new_token, starting
from tests.pipeline.logs import matches

pytestmark = pytest.mark.cluster

ALONE = """
import sys, ray
from gauntlet.pipeline.launch.session import session
with session({"workers": 2}):
    ray.get(ray.remote(lambda: 1).remote())
    print("up", flush=True)
    sys.stdin.read()
"""


def family(process: psutil.Process) -> list[psutil.Process]:
    return [process, *process.children(recursive=True)]


def listening(processes: list[psutil.Process]) -> set[str]:
    """The addresses at which these processes can be reached."""
    found = set()
    for process in processes:
        for connection in process.net_connections("inet"):
            if connection.status == psutil.CONN_LISTEN:
                found.add(connection.laddr.ip.removeprefix("::ffff:"))
    return found


def test_a_session_of_one_machine_is_on_loopback_and_leaves_no_process() -> None:
    run = subprocess.Popen(
        [sys.executable, "-c", ALONE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert run.stdout is not None
    assert run.stdout.readline() == "up\n"
    there = family(psutil.Process(run.pid))
    try:
        assert listening(there) == {"127.0.0.1"}
        daemons = [process for process in there if process.name() in ("raylet", "gcs_server")]
        assert len(daemons) >= 2
        environments = [process.environ() for process in daemons]
        assert {env["RAY_AUTH_MODE"] for env in environments} == {"token"}
        tokens = {env["RAY_AUTH_TOKEN_PATH"] for env in environments}
        token = Path(tokens.pop()).read_text()
        assert all(token not in repr(env) for env in environments)
    finally:
        run.communicate(timeout=60)
    assert run.returncode == 0
    _, alive = psutil.wait_procs(there, timeout=30)
    assert alive == []


def runs(process: psutil.Process) -> bool:
    """Whether the process runs; an ended one stays as a zombie until somebody waits for it."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_no_process_of_ray_outlives_a_killed_driver(figure: Callable[[str], None]) -> None:
    run = subprocess.Popen(
        [sys.executable, "-c", ALONE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert run.stdout is not None
    assert run.stdout.readline() == "up\n"
    there = family(psutil.Process(run.pid))
    token = Path(
        next(p for p in there if p.name() == "gcs_server").environ()["RAY_AUTH_TOKEN_PATH"]
    )
    assert token.exists()
    run.kill()
    run.wait()
    killed = time.monotonic()
    while (left := [p.name() for p in there if runs(p)]) and time.monotonic() < killed + 10:
        time.sleep(0.05)
    seconds = time.monotonic() - killed
    run.communicate()  # closes the pipes
    assert not left
    figure(f"{len(there)} processes of a killed driver ended in {seconds:.1f} s")
    assert seconds < 3
    assert not token.parent.exists()


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Yield the address and the token file of a Ray cluster started by another process."""
    token = tmp_path / "token"
    new_token(token)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"]
    command += [f"--port={port}", "--num-cpus=2", "--include-dashboard=false"]
    command += ["--node-ip-address=127.0.0.1", "--disable-usage-stats"]
    env = {**os.environ, **starting(token, loopback=True)}
    ray = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
    assert ray.stdout is not None
    assert any("Ray runtime started" in line for line in ray.stdout), "Ray did not start"
    yield f"127.0.0.1:{port}", token
    there = family(psutil.Process(ray.pid))
    ray.terminate()
    ray.communicate(timeout=60)
    _, alive = psutil.wait_procs(there, timeout=30)
    for process in alive:
        process.kill()


def sweep(folder: Path, *overrides: str) -> subprocess.CompletedProcess[str]:
    fast = ["tracking=none", "model=fake", "baseline=null", "deals=10", f"output_dir={folder}"]
    env = {**os.environ, "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    return subprocess.run(
        [sys.executable, "-m", "pipeline.run", *fast, *overrides],
        capture_output=True, text=True, timeout=240, env=env,
    )  # fmt: skip


def test_a_running_cluster_is_joined_by_its_token_and_left_running(
    running: tuple[str, Path], tmp_path: Path
) -> None:
    address, token = running
    join = ["launch=ray", f"launch.address={address}", f"launch.token_file={token}"]
    for folder in (tmp_path / "once", tmp_path / "again"):
        done = sweep(folder, *join)
        assert done.returncode == 0, done.stdout + done.stderr
    alone = sweep(tmp_path / "alone", "launch=inline")
    assert alone.returncode == 0, alone.stderr
    assert matches(tmp_path / "once") == matches(tmp_path / "again") == matches(tmp_path / "alone")

    new_token(tmp_path / "wrong")
    refused = sweep(tmp_path / "no", *join[:2], f"launch.token_file={tmp_path / 'wrong'}")
    assert refused.returncode == 2, refused.stdout + refused.stderr
    last = refused.stderr.strip().splitlines()[-1]
    assert last.startswith("gauntlet: launch.address=")
    assert "token" in last
    assert "Traceback" not in refused.stderr
