"""UCT: Monte Carlo tree search with random playouts, the yardstick of the ladder (docs/ladder.md).

Sources: L. Kocsis and C. Szepesvari (2006), ECML, 282-293; with hidden information, P. I. Cowling,
E. J. Powley and D. Whitehouse (2012), IEEE Trans. Comput. Intell. AI Games 4 (2), 120-143 (one tree
over redealt states; an action's bonus counts the playouts in which it was available).

`agents/mcts.py` is another search: it adds up rewards for one side only, from a model of the world,
and has neither opponents nor playouts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, isfinite, log, sqrt
from typing import Any

import numpy as np

from gauntlet.agents.base import Decision, Thinking, Turn
from gauntlet.games.base import Action, Game, default_text_move
from gauntlet.games.capabilities import nothing_hidden
from gauntlet.games.contract import legal_actions, seats_to_move
from gauntlet.games.playouts import no_playouts_reason, random_playout, sample

VERSION = 1
"""Of the rules below. Another one makes other moves, so a ladder of another version is void."""
MOST = 1_000_000


@dataclass(frozen=True)
class UCT:
    """Grows a tree by one node a playout and chooses the option with the most visits.

    playouts: per decision. exploration: weight of the bonus; results count 0 to 1.
    version: of these rules, part of a player's identity.

    A playout starts in a state that fits what the seat knows. It takes an action without visits, at
    random if there are several, else the one with the largest mean result for its mover +
    exploration * sqrt(ln(playouts that could take it) / visits). It ends with random moves after
    the first new node, or where several seats move at once. Ties between visits go to the larger
    mean, then to chance; so one playout a decision is random play. It plays to win whatever the
    seat's goal. A decision's scores are the shares of visits.
    """

    playouts: int = 64
    exploration: float = 1.4
    version: int = VERSION

    def __post_init__(self) -> None:
        if not 1 <= self.playouts <= MOST:
            raise ValueError(f"playouts is {self.playouts}; a search plays 1 to {MOST:,}")
        if not (self.exploration >= 0 and isfinite(self.exploration)):
            raise ValueError(f"exploration is {self.exploration:g}; it is 0 or more")
        if self.version != VERSION:
            raise ValueError(f"version is {self.version}; this program plays version {VERSION}")

    def check(self, game: Game[Any]) -> None:
        """Raises ValueError if the game cannot be played on from what a seat knows, or its seats
        move at once."""
        if nothing_hidden(game):
            return
        if reason := no_playouts_reason(game, measure="none"):  # it needs states, not results
            raise ValueError(reason)
        if len(seats_to_move(game, game.deal(np.random.default_rng(0)))) > 1:
            raise ValueError(f"uct needs seats that move in turn; {type(game).__name__}'s do not")

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        game, seen, root = turn.game, turn.observation, Node()
        known, finish = nothing_hidden(game), random_playout(game)
        for _ in range(self.playouts):
            state = seen.view if known else sample(game, seen, rng)
            path, state = _descended(game, root, state, known, self.exploration, rng)
            returns = finish(state, rng)
            for node in path:
                node.visits += 1
                node.total += (returns[node.mover] + 1) / 2
        found = [root.children.get(int(option), Node()) for option in turn.options]
        best = max((node.visits, node.mean) for node in found)
        ties = [at for at, node in enumerate(found) if (node.visits, node.mean) == best]
        shares = tuple(node.visits / self.playouts for node in found)
        return Decision(ties[int(rng.random() * len(ties))], scores=shares)
        yield


@dataclass(eq=False, slots=True)
class Node:
    """An action in the tree, or the root.

    mover: the seat that takes the action, whose results `total` adds up. available: playouts that
    came to where it could be taken. state, options: after the action, where nothing is hidden.
    """

    mover: int = -1
    visits: int = 0
    available: int = 0
    total: float = 0.0
    children: dict[int, Node] = field(default_factory=dict)
    state: Any = None
    options: tuple[int, Sequence[Action]] | None = None

    @property
    def mean(self) -> float:
        return self.total / self.visits if self.visits else 0.0


def _descended(
    game: Game[Any], root: Node, state: Any, known: bool, exploration: float, rng: Any
) -> tuple[list[Node], Any]:
    """Go down the tree from `state` and add a node. Returns the nodes passed and the last state."""
    path, node = list[Node](), root
    while turn := _turn(game, node, state, known):
        action, node = _selected(node, *turn, known, exploration, rng)
        if node.state is None:
            state = game.play(state, (default_text_move(action, rng),))
            node.state = state if known else None
        else:
            state = node.state
        path.append(node)
        if not node.visits:
            break
    return path, state


def _turn(
    game: Game[Any], node: Node, state: Any, known: bool
) -> tuple[int, Sequence[Action]] | None:
    """The seat to move and its options; None at the end, or if several seats move at once."""
    if node.options is not None:
        return node.options
    seats = seats_to_move(game, state)
    if len(seats) != 1:
        return None
    found = seats[0], legal_actions(game, state, seats[0])
    if known:
        node.options = found
    return found


def _selected(
    node: Node, seat: int, options: Sequence[Action], known: bool, exploration: float, rng: Any
) -> tuple[Action, Node]:
    """The action to try, and its node."""
    children = node.children
    if not (known and children):
        for option in options:
            children.setdefault(int(option), Node(seat))
    fresh = [option for option in options if not children[option].visits]
    best, chosen, available, logarithm = -inf, options[0], 0, 0.0
    for option in options:
        child = children[option]
        child.available += 1
        if not fresh:
            if child.available != available:
                available, logarithm = child.available, log(child.available)
            value = child.total / child.visits + exploration * sqrt(logarithm / child.visits)
            if value > best:
                best, chosen = value, option
    if fresh:
        chosen = fresh[int(rng.random() * len(fresh))]
    return chosen, children[chosen]
