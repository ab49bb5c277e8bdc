"""The Game protocol: rules as pure functions of an immutable state, observations as facts.

A game has no randomness of its own. `deal` takes a random generator and returns an initial state
that settles all chance (the order of the deck, the seed of later shuffles), so a deal is the same
for all players. An observation carries facts, never prompt wording; the prompting methods in
`agents/prompting` word them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from gauntlet.common.errors import IllegalAction

S = TypeVar("S")

Action = int
"""An action's number; `Observation.options` names it. For an action that takes text, `legal` lists
a `TextAction` and `play` takes a `TextMove`."""


@dataclass(frozen=True, slots=True)
class TextSpec:
    """The text that an action takes, and how it is validated.

    ask: what the text should be ("one word that hints at your team's cards").
    examples: valid texts, at least one; players that cannot write text use one of them.
    pattern: a regular expression that the whole text must match.
    max_chars: maximum length in characters.
    forbidden: words that must not occur, ignoring case.
    instead: the text to use when a player's own is invalid; "" for one of the examples.

    Raises ValueError without an example, and for an invalid example or `instead`.
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
        """Return what is wrong with `text`, as the end of a sentence; "" if it is valid."""
        if len(text) > self.max_chars:
            return f"has {len(text)} characters, and {self.max_chars} are allowed"
        if not re.fullmatch(self.pattern, text):
            return f"is not {self.ask}"
        words = set(re.findall(r"\w+", text.casefold()))
        named = [word for word in self.forbidden if word.casefold() in words]
        return f"holds {named[0]!r}, which it must not" if named else ""


class TextMove(int):
    """An action with its text; `parse_move(str(move)) == move`."""

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
    """A legal action that takes text, specified by `text`."""

    text: TextSpec

    def __new__(cls, action: Action, text: TextSpec) -> TextAction:
        made = super().__new__(cls, action)
        made.text = text
        return made

    def __reduce__(self) -> tuple[type[TextAction], tuple[int, TextSpec]]:
        return TextAction, (int(self), self.text)


def move_fault(move: Action, legal: Sequence[Action]) -> str:
    """Return why `move` is not playable given these legal actions, as the end of a sentence; "" if
    it is. A text action needs a valid text, and no other action takes one."""
    option = next((option for option in legal if int(option) == int(move)), None)
    if option is None:
        return "is not legal"
    if isinstance(option, TextAction):
        text = option.text
        return text.fault(move.text) if isinstance(move, TextMove) else f"wants words: {text.ask}"
    return "takes no words" if isinstance(move, TextMove) else ""


def default_text_move(option: Action, rng: np.random.Generator) -> Action:
    """Return the move of a player that takes this legal action but cannot write text.

    A text action gets a random example; `rng` is used only then.
    """
    if not isinstance(option, TextAction):
        return option
    examples = option.text.examples
    return TextMove(option, examples[int(rng.integers(len(examples)))])


def move_with(option: Action, text: str) -> Action:
    """Return the move for this option; `text` is used only if it is a text action."""
    return TextMove(option, text) if isinstance(option, TextAction) else option


def parse_move(written: str) -> Action:
    """Parse the output of `str(move)`. Raises ValueError for anything else."""
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

    text: one line, or several for a drawing such as a board.
    own: True if it concerns this seat only: its hidden cards, its pending decision.
    """

    name: str
    text: str
    own: bool = False


@dataclass(frozen=True, slots=True)
class Observation:
    """What one seat knows at its turn, as facts that any prompting method can word.

    game: the game's display name ("UNO").
    seat: the observing seat, from 0.
    rules: the rules and how to win; the same in every state of a match.
    facts: the situation, in the order in which to present it.
    history: the public moves so far, one short clause each, oldest first.
    options: a name for each legal action, in the order of `Game.legal`.
    view: the same situation as plain data, for the game's scripted players.
    role: the seat's role in the game ("the spymaster"); "" if it has none.
    team: the seats that win and lose with this one, itself included; () if there are no teams.

    Like the rules, role and team stay the same for the whole match.
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
    """The rules of one game. Implementations are frozen dataclasses whose fields are the game's
    parameters; the first is always `num_seats`, checked on construction (ValueError)."""

    @property
    def num_seats(self) -> int: ...

    def deal(self, rng: np.random.Generator) -> S:
        """Return an initial state. This is the only place where randomness enters."""
        ...

    def to_move(self, state: S) -> tuple[int, ...]:
        """Return the seats that act now: one, several for simultaneous moves, or () when the game
        is over."""
        ...

    def legal(self, state: S, seat: int) -> tuple[Action, ...]:
        """Return the legal actions of `seat` in a fixed order; never empty for a seat to move.

        An action that takes text is a `TextAction`; `play` takes it as a `TextMove`.
        """
        ...

    def play(self, state: S, moves: Sequence[Action]) -> S:
        """Return the state after the seats of `to_move`, in that order, make `moves`.

        Leaves `state` unchanged. Raises IllegalAction for an illegal move or an invalid text.
        """
        ...

    def observe(self, state: S, seat: int) -> Observation:
        """Return what `seat`, one of `to_move`, knows; nothing hidden from it may leak."""
        ...

    def returns(self, state: S) -> tuple[float, ...]:
        """Return one value per seat once the game is over: 1 win, -1 loss, 0 draw or no winner.

        Games with scores may use the range between. A seat wins if its return is above 0; a shared
        win counts as a full win for each of its seats.
        """
        ...

    def show(self, state: S) -> str:
        """Draw the whole state, hidden parts included, in a few lines of text."""
        ...


def only_move(
    game: Game[S], state: S, moves: Sequence[Action], legal: Sequence[Action] | None = None
) -> Action:
    """Return the move of `moves` in a game whose seats move in turn. legal: the legal actions, if
    they are known. Raises IllegalAction unless there is one move, and it is legal."""
    seats = game.to_move(state)
    if not seats or len(moves) != 1:
        raise IllegalAction(f"moves {list(moves)} for seats {seats} in\n{game.show(state)}")
    (move,) = moves
    if fault := move_fault(move, game.legal(state, seats[0]) if legal is None else legal):
        raise IllegalAction(f"move {move} {fault} in\n{game.show(state)}")
    return move
