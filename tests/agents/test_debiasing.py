"""Debiasing with one prompt, on a simulated model with known preference and letter bias.

The model gives option o under letter l a probability proportional to preference(o) * bias(l). So
the unbiased choice is the most preferred option, and every method can be checked exactly.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from gauntlet.agents.base import Decision, Goal, Prepared, Turn
from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.calibrated import PUBLISHED, Calibrated
from gauntlet.agents.prompting.cloze import LETTERS, Cloze
from gauntlet.agents.prompting.label_study import LabelStudy
from gauntlet.agents.prompting.pride import Pride
from gauntlet.agents.prompting.priors import Divided, Priors, sampled_turns
from gauntlet.games.base import Game
from gauntlet.games.rock_paper_scissors import RockPaperScissors
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.games.uno import Uno
from gauntlet.models.base import Prompt, Reply, Request, Score, Scores
from gauntlet.pipeline.plan.identity import describe
from tests.agents.play import Answer, drive, match, opinionated, talk

UNO = Uno(num_seats=2)
GAMES = (UNO, TicTacToe(num_seats=2), RockPaperScissors(num_seats=2))
METHODS = (Calibrated(), Pride(estimate=3, plies=300), LabelStudy(estimate=3, plies=300))
every_game = pytest.mark.parametrize("game", GAMES, ids=lambda game: type(game).__name__)
every_method = pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)


@dataclass(frozen=True)
class Biased:
    """The simulated model; `bias` by letter, and how strongly it prefers options."""

    bias: tuple[float, ...]
    strength: float = 1.0

    def __call__(self, request: Request) -> Reply:
        assert isinstance(request, Score)
        rows = [self._row(prompt, request.choices) for prompt in request.prompts]
        return Scores(tuple(rows), (1,) * len(rows))

    def _row(self, prompt: Prompt, choices: tuple[str, ...]) -> tuple[float, ...]:
        shown = listed(prompt)
        weights = [self.preference(o) * b for o, b in zip(shown, self.bias, strict=False)]
        whole = 2 * sum(weights)  # half of the probability is for other words
        row = [math.log(weight / whole) for weight in weights]
        return tuple(row + [-20.0] * (len(choices) - len(row)))

    def preference(self, option: str) -> float:
        return math.exp(self.strength * (zlib.crc32(option.encode()) % 1000) / 1000)

    def prior(self, letters: int) -> list[float]:
        return [value / sum(self.bias[:letters]) for value in self.bias[:letters]]


MODEL = Biased(bias=tuple(math.exp(2 * math.cos(1.7 * place)) for place in range(26)))


def listed(prompt: Prompt) -> list[str]:
    """The options under the letters."""
    lines = prompt.changing.splitlines()
    return [line[3:] for line in lines if line[1:3] == ") "]


def prepared(
    method: Any, game: Game[Any], answer: Answer, seat: int = 1, goal: Goal | None = None
) -> tuple[LLM, list[Request]]:
    """Return the agent with its method prepared, and the requests for that."""
    return talk(LLM(method).prepare(game, seat, goal or Goal()), answer)


def priors_of(agent: LLM) -> Priors:
    assert isinstance(agent.method, Divided)
    return agent.method.priors


def decisions(agent: Any, game: Game[Any], answer: Answer) -> Iterator[tuple[Turn, Decision]]:
    for seed in range(8):
        for turn, decision, _ in match(agent, game, seed, answer):
            yield turn, decision


def agreement(method: Any) -> tuple[int, int]:
    """Count the turns of UNO on which the method chooses the model's preference, and those on which
    not."""
    agent, _ = prepared(method, UNO, MODEL)
    right = []
    for turn, decision in decisions(agent, UNO, MODEL):
        likings = [MODEL.preference(option) for option in turn.observation.options]
        right.append(decision.option == likings.index(max(likings)))
    return sum(right), len(right) - sum(right)


def test_pride_finds_the_prior_exactly() -> None:
    agent, _ = prepared(Pride(), UNO, MODEL)
    known = priors_of(agent).known
    assert len(known) >= 5
    for letters, prior in known.items():
        assert [math.exp(p) for p in prior] == pytest.approx(MODEL.prior(letters), abs=1e-12)


def test_a_content_free_prompt_tells_the_prior_exactly() -> None:
    agent, _ = prepared(Calibrated(), UNO, MODEL)
    known = priors_of(agent).known
    assert list(known) == list(range(2, 27))
    for letters, prior in known.items():
        assert [math.exp(p) for p in prior] == pytest.approx(MODEL.prior(letters), abs=1e-12)


def test_one_prompt_without_its_prior_is_the_unbiased_choice() -> None:
    """A single prompt is led astray by the letters; divided by the prior it never is."""
    right, wrong = agreement(Divided(5))
    assert wrong / (right + wrong) > 0.4
    for method in (Calibrated(), Pride()):
        right, wrong = agreement(method)
        assert wrong == 0
        assert right > 80


def test_the_scores_are_the_preferences() -> None:
    agent, _ = prepared(Pride(), UNO, MODEL)
    for turn, decision in decisions(agent, UNO, MODEL):
        likings = [MODEL.preference(option) for option in turn.observation.options]
        if len(likings) in priors_of(agent).known:
            assert decision.scores == pytest.approx([x / sum(likings) for x in likings])


def test_pride_rotates_as_many_decisions_as_asked_for() -> None:
    _, asked = prepared(Pride(estimate=4), UNO, MODEL)
    counts = [len(request.choices) for request in asked if isinstance(request, Score)]
    assert {counts.count(letters) for letters in (2, 3, 4)} == {4}
    assert max(map(counts.count, counts)) == 4
    for request in asked:
        assert isinstance(request, Score)
        assert len(request.prompts) == len(request.choices)
        assert {tuple(sorted(listed(prompt))) for prompt in request.prompts} == {
            tuple(sorted(listed(request.prompts[0])))
        }


def test_the_published_prior_is_the_mean_of_the_decisions_priors() -> None:
    """The formula of Zheng et al. in numpy, on a model whose priors differ between decisions; the
    default, of which each decision's logarithms count alike, is another one."""
    known, asked = {}, []
    for mean in ("arithmetic", "geometric"):
        agent, asked = prepared(Pride(estimate=4, mean=mean), UNO, opinionated)
        known[mean] = priors_of(agent).known
    rows = [opinionated(one).logprobs for one in asked]  # type: ignore[union-attr]
    for letters, prior in known["arithmetic"].items():
        some = [np.mean(np.array(row), axis=0) for row in rows if len(row) == letters]
        published = np.mean([np.exp(one) / np.exp(one).sum() for one in some], axis=0)
        assert np.exp(prior) == pytest.approx(published, abs=1e-12)
        pooled = np.exp(np.mean(some, axis=0))
        default = np.exp(known["geometric"][letters])
        assert default == pytest.approx(pooled / pooled.sum(), abs=1e-12)
        assert len(some) == 1 or default != pytest.approx(published, abs=1e-6)


