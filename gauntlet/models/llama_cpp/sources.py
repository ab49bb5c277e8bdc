"""Models that llama.cpp runs: a GGUF file on this machine, or a running server.

Importing this module is cheap: no library is needed before `load`, or a check of choices. Of a GGUF
file only the header is read.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, BinaryIO, Literal
from urllib.parse import urlsplit

from gauntlet.common.errors import ModelError
from gauntlet.models.base import check_fields, read_key
from gauntlet.models.chat import DATE, Tags, prints_date, thoughts_of
from gauntlet.models.engine.files import GGUF, Stamp, check_fetched, file_hash
from gauntlet.models.llama_cpp.client import Client

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gauntlet.models.llama_cpp.answers import LlamaCpp


VERSIONS = (2, 3)
STRING, ARRAY = 8, 9
NUMBERS = {**dict(enumerate("BbHhIif?")), 10: "Q", 11: "q", 12: "d"}
"""The struct format of each other type of value, by the number of the type."""
LONGEST = 1 << 24
"""Most bytes of a string, and most elements of an array, that a sound header has."""
PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")


@dataclass(frozen=True)
class Header:
    """What a run must know of a GGUF file.

    context: the positions that the model was trained for; 0 if the file does not say.
    template: the chat template; "" if the file has none.
    """

    architecture: str
    context: int
    template: str


def read_header(path: str) -> Header:
    """Raises ModelError if the file is missing, or no GGUF file."""
    return _read_header(Stamp.from_file(checked(path)), path)


def checked(path: str) -> Path:
    """The file. Raises ModelError if there is none."""
    file = Path(path).expanduser()
    if file.is_file():
        return file
    where = "is a folder" if file.is_dir() else "does not exist"
    remedy = "; model=hf plays this folder" if (file / "config.json").is_file() else ""
    raise ModelError(f"model.path {path!r} {where}; it must be a GGUF file{remedy}")


def content_hash(path: str) -> str:
    """SHA-256 of the file; of a file in several parts (NAME-00001-of-00003.gguf) of their hashes.
    Raises ModelError."""
    files = _parts(checked(path))
    missing = [file.name for file in files if not file.is_file()]
    if missing:
        raise ModelError(f"model {path!r} lacks its part {missing[0]}")
    hashes = [file_hash(file, path) for file in files]
    return hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()


def _parts(file: Path) -> list[Path]:
    """All parts of a file in several parts, or only the file."""
    match = PART.search(file.name)
    if match is None:
        return [file]
    start, count = file.name[: match.start()], int(match[2])
    names = (f"{start}-{number:05}-of-{count:05}.gguf" for number in range(1, count + 1))
    return [file.with_name(name) for name in names]


@lru_cache(maxsize=64)
def _read_header(stamp: Stamp, path: str) -> Header:
    check_fetched(Path(stamp.file), path)
    with Path(stamp.file).open("rb") as stream:
        if stream.read(len(GGUF)) != GGUF:
            raise ModelError(f"model.path {path!r} is no GGUF file: it does not start with 'GGUF'")
        try:
            values = _values(stream)
        except (struct.error, ValueError, KeyError) as error:
            why = f"{path!r} is truncated or damaged: its header cannot be read ({error})"
            raise ModelError(f"model.path {why}") from error
    architecture = str(values.get("general.architecture", ""))
    context = values.get(f"{architecture}.context_length", 0)
    template = str(values.get("tokenizer.chat_template", ""))
    return Header(architecture, int(context), template)


def _values(stream: BinaryIO) -> Mapping[str, Any]:
    """The header's values, without arrays."""
    version, _, count = _unpack(stream, "IQQ")
    if version not in VERSIONS:
        raise ValueError(f"version {version}; known are 2 and 3")
    values = {}
    for _ in range(count):
        key = _string(stream)
        (kind,) = _unpack(stream, "I")
        values[key] = _value(stream, kind)
    return values


def _value(stream: BinaryIO, kind: int) -> Any:
    if kind == STRING:
        return _string(stream)
    if kind != ARRAY:
        return _unpack(stream, NUMBERS[kind])[0]
    inner, count = _unpack(stream, "IQ")
    if count > LONGEST:
        raise ValueError(f"an array of {count} elements")
    if inner in (STRING, ARRAY):
        for _ in range(count):
            _value(stream, inner)
    else:
        stream.seek(count * struct.calcsize(NUMBERS[inner]), 1)
    return None


