"""Checkpoints: their identity, and that it is of the files that are loaded."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from gauntlet.models.base import Prompt, Score
from gauntlet.models.checkpoint import Checkpoint, cached_folder
from gauntlet.models.engine import files, local
from tests.models.conftest import refusal

ASK = Score((Prompt("Rules.\n", "Hand: red 1\n", "Answer:"),), ("A", "B"))


def test_planning_with_a_model_in_the_box_imports_no_torch():
    """And importing the module none of the libraries that take seconds."""
    program = "import sys; from gauntlet.models.checkpoint import Checkpoint as C; print("
    program += "[m for m in ('torch', 'transformers', 'huggingface_hub') if m in sys.modules]); "
    program += "source = C('pkg:models/pocket/weights'); source.check_choices(['A', 'B']); "
    program += "source.identity(); print('torch' in sys.modules)"
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert out.stdout.split() == ["[]", "False"]


def test_identity_moves_with_the_contents_and_nothing_else(checkpoint_folder, folder):
    before = Checkpoint(str(checkpoint_folder)).identity()
    assert Checkpoint(str(folder)).identity() == before
    (folder / "README.md").write_text("about")
    same = Checkpoint(str(folder), engine="reference", device="cpu")
    assert same.identity() == before
    assert Checkpoint(str(folder), dtype="bfloat16").identity() != before
    assert str(folder) not in json.dumps(before)


def test_identity_changes_with_a_weight_and_with_the_tokenizer(folder):
    before = Checkpoint(str(folder)).identity()
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"][0] += 1e-6
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    touched = Checkpoint(str(folder)).identity()
    assert touched != before
    (folder / "chat_template.jinja").write_text("{{ messages[0].content }}")
    assert Checkpoint(str(folder)).identity() != touched


def test_identity_tells_of_what_rounds_differently_and_only_then(checkpoint_folder):
    path = str(checkpoint_folder)
    exact, half = Checkpoint(path).identity(), Checkpoint(path, dtype="bfloat16").identity()
    assert Checkpoint(path, batch_invariant=True).identity() == exact
    steady = Checkpoint(path, dtype="bfloat16", batch_invariant=True).identity()
    assert steady == {**half, "batch_invariant": True}


def test_a_network_is_loaded_once_however_it_is_asked(folder):
    first = Checkpoint(str(folder)).load()
    again = Checkpoint(f"{folder}/../{folder.name}", engine="reference", device="cpu").load()
    assert again._writer.network is first._writer.network
    assert Checkpoint(str(folder), dtype="float16").load()._writer.network.dtype == torch.float16
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"] *= 2
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    assert Checkpoint(str(folder)).load().answer([ASK]) != first.answer([ASK])


@pytest.mark.parametrize(
    ("fast", "memory", "computed"),
    [
        (True, 2**40, torch.bfloat16),
        (False, 2**40, torch.float32),
        (False, 1000, torch.bfloat16),
    ],
)
def test_bfloat16_weights_are_computed_in_float32_where_that_is_faster(
    folder, monkeypatch, fast, memory, computed
):
    monkeypatch.setattr(local, "fast_bfloat16", lambda: fast)
    monkeypatch.setattr(local, "total_bytes", lambda: memory)
    network = Checkpoint(str(folder), dtype="bfloat16", device="cpu").load()._writer.network
    assert network.dtype == computed
    for weight in network.parameters():
        assert torch.equal(weight.bfloat16().to(computed), weight)
    steady = Checkpoint(str(folder), dtype="bfloat16", device="cpu", batch_invariant=True)
    assert steady.load()._writer.network.dtype == torch.bfloat16


def test_a_shipped_folder_is_found_from_anywhere(checkpoint_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "PROJECT", checkpoint_folder.parent)
    monkeypatch.chdir(tmp_path)
    shipped = Checkpoint(f"pkg:{checkpoint_folder.name}")
    assert shipped.identity() == Checkpoint(str(checkpoint_folder)).identity()
    assert "has no folder 'none'" in refusal(Checkpoint("pkg:models/none"))


def test_shards_are_found_through_their_index(folder, checkpoint_folder):
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(weights)
    shards = {"a.safetensors": names[: len(names) // 2], "b.safetensors": names[len(names) // 2 :]}
    for shard, held in shards.items():
        save_file({n: weights[n] for n in held}, folder / shard, metadata={"format": "pt"})
    places = {name: shard for shard, held in shards.items() for name in held}
    index = {"metadata": {"total_size": 0}, "weight_map": places}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    unsharded = Checkpoint(str(checkpoint_folder)).load().answer([ASK])
    assert Checkpoint(str(folder)).load().answer([ASK]) == unsharded
    (folder / "b.safetensors").unlink()
    assert "lacks b.safetensors" in refusal(Checkpoint(str(folder)))


def doubled(folder: Path, part: str, file: str = "other.safetensors") -> Path:
    """Write the weights again, those of a part twice as large."""
    weights = load_file(folder / "model.safetensors")
    scaled = {name: 2 * weight if part in name else weight for name, weight in weights.items()}
    save_file(scaled, folder / file, metadata={"format": "pt"})
    return folder / file


def test_what_is_hashed_is_what_is_loaded_where_weights_are_there_twice(folder):
    """The library takes the single file, not the index of shards beside it."""
    alone = Checkpoint(str(folder)).load().answer([ASK])
    other = doubled(folder, "norm")
    index = {"metadata": {}, "weight_map": dict.fromkeys(load_file(other), other.name)}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    before = Checkpoint(str(folder)).identity()
    assert files.weight_files(folder, "") == (folder / "model.safetensors",)
    assert Checkpoint(str(folder)).load().answer([ASK]) == alone
    other.write_bytes(doubled(folder, "lm_head", "third.safetensors").read_bytes())
    assert Checkpoint(str(folder)).identity() == before, "shards that nobody reads"
    shutil.copy(other, folder / "model.safetensors")
    assert Checkpoint(str(folder)).identity() != before
    assert Checkpoint(str(folder)).load().answer([ASK]) != alone


def test_a_file_that_the_config_names_is_the_one_that_is_hashed(folder):
    alone, other = Checkpoint(str(folder)).load().answer([ASK]), doubled(folder, "lm_head")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "transformers_weights": other.name}))
    assert files.weight_files(folder, "") == (other,)
    before = Checkpoint(str(folder)).identity()
    assert Checkpoint(str(folder)).load().answer([ASK]) != alone
    shutil.copy(folder / "model.safetensors", other)
    assert Checkpoint(str(folder)).identity() != before


def test_a_config_of_a_version_is_hashed(folder):
    before = Checkpoint(str(folder)).identity()
    shutil.copy(folder / "config.json", folder / "config.4.0.0.json")
    assert Checkpoint(str(folder)).identity() != before


@pytest.mark.parametrize("shard", ["../weights.safetensors", "/weights.safetensors"])
def test_weights_outside_the_folder_are_refused(shard, folder):
    shutil.move(folder / "model.safetensors", folder.parent / "weights.safetensors")
    index = {"metadata": {}, "weight_map": {"model.norm.weight": shard}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert f"its weights lie in {shard!r}, outside its folder" in refusal(Checkpoint(str(folder)))


def test_weights_that_the_config_leaves_unused_are_named(folder, caplog):
    weights = load_file(folder / "model.safetensors")
    bias = "model.layers.0.self_attn.q_proj.bias"
    for name in (bias, "model.rotary_emb.inv_freq", "vision_tower.patch.weight"):
        weights[name] = torch.ones(len(weights["model.layers.0.self_attn.q_proj.weight"]))
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    Checkpoint(str(folder)).load()
    (warning,) = [record for record in caplog.records if record.name == "gauntlet"]
    assert warning.args == (str(folder), 1, bias)


@pytest.mark.parametrize("path", ["/no/such/folder", "no such folder", "nowhere", "../a/b"])
def test_a_missing_folder(path):
    text = refusal(Checkpoint(path))
    assert repr(path) in text
    assert "organisation/name" in text


def test_a_hub_model_that_is_not_here_fails_fast(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    started = time.monotonic()
    source = Checkpoint("meta-llama/Llama-3.2-1B")
    for step in ("identity", "load"):
        text = refusal(source, step)
        assert "the hub cannot be reached" in text
    assert time.monotonic() - started < 5


def test_a_hub_model_is_taken_from_this_machine_by_commit(checkpoint_folder, tmp_path, monkeypatch):
    snapshot = tmp_path / ("0" * 40)
    shutil.copytree(checkpoint_folder, snapshot)
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: str(snapshot))
    source = Checkpoint("some/model", revision="main")
    assert source.identity() == {"commit": "0" * 40, "dtype": "float32", "chat": False}
    here = Checkpoint(str(checkpoint_folder)).load().answer([ASK])
    assert source.load().answer([ASK]) == here


def test_a_hub_model_that_was_changed_on_this_machine_is_refused(folder, tmp_path, monkeypatch):
    """Its files are named after their hashes, so other content cannot pass as the commit."""
    snapshot, blobs = tmp_path / "snapshots" / ("0" * 40), tmp_path / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    for file in folder.iterdir():
        large = file.suffix == ".safetensors"
        content = file.read_bytes()
        blob = blobs / (hashlib.sha256(content).hexdigest() if large else files.git_hash(file))
        shutil.copy(file, blob)
        (snapshot / file.name).symlink_to(blob)
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: str(snapshot))
    source = Checkpoint("some/model")
    assert source.identity()["commit"] == "0" * 40
    for name in ("model.safetensors", "tokenizer.json"):
        before = (snapshot / name).read_bytes()
        (snapshot / name).write_bytes(before[:-1] + bytes([before[-1] ^ 1]))
        assert f"{name} in {snapshot} was changed since it was downloaded" in refusal(source)
        (snapshot / name).write_bytes(before)


def test_half_a_download_does_not_count_as_here(folder, monkeypatch):
    (folder / "model.safetensors").unlink()
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: str(folder))
    assert cached_folder("some/model", None) is None


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"dtype": "int4"}, "allowed are float32, bfloat16, float16"),
        ({"engine": "fast"}, "allowed are packed, reference"),
        ({"device": "tpu"}, "allowed are auto, cpu, cuda"),
        ({"revision": "main"}, "only hub models have a revision"),
    ],
)
def test_settings_that_are_not_allowed(settings, expected, checkpoint_folder):
    with pytest.raises(ValueError, match=expected):
        Checkpoint(str(checkpoint_folder), **settings)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_gpu_that_is_not_there(checkpoint_folder):
    text = refusal(Checkpoint(str(checkpoint_folder), device="cuda"), "load")
    assert "no usable GPU" in text


def test_a_loaded_model_stays_what_it_is_when_its_files_are_written_over(folder):
    """The library maps weights as pages of the file, so later writes would change them."""
    model, file = Checkpoint(str(folder)).load(), folder / "model.safetensors"
    before, content = model.answer([ASK]), file.read_bytes()
    header = 8 + int.from_bytes(content[:8], "little")
    with file.open("r+b") as opened:
        opened.seek(header)
        opened.write(bytes(len(content) - header))
    assert model.answer([ASK]) == before
    assert Checkpoint(str(folder)).load().answer([ASK]) != before


def test_a_file_that_keeps_its_size_and_its_time_is_another_one_still(folder):
    file, before = folder / "config.json", Checkpoint(str(folder)).identity()
    times = file.stat().st_atime_ns, file.stat().st_mtime_ns
    time.sleep(0.02)
    file.write_text(file.read_text().replace("1", "2", 1))
    os.utime(file, ns=times)
    assert Checkpoint(str(folder)).identity() != before


def test_a_file_that_changes_while_it_is_hashed(folder, monkeypatch):
    read = hashlib.file_digest

    def meanwhile(stream, kind):
        digest = read(stream, kind)
        time.sleep(0.02)
        os.utime(stream.name)
        return digest

    monkeypatch.setattr(hashlib, "file_digest", meanwhile)
    assert "changes while it is read" in refusal(Checkpoint(str(folder)))


@pytest.mark.parametrize("name", files.FETCHED)
def test_without_cache_and_network_one_line_says_what_to_do(name, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    assert refusal(Checkpoint(f"cache:{name}")).endswith("; fetch it: make real-models")


def test_without_cache_the_hubs_copy_is_played(tmp_path, checkpoint_folder, monkeypatch):
    snapshot = shutil.copytree(checkpoint_folder, tmp_path / ("0" * 40))
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda name, **_: str(snapshot))
    assert Checkpoint("cache:smollm2_135m").identity()["commit"] == "0" * 40
