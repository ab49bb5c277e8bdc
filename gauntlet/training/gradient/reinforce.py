"""Train a model on a game by policy gradient: `python -m gauntlet.training.gradient.reinforce`.

REINFORCE (R. Williams, 1992): the log-probability of a choice is weighted by how much the return
from it exceeds the usual one at its place in the match. Every update plays some dozen matches on
new deals, with rotating seats, against a player of conf/player. `--reward advantage` uses each
decision's advantage over a random player instead of the match's result. `--reward expected` uses
the exact advantages of all options, weighted by their probabilities: the expectation of the sampled
gradient, without its noise (R. Sutton et al., 2000; K. Ciosek, S. Whiteson, 2018). It needs a game
without hidden information, small enough to be searched completely.

The number of updates is fixed, so the same seed on the same machine gives the same weights. --out
receives a checkpoint; docs/training.md shows how to measure it with the pipeline.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from rich.console import Console
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from gauntlet.agents.prompting.cloze import LETTERS
from gauntlet.common.errors import UserError
from gauntlet.common.process import as_process
from gauntlet.models.base import Prompt
from gauntlet.models.engine.files import check_folder, local_folder
from gauntlet.pipeline.log.progress import Bar
from gauntlet.pipeline.tables.media.plot_style import ACCENT, save_png
from gauntlet.training.environment.environment import PLAYOUTS, Environment, Reward
from gauntlet.training.gradient.policy import Policy
from gauntlet.training.gradient.values import Values

# --- matches in parallel: the policy makes all pending decisions in one forward pass


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


# --- learning

SEEDS = 1 << 40
"""Training uses seeds from here on, which no sweep is likely to use."""
FORGET = 0.05
"""Weight of the last update in the moving average of returns."""
WARMUP = 0.02
"""Share of the updates in which the learning rate rises."""


class Learner:
    """A policy, the average return at each place of a match, and the optimizer."""

    def __init__(self, policy: Policy, options: argparse.Namespace) -> None:
        self.policy, self.options = policy, options
        parameters = list(policy.network.parameters())
        self.optimizer = torch.optim.AdamW(parameters, lr=options.rate, weight_decay=0.0)
        steps = options.updates
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer,
            lambda step: min((step + 1) / (WARMUP * steps), 1.0, 2 * (1 - step / steps)),
        )
        self.usual: dict[tuple[int, int], float] = {}

    def update(self, choices: Sequence[Choice]) -> float:
        """Take one gradient step; return the mean entropy of the choices, in nats."""
        logprobs = self.policy.logprobs([c.prompt for c in choices], [c.options for c in choices])
        spread = entropy(logprobs)
        gain = self.expected if self.options.reward == "expected" else self.sampled
        loss = -gain(choices, logprobs) - self.options.entropy * spread.mean()
        self.optimizer.zero_grad()
        torch.autograd.backward(loss)
        clip_grad_norm_(self.policy.network.parameters(), 1.0)
        self.optimizer.step()
        self.schedule.step()
        return float(spread.detach().mean())

    def sampled(self, choices: Sequence[Choice], log_probs: Tensor) -> Tensor:
        """Return the surrogate whose gradient is REINFORCE's, from the letters drawn."""
        taken = log_probs[torch.arange(len(choices)), torch.tensor([c.letter for c in choices])]
        return (torch.tensor(self.gains(choices)) * taken).mean()

    def expected(self, choices: Sequence[Choice], log_probs: Tensor) -> Tensor:
        """Return the policy's expected advantage over its letters, in standard deviations."""
        worth = torch.zeros_like(log_probs)
        for row, choice in zip(worth, choices, strict=True):
            assert choice.worth is not None
            row[: choice.options] = torch.from_numpy(choice.worth)
        some = worth[worth != 0]
        scale = some.std() + 1e-6 if len(some) > 1 else torch.ones(())
        return (log_probs.exp() * worth).sum(1).mean() / scale

    def gains(self, choices: Sequence[Choice]) -> np.ndarray:
        """Return each choice's return above the average at its place, in standard deviations:
        float32 of shape (choices,)."""
        places = defaultdict[tuple[int, int], list[float]](list)
        for choice in choices:
            places[choice.place].append(choice.to_go)
        for place, own in places.items():
            mean = float(np.mean(own))
            self.usual[place] = mean + (1 - FORGET) * (self.usual.get(place, mean) - mean)
        gains = np.array([choice.to_go - self.usual[choice.place] for choice in choices])
        return np.asarray(gains / (gains.std() + 1e-6), np.float32)


