"""Matches side by side: every policy's decisions of a moment are made in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from gauntlet.agents.prompting.cloze import LETTERS
from gauntlet.models.base import Prompt
from gauntlet.training.environment.environment import Environment
from gauntlet.training.gradient.policy import Policy
from gauntlet.training.gradient.values import Values


@dataclass
class Choice:
    """One decision of the policy: what was asked, how many letters were on offer, the one taken.

    place: where it stands in its match: the seat, and how many decisions came before. to_go: its
    own reward and those that came after, each of these discounted by how much later it came.
    worth: the advantage of each letter, where those are looked up.
    """

    prompt: Prompt
    options: int
    letter: int
    place: tuple[int, int]
    to_go: float = 0.0
    worth: np.ndarray | None = None


@dataclass(frozen=True)
class Played:
    """Matches: their choices, and the result of each."""

    choices: list[Choice]
    results: list[float]


def play(
    environments: Sequence[Environment],
    policy: Policy,
    first: int,
    luck: torch.Generator,
    discount: float = 1.0,
    values: Values | None = None,
) -> Played:
    """One match an environment, of the deals from `first` on, the seats in turns. Matches that end
    before there is a choice to make are left out. values: where all options' are to be noted."""
    for number, environment in enumerate(environments):
        seats = environment.seats
        environment.reset(first + number, seats[(first + number) % len(seats)])
    active = {own: list[tuple[Choice, float]]() for own in environments if not own.done}
    made, results = list[Choice](), list[float]()
    while active:
        for own, choice in zip(active, choose(list(active), policy, luck), strict=True):
            worth = None if values is None else values.advantages(own.match, own.seat)
            _, reward, done, info = own.step(LETTERS[choice.letter])
            if worth is not None:
                choice.worth = under_letters(worth, choice, own)
            choice.place = (info["seat"], len(active[own]))
            active[own].append((choice, reward))
            if done:
                results.append(info["result"])
        for own in [own for own in active if own.done]:
            made += with_returns(active.pop(own), discount)
    return Played(made, results)


def choose(
    environments: Sequence[Environment], policy: Policy, luck: torch.Generator
) -> list[Choice]:
    """A letter for each, drawn as likely as the policy finds it."""
    prompts = [prompt for own in environments if (prompt := own.prompt) is not None]
    options = [min(len(own.options), len(LETTERS)) for own in environments]
    with torch.no_grad():
        chances = policy.logprobs(prompts, options).exp()
    letters = torch.multinomial(chances, 1, generator=luck)[:, 0].tolist()
    return [Choice(*each, (0, 0)) for each in zip(prompts, options, letters, strict=True)]


def under_letters(worth: np.ndarray, choice: Choice, taken: Environment) -> np.ndarray:
    """What the options are worth in the order in which the prompt showed them: the letter that was
    answered stands beside the option that was taken."""
    (*_, made) = (own for own in taken.match.decisions if own.seat == taken.seat and own.asked)
    return np.roll(worth, choice.letter - made.chosen)[: choice.options]


def with_returns(match: Sequence[tuple[Choice, float]], discount: float) -> list[Choice]:
    """A match's choices, each with what is still to come."""
    to_go = 0.0
    for choice, reward in reversed(match):
        to_go = reward + discount * to_go
        choice.to_go = to_go
    return [choice for choice, _ in match]
