"""The training example: it reads letters as the pipeline does, and follows rewards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gauntlet.agents.prompting.cloze import LETTERS
from gauntlet.models.base import Score
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.training.environment.environment import Environment
from gauntlet.training.gradient.matches import Choice, play
from gauntlet.training.gradient.policy import Policy
from gauntlet.training.gradient.reinforce import Learner, entropy, main, parse

POCKET = Path(__file__).parents[2] / "models/pocket/weights"


@pytest.fixture(scope="module")
def policy() -> Policy:
    return Policy(POCKET)


@pytest.fixture(scope="module")
def environments() -> list[Environment]:
    first = Environment("tic_tac_toe", prompt="letter")
    return [first, *(first.another() for _ in range(5))]


def test_letters_are_as_likely_as_the_pipeline_finds_them(
    policy: Policy, environments: list[Environment]
) -> None:
    for deal, own in enumerate(environments):
        own.reset(deal, deal % 2)
    prompts = [prompt for own in environments if (prompt := own.prompt)]
    options = [len(own.options) for own in environments]
    found = policy.logprobs(prompts, options).detach().numpy()
    (scores,) = Checkpoint(str(POCKET)).load().answer([Score(tuple(prompts), LETTERS)])
    wanted = np.array(scores.logprobs)  # type: ignore[union-attr]
    for row, count in enumerate(options):
        own = wanted[row, :count] - np.logaddexp.reduce(wanted[row, :count])
        assert found[row, :count] == pytest.approx(own, abs=1e-4)
        assert np.isneginf(found[row, count:]).all()


def test_what_is_to_come_counts_and_what_was_does_not(
    policy: Policy, environments: list[Environment]
) -> None:
    played = play(environments, policy, 0, torch.Generator().manual_seed(0))
    assert len(played.results) == len(environments)
    firsts = [choice for choice in played.choices if choice.place[1] == 0]
    assert sorted(choice.to_go for choice in firsts) == sorted(played.results)
    assert {choice.place[0] for choice in firsts} == {0, 1}
    assert all(choice.letter < choice.options for choice in played.choices)


def test_what_is_rewarded_becomes_likelier(environments: list[Environment]) -> None:
    policy, options = Policy(POCKET), parse(["--rate", "1e-4", "--updates", "100"])
    learner, own = Learner(policy, options), environments[0]
    own.reset(0)
    assert own.prompt is not None
    count = len(own.options)
    before = policy.logprobs([own.prompt], [count])[0, :count].detach()
    choices = [Choice(own.prompt, count, at, (0, 0), float(at == 2)) for at in range(count)]
    for _ in range(3):
        spread = learner.update(choices)
    after = policy.logprobs([own.prompt], [count])[0, :count].detach()
    assert int((after - before).argmax()) == 2
    assert 0 < spread < np.log(count)


def test_entropy_is_that_of_what_can_be_chosen() -> None:
    rows = torch.tensor([[0.0, float("-inf")], [np.log(0.5), np.log(0.5)]])
    assert entropy(rows).tolist() == pytest.approx([0.0, np.log(2)])


def test_a_short_course_leaves_a_checkpoint_and_the_same_one_again(
    tmp_path: Path, capsys: Any
) -> None:
    words = ["--updates", "2", "--matches", "4", "--out"]
    for name in ("one", "two"):
        assert main([*words, str(tmp_path / name)]) == 0
    one, two = (Policy(tmp_path / name).network.state_dict() for name in ("one", "two"))
    assert all(torch.equal(one[key], two[key]) for key in one)
    begun = Policy(POCKET).network.state_dict()
    assert any(not torch.equal(one[key], begun[key]) for key in one)
    assert json.loads((tmp_path / "one/training.json").read_text())["settings"]["updates"] == 2
    assert (tmp_path / "one/curve.png").stat().st_size > 1000
    assert "of the last" in capsys.readouterr().out


def test_mistakes_end_with_one_line(tmp_path: Path, capsys: Any) -> None:
    assert main(["--start", str(tmp_path / "none"), "--out", str(tmp_path / "x")]) == 2
    assert main(["--opponent", "nobody", "--out", str(tmp_path / "x")]) == 2
    assert [line.startswith("gauntlet: ") for line in capsys.readouterr().err.splitlines()][-2:]
