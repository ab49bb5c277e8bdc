"""Models of the Hugging Face hub: the copy on this machine first, the network only if need be."""

from __future__ import annotations

from pathlib import Path

from gauntlet.common.errors import ModelError
from gauntlet.models.engine.files import check_folder, file_hash, git_hash, model_files

WANTED = ("*.json", "*.safetensors", "*.jinja", "*.txt", "tokenizer.model")
SECONDS = 10.0
"""How long the hub may take to answer before it counts as out of reach."""


def cached_folder(name: str, revision: str | None) -> Path | None:
    """This machine's whole copy of the model, if it has one; its folder's name is the commit."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(name, revision=revision, local_files_only=True))
        check_folder(folder, name)
    except (LocalEntryNotFoundError, ModelError):
        return None
    return folder


def commit(name: str, revision: str | None) -> str:
    """The commit that `revision` (the main branch if None) stands for. Raises ModelError."""
    folder = cached_folder(name, revision)
    if folder is None:
        return _ask(name, revision)
    check_contents(folder, name)
    return folder.name


def check_contents(folder: Path, name: str) -> None:
    """Raises ModelError where a file of the copy is no longer what the hub sent. The hub's client
    keeps each under a name that is its hash: SHA-256 of a large one, git's of a small one."""
    for file in model_files(folder, name):
        kept = file.resolve()
        if kept == file or len(kept.name) not in (40, 64):  # a copy without links: no hash is known
            continue
        if kept.name not in (file_hash(kept, name), git_hash(kept)):
            raise ModelError(
                f"model {name!r}: {file.name} in {folder} was changed since it was downloaded; "
                "delete that folder to download it again, or give its path to play what is there"
            )


def fetched_folder(name: str, revision: str | None) -> Path:
    """A whole copy of the model on this machine, downloaded if it is not there. ModelError."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    folder = cached_folder(name, revision)
    if folder:
        return folder
    sha = _ask(name, revision)
    try:
        folder = Path(snapshot_download(name, revision=sha, allow_patterns=list(WANTED)))
    except (HfHubHTTPError, OSError) as error:
        raise ModelError(f"model {name!r} could not be downloaded: {_line(error)}") from error
    check_folder(folder, name)
    return folder


def _ask(name: str, revision: str | None) -> str:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HTTPError  # type: ignore[attr-defined]

    try:
        sha = HfApi().model_info(name, revision=revision, timeout=SECONDS).sha
    except HfHubHTTPError as error:
        raise ModelError(f"model {name!r}: the hub refused it: {_line(error)}") from error
    except (OSError, HTTPError) as error:
        raise ModelError(
            f"model {name!r} is not on this machine and the hub cannot be reached: {_line(error)}"
        ) from error
    if sha is None:
        raise ModelError(f"model {name!r}: the hub names no commit for revision {revision!r}")
    return sha


def _line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
