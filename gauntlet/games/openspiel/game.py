"""Any OpenSpiel game that can be described as text, as a Game.

`catalogue` goes through all games that OpenSpiel registers.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from gauntlet.common.errors import IllegalAction
from gauntlet.common.ids import LATER
from gauntlet.games.base import Action, Fact, Observation
from gauntlet.games.capabilities import WIN, Measure, add_match_score
from gauntlet.games.openspiel import engine, poker, words
from gauntlet.games.openspiel.engine import GameNotes, State, notes_of
from gauntlet.games.openspiel.tree import Means, is_small, learn
from gauntlet.games.openspiel.words import Choice
from gauntlet.games.playouts import RANDOM, simulate_by_rules

SHORT = 30
"""Longest game, in moves, whose luck is corrected: it is played on many times at every move."""
SMALL = 20_000
"""Most histories of a game whose means are exact: Leduc poker has 9,457."""


@dataclass(frozen=True)
class View:
    """What a seat knows: OpenSpiel's text of the situation, and the legal actions. `state` is where
    OpenSpiel starts to resample a state that the seat cannot tell from this one; it is not part of
    the knowledge and is ignored when views are compared."""

    seat: int
    told: str
    actions: tuple[int, ...]
    state: State = field(compare=False, repr=False)


@dataclass(frozen=True)
class OpenSpiel:
    """A game of OpenSpiel, by name.

    name: as OpenSpiel registers it ("leduc_poker").
    parameters: OpenSpiel's settings of that game ({board_size: 9}), None for none; a wrapped game
        by its name.
    listed: maximum number of legal actions to list as options; with more, the move is typed.
    version: of open_spiel, part of a cell's identity; None for the installed one.
    files: the hash of the files that parameters name, None if they name none; any other value must
        match them.

    An action is OpenSpiel's own number; a typed one is the number after the last of them. Returns:
    for a zero-sum game the utility as a share of the largest one; with equal utilities for all, its
    position between the lowest, -1, and the highest, 1; else positive for the seats with the most,
    by their lead over the least as a fraction of the range, and negative for the others.

    Raises ValueError for a game that cannot be played here, with the reason, and UserError if
    OpenSpiel is not installed.
    """

    num_seats: int = 2
    name: str = "connect_four"
    parameters: Mapping[str, Any] | None = field(default=None, hash=False)
    listed: int = 100
    version: str | None = None
    files: str | None = field(default=None, metadata=LATER)

    def __post_init__(self) -> None:
        installed = engine.installed()
        if self.version not in (None, installed):
            raise ValueError(f"version is {self.version}, and open_spiel {installed} is installed")
        if self.listed < 0:
            raise ValueError(f"listed is {self.listed}; it must be 0 or more")
        object.__setattr__(self, "version", installed)
        object.__setattr__(self, "parameters", dict(self.parameters or {}))
        read = engine.files_hash(self.parameters)
        if self.files not in (None, read):
            raise ValueError(f"files is {self.files}; those that {self.name} reads have {read}")
        object.__setattr__(self, "files", read)
        if sampler := self._sampler():
            object.__setattr__(self, "sample", sampler)
        if self.lucky and not self.secretive and self.engine.max_game_length() <= SHORT:
            object.__setattr__(self, "redealt", self._with_later_luck)
        for name, member in poker.members(self).items():
            object.__setattr__(self, name, member)

    def __reduce__(self) -> tuple[type[OpenSpiel], tuple[Any, ...]]:
        return type(self), tuple(getattr(self, each.name) for each in fields(self))

    @cached_property
    def engine(self) -> Any:
        return engine.load(self.name, self._parameters, self.num_seats, self.files)

    @property
    def _parameters(self) -> str:
        return json.dumps(self.parameters, sort_keys=True)

    @property
    def notes(self) -> GameNotes:
        return notes_of(self.name)

    @property
    def deal_key(self) -> str:
        return f"{self.name}{self._parameters}"

    @cached_property
    def lucky(self) -> bool:
        return engine.has_chance(self.engine)

    @cached_property
    def secretive(self) -> bool:
        """Whether the game samples its chance internally without revealing it."""
        return engine.samples_internally(self.engine)

    @cached_property
    def open_to_all(self) -> bool:
        """Whether nothing is hidden except simultaneous choices and future chance."""
        kinds = engine.spiel().GameType.Information
        return bool(self.engine.get_type().information != kinds.IMPERFECT_INFORMATION)

    @cached_property
    def perfect_information(self) -> bool:
        in_turn = engine.spiel().GameType.Dynamics.SEQUENTIAL
        return self.open_to_all and not self.lucky and self.engine.get_type().dynamics == in_turn

    def deal(self, rng: np.random.Generator) -> State:
        seed = int(rng.integers(2**63)) if self.lucky else 0
        live = engine.start(self.engine, seed)
        engine.resolve_chance(live, seed, 0)
        return State(seed, tuple(live.history()), (), live)

    def live(self, state: State) -> Any:
        """Return OpenSpiel's own state; do not play on it."""
        if state.live is None:
            live = engine.replayed(self.engine, state.seed, state.actions)
            object.__setattr__(state, "live", live)
        return state.live

    def to_move(self, state: State) -> tuple[int, ...]:
        return engine.movers(self.live(state))

    def legal(self, state: State, seat: int) -> tuple[Action, ...]:
        return self._choice(state, seat).legal if seat in self.to_move(state) else ()

    def _choice(self, state: State, seat: int) -> Choice:
        key = (seat, self.listed)
        if key not in state.choices:
            state.choices[key] = Choice(self.live(state), *key)
        found: Choice = state.choices[key]
        return found

    def play(self, state: State, moves: Sequence[Action]) -> State:
        seats = self.to_move(state)
        if not seats or len(moves) != len(seats):
            raise IllegalAction(f"moves {list(moves)} for seats {seats} in\n{self.show(state)}")
        actions = [self._engine_action(state, *each) for each in zip(seats, moves, strict=True)]
        names = [engine.name(self.live(state), *each) for each in zip(seats, actions, strict=True)]
        live = self._playable_copy(state)
        engine.apply(live, actions)
        engine.resolve_chance(live, state.seed, len(state.actions) - len(state.moves))
        told = tuple(zip(seats, names, strict=True))
        return State(state.seed, tuple(live.history()), (*state.moves, *told), live)

    def _engine_action(self, state: State, seat: int, move: Action) -> int:
        """Return OpenSpiel's number of a move. Raises IllegalAction."""
        choice = self._choice(state, seat)
        if fault := choice.fault(move):
            raise IllegalAction(f"move {move} {fault} in\n{self.show(state)}")
        return choice.action(move)

    def _playable_copy(self, state: State) -> Any:
        """Return an OpenSpiel state to play on. A game that samples internally continues its random
        stream across copies, so it is rebuilt: a state must not depend on what else was tried."""
        if self.secretive:
            return engine.replayed(self.engine, state.seed, state.actions)
        return self.live(state).clone()

    def observe(self, state: State, seat: int) -> Observation:
        live = self.live(state)
        situation = words.situation(self.engine, self.notes, live, seat)
        return Observation(
            game=self.engine.get_type().long_name,
            seat=seat,
            rules=self._rules,
            facts=tuple(self._facts(state, seat, situation)),
            history=words.history(state.moves, self.open_to_all, self.notes),
            options=self._choice(state, seat).options,
            view=self._view(state, seat, situation),
        )

    def _facts(self, state: State, seat: int, text: str) -> list[Fact]:
        side = self.notes.sides[seat] if seat < len(self.notes.sides) else ""
        facts = [Fact("You are", f"player {seat}{f', {side}' * bool(side)}", True)]
        if text:
            facts.append(Fact(self.notes.label, text, not self.open_to_all))
        if self._payoffs:
            facts.append(Fact("Payoffs", self._payoffs))
        if not self.open_to_all and not self.notes.public:
            own = [name for mover, name in state.moves if mover == seat]
            facts.append(Fact("Your moves so far", "; ".join(own) or "none", True))
        return facts

    @cached_property
    def _rules(self) -> str:
        return words.rules(self.engine, self.notes, self.parameters or {})

    @cached_property
    def _payoffs(self) -> str:
        return words.payoffs(self.engine)

    def _view(self, state: State, seat: int, text: str) -> State | View:
        if self.perfect_information:
            return state
        known = text if not self.open_to_all else str(state.actions)
        return View(seat, known, self._choice(state, seat).actions, state)

    def _sampler(self) -> Callable[[Observation, np.random.Generator], State] | None:
        """Return a function that samples a state consistent with what a seat knows; None if there
        is none."""
        if self.secretive:
            return None
        if self.open_to_all:
            return self._with_other_luck
        return self._with_other_cards if self.notes.resamples else None

    def _with_other_luck(self, observation: Observation, rng: np.random.Generator) -> State:
        if self.perfect_information:
            own: State = observation.view
            return own
        state: State = observation.view.state
        seed = int(rng.integers(2**63)) if self.lucky else 0
        return State(seed, state.actions, state.moves, state.live)

    def _with_later_luck(self, state: State, rng: np.random.Generator) -> State:
        """Draw all chance nodes to come anew; those that were drawn stay, seen or not."""
        return State(int(rng.integers(2**63)), state.actions, state.moves, state.live)

    def _with_other_cards(self, observation: Observation, rng: np.random.Generator) -> State:
        """Use OpenSpiel's own resampling of what a seat cannot see."""
        live = self.live(observation.view.state)
        other = live.resample_from_infostate(observation.seat, rng.random)
        return engine.state_of(self.engine, int(rng.integers(2**63)), other.history())

    def returns(self, state: State) -> tuple[float, ...]:
        return words.returns(self.engine, self.live(state).returns())

    @cached_property
    def small(self) -> bool:
        return self.engine.num_distinct_actions() <= self.listed and is_small(self.engine, SMALL)

    def rollouts(
        self,
        state: State | None,
        moves: Sequence[Action],
        policies: Sequence[str],
        count: int,
        seed: int,
        measure: str,
    ) -> np.ndarray:
        """As `games.capabilities.RolledOut.rollouts`: exact means of a small game; of others games
        with random players, whatever the policies."""
        live = self.engine.new_initial_state() if state is None else self.live(state)
        if state is not None and moves:
            seats, live = self.to_move(state), live.clone()
            told = zip(seats, moves, strict=True)
            engine.apply(live, [self._engine_action(state, *each) for each in told])
        if self.small:
            return self._means(tuple(policies), measure).after(live)[None]
        draws = [random.Random(f"{seed} {number}").random for number in range(count)]
        return np.array([self._values(engine.play_out(live, draw), measure) for draw in draws])

    @lru_cache(maxsize=64)  # noqa: B019 - a game is a value
    def _means(self, policies: tuple[str, ...], measure: str) -> Means:
        return Means(policies, lambda live: self._values(live.returns(), measure))

    def _values(self, utilities: Sequence[float], measure: str) -> np.ndarray:
        """Every seat's result in this measure."""
        returns = words.returns(self.engine, utilities)
        won = tuple(float(worth > 0) for worth in returns)
        return np.array(add_match_score({"utility": utilities, WIN.name: won}, returns)[measure])

    def imitate(self, games: Sequence[tuple[State, Sequence[str], int]]) -> str:
        if not self.small:
            return RANDOM
        decisions = []
        for state, moves, seat in games:
            for name in moves:
                (mover,) = self.to_move(state)
                choice = self._choice(state, mover)
                action = choice.actions[choice.names.index(name)]
                decisions += [(self.live(state), action)] * (mover == seat)
                state = self.play(state, [action])
        return learn(decisions)

    def random_playout(self, state: State, rng: np.random.Generator) -> Sequence[float]:
        return words.returns(self.engine, engine.play_out(self.live(state), rng.random))

    @property
    def draws(self) -> bool:
        """OpenSpiel does not say which win-or-loss games can be drawn."""
        return words.won_or_lost(self.engine)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """A pure win-or-loss game is judged by wins, any other by its utility."""
        low, high = self.engine.min_utility(), self.engine.max_utility()
        utility = Measure("utility", low, high)
        return (WIN, utility) if words.won_or_lost(self.engine) else (utility,)

    def measure(self, state: State) -> Mapping[str, Sequence[float]]:
        utilities = tuple(self.live(state).returns())
        won = tuple(float(worth > 0) for worth in self.returns(state))
        return {"utility": utilities, WIN.name: won}

    def show(self, state: State) -> str:
        live = self.live(state)
        moves = "; ".join(f"player {seat}: {name}" for seat, name in state.moves[-words.LAST :])
        return f"{str(live).strip()}\nlast moves: {moves or 'none'}".strip()

    def simulate(self, policies: Sequence[str], games: int, seed: int) -> np.ndarray:
        if poker.EQUILIBRIUM in policies and hasattr(self, "policies"):
            return simulate_by_rules(self, policies, games, seed)
        if len(policies) != self.num_seats or set(policies) - {RANDOM}:
            told = f"{self.num_seats} seats of {self.name} need the policy {RANDOM!r} each"
            raise ValueError(f"{told}, got {len(policies)}: {', '.join(policies)}")
        counts = np.zeros(self.num_seats + 1, np.int64)
        for number in range(games):
            utilities = engine.random_returns(self.engine, seed, number)
            wins = [worth > 0 for worth in words.returns(self.engine, utilities)]
            counts += np.array([*wins, not any(wins)], np.int64)
        return counts


def catalogue() -> dict[str, OpenSpiel | str]:
    """Return, by name in alphabetical order, the game with its usual number of seats, or the reason
    why it cannot be played here without parameters, or at all."""
    return {name: _game(name) for name in sorted(engine.kinds())}


def _game(name: str) -> OpenSpiel | str:
    try:
        return OpenSpiel(num_seats=usual_seats(name), name=name)
    except ValueError as error:
        return str(error)


def usual_seats(name: str) -> int:
    """Return the default number of seats of a game."""
    kind = engine.kinds()[name]
    told = [kind.parameter_specification.get(one, 0) for one in engine.SEATS]
    return int(max(kind.min_num_players, *(one for one in told if isinstance(one, int))))
