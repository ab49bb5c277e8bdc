"""DQN training: against plain torch, against loops, and in a game of known values."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from gauntlet.agents.dqn.network import Network, load
from gauntlet.agents.dqn.player import DQN
from gauntlet.games.uno import Uno
from gauntlet.training.dqn.learner import (
    Batch,
    Learner,
    Memory,
    Settings,
    Stack,
    choose,
    one_thread,
    train,
)
from gauntlet.training.dqn.train import main, parse

FEATURES, CODES = 6, 4


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    one_thread()
    yield
    torch.set_num_threads(before)


def batch_of(seeds: int, size: int = 16, seed: int = 0) -> Batch:
    rng = np.random.default_rng(seed)
    legal = rng.random((size, seeds, CODES)) < 0.5
    legal[..., 0] = True
    found = (
        rng.normal(size=(size, seeds, FEATURES)).astype(np.float32),
        rng.integers(CODES, size=(size, seeds)),
        rng.normal(size=(size, seeds)).astype(np.float32),
        0.9 * (rng.random((size, seeds)) < 0.7).astype(np.float32),
        rng.normal(size=(size, seeds, FEATURES)).astype(np.float32),
        legal,
    )
    return Batch(*map(torch.from_numpy, found))


def learner(seeds: int = 2, **more: float) -> Learner:
    settings = Settings(hidden=(5, 7), **more)  # type: ignore[arg-type]
    return Learner(FEATURES, CODES, range(seeds), settings)


def plain(stack: Stack, seed: int) -> nn.Sequential:
    """The network of one seed as torch's own modules."""
    modules: list[nn.Module] = []
    for weight, bias in stack.layers:
        layer = nn.Linear(*weight.shape[1:])
        layer.weight.data = weight[seed].detach().T.clone()
        layer.bias.data = bias[seed, 0].detach().clone()
        modules += [layer, nn.Tanh()]
    return nn.Sequential(*modules[:-1])


def test_a_seed_learns_as_torchs_own_modules_do() -> None:
    """Ten updates, copies to the target network among them."""
    ours = learner(rate=0.01)
    theirs, target = (plain(ours.online, 1) for _ in range(2))
    target.load_state_dict(plain(ours.target, 1).state_dict())
    optimizer = torch.optim.Adam(theirs.parameters(), lr=0.01)
    for update in range(10):
        batch = batch_of(2, seed=update)
        ours.learn(batch)
        with torch.no_grad():
            hidden = theirs(batch.successors[:, 1]).masked_fill(~batch.legal[:, 1], -torch.inf)
            later = target(batch.successors[:, 1]).gather(1, hidden.argmax(1, keepdim=True))[:, 0]
        values = theirs(batch.features[:, 1]).gather(1, batch.codes[:, 1, None])[:, 0]
        goal = batch.rewards[:, 1] + batch.more[:, 1] * later
        optimizer.zero_grad()
        nn.functional.mse_loss(values, goal).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if update % 3 == 0:
            ours.synchronise()
            target.load_state_dict(theirs.state_dict())
    seen = batch_of(2, seed=99).features
    torch.testing.assert_close(
        ours.online.values(seen)[1], theirs(seen[:, 1]), atol=1e-4, rtol=1e-4
    )


def test_the_networks_for_play_say_what_torch_says() -> None:
    ours = learner(3, rate=0.01)
    for update in range(20):
        ours.learn(batch_of(3, seed=update))
    seen = batch_of(3, seed=50).features
    for seed in range(3):
        found = ours.online.network(seed).values(seen[:, seed].numpy())
        expected = ours.online.values(seen)[seed].detach().numpy()
        assert found == pytest.approx(expected, abs=1e-4)


