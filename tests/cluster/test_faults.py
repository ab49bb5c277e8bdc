"""Faults in the middle of a sweep, on a real Ray cluster of two nodes.

After each, the sweep ends with the records of an undisturbed one: by itself or, if the fault takes
down the driver, when the command is repeated.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.logs import finished, matches
from tests.pipeline.test_kill import ancestors

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.slow,
    # Ray's test cluster leaves pipes open.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

DEALS = 40
COMMAND = (
    *("model=fake", "packages=[tests]", "model._target_=tests.cluster.brake.Braked"),
    *(f"deals={DEALS}", "baseline=null", "concurrent_matches=8"),
)
PATIENCE = 600
LOG_BYTES = 300_000
"""Size at which the log's disk is full: some of the matches fit, not all."""


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The records of an undisturbed sweep in one process."""
    folder = tmp_path_factory.mktemp("calm")
    status, said = end(start(folder, "launch=inline"))
    assert status == 0, said
    return matches(folder)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes of one core each, on loopback."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "disabled")
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        try:
            cluster.add_node(num_cpus=1)
            cluster.wait_for_nodes()
            yield cluster
        finally:
            cluster.shutdown()


def joined(cluster: Any) -> tuple[str, ...]:
    return ("launch=ray", f"launch.address={cluster.address}", "launch.auth=disabled")


def start(
    folder: Path, *overrides: str, tracking: str = "none", limited: bool = False
) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "pipeline.run", *COMMAND, f"tracking={tracking}"]
    command += [f"output_dir={folder}", f"+model.brake={brake(folder)}"]
    return subprocess.Popen(
        [*command, *overrides],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=limit_files if limited else None,
    )


def brake(folder: Path) -> Path:
    """The file that slows down the sweep of this folder while it exists."""
    return folder.with_name(f"{folder.name}.brake")


def limit_files() -> None:
    """Limit this process's files to LOG_BYTES: writes beyond fail as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (LOG_BYTES, LOG_BYTES))


def start_slowly(folder: Path, *overrides: str, **options: Any) -> subprocess.Popen[str]:
    brake(folder).write_text("0.1")
    return start(folder, *overrides, **options)


def in_the_middle(run: subprocess.Popen[str], folder: Path, expected: dict[str, Any]) -> int:
    """Wait until a quarter of the matches is in the log. Return their number."""
    deadline = time.monotonic() + PATIENCE
    while (done := finished(folder)) < len(expected) // 4:
        assert run.poll() is None, f"the sweep ended too soon: {run.communicate()[0]}"
        assert time.monotonic() < deadline, "the sweep does not begin"
        time.sleep(0.02)
    assert done < len(expected), "the sweep ended before the fault"
    return done


def go_on(folder: Path) -> None:
    """The fault has happened: full speed from here."""
    brake(folder).unlink()


def end(run: subprocess.Popen[str]) -> tuple[int, str]:
    said, _ = run.communicate(timeout=PATIENCE)
    return run.returncode, " ".join(said.split())


