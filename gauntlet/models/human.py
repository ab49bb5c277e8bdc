"""A person as a model, who reads what a language model would read and types answers.

People remember, so the leading lines that a prompt shares with the previous one are not printed
again: rules and moves are shown once. Control characters in other players' text are displayed, not
executed.
"""

from __future__ import annotations

import math
import os
import select
import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from gauntlet.common.errors import ModelError
from gauntlet.common.sanitize import visible
from gauntlet.models.base import Generate, Generation, Prompt, Reply, Request, Score, Scores

KEYBOARD = 0
"""The file descriptor of standard input."""

POLL_SECONDS = 0.1
"""How often a wait for a line checks whether to end."""


@dataclass(frozen=True)
class Terminal:
    """The model source for the person at this terminal. A word counts as a token."""

    def identity(self) -> Mapping[str, Any]:
        return {"human": "terminal"}

    def check_choices(self, choices: Sequence[str]) -> None:
        """Accepts any word: a person can type it."""

    def load(self) -> PersonModel:
        return TerminalModel(KEYBOARD)


class PersonModel(ABC):
    """Shows each prompt to a person and waits for a line."""

    def __init__(self) -> None:
        self.gone = threading.Event()
        """Set once nothing waits for the person any more."""

    @abstractmethod
    def show(self, prompt: Prompt) -> None: ...

    @abstractmethod
    def line(self, cue: str) -> str:
        """The person's answer. Raises ModelError if there is no one to answer."""

    @abstractmethod
    def refuse(self, message: str) -> None:
        """Say why the line is asked for again."""

    def answer(self, requests: Sequence[Request]) -> Sequence[Reply]:
        """Score: the typed choice gets probability 1, the others 0; invalid input is asked for
            again.

        A Generate with max_tokens 0 is only shown. Raises ModelError if there is no one to answer.
        """
        return [self._write(r) if isinstance(r, Generate) else self._choose(r) for r in requests]

    def cancel(self) -> None:
        self.gone.set()

    def close(self) -> None:
        self.cancel()

    def _choose(self, request: Score) -> Scores:
        if len(request.prompts) > 1:
            raise ModelError(f"a person answers one prompt a decision, not {len(request.prompts)}")
        (prompt,) = request.prompts
        self.show(prompt)
        named = _names(prompt, request.choices)
        while (chosen := named.get(_normalize(typed := self.line(prompt.cue)))) is None:
            self.refuse(f"{typed!r} is not one of {', '.join(request.choices)}")
        row = tuple(0.0 if choice == chosen else -math.inf for choice in request.choices)
        return Scores((row,), (_length(prompt),))

    def _write(self, request: Generate) -> Generation:
        if request.n > 1:
            raise ModelError(f"a person gives one answer to a question, not {request.n}")
        self.show(request.prompt)
        text = self.line(request.prompt.cue) if request.max_tokens else ""
        return Generation(text, _length(request.prompt), len(text.split()))


class TerminalModel(PersonModel):
    """Prints prompts and reads lines.

    The end of input interrupts the program like Ctrl-C, because it cannot continue without the
    person.

    keyboard: the file descriptor to read from.
    """

    def __init__(self, keyboard: int) -> None:
        super().__init__()
        self._keyboard = keyboard
        self._typed = b""
        self._read: list[str] = []

    def show(self, prompt: Prompt) -> None:
        """Print the prompt from the first line that differs from the previous prompt."""
        before, self._read = self._read, _prompt_text(prompt).splitlines()
        pairs = zip(before, self._read, strict=False)
        known = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        print(visible("\n".join(self._read[known:])), flush=True)

    def line(self, cue: str) -> str:
        print(visible(cue), end=" ", flush=True)
        while b"\n" not in self._typed:
            if self.gone.is_set():
                raise ModelError("nobody is at the terminal")
            if select.select([self._keyboard], [], [], POLL_SECONDS)[0]:
                self._take_in(os.read(self._keyboard, 4096))
        line, _, self._typed = self._typed.partition(b"\n")
        return line.decode(errors="replace").strip()

    def refuse(self, message: str) -> None:
        print(message)

    def _take_in(self, typed: bytes) -> None:
        self._typed += typed
        if not typed:
            main = threading.main_thread().ident
            assert main is not None
            signal.pthread_kill(main, signal.SIGINT)  # which its handler may be waiting to run in
            self.gone.wait()


def _names(prompt: Prompt, choices: Sequence[str]) -> dict[str, str]:
    """What a person may type for each choice: itself, or its label as in "2) CALL"."""
    lines = prompt.changing.splitlines()
    listed = {
        _normalize(line.removeprefix(f"{choice}) ")): choice
        for choice in choices
        for line in lines
        if line.startswith(f"{choice}) ")
    }
    return listed | {_normalize(choice): choice for choice in choices}


def _normalize(text: str) -> str:
    """The text without case, underscores and extra spaces."""
    return " ".join(text.replace("_", " ").split()).casefold()


def _prompt_text(prompt: Prompt) -> str:
    return prompt.system + prompt.static + prompt.changing


def _length(prompt: Prompt) -> int:
    return len(prompt.text.split())