def test_the_content_free_prior_is_the_mean_over_the_inputs() -> None:
    """As Zhao et al. compute it: the probabilities of the answers are averaged, then normalised.
    Of A .25, .9, .05 and of B .25, .1, .15 are in the mean .4 and 1/6: 12/17 and 5/17."""
    rows = {"N/A": (0.25, 0.25), "": (0.9, 0.1), "[MASK]": (0.05, 0.15)}

    def answer(request: Request) -> Reply:
        assert isinstance(request, Score)
        told = [(*rows[listed(prompt)[0]], *[1e-9] * 24) for prompt in request.prompts]
        return Scores(tuple(tuple(map(math.log, row)) for row in told), (1,) * len(told))

    for inputs, expected in ((("N/A",), 1 / 2), (("", "N/A"), 23 / 30), (PUBLISHED, 12 / 17)):
        agent, (request,) = prepared(Calibrated(inputs=inputs), UNO, answer)
        assert isinstance(request, Score)
        assert len(request.prompts) == priors_of(agent).prompts == 25 * len(inputs)
        found = [math.exp(p) for p in priors_of(agent).known[2]]
        assert found == pytest.approx([expected, 1 - expected])


def test_a_default_of_a_later_setting_is_not_part_of_the_key() -> None:
    assert describe(Pride()).keys() == {"class", "moves", "estimate", "plies"}
    assert describe(Pride(mean="arithmetic"))["mean"] == "arithmetic"
    assert describe(Calibrated()).keys() == {"class", "moves"}
    assert describe(Calibrated(inputs=PUBLISHED))["inputs"] == ["N/A", "", "[MASK]"]


