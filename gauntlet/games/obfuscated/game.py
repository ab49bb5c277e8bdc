"""A renamed game, to separate memory from reasoning.

Rules, deals, actions and their numbers are those of the base game. Its texts are renamed, and
options are listed in another order; the seed determines both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np

from gauntlet.games.base import Action, Fact, Game, Observation, TextAction, TextMove, TextSpec
from gauntlet.games.capabilities import (
    Advised,
    HasRuleHeadings,
    Measure,
    Sampled,
    fallback_of,
    has_draws,
    intents_of,
    measures_of,
    nothing_hidden,
    seatings_of,
)
from gauntlet.games.contract import most_plies
from gauntlet.games.obfuscated.vocabulary import (
    Group,
    Renaming,
    Vocabulary,
    renaming,
    vocabulary_of,
)
from gauntlet.games.playouts import policies_of, probabilities, sample, simulate

NAMES = "Names"
"""The rules heading that explains the new names."""


@dataclass(frozen=True)
class View:
    """What a scripted player of the base game sees, and the base index of each reordered option."""

    seen: Observation
    order: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RenamedTextSpec(TextSpec):
    """A text that is validated after translation back into the old words."""

    inner: TextSpec = field(kw_only=True)
    words: Renaming = field(kw_only=True)

    def fault(self, text: str) -> str:
        return self.words.rename(self.inner.fault(self.words.restore(text)))


@dataclass(frozen=True)
class Obfuscated:
    """`of` under other names.

    of: the base game. seed: determines the names and the order of options.

    A game with a vocabulary is renamed completely, otherwise only its title. Raises ValueError if
    the number of seats differs from that of `of`.
    """

    num_seats: int = 2
    of: Game[Any] = field(kw_only=True)
    seed: int = 1

    def __post_init__(self) -> None:
        if self.num_seats != self.of.num_seats:
            raise ValueError(f"the game seats {self.of.num_seats}, got {self.num_seats}")
        for name, value in self._inherited_capabilities():
            object.__setattr__(self, name, value)

    def _inherited_capabilities(self) -> Iterator[tuple[str, Any]]:
        """Yield the members to add because `of` has them: having a member is having the
        capability."""
        inner = self.of
        if nothing_hidden(inner) or isinstance(inner, Sampled):
            yield "sample", self._sample
        if isinstance(inner, Advised):
            yield from (("review", self._review), ("advice", self._advice))
        if isinstance(inner, HasRuleHeadings):
            yield "rules_summary", self._words.rename(inner.rules_summary)
            yield "rules_headings", self._headings(inner.rules_headings)

    @property
    def retold(self) -> Game[Any]:
        return self.of

    @property
    def perfect_information(self) -> bool:
        return nothing_hidden(self.of)

    @property
    def draws(self) -> bool:
        return has_draws(self.of)

    @property
    def intents(self) -> Sequence[str]:
        return tuple(map(self._words.rename, intents_of(self.of)))

    @property
    def policies(self) -> Sequence[str]:
        return policies_of(self.of)

    @property
    def measures(self) -> Sequence[Measure]:
        return measures_of(self.of)

    @property
    def seatings(self) -> tuple[tuple[int, ...], ...]:
        return seatings_of(self.of)

    def deal(self, rng: np.random.Generator) -> Any:
        return self.of.deal(rng)

    def to_move(self, state: Any) -> tuple[int, ...]:
        return self.of.to_move(state)

    def legal(self, state: Any, seat: int) -> tuple[Action, ...]:
        legal = self.of.legal(state, seat)
        return tuple(self._renamed_option(legal[at]) for at in self._order(legal))

    def play(self, state: Any, moves: Sequence[Action]) -> Any:
        return self.of.play(state, [self.base_move(move) for move in moves])

    def base_move(self, move: Action) -> Action:
        """Return the move in the base game."""
        return (
            TextMove(move, self._words.restore(move.text)) if isinstance(move, TextMove) else move
        )

    def observe(self, state: Any, seat: int) -> Observation:
        observation, there = self.of.observe(state, seat), self._words.rename
        order = self._order(self.of.legal(state, seat))
        return replace(
            observation,
            game=there(observation.game),
            rules=self._rules(observation.rules),
            facts=tuple(map(self._fact, observation.facts)),
            history=tuple(map(there, observation.history)),
            options=tuple(there(observation.options[at]) for at in order),
            role=there(observation.role),
            view=observation.view if self.perfect_information else View(observation, order),
        )

    @property
    def max_plies(self) -> int:
        return most_plies(self.of)

    def returns(self, state: Any) -> tuple[float, ...]:
        return self.of.returns(state)

    def measure(self, state: Any) -> Mapping[str, Sequence[float]]:
        own = getattr(self.of, "measure", None)
        return own(state) if own else {}

    def show(self, state: Any) -> str:
        return self._words.rename(self.of.show(state))

    def probabilities(self, policy: str, observation: Observation) -> tuple[float, ...]:
        seen, order = self._base_observation(observation)
        chances = probabilities(self.of, policy, seen)
        return tuple(chances[at] for at in order)

    def simulate(self, policies: Sequence[str], games: int, seed: int) -> np.ndarray:
        return simulate(self.of, policies, games, seed)

    def fallback(self, observation: Observation) -> int | None:
        seen, order = self._base_observation(observation)
        safe = fallback_of(self.of, seen)
        return None if safe is None else order.index(safe)

    def _base_observation(self, observation: Observation) -> tuple[Observation, tuple[int, ...]]:
        """Return the observation of the base game, and the order of the options."""
        view = observation.view
        if isinstance(view, View):
            return view.seen, view.order
        legal = self.of.legal(view, observation.seat)
        return self.of.observe(view, observation.seat), self._order(legal)

    def _order(self, legal: Sequence[Action]) -> tuple[int, ...]:
        """Return the base index of each option."""
        return tuple(sorted(range(len(legal)), key=lambda at: _rank(self.seed, int(legal[at]))))

    def _renamed_option(self, option: Action) -> Action:
        """Return the option, with its text spec renamed if it takes text."""
        if not isinstance(option, TextAction):
            return option
        inner, there = option.text, self._words.rename
        spec = RenamedTextSpec(
            ask=there(inner.ask),
            examples=tuple(map(there, inner.examples)),
            max_chars=inner.max_chars + 6 * len(self._words.new),
            forbidden=tuple(map(there, inner.forbidden)),
            instead=there(inner.instead),
            inner=inner,
            words=self._words,
        )
        return TextAction(option, spec)

    def _rules(self, rules: str) -> str:
        for part in self._vocabulary.without:
            rules = rules.replace(part, "")
        names = self._vocabulary.glossary
        return self._words.rename(f"{rules} {NAMES}: {names}" if names else rules)

    def _headings(self, headings: Mapping[str, str]) -> dict[str, str]:
        names = self._vocabulary.glossary
        told = {**headings, **({NAMES: names} if names else {})}
        there = self._words.rename
        return {there(name): there(text) for name, text in told.items()}

    def _sample(self, observation: Observation, rng: np.random.Generator) -> Any:
        return sample(self.of, self._base_observation(observation)[0], rng)

    def _review(self, observation: Observation, moves: int) -> tuple[Fact, ...]:
        of: Any = self.of
        found: tuple[Fact, ...] = of.review(self._base_observation(observation)[0], moves)
        return tuple(map(self._fact, found))

    def _advice(self, observation: Observation) -> tuple[str, ...]:
        of: Any = self.of
        return tuple(map(self._words.rename, of.advice(self._base_observation(observation)[0])))

    def _fact(self, fact: Fact) -> Fact:
        return replace(fact, name=self._words.rename(fact.name), text=self._words.rename(fact.text))

    @cached_property
    def _first_observation(self) -> Observation:
        """The first observation of some match, in the old words."""
        state = self.of.deal(np.random.default_rng(0))
        return self.of.observe(state, self.of.to_move(state)[0])

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return vocabulary_of(self.of) or Vocabulary((Group((self._first_observation.game,)),))

    @cached_property
    def _words(self) -> Renaming:
        seen = self._first_observation
        told = " ".join([seen.rules, *(fact.text for fact in seen.facts), *seen.options])
        return renaming(self._vocabulary.words, told, self.seed)


@lru_cache(maxsize=100_000)
def _rank(seed: int, action: int) -> bytes:
    """Return a random sort key of an action; it does not depend on the other options."""
    return blake2b(f"{seed} {action}".encode(), digest_size=8).digest()
