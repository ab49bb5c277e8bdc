"""Look-ahead search: a tree of candidate moves and replies, with values backed up by max and min.

Source: TALAGA (ICLR 2024 submission iS3fQooCaa), section 4. Three actors build a tree: M proposes
the player's moves, M_O the other players' replies, M_R values the leaves. The probabilities of
Equation 2 are set to 1, because no model supplies them; what is left is plain minimax.

All requests of one level go out together: M's at the root, then M_O's, then M_R's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from gauntlet.agents.base import Answer, Question, Turn, gather_all
from gauntlet.games.base import default_text_move
from gauntlet.games.capabilities import Sampled, nothing_hidden
from gauntlet.games.contract import final_returns, seats_to_move
from gauntlet.games.playouts import sample

DRAWS = 3
"""Samples per wanted candidate."""
UNKNOWN = 0.5
"""The value of a leaf for which none could be parsed."""

Note = int | str
"""How a model's reply was read: the option it names, "ok", or what was wrong with it."""
Step = tuple[int, str]
"""A seat and the name of its move."""


@dataclass(frozen=True, slots=True)
class Proposed:
    """A mover's options, one per sample, and how each model reply was read, if there were any."""

    options: tuple[int, ...]
    answers: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """A leaf's value and how each reply was read.

    value: for the player of the root turn, from 0 to 1, or None if none could be parsed.
    """

    value: float | None
    answers: tuple[Note, ...] = ()


class Mover(Protocol):
    """M or M_O."""

    def propose(
        self, turns: Sequence[Turn], wanted: int, rng: np.random.Generator
    ) -> Generator[Question, Answer, list[Proposed]]:
        """For every turn, enough samples to find `wanted` different options, or all there are."""
        ...


class Judge(Protocol):
    """M_R."""

    def prepare(
        self, turn: Turn, rng: np.random.Generator
    ) -> Generator[Question, Answer, tuple[Judge, tuple[Note, ...]]]:
        """Query what can be asked before there are leaves. Returns the judge to use for the leaves
        and how each reply was read."""
        ...

    def judge(
        self, turn: Turn, leaves: Sequence[Node], rng: np.random.Generator
    ) -> Generator[Question, Answer, list[Judged]]:
        """The value of each leaf for the player whose turn the root is."""
        ...


@dataclass(eq=False)
class Node:
    """A position of the tree.

    line: the moves from the root to this position.
    before: the position before the last of them.
    state: None if the game cannot tell it: it has no `sample`, or several seats move at once.
    turn: the turn of the seat to move, if exactly one is.
    own: whether that seat is on the side the tree maximises for.
    option, times: what was chosen in `before`, and in how many samples.
    value: of a leaf, from 0 to 1.
    """

    line: tuple[Step, ...] = ()
    before: Node | None = None
    state: Any = None
    turn: Turn | None = None
    own: bool = True
    option: int = 0
    times: int = 0
    value: float | None = None
    children: list[Node] = field(default_factory=list)

    @property
    def mover(self) -> int:
        assert self.turn is not None
        return self.turn.observation.seat

    @property
    def leaves(self) -> list[Node]:
        own = [leaf for child in self.children for leaf in child.leaves]
        return own or [self]

    @property
    def worth(self) -> float:
        """The backed-up value: the children's maximum for the own side, their minimum for
        others."""
        if not self.children:
            return UNKNOWN if self.value is None else self.value
        return (max if self.own else min)(child.worth for child in self.children)


@dataclass(frozen=True, slots=True)
class Thought:
    """A complete tree: its root, and how each model reply was read."""

    root: Node
    answers: tuple[Note, ...]

    @property
    def best(self) -> Node:
        """The child of highest value; ties go to the one M sampled most often, then the first."""
        return max(self.root.children, key=lambda child: (child.worth, child.times))

    @property
    def candidates(self) -> tuple[tuple[int, int, float], ...]:
        """Every candidate's option, sample count and value."""
        return tuple((one.option, one.times, round(one.worth, 6)) for one in self.root.children)


