"""The third pocket model: its lessons, their packing, and the shipped files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from gauntlet.agents.base import Turn
from gauntlet.agents.llm import LLM
from gauntlet.agents.observers import Likeliest, Nearest, log_likelihoods, posteriors
from gauntlet.agents.prompting.observe import CONFIDENCE, Observe, guess_in, notes, object_in
from gauntlet.games.rock_paper_scissors import RockPaperScissors
from gauntlet.games.rock_paper_scissors.strategies import CODES
from gauntlet.games.watch import Watch
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.engine.local import Local
from gauntlet.training.pocket import train
from gauntlet.training.pocket.observer import course, rounds
from gauntlet.training.pocket.observer.course import Question, QuestionSampler, Writer, questions
from gauntlet.training.pocket.observer.evaluate import decide_all, turns, watch, watching


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    found: PreTrainedTokenizerFast = AutoTokenizer.from_pretrained(train.OBSERVER_WEIGHTS)
    return found


@pytest.fixture(scope="module")
def model() -> Iterator[Local]:
    local = Checkpoint("pkg:models/pocket_observer/weights").load()
    yield local
    local.close()


def sample_questions(count: int, seed: int) -> list[Question]:
    return list(islice(questions(np.random.default_rng(seed)), count))


def short(players: str, **settings: Any) -> Watch:
    """Watching 30 rounds of these two, with a guess after every one."""
    of = RockPaperScissors(rounds=30)
    return Watch(of=of, players=tuple(players.split()), warmup=0, **settings)


def hands_of(turn: Turn) -> np.ndarray:
    """Return the hands that a turn shows, (rounds, 2)."""
    told = turn.observation.view.told
    return np.array([[int(move) for move in step.moves] for step in told])


# What the lessons say.


@pytest.mark.parametrize("players", ["H C", "N X", "Y Z", "D A"])
def test_what_is_taught_is_the_ideal_observers_posterior(players: str) -> None:
    game = short(players, window=None)
    made = list(turns(game, 1))
    found = rounds.posteriors(hands_of(made[-1]))
    for turn, chances in zip(made, found, strict=True):
        assert np.allclose(posteriors(log_likelihoods(turn)), chances)


def test_a_lesson_is_put_as_the_method_puts_it() -> None:
    for window in (None, 7):
        made = list(turns(short("K Y", window=window), 2))
        for turn in (made[0], made[19], made[29]):
            shown = turn.observation.view.shown
            assert isinstance(turn.game, Watch)
            asking = QuestionSampler(turn.game)
            assert asking.prompt(hands_of(turn), shown) == Observe().prompt(turn)


def test_a_reply_is_one_that_the_method_reads() -> None:
    game = short("H C")
    text = course.reply(("N", "X"), 0.43, ("one phrase", "another"))
    answer = object_in(text)
    assert guess_in(answer, game) == (CODES.index("N"), CODES.index("X"))
    assert notes(answer) == {"confidence": 0.45, "reasoning": "one phrase; another"}
    assert "reasoning" not in json.loads(course.reply(("N", "X"), 0.43))


def test_reasons_tell_what_was_thrown_what_is_guessed_and_how_sure_that_is() -> None:
    hands = np.array([[0, 1], [0, 2], [1, 1], [0, 2]])
    assert course.reasons(hands, ("K", "Z"), 0.1) == (
        "player 1 threw rock most often",
        "player 2 threw no hand most often",
        "player 1 leans to rock, then paper",
        "player 2 copies the last hand of player 1",
        "other strategies fit as well",
    )
    assert course.observed(np.array([0, 0, 4])) == "threw nothing but scissors"
    assert [course.habit(code) for code in "ADFJ"] == [
        "never changes",
        "has no favourite",
        "avoids paper",
        "leans to scissors",
    ]


# How lessons are packed.


def test_a_round_is_a_token_and_a_reply_a_few(tokenizer: PreTrainedTokenizerFast) -> None:
    writer, rng = Writer(tokenizer), np.random.default_rng(5)
    for asked in sample_questions(60, 5):
        tree = writer.tree(asked, rng)
        text = tokenizer.decode(tree.stem)
        whole = re.sub(course.DROPPED, "", asked.prompt.text)
        assert text.startswith(whole)
        assert len(tree.stem) < len(asked.hands) + (100 if "not in the form" in text else 45)
        assert json.loads(text[len(whole) :]).get("confidence", CONFIDENCE) <= 1
        lines = [tokenizer.decode([tree.stem[at]]) for at in writer.rounds(asked, [*tree.stem])]
        assert [line.count("move1") for line in lines] == [1] * len(asked.hands)


def test_a_tree_teaches_posteriors_and_every_token_of_the_reply(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    writer, rng = Writer(tokenizer), np.random.default_rng(6)
    for asked in sample_questions(20, 6):
        tree, chances = writer.tree(asked, rng), rounds.posteriors(asked.hands)
        taught = min(course.TAUGHT, len(asked.hands))
        said = len(tree.places) - taught - 1
        assert list(tree.places[taught:]) == list(range(len(tree) - said - 1, len(tree)))
        assert all(target.chances.sum() == pytest.approx(1) for target in tree.targets)
        first, second = tree.targets[taught : taught + 2]
        assert np.allclose([first.chances, second.chances], chances[-1])
        assert [int(target.ids[0]) for target in tree.targets[taught + 2 :]] == [
            *tree.stem[-said + 2 :],
            tokenizer.eos_token_id,
        ]
        at = writer.rounds(asked, [*tree.stem]).index(tree.places[0])
        assert np.allclose(tree.targets[0].chances.reshape(2, -1), chances[at] / 2)


def test_the_shipped_tokenizer_is_the_one_that_the_script_makes(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    assert course.tokenizer_of(0).get_vocab() == tokenizer.get_vocab()


# The shipped files.


def test_it_names_players_in_its_form_with_reasons_when_asked(model: Local) -> None:
    for players in ("F X", "C G"):
        made = decide_all(LLM(Observe(max_tokens=40)), list(turns(short(players), 0)), 0, model)
        assert [one.text for one in made[5:]].count(players) >= 20
        assert [one.attempts for one in made] == [1] * len(made)
        assert [n for n, one in enumerate(made, 1) if "reasoning" in one.notes] == [20, 30]
        assert made[-1].notes["reasoning"].count(";") in (2, 3, 4)
        assert made[-1].notes["confidence"] > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("players", ["H C", "N G"])
def test_it_is_right_at_least_half_as_often_as_the_ideal_observer(
    players: str, model: Local
) -> None:
    game = watching(players)
    found, ideal = watch(game, LLM(Observe()), 10, model), watch(game, Likeliest(), 10)
    assert found.malformed < 0.01 * found.asked
    assert found.right.mean() > ideal.right.mean() / 2


@pytest.mark.slow
def test_it_finds_who_reacts_where_frequencies_do_not(model: Local) -> None:
    game = watching("D Y")
    assert watch(game, Nearest(), 3).right.mean() == 0
    assert watch(game, LLM(Observe()), 3, model).right.mean() > 0.25


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{"window": 20}, {"window": None}, {"react": "iid"}], ids=str)
def test_it_answers_in_its_form_whatever_is_told(settings: Any, model: Local) -> None:
    for players in ("N G", "D Y"):
        found = watch(watching(players, **settings), LLM(Observe()), 3, model)
        assert found.malformed < 0.01 * found.asked
