"""The files of a checkpoint: where they are, whether they are complete, and their hashes.

Needs neither torch nor (unless the checkpoint ships code) transformers, so a broken checkpoint is
rejected before any worker starts.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from gauntlet.common.errors import ModelError, extra, suggest

PROJECT = Path(__file__).resolve().parents[2]
SHIPPED = "pkg:"
"""Prefix of the path of a folder shipped with the project, relative to its root."""

CACHED = "cache:"
"""Prefix of the path of a model that `make real-models` fetches into the user's cache."""
FETCHED = {
    "smollm2_135m": "HuggingFaceTB/SmolLM2-135M-Instruct",
    "gemma3_270m": "google/gemma-3-270m",
}
"""The models of `make real-models`, with the hub's name that is used where the cache lacks one."""

HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
CHAT_TEMPLATE = "chat_template.jinja"
CHAT_TEMPLATES = "additional_chat_templates"
TOKENIZER_CONFIG = "tokenizer_config.json"
TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "tekken.json")
SETTINGS = (
    "added_tokens.json",
    CHAT_TEMPLATE,
    "chat_template.json",
    "config.json",
    "generation_config.json",
    "merges.txt",
    "special_tokens_map.json",
    TOKENIZER_CONFIG,
)
FURTHER = (
    *(f"{CHAT_TEMPLATES}/*.jinja", "config.*.json", "tokenizer.*.json"),
    *("*.model", "tokenizer.model.*"),
)
"""Files with unpredictable names that the library reads if they exist."""
ADAPTER = "adapter_config.json"
EXPLICIT = "transformers_weights"
"""The key of a config that names the file of the weights."""
LIBRARIES: Mapping[str, tuple[str, ...]] = {
    "bitsandbytes": ("bitsandbytes",),
    "gptq": ("optimum", "gptqmodel"),
    "awq": ("gptqmodel",),
    "aqlm": ("aqlm",),
    "auto-round": ("auto_round",),
    "compressed-tensors": ("compressed_tensors",),
    "eetq": ("kernels",),
    "fbgemm_fp8": ("fbgemm_gpu",),
    "hqq": ("hqq",),
    "quanto": ("optimum", "optimum.quanto"),
    "torchao": ("torchao",),
    "vptq": ("vptq",),
}
"""The packages with which transformers reads quantized weights, by the method's name in a config;
pip's names have hyphens."""
POINTER = b"version https://git-lfs"
"""How a file begins that Git LFS has not fetched."""
GGUF = b"GGUF"
"""How a GGUF file begins."""
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")


def local_folder(path: str) -> Path | None:
    """The local folder that `path` names; None if it is the name of a hub model. Raises ModelError
    if it is neither."""
    if path.startswith(SHIPPED):
        folder = PROJECT / path.removeprefix(SHIPPED)
        if not folder.is_dir():
            raise ModelError(
                f"model path {path!r}: the project has no folder {folder.name!r} there"
            )
        return folder
    if path.startswith(CACHED):
        folder = cache_folder(path)
        return folder if (folder / "config.json").is_file() else None
    folder = Path(path).expanduser()
    if folder.is_dir():
        return folder
    if folder.is_file():
        gguf = begins_with(folder, GGUF)
        remedy = f"model=gguf model.path={path} plays it" if gguf else "give its folder"
        raise ModelError(f"model path {path!r} is a {'GGUF ' if gguf else ''}file: {remedy}")
    if HUB_NAME.fullmatch(path) and not path.endswith((".gguf", ".safetensors")):
        return None
    raise ModelError(
        f"model path {path!r} is no folder here; give a folder, or a hub model as organisation/name"
    )


def cache_folder(path: str) -> Path:
    """The folder of a `cache:` path, in the user's cache. Raises ModelError for an unknown
    name."""
    name = path.removeprefix(CACHED)
    if name not in FETCHED:
        raise ModelError(f"model path {path!r}: the cache has no {name!r}{suggest(name, FETCHED)}")
    return user_cache() / "models" / name


def user_cache() -> Path:
    """What the project keeps for this user: a folder in XDG_CACHE_HOME, or ~/.cache."""
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser() / "gauntlet"


def hub_name(path: str) -> str:
    """The hub's name of the model that `path` names."""
    return FETCHED[path.removeprefix(CACHED)] if path.startswith(CACHED) else path