def test_memory_gives_the_last_steps_each_with_what_came_after() -> None:
    settings = Settings(replay=50, batch=200)
    memory = Memory(2, 1, CODES, settings)
    rngs = [np.random.default_rng(seed) for seed in range(2)]
    for step in range(180):
        slot = step % memory.slots
        memory.features[:, slot, 0] = step
        memory.codes[:, slot] = step % CODES
        if step in (1, 30, 50, 51, 179):
            batch = memory.sample(step, rngs)
            seen = batch.features[..., 0]
            assert set(seen.ravel().tolist()) <= set(range(max(0, step - 50), step))
            assert torch.equal(batch.successors[..., 0], seen + 1)
            assert torch.equal(batch.codes, seen.long() % CODES)
    assert len(set(seen.ravel().tolist())) > 45


def test_chance_decides_as_often_as_epsilon_says() -> None:
    rng, legal = np.random.default_rng(0), np.array([True, False, True, True])
    values = np.array([0.0, 9.0, 2.0, 1.0])
    assert {choose(values, legal, 0.0, rng) for _ in range(50)} == {2}
    found = np.bincount([choose(values, legal, 0.3, rng) for _ in range(6000)], minlength=4)
    expected = np.array([0.1, 0.0, 0.8, 0.1]) * 6000
    assert (abs(found - expected) <= 4 * np.sqrt(expected)).all()


class TwoSteps:
    """Left or right, twice; only right and then left wins. From the second step on the left the
    way back to the right is not legal."""

    def __init__(self) -> None:
        self.features, self.legal = np.zeros(3, np.float32), np.zeros(3, np.bool_)
        self.result = 0.0
        self._place = 0

    def begin(self, game: int) -> bool:
        return self._at(0, [0, 1])

    def take(self, code: int) -> bool:
        assert self.legal[code]
        if self._place == 0:
            return self._at(1 + code, [[0, 2], [0, 1]][code])
        self.result = 1.0 if (self._place, code) == (2, 0) else -1.0
        return False

    def _at(self, place: int, codes: list[int]) -> bool:
        self._place = place
        self.features[:] = np.arange(3) == place
        self.legal[:] = False
        self.legal[codes] = True
        return True


def test_it_learns_a_game_whose_values_are_known() -> None:
    settings = Settings(
        hidden=(16, 16), rate=3e-3, explore=1000, epsilon=0.5, sync=50, update_every=1
    )
    for seed, *_, network in train([TwoSteps(), TwoSteps()], [0, 1], 400, 400, settings):
        values = network.values(np.eye(3, dtype=np.float32))
        assert seed in (0, 1)
        assert values[0, :2] == pytest.approx([-0.99, 0.99], abs=0.15)
        assert values[1, [0, 2]] == pytest.approx([-1, -1], abs=0.15)
        assert values[2, :2] == pytest.approx([1, -1], abs=0.15)


def taught(seeds: list[int], episodes: int = 40) -> list[Network]:
    """Return the networks after this many games of UNO, with random play at first."""
    course = train([Uno().practice(1, seed) for seed in seeds], seeds, episodes, 40, Settings())
    return [network for _, _, _, network in sorted(course, key=lambda point: point[0])]


def test_seeds_together_learn_what_each_learns_alone() -> None:
    together = taught([3, 4])
    for seed, network in zip([3, 4], together, strict=True):
        (alone,) = taught([seed])
        for one, other in zip(
            (*network.weights, *network.biases), (*alone.weights, *alone.biases), strict=True
        ):
            assert np.allclose(one, other, rtol=1e-3, atol=1e-4)
    assert not np.allclose(together[0].weights[1], together[1].weights[1], atol=1e-2)


@pytest.mark.parametrize(("every", "reached"), [(20, [20, 40, 50]), (99, [50]), (50, [50])])
def test_every_point_is_reached_once_and_the_end_is_one_too(every: int, reached: list[int]) -> None:
    course = train([TwoSteps(), TwoSteps()], [0, 1], 50, every, Settings())
    points = sorted((seed, episodes, steps) for seed, episodes, steps, _ in course)
    assert points == [(seed, episodes, 2 * episodes) for seed in (0, 1) for episodes in reached]


