"""Checkpoints: language models in a local folder or on the Hugging Face hub, run by this project.

Of a hub model the local copy is used if there is one, else the network. Importing this module is
cheap: `load` imports torch and transformers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from gauntlet.common.errors import ModelError
from gauntlet.models.base import check_fields
from gauntlet.models.chat import DATE, Tags, prints_date, thoughts_of
from gauntlet.models.engine.files import (
    CACHED,
    CHAT_TEMPLATE,
    CHAT_TEMPLATES,
    TOKENIZER_CONFIG,
    chat_template,
    check_folder,
    check_libraries,
    content_hash,
    file_hash,
    git_hash,
    hub_name,
    local_folder,
    model_files,
)

if TYPE_CHECKING:
    from gauntlet.models.engine.local import Local
    from gauntlet.models.engine.shards import Rank
    from gauntlet.models.engine.tokens import Tokens


Dtype = Literal["float32", "bfloat16", "float16"]
Engine = Literal["packed", "reference"]
Device = Literal["auto", "cpu", "cuda"]
Offload = Literal["none", "disk"]
Choice = bool | Literal["auto"]


class Format(NamedTuple):
    """How prompts are written: in the chat template or raw; thinking: None for the template's own
    default."""

    chat: bool
    thinking: bool | None = None


@dataclass(frozen=True)
class Checkpoint:
    """A causal language model of the transformers library, with safetensors weights.

    path: a folder, a hub model as organisation/name, `pkg:` and a folder of this project, or
        `cache:` and a model of `make real-models`.
    dtype: of weights and activations; log-probabilities are always computed in float32. On a
        processor without fast bfloat16 products, activations are float32 where they may be.
    chat: wrap each prompt in the tokenizer's chat template (static and changing part are the
        user's message, the cue opens the model's turn); otherwise the prompt is used as it is.
        "auto" uses the template if there is one.
    thinking: the `enable_thinking` of a chat template that has it; "auto" leaves it out.
    engine: "packed" shares work between prompts; "reference" runs them one at a time.
    device: "auto" uses the GPU if there is one.
    revision: branch, tag or commit of a hub model.
    batch_invariant: guarantee that a score's bits do not depend on the other requests, in 16-bit
        dtypes too, at some cost in speed; float32 is always batch-invariant.
    shards: number of devices that share the weights of one replica.
    offload: "disk" leaves the weights that do not fit in memory on disk and reads them again for
        every pass; scores do not change.
    thinking_room: tokens that a text may have beyond its request's max_tokens, for thoughts.
    thought_tags: the model's own tags around its thoughts; usual ones are known.
    end_loops: end a text once its last so many tokens are one part again and again, three times
        or more, long before its limit; 0 for never.

    Raises ValueError if a field has a value that is not allowed.
    """

    path: str
    dtype: Dtype = "float32"
    chat: Choice = "auto"
    engine: Engine = "packed"
    device: Device = "auto"
    revision: str | None = None
    batch_invariant: bool = False
    shards: int = 1
    offload: Offload = "none"
    thinking: Choice = "auto"
    thinking_room: int = 0
    thought_tags: Tags | None = None
    end_loops: int = 0

    def __post_init__(self) -> None:
        kinds = {"dtype": Dtype, "engine": Engine, "device": Device, "offload": Offload}
        check_fields(
            self,
            self.path,
            {field: get_args(kind) for field, kind in kinds.items()},
            {"shards": 1, "thinking_room": 0, "end_loops": 0},
            ("chat", "thinking"),
        )
        thoughts_of(self.thought_tags)
        if self.revision is not None and local_folder(self.path):
            raise ValueError(f"model {self.path!r} is a folder; only hub models have a revision")
        if self.offload == "disk" and self.shards > 1:
            raise ValueError(
                f"model {self.path!r}: offload 'disk' is for one device, not for {self.shards} "
                "shards; set one of the two back"
            )

    def identity(self) -> Mapping[str, Any]:
        """The content hash of a folder, or the commit of a hub model, with what changes scores."""
        folder = local_folder(self.path)
        if folder is None:
            commit = hub_commit(self.path, self.revision)
            source, folder = {"commit": commit}, template_folder(self.path, commit)
        else:
            check_folder(folder, self.path)
            source = {"content": content_hash(folder, self.path)}
        chat, thinking = self._format(folder)
        further: dict[str, Any] = {} if thinking is None else {"thinking": thinking}
        if chat and prints_date(chat_template(folder, self.path) or ""):
            further["date"] = DATE.isoformat()
        return {**source, "dtype": self.dtype, "chat": chat, **further, **self._further()}

    def _format(self, folder: Path) -> Format:
        """Resolve `chat` and `thinking` by the chat template in `folder`. Raises ModelError if it
        lacks what they ask for."""
        template = chat_template(folder, self.path)
        chat = template is not None if self.chat == "auto" else self.chat
        if chat and template is None:
            raise ModelError(f"model {self.path!r} has no chat template; set chat to false")
        if self.thinking == "auto":
            return Format(chat)
        if not chat or template is None or "enable_thinking" not in template:
            reason = "its chat template has no enable_thinking" if chat else "it is asked raw text"
            raise ModelError(f"model {self.path!r}: {reason}; set thinking to auto")
        return Format(chat, self.thinking)

    def _further(self) -> Mapping[str, Any]:
        """The non-default settings that change texts or the last bits of scores."""
        further: dict[str, Any] = {}
        if self.thinking_room:
            further["thinking_room"] = self.thinking_room
        if self.thought_tags:
            further["thought_tags"] = list(self.thought_tags)
        if self.end_loops:
            further["end_loops"] = self.end_loops
        if self.batch_invariant and self.dtype != "float32":
            further["batch_invariant"] = True
        return further

    def check_choices(self, choices: Sequence[str]) -> None:
        """Raises ModelError, naming the choice, unless each is a single token."""
        self._tokens(self._folder()).spellings(tuple(choices))

    def load(self) -> Local:
        """Load the whole model on one device, ignoring `shards`. Raises ModelError with one
        line."""
        from gauntlet.models.engine.local import load_network

        folder = self._folder()
        tokens = self._tokens(folder)
        network = load_network(
            folder,
            self.path,
            self.dtype,
            self.device,
            self.offload,
            may_widen=not self._invariant,
        )
        return self._local(network, tokens)

    def load_part(self, rank: Rank) -> Local:
        """Load one rank's part of the model. All ranks load concurrently and must then get the same
        requests in the same order. Raises ModelError."""
        from gauntlet.models.engine.shards import load_part

        folder = self._folder()
        tokens = self._tokens(folder)
        network, least = load_part(folder, self.path, self.dtype, self.device, rank)
        return self._local(network, tokens, least=least)

    def _local(self, network: Any, tokens: Tokens, **further: Any) -> Local:
        from gauntlet.models.engine.local import Local

        further |= {"thinking_room": self.thinking_room, "end_loops": self.end_loops}
        return Local(network, tokens, self.engine, self._invariant, **further)

    @property
    def _invariant(self) -> bool:
        return self.batch_invariant or self.dtype == "float32"

    def _folder(self) -> Path:
        folder = local_folder(self.path)
        if folder is None:
            folder = fetched_folder(self.path, self.revision)
        else:
            check_folder(folder, self.path)
        check_libraries(folder, self.path)
        return folder

    def _tokens(self, folder: Path) -> Tokens:
        from gauntlet.models.engine.tokens import load_tokens

        return load_tokens(folder, self.path, *self._format(folder), self.thought_tags)


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


def hub_commit(name: str, revision: str | None) -> str:
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
        blob = file.resolve()
        if blob == file or len(blob.name) not in (40, 64):  # a copy without links: hash unknown
            continue
        if blob.name not in (file_hash(blob, name), git_hash(blob)):
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