def check_folder(folder: Path, name: str) -> None:
    """Raises ModelError, naming the file, unless the checkpoint in `folder` is complete. `name` is
    the user's name for it. Of the weights only the headers are read."""
    if (folder / ADAPTER).is_file():
        base = read_json(folder / ADAPTER, name).get("base_model_name_or_path")
        raise ModelError(
            f"model {name!r} has an {ADAPTER}: only some machines would apply that adapter to "
            f"{str(base or 'its model')!r}; merge it into the weights and remove the file"
        )
    config = read_json(folder / "config.json", name)
    if config.get("model_type") is None:
        raise ModelError(f"model {name!r}: config.json names no model_type")
    if not any((folder / file).is_file() for file in TOKENIZERS):
        raise ModelError(
            f"model {name!r} has no tokenizer; expected one of {', '.join(TOKENIZERS)}"
        )
    _check_code(folder, name, config)
    for file in model_files(folder, name):
        check_fetched(file, name)
    safetensors = extra("safetensors", "local")
    for file in weight_files(folder, name):
        try:
            with safetensors.safe_open(file, "np"):
                pass
        except safetensors.SafetensorError as error:
            raise ModelError(
                f"model {name!r}: {file.name} is no whole safetensors file ({error})"
            ) from error


def begins_with(file: Path, start: bytes) -> bool:
    with file.open("rb") as stream:
        return stream.read(len(start)) == start


def check_fetched(file: Path, name: str) -> None:
    """Raises ModelError if the file only points to what Git LFS would fetch."""
    if begins_with(file, POINTER):
        raise ModelError(
            f"model {name!r}: {file.name} is a pointer of Git LFS, not the file itself; fetch it "
            "by `git lfs pull` in its folder"
        )


def check_libraries(folder: Path, name: str) -> None:
    """Raises ModelError if quantized weights need packages that are not installed."""
    quantization = read_json(folder / "config.json", name).get("quantization_config") or {}
    method = str(quantization.get("quant_method"))
    for package in LIBRARIES.get(method, ()):
        if find_spec(package) is None:
            install = package.replace("_", "-").replace(".", "-")
            raise ModelError(
                f"model {name!r} is quantized by {method}, which needs {package}: pip install "
                f"{install}"
            )


def _check_code(folder: Path, name: str, config: dict[str, Any]) -> None:
    """Raises ModelError if the library lacks a class; shipped code is never run."""
    needs = []
    has_code = "auto_map" in config
    if has_code and config["model_type"] not in extra("transformers", "local").CONFIG_MAPPING:
        needs.append(f"config.json (model_type {config['model_type']!r})")
    if (folder / TOKENIZER_CONFIG).is_file():
        tokenizer = read_json(folder / TOKENIZER_CONFIG, name)
        if "AutoTokenizer" in tokenizer.get("auto_map", ()):
            transformers = extra("transformers", "local")
            if not hasattr(transformers, str(tokenizer.get("tokenizer_class"))):
                needs.append(f"{TOKENIZER_CONFIG} ({tokenizer.get('tokenizer_class')})")
    if needs:
        raise ModelError(
            f"model {name!r} needs code of its own, by {' and '.join(needs)}; code of checkpoints "
            "is never run here: take one that the transformers library knows"
        )


def weight_files(folder: Path, name: str) -> tuple[Path, ...]:
    """The checkpoint's safetensors files that the library loads, sorted by name."""
    entry = weights_entry(folder, name)
    files: tuple[Path, ...] = (entry,)
    if entry.name.endswith(".index.json"):
        shards = read_json(entry, name).get("weight_map")
        if not isinstance(shards, dict) or not shards:
            raise ModelError(f"model {name!r}: {entry.name} has no weight_map")
        files = tuple(
            folder / _inside(shard, name) for shard in sorted({*map(str, shards.values())})
        )
    missing = [file.name for file in files if not file.is_file()]
    if missing and any(path for pattern in PICKLES for path in folder.glob(pattern)):
        raise ModelError(f"model {name!r} has only pickled weights; only safetensors are loaded")
    if missing:
        raise ModelError(f"model {name!r} lacks {', '.join(missing)}")
    return files


def weights_entry(folder: Path, name: str) -> Path:
    """The file that the library begins with: the config's, else the single file, also where an
    index of shards lies beside it, else that index."""
    explicit = read_json(folder / "config.json", name).get(EXPLICIT)
    if explicit is not None:
        return folder / _inside(str(explicit), name)
    index = not (folder / WEIGHTS).is_file() and (folder / INDEX).is_file()
    return folder / (INDEX if index else WEIGHTS)


