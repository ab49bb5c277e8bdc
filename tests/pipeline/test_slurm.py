"""The job script: it contains the config's settings, all quoted safely."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.common.errors import UserError
from gauntlet.pipeline.config.read import KINDS
from gauntlet.pipeline.config.values import settings
from gauntlet.pipeline.launch import allocation
from gauntlet.pipeline.launch.slurm import checked, inside, script, seconds
from tests.pipeline.conftest import Capsys, Refusal, Sweep

HINTS = {"kind": str, **KINDS["launch"]["slurm"]}
LAUNCH: dict[str, Any] = {
    "kind": "slurm", "nodes": 2, "partition": "gpu", "account": "lab", "time": "12:00:00",
    "gpus_per_node": 4, "cpus_per_task": 16, "workers": None, "patience": 14400,
    "extra": ["--mem=64G"], "signal": 300, "requeues": 5, "dry_run": False,
}  # fmt: skip

GOLDEN = """\
#!/bin/bash
#SBATCH --job-name=gauntlet-out
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --time=12:00:00
#SBATCH --signal=B:USR1@300
#SBATCH --requeue
#SBATCH --no-kill
#SBATCH --open-mode=append
#SBATCH --output=/data/out/slurm/%j.log
#SBATCH --gpus-per-node=4
#SBATCH --partition=gpu
#SBATCH --account=lab
#SBATCH --mem=64G

