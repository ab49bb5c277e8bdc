"""What a game is: rules as pure functions of an immutable state, and facts in words.

A game holds no randomness of its own. `deal` turns a random generator into a first state in
which all chance is settled (the order of the pile, the seed of later shuffles), so that one deal
is the same deal whoever plays it. An observation carries facts, never prompt wording: the
prompting methods under `agents/prompting` decide how the facts are asked about.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

S = TypeVar("S")

Action = int
"""An action's number; `Observation.options` gives its name. Where the game takes words with an
action, `legal` lists it as a `TextAction` and `play` is given a `TextMove`."""


@dataclass(frozen=True, slots=True)
class TextSpec:
    """What text an action wants, and how it is checked.

    ask: what is wanted, in words ("one word that hints at your team's cards").
    examples: texts that would do, one or more; players without words of their own take one.
    pattern: a regular expression that the whole text must match.
    max_chars: the most characters that it may have.
    forbidden: words that must not stand in it, in upper or lower case.
    instead: the text of a player whose own will not do; "" for one of the examples.

    Raises ValueError without an example, and for an example or `instead` that would not do.
    """

    ask: str
    examples: tuple[str, ...]
    pattern: str = r"(?s).*\S.*"
    max_chars: int = 200
    forbidden: tuple[str, ...] = ()
    instead: str = ""

    def __post_init__(self) -> None:
        if not self.examples:
            raise ValueError(f"a text ({self.ask}) needs an example that would do")
        for example in (*self.examples, *([self.instead] if self.instead else [])):
            if fault := self.fault(example):
                raise ValueError(f"the example {example!r} of a text ({self.ask}) {fault}")

    def fault(self, text: str) -> str:
        """What is wrong with `text`, as the end of a sentence; "" where it will do."""
        if len(text) > self.max_chars:
            return f"has {len(text)} characters, and {self.max_chars} are allowed"
        if not re.fullmatch(self.pattern, text):
            return f"is not {self.ask}"
        words = set(re.findall(r"\w+", text.casefold()))
        named = [word for word in self.forbidden if word.casefold() in words]
        return f"holds {named[0]!r}, which it must not" if named else ""


class TextMove(int):
    """An action and the words that go with it; `parse_move(str(move)) == move`."""

    text: str

    def __new__(cls, action: Action, text: str) -> TextMove:
        made = super().__new__(cls, action)
        made.text = text
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextMove) and (int(self), self.text) == (int(other), other.text)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((int(self), self.text))

    def __str__(self) -> str:
        return f"{int(self)} {json.dumps(self.text, ensure_ascii=False)}"

    __repr__ = __str__

    def __reduce__(self) -> tuple[type[TextMove], tuple[int, str]]:
        return TextMove, (int(self), self.text)


class TextAction(int):
    """An action among those of `legal` that wants words: `text` says which."""

    text: TextSpec

    def __new__(cls, action: Action, text: TextSpec) -> TextAction:
        made = super().__new__(cls, action)
        made.text = text
        return made

    def __reduce__(self) -> tuple[type[TextAction], tuple[int, TextSpec]]:
        return TextAction, (int(self), self.text)


def move_fault(move: Action, legal: Sequence[Action]) -> str:
    """Why `play` cannot take `move` where these are the legal actions, as the end of a sentence; ""
    where it can. An open action wants words that will do, and no other action takes words."""
    option = next((option for option in legal if int(option) == int(move)), None)
    if option is None:
        return "is not legal"
    if isinstance(option, TextAction):
        text = option.text
        return text.fault(move.text) if isinstance(move, TextMove) else f"wants words: {text.ask}"
    return "takes no words" if isinstance(move, TextMove) else ""


def default_text_move(option: Action, rng: np.random.Generator) -> Action:
    """The move of a player that takes this legal action and has no words of its own: with one of
    the examples where it wants words. Only then is anything drawn."""
    if not isinstance(option, TextAction):
        return option
    examples = option.text.examples
    return TextMove(option, examples[int(rng.integers(len(examples)))])


def move_with(option: Action, text: str) -> Action:
    """The move that takes this option, with the words where it wants words."""
    return TextMove(option, text) if isinstance(option, TextAction) else option


def parse_move(written: str) -> Action:
    """The move that `str` wrote. Raises ValueError for anything else."""
    number, space, text = written.partition(" ")
    if not space:
        return int(number)
    words = json.loads(text)
    if not isinstance(words, str):
        raise ValueError(f'{written!r} is no move; it must read 3 or 3 "words"')
    return TextMove(int(number), words)


@dataclass(frozen=True, slots=True)
class Fact:
    """One named thing that a seat knows, such as ("Hand", "red 3, wild").

    text: one line, or several where it is drawn, as a board is.
    own: whether it is of this seat alone: what only it holds, what it has to decide.
    """

    name: str
    text: str
    own: bool = False


@dataclass(frozen=True, slots=True)
class Observation:
    """What one seat may know at its turn, in facts that any prompting method can word.

    game: the game's name as a person would write it ("UNO").
    seat: the observing seat, from 0.
    rules: the rules and how the game is won; equal for every state of a match.
    facts: the situation, in the order in which it should be told.
    history: the public moves so far, one short clause each, oldest first.
    options: a name for each legal action, in the order of `Game.legal`.
    view: the same situation as plain data, for scripted players of this game.
    role: who the seat is in the game, where that is more than a number ("the spymaster").
    team: the seats that win and lose with this one, itself among them; () where each is alone.

    As the rules do, a seat's role and team hold for the whole match.
    """

    game: str
    seat: int
    rules: str
    facts: tuple[Fact, ...]
    history: tuple[str, ...]
    options: tuple[str, ...]
    view: Any = None
    role: str = ""
    team: tuple[int, ...] = ()


class Game(Protocol[S]):
    """The rules of one game. Implementations are frozen dataclasses whose fields are its
    parameters; the first is always `num_seats`, checked on construction (ValueError)."""

    @property
    def num_seats(self) -> int: ...

    def deal(self, rng: np.random.Generator) -> S:
        """A first state. The only place where randomness enters."""
        ...

    def to_move(self, state: S) -> tuple[int, ...]:
        """The seats that act now: one, several at once (simultaneous moves), or () when over."""
        ...

    def legal(self, state: S, seat: int) -> tuple[Action, ...]:
        """The actions open to `seat`, in a fixed order; never empty for a seat that is to move.

        One that wants words is `TextAction`, and `play` takes it as `TextMove`.
        """
        ...

    def play(self, state: S, moves: Sequence[Action]) -> S:
        """The state after the seats of `to_move`, in that order, make `moves`.

        Raises IllegalAction where a move is not legal, or its words will not do. `state` itself is
        left as it was.
        """
        ...

    def observe(self, state: S, seat: int) -> Observation:
        """What `seat`, one of `to_move`, knows: nothing hidden from it may be read off."""
        ...

    def returns(self, state: S) -> tuple[float, ...]:
        """One figure a seat once the game is over: 1 a win, -1 a loss, 0 a draw or no winner.

        Games with scores may use the range between. A match is won where the return is above 0;
        where several seats share a win, it is a full win for each of them.
        """
        ...

    def show(self, state: S) -> str:
        """The whole state, hidden parts included, drawn for a person in a few lines."""
        ...
