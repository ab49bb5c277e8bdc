"""Matches side by side: every policy's decisions of a moment are made in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from agents.prompting.cloze import LETTERS
from models.base import Prompt
from training.environment.environment import Environment
from training.gradient.policy import Policy


@dataclass
class Choice:
    """One decision of the policy: what was asked, how many letters were on offer, the one taken.

    place: where it stands in its match: the seat, and how many decisions came before. to_go: its
    own reward and those that came after, each of these discounted by how much later it came.
    """

    prompt: Prompt
    options: int
    letter: int
    place: tuple[int, int]
    to_go: float = 0.0


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
) -> Played:
    """One match an environment, of the deals from `first` on, the seats in turns. Matches that end
    before there is a choice to make are left out."""
    for number, environment in enumerate(environments):
        seats = environment.seats
        environment.reset(first + number, seats[(first + number) % len(seats)])
    active = {own: list[tuple[Choice, float]]() for own in environments if not own.done}
    made, results = list[Choice](), list[float]()
    while active:
        for own, choice in zip(active, choose(list(active), policy, luck), strict=True):
            _, reward, done, info = own.step(LETTERS[choice.letter])
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


def with_returns(match: Sequence[tuple[Choice, float]], discount: float) -> list[Choice]:
    """A match's choices, each with what is still to come."""
    to_go = 0.0
    for choice, reward in reversed(match):
        to_go = reward + discount * to_go
        choice.to_go = to_go
    return [choice for choice, _ in match]