def players() -> list[int]:
    """Process ids of the Ray workers that play for clusters of this test."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            ours = path.read_bytes().startswith(b"ray::_RemoteActor")
        except OSError:
            continue
        if ours and os.getpid() in ancestors(int(path.parent.name)):
            found.append(int(path.parent.name))
    return sorted(found)


def test_a_killed_worker(
    cluster: Any, calm: dict[str, Any], tmp_path: Path, figure: Callable[[str], None]
) -> None:
    run = start_slowly(tmp_path, *joined(cluster))
    done = in_the_middle(run, tmp_path, calm)
    victims = players()
    assert len(victims) == 2
    os.kill(random.Random(3).choice(victims), signal.SIGKILL)
    go_on(tmp_path)
    status, said = end(run)
    assert status == 0, said
    assert matches(tmp_path) == calm
    figure(f"fault: worker killed after {done} of {len(calm)} matches; same records")


def test_a_killed_driver(
    cluster: Any, calm: dict[str, Any], tmp_path: Path, figure: Callable[[str], None]
) -> None:
    run = start_slowly(tmp_path, *joined(cluster))
    in_the_middle(run, tmp_path, calm)
    run.kill()
    run.communicate()
    go_on(tmp_path)
    done = finished(tmp_path)
    assert done < len(calm)
    status, said = end(start(tmp_path, *joined(cluster)))
    assert status == 0, said
    assert matches(tmp_path) == calm
    figure(f"fault: driver killed with {done} of {len(calm)} matches; resumed, same records")


def test_a_full_disk(
    cluster: Any, calm: dict[str, Any], tmp_path: Path, figure: Callable[[str], None]
) -> None:
    status, said = end(start_slowly(tmp_path, *joined(cluster), limited=True))
    go_on(tmp_path)
    assert status == 2, said
    assert "cannot be written: File too large" in said
    assert "Traceback" not in said
    done = finished(tmp_path)
    assert 0 < done < len(calm)
    safe = matches(tmp_path)
    assert safe == {match: calm[match] for match in safe}
    status, said = end(start(tmp_path, *joined(cluster)))
    assert status == 0, said
    assert matches(tmp_path) == calm
    figure(f"fault: disk full after {done} of {len(calm)} matches; resumed, same records")


def test_a_broken_mlflow_store(
    cluster: Any, calm: dict[str, Any], tmp_path: Path, figure: Callable[[str], None]
) -> None:
    """The store is a view: the run says that it failed, and the log is whole."""
    store = tmp_path / "mlflow"
    mlflow = f"tracking.store={store}"
    run = start_slowly(tmp_path / "out", *joined(cluster), mlflow, tracking="mlflow")
    done = in_the_middle(run, tmp_path / "out", calm)
    store.mkdir(exist_ok=True)
    for name in ("mlflow.db", "mlflow.db-wal"):  # sqlite would repair one by the other
        (store / name).write_bytes(b"not a database" * 1000)
    go_on(tmp_path / "out")
    status, said = end(run)
    assert status == 0, said
    assert "warning" in said
    assert "Traceback" not in said
    assert matches(tmp_path / "out") == calm
    figure(f"fault: MLflow store broken after {done} of {len(calm)} matches; same records")


def test_weights_exchanged_under_a_killed_worker(
    cluster: Any, calm: dict[str, Any], tmp_path: Path, figure: Callable[[str], None]
) -> None:
    """The replacement worker would load other weights: the run ends and says so."""
    weights = tmp_path / "weights"
    weights.write_text("1")
    model = ("model._target_=tests.pipeline.filed.Filed", f"+model.path={weights}")
    status, said = end(start(tmp_path / "calm", *model, "launch=inline"))
    assert status == 0, said
    whole = matches(tmp_path / "calm")
    run = start_slowly(tmp_path / "out", *joined(cluster), *model)
    done = in_the_middle(run, tmp_path / "out", calm)
    weights.write_text("2")
    os.kill(random.Random(3).choice(players()), signal.SIGKILL)
    status, said = end(run)
    assert status == 2, said
    assert "changed during the run" in said
    assert "Traceback" not in said
    safe = matches(tmp_path / "out")
    assert safe == {match: whole[match] for match in safe}
    go_on(tmp_path / "out")
    weights.write_text("1")
    status, said = end(start(tmp_path / "out", *joined(cluster), *model))
    assert status == 0, said
    assert matches(tmp_path / "out") == whole
    figure(f"fault: weights exchanged after {done} of {len(calm)} matches; told, same records")


def test_a_killed_node(
    cluster: Any, calm: dict[str, Any], tmp_path: Path, figure: Callable[[str], None]
) -> None:
    """Keep this test last: from here on the cluster has one node. The lost one's worker is not
    placed elsewhere; the remaining one plays everything. If Ray had tied the driver to the lost
    node, it dies too, and continues when restarted."""
    run = start_slowly(tmp_path, *joined(cluster))
    done = in_the_middle(run, tmp_path, calm)
    (node,) = cluster.worker_nodes
    cluster.remove_node(node, allow_graceful=False)
    go_on(tmp_path)
    status, said = end(run)
    if status:
        status, said = end(start(tmp_path, *joined(cluster)))
    assert status == 0, said
    assert matches(tmp_path) == calm
    figure(f"fault: node killed after {done} of {len(calm)} matches; same records")