class Rarely:
    """A choice between two codes; one feature tells which wins. The other features are
    uninformative, and each is on in one game of two hundred."""

    OTHERS = 30

    def __init__(self) -> None:
        self.features, self.legal = self.encode(0, []), np.ones(2, np.bool_)
        self.result = 0.0
        self._wins = 0

    @staticmethod
    def encode(wins: int, others: Sequence[int]) -> np.ndarray:
        row = np.zeros(2 + Rarely.OTHERS, np.float32)
        row[[wins, *(2 + np.asarray(others, int))]] = 1
        return row

    def begin(self, game: int) -> bool:
        rng = np.random.default_rng(game)
        self._wins = int(rng.integers(2))
        self.features = self.encode(self._wins, np.flatnonzero(rng.random(self.OTHERS) < 0.005))
        return True

    def take(self, code: int) -> bool:
        self.result = 1.0 if code == self._wins else -1.0
        return False


def test_features_that_are_rarely_on_do_not_upset_it() -> None:
    settings = Settings(hidden=(16, 16), rate=3e-3, explore=500, sync=50)
    ((_, _, _, network),) = train([Rarely()], [0], 600, 600, settings)
    for wins in range(2):
        rows = np.stack([Rarely.encode(wins, [other]) for other in range(Rarely.OTHERS)])
        assert (network.values(rows).argmax(axis=1) == wins).all()


@pytest.fixture
def command(tmp_path: Path) -> Callable[[str], int]:
    def run(out: str) -> int:
        sizes = {"episodes": 24, "every": 12, "tests": 20, "seeds": 2}
        asked = [f"--{name}={size}" for name, size in sizes.items()]
        return main([*asked, "--game=games.uno.Uno", f"--out={tmp_path / out}"])

    return run


def test_the_same_seeds_give_the_same_files(
    command: Callable[[str], int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("one") == command("two") == 0
    for ending in ("npz", "csv"):
        one, two = ((tmp_path / out / f"uno-2.{ending}").read_bytes() for out in ("one", "two"))
        assert one == two
    assert len(load(tmp_path / "one" / "uno-2.npz")) == 2
    lines = (tmp_path / "one" / "uno-2.csv").read_text().splitlines()
    assert lines[0] == "seed,episodes,steps,games,wins,win_rate,low,high"
    assert [line.split(",")[:2] for line in lines[1:]] == [
        ["0", "12"], ["0", "24"], ["1", "12"], ["1", "24"]
    ]  # fmt: skip
    report = json.loads((tmp_path / "one" / "uno-2.json").read_text())
    assert report["episodes"] == 24
    assert report["settings"]["rate"] == 5e-5
    assert "24 episodes" in capsys.readouterr().out


def test_the_last_games_are_a_point_and_what_ships_is_not_written_over(tmp_path: Path) -> None:
    assert not DQN().folder.is_relative_to(parse([]).out.resolve())
    sizes = ["--seeds=1", "--episodes=30", "--every=20", "--tests=5", "--game=games.uno.Uno"]
    assert main([*sizes, f"--out={tmp_path}"]) == 0
    report = json.loads((tmp_path / "uno-2.json").read_text())
    assert report["episodes"] == 30
    assert report["settings"] == {**dataclasses.asdict(Settings()), "hidden": [64, 64]}


def test_a_folder_that_cannot_be_made_is_refused_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["--game=games.uno.Uno", f"--out={tmp_path / 'file'}"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert str(tmp_path / "file") in line


def test_a_game_that_cannot_be_learnt_is_refused_in_a_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for path, why in {
        "games.rock_paper_scissors.RockPaperScissors": "does not tell its decisions in numbers",
        "games.nim.Nim": "is no class of a game for two",
        "Uno": "is no class of a game for two",
    }.items():
        assert main(["--game", path]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert path in line
        assert why in line