def test_no_turn_in_reach_leaves_letters_equally_likely() -> None:
    agent, asked = prepared(Pride(plies=1), TicTacToe(num_seats=2), MODEL, seat=1)
    assert asked == []
    assert priors_of(agent) == Priors()


@every_method
@every_game
def test_a_prepared_method_is_always_prepared_the_same(method: Any, game: Game[Any]) -> None:
    assert isinstance(LLM(method), Prepared)
    first, again = (prepared(method, game, opinionated) for _ in range(2))
    assert first == again
    assert first[1], "it asks something"
    assert first[0].method.labels() == method.labels() == LETTERS


@every_game
def test_a_prepared_method_asks_one_prompt_a_decision(game: Game[Any]) -> None:
    for method in METHODS[:2]:
        agent, _ = prepared(method, game, opinionated)
        for turn, decision, (request,) in match(agent, game, 0, opinionated):
            assert isinstance(request, Score)
            assert len(request.prompts) == 1
            assert listed(request.prompts[0]) == list(turn.observation.options)
            assert decision.option == decision.scores.index(max(decision.scores))


@every_game
def test_the_study_plays_as_full_rotation_and_notes_what_the_others_do(game: Game[Any]) -> None:
    study, asked = prepared(METHODS[2], game, opinionated)
    cheaper = {
        "single": LLM(Divided(5)),
        "calibrated": prepared(METHODS[0], game, opinionated)[0],
        "calibrated_averaged": prepared(Calibrated(inputs=PUBLISHED), game, opinionated)[0],
        "pride": prepared(METHODS[1], game, opinionated)[0],
        "pride_arithmetic": prepared(replace(METHODS[1], mean="arithmetic"), game, opinionated)[0],
    }
    prompts = sum(len(request.prompts) for request in asked if isinstance(request, Score))
    for turn, decision, _ in match(study, game, 0, opinionated):
        full, _ = drive(LLM(Cloze()), turn, opinionated)
        assert (decision.option, decision.scores) == (full.option, full.scores)
        assert list(decision.notes["cheaper"]) == list(cheaper)
        for name, noted in decision.notes["cheaper"].items():
            own, _ = drive(cheaper[name], turn, opinionated)
            assert (noted["chosen"], noted["prior"]) == (own.option, own.notes["prior"])
        needed = {name: noted["prompts"] for name, noted in decision.notes["cheaper"].items()}
        assert needed["calibrated_averaged"] + needed["pride"] == prompts
        assert needed["calibrated"] == 25
        assert needed["pride_arithmetic"] == needed["pride"]


def test_other_agents_have_nothing_to_prepare() -> None:
    agent, asked = prepared(Cloze(), UNO, MODEL)
    assert (agent, asked) == (LLM(Cloze()), [])


@every_game
def test_sampled_turns_are_choices_of_the_seat_and_always_the_same(game: Game[Any]) -> None:
    first, again = (
        [(turn.options, turn.observation) for turn in sampled_turns(game, 1, Goal(), 200)]
        for _ in range(2)
    )
    assert first == again
    assert len(first) > 10
    for options, seen in first:
        assert len(options) == len(seen.options) > 1
        assert seen.seat == 1


def test_sampled_turns_are_of_many_deals_and_of_none_that_is_played() -> None:
    hands = {turn.observation.facts[3] for turn in sampled_turns(UNO, 0, Goal(), 300)}
    assert len(hands) > 30
    for seed in range(3):
        state = UNO.deal(np.random.default_rng([seed, 0]))
        assert UNO.observe(state, 0).facts[3] not in hands