cd /shared/gauntlet || exit
exec PYTHON -m gauntlet.pipeline.launch.allocation /data/out/slurm --requeues=5 --seconds=300 -- \
-m model=llama70b,mistral24b output_dir=/data/out launch=ray launch.address=auto launch.nodes=2
"""


def written(arguments: list[str], **changes: Any) -> str:
    launch = {**LAUNCH, **changes}
    folder, cwd = Path("/data/out/slurm"), Path("/shared/gauntlet")
    return script(checked(launch), folder, cwd, inside(arguments, launch))


def test_the_script_reads_as_it_should() -> None:
    typed = ["-m", "model=llama70b,mistral24b", "output_dir=/data/out", "launch=slurm",
             "launch.nodes=2", "launch.partition=gpu", "launch.time=12:00:00"]  # fmt: skip
    assert written(typed).replace(sys.executable, "PYTHON") == GOLDEN


def test_a_dry_run_prints_the_script_and_submits_nothing(
    sweep: Sweep, folder: Path, capsys: Capsys
) -> None:
    assert sweep("launch=slurm", "launch.nodes=3", "launch.dry_run=true") == 0
    said = capsys.readouterr().out
    assert said.startswith("#!/bin/bash\n")
    assert "#SBATCH --nodes=3\n" in said
    assert "launch=ray launch.address=auto launch.nodes=3" in said
    assert "launch.dry_run" not in said
    assert not folder.exists()


LLAMA = ("model=llama70b", "model.shards=4", "prompt=cloze,counterfactual", "deals=10000")


def test_the_weights_need_not_be_where_the_job_is_submitted(
    sweep: Sweep, capsys: Capsys, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The nodes have them. Neither a copy nor the hub is needed."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "no cache"))
    monkeypatch.setattr(
        "gauntlet.models.checkpoint._ask", lambda *_: pytest.fail("the hub was asked")
    )
    dry = ("launch=slurm", "launch.dry_run=true")
    assert sweep(*LLAMA, *dry) == 0
    told = capsys.readouterr()
    assert told.out.startswith("#!/bin/bash\n")
    assert "model=llama70b model.shards=4 prompt=cloze,counterfactual" in told.out
    (said,) = told.err.splitlines()
    assert said.startswith("gauntlet: model meta-llama/Llama-3.3-70B-Instruct is not on this mach")
    assert sweep("model=hf", "model.path=/shared/llama70b", *dry) == 0
    assert "model /shared/llama70b is not on this machine" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        ("model.shards=0", "shards 0 of model"),
        ("model.dtype=int3", "it must be float32 or bfloat16 or float16"),
        ("+model.nonsense=1", "model.nonsense is not a setting"),
        ("prompt=nonsense", "prompt=nonsense does not exist"),
        ("seats.0.agent=nobody", "nobody"),
    ],
)
def test_everything_but_the_weights_is_checked_before_a_job_is_made(
    sweep: Sweep, capsys: Capsys, mistake: str, message: str
) -> None:
    given = [item for item in LLAMA if item.partition("=")[0] != mistake.partition("=")[0]]
    assert sweep(*given, mistake, "launch=slurm", "launch.dry_run=true") != 0
    told = capsys.readouterr()
    assert message in " ".join(told.err.split())
    assert "#!/bin/bash" not in told.out
    assert "Traceback" not in told.err


def test_a_checkpoint_that_is_here_is_looked_at(
    sweep: Sweep, refusal: Refusal, tmp_path: Path
) -> None:
    (tmp_path / "half").mkdir()
    broken = ("model=hf", f"model.path={tmp_path / 'half'}")
    assert "config.json" in refusal(sweep(*broken, "launch=slurm", "launch.dry_run=true"))


def test_without_sbatch_the_message_says_so(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch, refusal: Refusal
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert "sbatch" in refusal(sweep("launch=slurm"))


@pytest.mark.parametrize(
    ("time", "expected"),
    [("90", 5400), ("1:30", 90), ("12:00:00", 43200), ("1-0", 86400), ("2-12:30", 217800),
     ("0-0:0:1", 1)],
)  # fmt: skip
def test_times_mean_what_sbatch_says_they_mean(time: str, expected: int) -> None:
    assert seconds(time) == expected


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("nodes", -1), ("nodes", 0), ("nodes", True), ("nodes", "2; reboot"),
        ("time", "soon"), ("time", "0"), ("time", "1:00\n#SBATCH --nodes=9"), ("time", ""),
        ("partition", "gpu --nodes=9"), ("partition", "gpu\n"), ("account", "$(id)"),
        ("gpus_per_node", -4), ("cpus_per_task", 0), ("signal", 0), ("signal", 43200),
        ("requeues", -1), ("patience", 0), ("patience", "long"),
        ("extra", "--mem=64G"), ("extra", ["--mem=64G\nreboot"]),
        ("extra", ["reboot"]), ("extra", ["--output=/etc/passwd"]), ("extra", [7]),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_meant_is_named_in_one_line(key: str, value: Any) -> None:
    with pytest.raises(UserError, match=f"launch.{key}") as refused:
        checked(settings({**LAUNCH, key: value}, HINTS, "launch."))
    assert "\n" not in str(refused.value)


def test_a_folder_that_would_end_its_line_is_refused() -> None:
    with pytest.raises(UserError, match="output_dir"):
        script(checked(LAUNCH), Path("/data/x\nreboot #/slurm"), Path("/"), [])


TEXT = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=30)


@given(st.lists(TEXT, max_size=4), TEXT)
def test_the_shell_hands_on_every_word_as_it_was_typed(words: list[str], place: str) -> None:
    """bash itself reads the script, with the commands of its last two lines replaced."""
    typed = [f"name={word}" for word in words]
    folder = Path("/data") / "".join(filter(str.isprintable, place)).strip("/") / "slurm"
    text = script(checked(LAUNCH), folder, Path("/tmp"), inside(typed, LAUNCH))
    harmless = f"cd() {{ :; }}; exec() {{ printf '%s\\0' \"$@\"; }}\n{text}"
    done = subprocess.run(["bash"], input=harmless.encode(), capture_output=True)
    assert done.stderr == b""
    *heard, end = done.stdout.decode().split("\0")
    assert end == ""
    assert heard[heard.index("--") + 1 :] == [*typed, "launch=ray", "launch.address=auto"]
    assert heard[3] == str(folder)


@pytest.mark.parametrize("name", ["two words", "it's", 'a "b"', "100%", "#1", "a;b"])
def test_a_strange_folder_stays_one_word_of_its_line(name: str) -> None:
    text = script(checked(LAUNCH), Path("/data") / name / "slurm", Path("/"), [])
    line = next(line for line in text.splitlines() if "--output" in line)
    assert shlex.split(line.removeprefix("#SBATCH ")) == [
        f"--output=/data/{name.replace('%', '%%')}/slurm/%j.log"
    ]


def test_the_job_runs_the_same_command_on_its_own_ray() -> None:
    typed = ["-m", "prompt=cloze,pride", "launch=slurm", "launch.time=90", "launch.workers=8",
             "launch.extra=[\"--mem=1G\"]", "++launch.signal=30", "seed=2"]  # fmt: skip
    assert inside(typed, LAUNCH) == [
        "-m", "prompt=cloze,pride", "launch=ray", "launch.address=auto", "launch.workers=8",
        "seed=2",
    ]  # fmt: skip


def test_what_a_job_runs_is_told_from_what_runs_it() -> None:
    assert allocation.split(["out", "--requeues=1", "--", "-m", "--", "a=b"]) == (
        ["out", "--requeues=1"],
        ["-m", "--", "a=b"],
    )


@pytest.mark.parametrize(
    ("state", "restarts", "asked_again"),
    [("RUNNING", 0, True), ("RUNNING", 4, True), ("RUNNING", 5, False),
     ("COMPLETING", 0, False), ("CANCELLED", 0, False), ("", 0, False)],
)  # fmt: skip
def test_only_a_job_that_slurm_did_not_end_is_queued_again(
    state: str, restarts: int, asked_again: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`squeue` and `scontrol` are replaced: one returns the state, the other records its call."""
    called = tmp_path / "called"
    for name, does in (("squeue", f"echo {state}"), ("scontrol", f'echo "$@" > {called}')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    monkeypatch.setenv("SLURM_RESTART_COUNT", str(restarts))
    assert allocation.requeue("SIGUSR1", 5, 130) == 130
    assert (called.read_text().split() if called.exists() else None) == (
        ["requeue", "17"] if asked_again else None
    )
