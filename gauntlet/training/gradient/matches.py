"""Matches in parallel: the policy makes all pending decisions in one forward pass."""

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
    """One decision of the policy: prompt, number of letters offered, and the letter chosen.

    place: position in the match: the seat, and the number of its earlier decisions. to_go: its
    reward plus the later ones, discounted by their distance. worth: the advantage of each letter,
    if computed.
    """

    prompt: Prompt
    options: int
    letter: int
    place: tuple[int, int]
    to_go: float = 0.0
    worth: np.ndarray | None = None


@dataclass(frozen=True)
class PlayedMatches:
    """Choices of several matches, and the result of each match."""

    choices: list[Choice]
    results: list[float]


def play(
    environments: Sequence[Environment],
    policy: Policy,
    first: int,
    luck: torch.Generator,
    discount: float = 1.0,
    values: Values | None = None,
) -> PlayedMatches:
    """Play one match per environment, on deals from `first`, with rotating seats. Matches that end
    without a choice are skipped. values: if given, record the advantages of all options."""
    for number, environment in enumerate(environments):
        seats = environment.seats
        environment.reset(first + number, seats[(first + number) % len(seats)])
    active = {own: list[tuple[Choice, float]]() for own in environments if not own.done}
    choices, results = list[Choice](), list[float]()
    while active:
        for environment, choice in zip(active, choose(list(active), policy, luck), strict=True):
            worth = (
                None if values is None else values.advantages(environment.match, environment.seat)
            )
            _, reward, done, info = environment.step(LETTERS[choice.letter])
            if worth is not None:
                choice.worth = advantages_by_letter(worth, choice, environment)
            choice.place = (info["seat"], len(active[environment]))
            active[environment].append((choice, reward))
            if done:
                results.append(info["result"])
        for environment in [own for own in active if own.done]:
            choices += with_returns(active.pop(environment), discount)
    return PlayedMatches(choices, results)


def choose(
    environments: Sequence[Environment], policy: Policy, luck: torch.Generator
) -> list[Choice]:
    """Sample a letter for each environment from the policy."""
    prompts = [prompt for own in environments if (prompt := own.prompt) is not None]
    options = [min(len(own.options), len(LETTERS)) for own in environments]
    with torch.no_grad():
        chances = policy.logprobs(prompts, options).exp()
    letters = torch.multinomial(chances, 1, generator=luck)[:, 0].tolist()
    return [Choice(*each, (0, 0)) for each in zip(prompts, options, letters, strict=True)]


def advantages_by_letter(worth: np.ndarray, choice: Choice, environment: Environment) -> np.ndarray:
    """Reorder the options' advantages as shown in the prompt, where the answered letter denotes the
    option taken."""
    (*_, decision) = (
        own for own in environment.match.decisions if own.seat == environment.seat and own.asked
    )
    return np.roll(worth, choice.letter - decision.chosen)[: choice.options]


def with_returns(match: Sequence[tuple[Choice, float]], discount: float) -> list[Choice]:
    """Set each choice's discounted return and return the choices of the match."""
    to_go = 0.0
    for choice, reward in reversed(match):
        to_go = reward + discount * to_go
        choice.to_go = to_go
    return [choice for choice, _ in match]
