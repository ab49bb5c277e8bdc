"""Models of the Hugging Face hub: the local copy if there is one, else the network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gauntlet.common.errors import ModelError
from gauntlet.models.engine.files import (
    CACHED,
    CHAT_TEMPLATE,
    CHAT_TEMPLATES,
    TOKENIZER_CONFIG,
    check_folder,
    file_hash,
    git_hash,
    hub_name,
    model_files,
)

WANTED = ("*.json", "*.safetensors", "*.jinja", "*.txt", "tokenizer.model")
TEMPLATES = (TOKENIZER_CONFIG, CHAT_TEMPLATE, f"{CHAT_TEMPLATES}/*.jinja")
"""Files that may hold a chat template."""
SECONDS = 10.0
"""Timeout of a request to the hub."""


def cached_folder(name: str, revision: str | None) -> Path | None:
    """The complete local copy of the model, or None; the folder's name is the commit."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(hub_name(name), revision=revision, local_files_only=True))
        check_folder(folder, name)
    except (LocalEntryNotFoundError, ModelError):
        return None
    return folder


def commit(name: str, revision: str | None) -> str:
    """The commit of `revision` (the main branch if None). Raises ModelError."""
    folder = cached_folder(name, revision)
    if folder is None:
        return _ask(name, revision)
    check_contents(folder, name)
    return folder.name


def check_contents(folder: Path, name: str) -> None:
    """Raises ModelError if a file of the copy differs from what the hub sent. The hub's client
    stores each file under its hash: SHA-256 for large files, git's for small ones."""
    for file in model_files(folder, name):
        kept = file.resolve()
        if kept == file or len(kept.name) not in (40, 64):  # a copy without links: hash unknown
            continue
        if kept.name not in (file_hash(kept, name), git_hash(kept)):
            raise ModelError(
                f"model {name!r}: {file.name} in {folder} was changed since it was downloaded; "
                "delete that folder to download it again, or give its path to play what is there"
            )


def fetched_folder(name: str, revision: str | None) -> Path:
    """A complete local copy of the model, downloaded if necessary. Raises ModelError."""
    folder = cached_folder(name, revision)
    if folder:
        return folder
    folder = _download(name, _ask(name, revision), WANTED)
    check_folder(folder, name)
    return folder


def template_folder(name: str, commit: str) -> Path:
    """A local folder with that commit's chat templates, downloaded if necessary. Raises
    ModelError."""
    return cached_folder(name, commit) or _download(name, commit, TEMPLATES)


def _download(name: str, commit: str, patterns: Sequence[str]) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    try:
        folder = snapshot_download(hub_name(name), revision=commit, allow_patterns=list(patterns))
    except (HfHubHTTPError, OSError) as error:
        raise ModelError(f"model {name!r} could not be downloaded: {_line(error)}") from error
    return Path(folder)


def _ask(name: str, revision: str | None) -> str:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HTTPError  # type: ignore[attr-defined]

    try:
        sha = HfApi().model_info(hub_name(name), revision=revision, timeout=SECONDS).sha
    except HfHubHTTPError as error:
        raise ModelError(
            f"model {name!r}: the hub refused it: {_line(error)}{_remedy(name)}"
        ) from error
    except (OSError, HTTPError) as error:
        raise ModelError(
            f"model {name!r} is not on this machine and the hub cannot be reached: "
            f"{_line(error)}{_remedy(name)}"
        ) from error
    if sha is None:
        raise ModelError(f"model {name!r}: the hub names no commit for revision {revision!r}")
    return sha


def _remedy(name: str) -> str:
    return "; fetch it: make real-models" if name.startswith(CACHED) else ""


def _line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