def _inside(file: str, name: str) -> str:
    """A file's name in a checkpoint. Raises ModelError if it lies elsewhere."""
    if PurePath(file).is_absolute() or ".." in PurePath(file).parts:
        raise ModelError(f"model {name!r}: its weights lie in {file!r}, outside its folder")
    return file


def read_json(file: Path, name: str) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        gguf = next(iter(sorted(file.parent.glob("*.gguf"))), None)
        remedy = f", but a GGUF file: model=gguf model.path={gguf} plays it" if gguf else ""
        raise ModelError(f"model {name!r} has no {file.name}{remedy}") from error
    except ValueError as error:
        raise ModelError(f"model {name!r}: {file.name} is not valid JSON ({error})") from error
    if not isinstance(content, dict):
        raise ModelError(f"model {name!r}: {file.name} holds no JSON object")
    return content


def chat_template(folder: Path, name: str) -> str | None:
    """The chat template that the library's tokenizer of this folder has; None if it has none.

    Read from the files alone, so that planning needs no tokenizer. Templates in files of their own
    come before those in tokenizer_config.json. Raises ModelError.
    """
    files = [folder / CHAT_TEMPLATE, *sorted((folder / CHAT_TEMPLATES).glob("*.jinja"))]
    named = {
        "default" if file.name == CHAT_TEMPLATE else file.stem: _text(file, name)
        for file in files
        if file.is_file()
    }
    if not named and (folder / TOKENIZER_CONFIG).is_file():
        named = _configured(read_json(folder / TOKENIZER_CONFIG, name).get("chat_template"), name)
    return named.get("default") or None


def _configured(node: Any, name: str) -> dict[str, str]:
    """The named templates in tokenizer_config.json, which may hold one, or several as a list."""
    try:
        if isinstance(node, list):
            node = {entry["name"]: entry["template"] for entry in node}
    except (TypeError, KeyError):
        node = 0
    templates = node if isinstance(node, dict) else {"default": "" if node is None else node}
    if all(isinstance(template, str) for template in templates.values()):
        return templates
    raise ModelError(f"model {name!r}: the chat_template of {TOKENIZER_CONFIG} is no template")


def _text(file: Path, name: str) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except ValueError as error:
        raise ModelError(f"model {name!r}: {file.name} is no UTF-8 text") from error


def content_hash(folder: Path, name: str) -> str:
    """SHA-256 over the names and contents of weights, configuration and tokenizer files.

    It does not depend on the folder. Adding, removing or changing such a file changes it; other
    files (a README) do not matter.
    """
    digest = hashlib.sha256()
    for file in model_files(folder, name):
        path = file.relative_to(folder).as_posix()
        digest.update(f"{path} {file_hash(file, name)}\n".encode())
    return digest.hexdigest()


def model_files(folder: Path, name: str) -> list[Path]:
    """All weights, configuration and tokenizer files, sorted by name."""
    known = (folder / file for file in (*SETTINGS, *TOKENIZERS, INDEX))
    further = (file for pattern in FURTHER for file in folder.glob(pattern))
    files = {file for file in (*known, *further) if file.is_file()}
    files.update(weight_files(folder, name), [weights_entry(folder, name)])
    return sorted(files, key=lambda file: file.relative_to(folder).as_posix())


class Stamp(NamedTuple):
    """A cheap fingerprint of a file's metadata.

    changed: the ctime, which moves with every write, even if a copy preserves `modified`.
    number: the inode.
    """

    file: str
    size: int
    modified: int
    changed: int
    number: int

    @classmethod
    def from_file(cls, file: Path) -> Stamp:
        stat = file.stat()
        times = stat.st_mtime_ns, stat.st_ctime_ns
        return cls(str(file.resolve()), stat.st_size, *times, stat.st_ino)


HASHES: dict[Stamp, str] = {}
"""Cache of the SHA-256 of files, per process."""

READINGS = 5
"""How often to reread a file that changes while it is read."""


def file_hash(file: Path, name: str) -> str:
    """SHA-256 of one file, streamed, and cached until its stamp changes. Raises ModelError if the
    file keeps changing while it is read."""
    for _ in range(READINGS):
        before = Stamp.from_file(file)
        if before not in HASHES:
            with file.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
            if Stamp.from_file(file) != before:
                continue
            HASHES[before] = digest
        return HASHES[before]
    raise ModelError(f"model {name!r}: {file.name} changes while it is read")


def git_hash(file: Path) -> str:
    """The git blob hash of the file's content."""
    content = file.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