@dataclass(frozen=True)
class Tree:
    """The shape of the search tree.

    k: depth in plies.
    n1, n2: candidates at the root and below it, at most the number of legal moves.
    llm_terminal: whether M_R instead of the rules values finished games.

    With hidden information the tree grows from one state that `sample` draws to fit what the seat
    knows. M and M_R see the seat's private facts as they are in that state, M_O only the public
    ones. A game without `sample` gives no states: the tree is one ply deep, and M_R sees the
    situation and the move.
    """

    k: int = 2
    n1: int = 4
    n2: int = 2
    llm_terminal: bool = False

    def check_tree(self) -> None:
        """Raises ValueError for a tree without a leaf."""
        for name in ("k", "n1", "n2"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; a tree needs 1 or more")

    def think(
        self, turn: Turn, mover: Mover, opponent: Mover, judge: Judge, rng: np.random.Generator
    ) -> Generator[Question, Answer, Thought]:
        """Build the tree for this turn, level by level."""
        known = nothing_hidden(turn.game) or isinstance(turn.game, Sampled)
        state = sample(turn.game, turn.observation, rng) if known else None
        root = Node(state=state, turn=turn)
        asked: list[Any] = [mover.propose([turn], self.n1, rng), judge.prepare(turn, rng)]
        (proposed,), (ready, answers) = yield from gather_all(asked)
        told: list[Note] = [*proposed.answers, *answers]
        level = self._grown(turn, root, proposed.options, self.n1, rng)
        for _ in range(self.k - 1):
            level, answers = yield from self._next(turn, level, mover, opponent, rng)
            told += answers
        leaves = [leaf for leaf in root.leaves if leaf.value is None]
        judged = yield from ready.judge(turn, leaves, rng)
        for leaf, each in zip(leaves, judged, strict=True):
            leaf.value = each.value
            told += each.answers
        return Thought(root, tuple(told))

    def _next(
        self,
        turn: Turn,
        level: Sequence[Node],
        mover: Mover,
        opponent: Mover,
        rng: np.random.Generator,
    ) -> Generator[Question, Answer, tuple[list[Node], list[Note]]]:
        """The next level. Only positions with more than `n2` moves are put to an actor."""
        seat = turn.observation.seat
        going = [node for node in level if node.turn is not None]
        wide = [node for node in going if node.turn and len(node.turn.options) > self.n2]
        groups = [
            (actor, [node for node in wide if (node.mover == seat) == (actor is mover)])
            for actor in (mover, opponent)
        ]
        asked = [
            actor.propose([node.turn for node in nodes if node.turn], self.n2, rng)
            for actor, nodes in groups
        ]
        taken: dict[int, tuple[int, ...]] = {}
        told: list[Note] = []
        for (_, nodes), found in zip(groups, (yield from gather_all(asked)), strict=True):
            for node, proposed in zip(nodes, found, strict=True):
                taken[id(node)] = proposed.options
                told += proposed.answers
        below = [self._grown(turn, node, taken.get(id(node), ()), self.n2, rng) for node in going]
        return [child for children in below for child in children], told

    def _grown(
        self,
        turn: Turn,
        node: Node,
        taken: Sequence[int],
        wanted: int,
        rng: np.random.Generator,
    ) -> list[Node]:
        """The node's children: the proposed options in order, then others in the game's order."""
        assert node.turn is not None
        options = [*dict.fromkeys([*taken, *range(len(node.turn.options))])][:wanted]
        times = Counter(taken)
        node.children = [self._child(turn, node, one, times[one], rng) for one in options]
        return node.children

    def _child(
        self, root: Turn, node: Node, option: int, times: int, rng: np.random.Generator
    ) -> Node:
        """The position after an option, with its value if the rules determine it."""
        game, turn = root.game, node.turn
        assert turn is not None
        seat = node.mover
        line = (*node.line, (seat, turn.observation.options[option]))
        child = Node(line, node, None, None, True, option, times)
        if node.state is None or len(seats_to_move(game, node.state)) > 1:
            return child
        child.state = game.play(node.state, (default_text_move(turn.options[option], rng),))
        movers = seats_to_move(game, child.state)
        if not movers and not self.llm_terminal:
            child.value = result(root, child.state)
        if len(movers) == 1:
            (mover,) = movers  # every other seat plays to win
            goal = root.goal if mover == root.observation.seat else replace(root.goal, helps=None)
            child.turn, child.own = Turn.at(game, child.state, mover, goal), mover in side(root)
        return child


def beneficiary(turn: Turn) -> int:
    """The seat whose result counts."""
    return turn.observation.seat if turn.goal.helps is None else turn.goal.helps


def result(turn: Turn, end: Any) -> float:
    """The value of a finished game for the player of the turn, from 0 to 1."""
    return (final_returns(turn.game, end)[beneficiary(turn)] + 1) / 2


def side(turn: Turn) -> frozenset[int]:
    """The seats that the player of the turn wants to do well."""
    seen = turn.observation
    return frozenset({seen.seat, *seen.team, beneficiary(turn)})