def entropy(logprobs: Tensor) -> Tensor:
    """Return each row's entropy in nats; impossible letters contribute 0."""
    return -(logprobs.exp() * logprobs.clamp(min=-1e9)).sum(1)


def teach(options: argparse.Namespace) -> list[tuple[float, float]]:
    """Train, and save the checkpoint, its report and its curve. Returns the mean result of the
    matches and the entropy of each update. Raises UserError."""
    torch.manual_seed(options.seed)
    policy = Policy(_folder(options.start))
    reward: Reward = "advantage" if options.reward == "advantage" else "result"
    first = Environment(
        *(options.game, options.opponent, "letter", reward, SEEDS + options.seed),
        words=options.words,
        playouts=options.playouts,
    )
    values = Values(first.setting) if options.reward == "expected" else None
    environments = [first, *(first.another() for _ in range(options.matches - 1))]
    learner, luck = Learner(policy, options), torch.Generator().manual_seed(options.seed)
    curve: list[tuple[float, float]] = []
    started = time.process_time()
    bar = Bar(Console(stderr=True), options.updates, doing="learning", done="made", unit="updates")
    options.out.mkdir(parents=True, exist_ok=True)
    with bar, (options.out / "curve.csv").open("w", buffering=1) as file:
        file.write("update,result,entropy\n")
        for number in range(options.updates):
            deal = number * options.matches
            played = play(environments, policy, deal, luck, options.discount, values)
            curve.append((float(np.mean(played.results)), learner.update(played.choices)))
            file.write(f"{number + 1},{curve[-1][0]:.4f},{curve[-1][1]:.4f}\n")
            bar.advance()
    settings = {k: str(v) if isinstance(v, Path) else v for k, v in vars(options).items()}
    seconds = round(time.process_time() - started, 1)
    policy.save(options.out, {"settings": settings, "cpu_seconds": seconds})
    save_png({"curve": figure(curve)}, options.out)
    return curve


def figure(curve: Sequence[tuple[float, float]]) -> Figure:
    """Plot the mean result of each twentieth of the updates."""
    parts = np.array_split(np.array(curve)[:, 0], min(20, len(curve)))
    ends = np.cumsum([len(part) for part in parts])
    figure = Figure(figsize=(6, 3))
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.plot(ends, [part.mean() for part in parts], color=ACCENT, marker="o", ms=3)
    axes.set_xlabel("updates")
    axes.set_ylabel("mean result while learning")
    return figure


def _folder(path: Path) -> Path:
    folder = local_folder(str(path))
    if folder is None:
        raise UserError(f"--start {path} is no folder; give one with a checkpoint")
    check_folder(folder, str(path))
    return folder


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m gauntlet.training.gradient.reinforce",
        description=(__doc__ or "").partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add: Any = parser.add_argument
    add("words", nargs="*", help="further words of a sweep's command line, as game.size=4")
    add("--game", default="tic_tac_toe", help="a file of conf/game")
    add("--opponent", default="random", help="a player of conf/player")
    add(
        "--reward",
        choices=("result", "advantage", "expected"),
        default="result",
        help="of the match; of each choice; or, exactly, of all options of each choice, where "
        "--discount and --playouts do nothing",
    )
    add(
        "--discount",
        type=float,
        default=1.0,
        help="of later rewards; 0 lets a choice be judged by its own reward, as advantages can be",
    )
    add("--playouts", type=_positive, default=PLAYOUTS, help="an option, for advantages")
    add("--start", type=Path, default="pkg:models/pocket/weights", help="checkpoint to begin with")
    add("--out", type=Path, default="outputs/reinforce", help="folder for the checkpoint")
    add("--seed", type=int, default=0)
    add("--updates", type=_positive, default=600)
    add("--matches", type=_positive, default=128, help="in every update")
    add("--rate", type=float, default=1e-3, help="learning rate; falls to 0 in the second half")
    add("--entropy", type=float, default=0.01, help="how much a nat of entropy is worth")
    add("--threads", type=_positive, default=1, help="that compute")
    return parser.parse_args(arguments)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    torch.set_num_threads(options.threads)
    try:
        curve = teach(options)
    except (UserError, OSError) as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    tenth = max(1, len(curve) // 10)
    begun, ended = (np.mean([mean for mean, _ in part]) for part in (curve[:tenth], curve[-tenth:]))
    print(f"mean result of the first tenth {begun:.1%}, of the last {ended:.1%}; {options.out}")
    return 0


if __name__ == "__main__":
    as_process(main)
