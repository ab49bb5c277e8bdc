"""The training examples: letters as the pipeline reads them, exact values of options, rewards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gauntlet.agents.prompting.cloze import LETTERS
from gauntlet.common.errors import UserError
from gauntlet.games.playouts import results
from gauntlet.models.base import Score
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.training.environment.credit import seat_policies
from gauntlet.training.environment.environment import Environment
from gauntlet.training.gradient import values
from gauntlet.training.gradient.policy import Policy
from gauntlet.training.gradient.reinforce import Choice, Learner, entropy, main, parse, play
from gauntlet.training.gradient.values import Values

POCKET = Path(__file__).parents[2] / "gauntlet" / "models/pocket/weights"


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


RANDOM_WINS = (0.5849, 0.2881)
"""Win rate of random players in Tic-Tac-Toe from each seat, as is widely published."""


@pytest.fixture(scope="module")
def table() -> Environment:
    return Environment("tic_tac_toe", prompt="letter", words=("measure=win",))


@pytest.fixture(scope="module")
def seat_values(table: Environment) -> Values:
    return Values(table.setting)


def test_random_players_win_as_often_as_is_known(table: Environment, seat_values: Values) -> None:
    table.reset(0, 0)
    after = seat_values._after(seat_policies(table.match), table.match.state)
    assert after.mean(axis=0) == pytest.approx(RANDOM_WINS, abs=5e-5)
    assert len(seat_values.known) == 5477  # every position but the empty grid


@pytest.mark.parametrize("opponent", ["random", "greedy"])
def test_advantages_are_those_of_playouts(opponent: str) -> None:
    own = Environment("tic_tac_toe", opponent, "letter")
    exact = Values(own.setting)
    for deal, seat in ((0, 0), (1, 1)):
        own.reset(deal, seat)
        while len(own.options) > 6:
            own.step("A")
        policies = seat_policies(own.match)
        game, state = own.setting.cell.game, own.match.state
        score = {"hidden": False, "measure": "match_score"}
        got = results(game, state, seat, policies, 300, 1, **score)[:, :, seat].mean(axis=1)
        assert exact.advantages(own.match, seat) == pytest.approx(got - got.mean(), abs=0.12)


def test_letters_are_worth_what_stands_beside_them(table: Environment, seat_values: Values) -> None:
    played = play([table], Policy(POCKET), 3, torch.Generator().manual_seed(0), values=seat_values)
    table.reset(3, table.seats[1])
    for choice in played.choices:
        wanted = dict(
            zip(table.options, seat_values.advantages(table.match, table.seat), strict=True)
        )
        shown = [line.partition(") ")[::2] for line in choice.prompt.text.splitlines()]
        beside = [name for letter, name in shown if letter in LETTERS and name in wanted]
        assert choice.worth is not None
        assert choice.worth.tolist() == [wanted[name] for name in beside]
        table.step(LETTERS[choice.letter])
    assert table.done


def test_the_gradient_is_the_mean_of_those_of_drawn_letters(table: Environment) -> None:
    learner = Learner(Policy(POCKET), parse(["--reward", "expected"]))
    table.reset(0)
    assert table.prompt is not None
    worth = np.array([0.5, -1.0, 0.25])
    logits = torch.tensor([[0.3, -0.2, 1.0, *[float("-inf")] * 23]], requires_grad=True)
    choice = Choice(table.prompt, 3, 0, (0, 0), worth=worth)
    learner.expected([choice], logits.log_softmax(1)).backward()
    chances = logits.detach().softmax(1)[0, :3].numpy()
    drawn = [(np.eye(3)[letter] - chances) * worth[letter] for letter in range(3)]
    mean = chances @ np.array(drawn) / worth.std(ddof=1)
    assert logits.grad is not None
    assert logits.grad[0, :3].tolist() == pytest.approx(mean, abs=1e-5)
    assert not logits.grad[0, 3:].any()


def test_a_game_of_too_many_positions_is_refused(
    table: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(values, "MOST", 100)
    table.reset(0)
    with pytest.raises(UserError, match="more than 100 positions"):
        Values(table.setting).advantages(table.match, table.seat)


def test_a_course_by_expected_gradients_leaves_a_checkpoint(tmp_path: Path, capsys: Any) -> None:
    words = ["--reward", "expected", "--updates", "2", "--matches", "4", "--out", str(tmp_path)]
    assert main(words) == 0
    one, begun = (Policy(folder).network.state_dict() for folder in (tmp_path, POCKET))
    assert any(not torch.equal(one[key], begun[key]) for key in one)
    assert main(["--reward", "expected", "--game", "uno", "--out", str(tmp_path / "x")]) == 2
    assert "uno hides something" in capsys.readouterr().err