def _string(stream: BinaryIO) -> str:
    (length,) = _unpack(stream, "Q")
    if length > LONGEST:
        raise ValueError(f"a text of {length} bytes")
    return stream.read(length).decode("utf-8", "replace")


def _unpack(stream: BinaryIO, kinds: str) -> tuple[Any, ...]:
    return struct.unpack(f"<{kinds}", stream.read(struct.calcsize(f"<{kinds}")))


Chat = Literal["auto"] | bool

STEP = 256
"""llama.cpp rounds contexts up to a multiple of this."""
PROBE = {"warmup": False, "fit_params": False, "n_gpu_layers": 0}
"""Settings of a server that only tokenizes: it maps the weights and reads next to none."""
KEY = "LLAMA_API_KEY"
"""The environment variable with a server's key, as llama.cpp calls it."""
CHATML = (
    "{%-formessageinmessages-%}{{-'<|im_start|>'+message.role+''+message.content+'<|im_end|>'-}}"
    "{%-endfor-%}{%-ifadd_generation_prompt-%}{{-'<|im_start|>assistant'-}}{%-endif-%}"
)
"""The template, without white space, that a server reports for a model that has none."""


@dataclass(frozen=True)
class Gguf:
    """A GGUF file, run by llama.cpp in a child process on this machine.

    path: the file; of a model in several files the first.
    context: positions per slot, at most those that the model was trained for.
    slots: requests worked on at once, each with its own context in memory. With one, a score does
        not depend on the other requests; with more it may, within the rounding of the weights.
    threads: None: as many as cores.
    chat: wrap each prompt in the chat template; "auto": if the file has one.
    thought_tags: the model's own tags around its thoughts; usual ones are known.

    Raises ValueError if a field has a value that is not allowed.
    """

    path: str
    context: int = 8192
    slots: int = 1
    threads: int | None = None
    chat: Chat = "auto"
    thought_tags: Tags | None = None

    def __post_init__(self) -> None:
        least = {"context": 1, "slots": 1, "threads": 1}
        check_fields(self, self.path, {}, least, ("chat",))
        thoughts_of(self.thought_tags)

    def identity(self) -> Mapping[str, Any]:
        """The file's content, and what else can change an answer. Raises ModelError."""
        content = {"gguf": content_hash(self.path), "chat": self._chat, "context": self._context}
        template = read_header(self.path).template if self._chat else ""
        slots = {"slots": self.slots} if self.slots > 1 else {}
        return content | slots | _further(template, self.thought_tags)

    def check_choices(self, choices: Sequence[str]) -> None:
        """Raises ModelError, naming the choice, unless each is a single token."""
        _check_file_choices(self.path, content_hash(self.path), tuple(choices))

    def load(self) -> LlamaCpp:
        """Raises ModelError in one line, with llama.cpp's reason."""
        from gauntlet.models.llama_cpp.answers import LlamaCpp
        from gauntlet.models.llama_cpp.client import LocalServer

        chat, threads = self._chat, self.threads or _cores()
        server = LocalServer(self.path, threads, self._context, self.slots)
        try:
            client = Client(_who(self.path), server.address, server.key, None, server.reason)
            thoughts = thoughts_of(self.thought_tags)
            return LlamaCpp(client, chat, self.slots, thoughts, server.close)
        except BaseException:  # Ctrl-C too
            server.close()
            raise

    @property
    def _chat(self) -> bool:
        template = read_header(self.path).template
        if self.chat is True and not template:
            raise ModelError(f"model {self.path!r} has no chat template; set chat to auto or false")
        return bool(self.chat and template)

    @property
    def _context(self) -> int:
        rounded = -(-self.context // STEP) * STEP
        return min(rounded, read_header(self.path).context or rounded)


@dataclass(frozen=True)
class LlamaServer:
    """The model of a running llama.cpp server. Its key, if it wants one, is read from the
    environment variable LLAMA_API_KEY.

    base_url: where the server listens, without /v1.
    slots: requests sent at once; None: as many as the server works on.
    chat: wrap each prompt in the server's chat template; "auto": if the model has its own.
    thought_tags: as in `Gguf`.
    timeout: seconds for a reply, and for a server that still loads its model.

    Raises ValueError if a field has a value that is not allowed.
    """

    base_url: str
    slots: int | None = None
    chat: Chat = "auto"
    thought_tags: Tags | None = None
    timeout: float = 600.0

    def __post_init__(self) -> None:
        check_fields(self, self.base_url, {}, {"slots": 1}, ("chat",))
        thoughts_of(self.thought_tags)
        url = urlsplit(self.base_url)
        if url.scheme not in ("http", "https") or not url.hostname or "@" in url.netloc:
            raise ValueError(
                f"base_url {self.base_url!r} must be http(s)://host[:port], without a password"
            )
        if not self.timeout > 0:
            raise ValueError(f"timeout {self.timeout:g} of {self.base_url}: more than 0")

    def identity(self) -> Mapping[str, Any]:
        """What the server says about its model, but not where it listens. Raises ModelError."""
        client = self._client()
        props, listed = client.ask("props"), client.ask("v1/models")
        settings = props.get("default_generation_settings", {})
        file = PurePath(str(props.get("model_path", ""))).name
        known: dict[str, Any] = {"llama_server": file}
        meta = (listed.get("data") or [{}])[0].get("meta") or {}
        known |= {key: meta[key] for key in ("n_params", "size", "n_vocab") if key in meta}
        template = str(props.get("chat_template", "")) if self._is_chat(props) else ""
        known["chat"] = hashlib.sha256(template.encode()).hexdigest() if template else False
        known["context"] = settings.get("n_ctx")
        if adapters := settings.get("params", {}).get("lora"):
            known["lora"] = adapters
        return known | _further(template, self.thought_tags)

    def check_key(self) -> None:
        """Raises ModelError for a key that cannot be sent; only the server knows if it needs
        one."""
        read_key(KEY)

    def check_choices(self, choices: Sequence[str]) -> None:
        """Raises ModelError, naming the choice, unless each is a single token."""
        from gauntlet.models.llama_cpp.answers import Vocabulary

        vocabulary = Vocabulary(self._client())
        for choice in choices:
            vocabulary.spellings(choice)

    def load(self) -> LlamaCpp:
        """Raises ModelError in one line if no llama.cpp server answers."""
        from gauntlet.models.llama_cpp.answers import LlamaCpp

        client = self._client()
        props = client.ask("props")
        slots = self.slots or int(props.get("total_slots", 1))
        return LlamaCpp(client, self._is_chat(props), slots, thoughts_of(self.thought_tags))

    def _client(self) -> Client:
        who = f"the server at {self.base_url}"
        return Client(who, self.base_url, read_key(KEY), self.timeout)

    def _is_chat(self, props: Mapping[str, Any]) -> bool:
        if self.chat != "auto":
            return self.chat
        template = "".join(str(props.get("chat_template", "")).split())
        return template not in ("", CHATML)


def _further(template: str, tags: Tags | None) -> dict[str, Any]:
    """What else of a model's texts is in its identity: a date that they print, its own tags."""
    further: dict[str, Any] = {"date": DATE.isoformat()} if prints_date(template) else {}
    return further | ({"thought_tags": list(tags)} if tags else {})


@lru_cache(maxsize=256)
def _check_file_choices(path: str, content: str, choices: tuple[str, ...]) -> None:
    """content: the file's hash, so that another file is checked again."""
    from gauntlet.models.llama_cpp.answers import Vocabulary

    with _tokenizer(path) as client:
        vocabulary = Vocabulary(client)
        for choice in choices:
            vocabulary.spellings(choice)


@contextmanager
def _tokenizer(path: str) -> Iterator[Client]:
    """A server that only tokenizes."""
    from gauntlet.models.llama_cpp.client import LocalServer

    read_header(path)
    server = LocalServer(path, 1, 256, 1, **PROBE)
    try:
        yield Client(_who(path), server.address, server.key, None, server.reason)
    finally:
        server.close()


def _who(path: str) -> str:
    return f"model {path!r}"


def _cores() -> int:
    """The cores this process may use; Ray sets the variable for its workers."""
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    if allowed.isdecimal() and int(allowed):
        return int(allowed)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
