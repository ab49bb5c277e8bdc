"""Sweeps in a real SLURM of two nodes: completed, stopped by a limit, preempted by others.

Nodes have their own address and processes, so that leftovers can be detected.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster.brake import braked, words
from tests.pipeline.logs import finished, matches, preparations

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("slurm.sh")
PATIENCE = 420.0
DEALS = 30
DAEMONS = {"bash", "slurmd", "unshare"}

pytestmark = pytest.mark.cluster


def missing() -> str | None:
    """Why no SLURM can be brought up here, if so."""
    if os.geteuid() != 0:
        return "needs root, for network and process namespaces"
    if shutil.which("slurmctld") is None and shutil.which("apt-get") is None:
        return "needs SLURM, or a Debian to install it on"
    probe = subprocess.run(["unshare", "--net", "--pid", "--fork", "true"], capture_output=True)
    return None if probe.returncode == 0 else "needs the right to make namespaces"


@pytest.fixture(scope="module")
def slurm() -> Iterator[Path]:
    """The folder of a running SLURM, completely shut down afterwards."""
    why = missing()
    if why:
        pytest.skip(why)
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))  # sockets: pytest's own paths are too long
    try:
        subprocess.run([SCRIPT, "install"], check=True, timeout=600)
        subprocess.run([SCRIPT, "up", folder], check=True, timeout=120)
        yield folder
    finally:
        subprocess.run([SCRIPT, "down", folder], check=True, timeout=120)
        shutil.rmtree(folder, ignore_errors=True)


class Site:
    """Commands of the SLURM under test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}

    def ask(self, *command: str) -> str:
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def submit(self, *overrides: str) -> str:
        """Runs `python -m pipeline.run` with these overrides; returns the number of its job."""
        said = self.ask(sys.executable, "-m", "pipeline.run", *overrides)
        number = re.search(r"job (\d+) is submitted", said)
        assert number, said
        return number.group(1)

    def about(self, job: str) -> dict[str, str]:
        words = self.ask("scontrol", "--oneliner", "show", "job", job).split()
        return dict(word.partition("=")[::2] for word in words)

    def wait(self, job: str, *states: str) -> dict[str, str]:
        """Wait for one of these states, and fail if the job ends in another."""
        over = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL"}
        deadline = time.monotonic() + PATIENCE
        while (about := self.about(job))["JobState"] not in states:
            assert about["JobState"] not in over - set(states), about
            assert time.monotonic() < deadline, about
            time.sleep(0.5)
        return about

    def crash(self, node: str) -> None:
        """Kill the node with all its processes, and wait until SLURM has noticed."""
        subprocess.run([SCRIPT, "crash", self.folder, node], check=True, timeout=60)
        self.ask("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=crashed")

    def bring_back(self, node: str) -> None:
        subprocess.run([SCRIPT, "node", self.folder, node], check=True, timeout=60)
        deadline = time.monotonic() + 60
        while "idle" not in self.ask("sinfo", "-h", "-n", node, "-p", "main", "-o", "%t"):
            assert time.monotonic() < deadline, f"{node} does not come back"
            time.sleep(0.5)

    def left_behind(self) -> list[str]:
        """Return the processes on the nodes, except the nodes' own."""
        left = []
        for node in ("n1", "n2"):
            key = os.stat(f"/run/netns/gauntlet-{node}").st_ino
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    inside = os.stat(process / "ns/net").st_ino == key
                    name = (process / "comm").read_text().strip()
                    dead = (process / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
                except OSError:
                    continue
                if inside and not dead and name not in DAEMONS:
                    left.append(f"{node}: {name} {process.name}")
        return left

    def settled(self) -> list[str]:
        """Return what is left behind once SLURM has had time to clean up after a job."""
        deadline = time.monotonic() + 60
        while (left := self.left_behind()) and time.monotonic() < deadline:
            time.sleep(0.5)
        return left


@pytest.fixture
def site(slurm: Path) -> Site:
    return Site(slurm)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def brake(tmp_path: Path) -> Path:
    return tmp_path / "brake"


def common(folder: Path, brake: Path) -> list[str]:
    return [
        "tracking=none", "baseline=null", *words(brake), f"deals={DEALS}", "concurrent_matches=4",
        f"output_dir={folder}",
    ]  # fmt: skip


def job(folder: Path, brake: Path, *further: str) -> list[str]:
    cores = str(os.cpu_count())
    slurm = ["launch=slurm", "launch.nodes=2", f"launch.cpus_per_task={cores}", "launch.workers=2"]
    return ["-m", *common(folder, brake), *slurm, *further]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same sweep undisturbed in one process."""
    place = tmp_path_factory.mktemp("undisturbed")
    command = [sys.executable, "-m", "pipeline.run", *common(place / "out", place / "brake")]
    subprocess.run([*command, "launch=inline"], check=True, capture_output=True, timeout=300)
    return place / "out"


def wait_for_matches(folder: Path, number: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while finished(folder) < number:
        assert time.monotonic() < deadline, "no match was played"
        time.sleep(0.2)


def printed(folder: Path, number: str) -> str:
    return (folder / "slurm" / f"{number}.log").read_text()


def test_a_sweep_over_two_nodes_has_the_records_of_one_process(
    site: Site, folder: Path, brake: Path, undisturbed: Path, figure: Callable[[str], None]
) -> None:
    started = time.monotonic()
    number = site.submit(*job(folder, brake))
    try:
        assert site.wait(number, "COMPLETED")["ExitCode"] == "0:0"
    finally:
        print(printed(folder, number))
    figure(f"SLURM, 2 nodes, {2 * DEALS} matches: {time.monotonic() - started:.0f} s in all")
    assert matches(folder) == matches(undisturbed)
    assert preparations(folder) == preparations(undisturbed)
    assert site.settled() == []
    assert sorted(path.name for path in (folder / "slurm").iterdir()) == [
        f"{number}.log", "job.sh",
    ]  # fmt: skip
    token = re.compile(r"[0-9a-f]{64}")
    assert not token.search(printed(folder, number)), "a token was logged"


def test_a_job_at_its_time_limit_is_queued_again_and_goes_on(
    site: Site, folder: Path, brake: Path, undisturbed: Path, figure: Callable[[str], None]
) -> None:
    with braked(brake, 1.0):
        number = site.submit(*job(folder, brake, "launch.time=60", "launch.signal=120"))
        wait_for_matches(folder, 3)
        hours, minutes, _ = site.about(number)["RunTime"].split(":")
        near = 60 * int(hours) + int(minutes) + 3
        site.ask("scontrol", "update", f"JobId={number}", f"TimeLimit={near}")
        site.wait(number, "PENDING")
        site.ask("scontrol", "update", f"JobId={number}", "TimeLimit=60")  # enough for the rest
        stopped = finished(folder)
        assert 3 <= stopped < 2 * DEALS
        assert site.settled() == []
    assert site.wait(number, "COMPLETED")["Restarts"] == "1"
    assert "SIGUSR1: the sweep stopped; queued again, time 1 of 20" in printed(folder, number)
    figure(f"SLURM, time limit: stopped after {stopped} of {2 * DEALS} matches, then finished")
    assert matches(folder) == matches(undisturbed)
    assert site.settled() == []


def test_a_preempted_job_is_queued_again_and_goes_on(
    site: Site, folder: Path, brake: Path, undisturbed: Path
) -> None:
    with braked(brake, 0.3):
        number = site.submit(*job(folder, brake))
        wait_for_matches(folder, 3)
        site.ask("sbatch", "--partition=urgent", "--nodes=2", "--exclusive", "--output=/dev/null",
                 "--wrap=sleep 1")  # fmt: skip
        site.wait(number, "PENDING")
        assert finished(folder) < 2 * DEALS
    site.wait(number, "COMPLETED")
    assert "SIGTERM: the sweep stopped" in printed(folder, number)
    assert matches(folder) == matches(undisturbed)


def test_a_cancelled_job_is_not_queued_again_and_leaves_nothing(
    site: Site, folder: Path, brake: Path, undisturbed: Path
) -> None:
    brake.write_text("0.3")
    number = site.submit(*job(folder, brake))
    wait_for_matches(folder, 3)
    site.ask("scancel", number)
    site.wait(number, "CANCELLED")
    assert site.settled() == []
    played, whole = matches(folder), matches(undisturbed)
    assert len(played) < len(whole)
    assert played == {match: whole[match] for match in played}


@pytest.mark.brief
def test_a_lost_node_leaves_the_sweep_to_the_other_one(
    site: Site, folder: Path, brake: Path, undisturbed: Path, figure: Callable[[str], None]
) -> None:
    brake.write_text("0.3")
    number = site.submit(*job(folder, brake))
    try:
        wait_for_matches(folder, 3)
        site.crash("n2")
        done = finished(folder)
        assert done < 2 * DEALS
        brake.unlink()
        assert site.wait(number, "COMPLETED")["Restarts"] == "0"
    finally:
        site.bring_back("n2")
        print(printed(folder, number))
    figure(f"SLURM, node lost after {done} of {2 * DEALS} matches; same records, no restart")
    assert matches(folder) == matches(undisturbed)
    assert site.settled() == []
