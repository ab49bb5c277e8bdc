"""A person at this terminal as a model: reads what a language model would read, and types.

A person remembers. What a prompt shares with the one before, line by line from the start, is not
printed again: of a game's rules and moves each is read once. What another player said may hold
control characters; they are shown, not obeyed.
"""

from __future__ import annotations

import math
import os
import select
import signal
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from common.errors import ModelError
from common.foreign import visible
from models.base import Generate, Generation, Prompt, Reply, Request, Score, Scores

KEYBOARD = 0
"""The file descriptor of standard input."""

POLL_SECONDS = 0.1
"""How often a wait for a line looks whether it should end."""


@dataclass(frozen=True)
class Terminal:
    """The model source of whoever sits at this terminal. A word counts as a token."""

    def identity(self) -> Mapping[str, Any]:
        return {"human": "terminal"}

    def check_choices(self, choices: Sequence[str]) -> None:
        """A person can type any word."""

    def load(self) -> TerminalModel:
        return TerminalModel(KEYBOARD)


class TerminalModel:
    """Prints each prompt and waits for a line. The end of the input interrupts the program, as
    Ctrl-C does: without the person there is no going on.

    keyboard: the file descriptor to read from.
    """

    def __init__(self, keyboard: int) -> None:
        self._keyboard = keyboard
        self._typed = b""
        self._read: list[str] = []
        self._gone = threading.Event()

    def answer(self, requests: Sequence[Request]) -> Sequence[Reply]:
        """A choice that is typed is certain, all others impossible; anything else is asked again.
        A Generate that leaves no room for words is shown, and nothing is read.

        Raises ModelError where nobody is there to answer.
        """
        return [self._write(r) if isinstance(r, Generate) else self._choose(r) for r in requests]

    def hang_up(self) -> None:
        self._gone.set()

    def close(self) -> None:
        pass

    def _choose(self, request: Score) -> Scores:
        if len(request.prompts) > 1:
            raise ModelError(f"a person answers one prompt a decision, not {len(request.prompts)}")
        (prompt,) = request.prompts
        self._show(prompt)
        while (typed := self._line(prompt.cue)) not in request.choices:
            print(f"{typed!r} is not one of {', '.join(request.choices)}")
        row = tuple(0.0 if choice == typed else -math.inf for choice in request.choices)
        return Scores((row,), (_length(prompt),))

    def _write(self, request: Generate) -> Generation:
        if request.n > 1:
            raise ModelError(f"a person gives one answer to a question, not {request.n}")
        self._show(request.prompt)
        text = self._line(request.prompt.cue) if request.max_tokens else ""
        return Generation(text, _length(request.prompt), len(text.split()))

    def _show(self, prompt: Prompt) -> None:
        """Prints the prompt from the first line on that the one before did not have there."""
        before, self._read = self._read, _told(prompt).splitlines()
        pairs = zip(before, self._read, strict=False)
        known = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        print(visible("\n".join(self._read[known:])), flush=True)

    def _line(self, cue: str) -> str:
        print(visible(cue), end=" ", flush=True)
        while b"\n" not in self._typed:
            if self._gone.is_set():
                raise ModelError("nobody is at the terminal any more")
            if select.select([self._keyboard], [], [], POLL_SECONDS)[0]:
                self._take_in(os.read(self._keyboard, 4096))
        line, _, self._typed = self._typed.partition(b"\n")
        return line.decode(errors="replace").strip()

    def _take_in(self, typed: bytes) -> None:
        self._typed += typed
        if not typed:
            os.kill(os.getpid(), signal.SIGINT)  # to the process: its main thread wakes
            self._gone.wait()


def _told(prompt: Prompt) -> str:
    return prompt.system + prompt.static + prompt.changing


def _length(prompt: Prompt) -> int:
    return len(prompt.text.split())
