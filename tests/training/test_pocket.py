"""The pocket model: its files, how it reads a decision, and that it has learned to play."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

from gauntlet.agents.prompting.answers import parse_option
from gauntlet.agents.prompting.base import Method
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.games.uno import rules
from gauntlet.models.base import Prompt
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.training.pocket import data, train, writing
from gauntlet.training.pocket.data import Lesson
from gauntlet.training.pocket.evaluate import answers, play
from gauntlet.training.pocket.gamebench import course as gamebench
from gauntlet.training.pocket.teacher import FEATURES, Network, playout, teach
from gauntlet.training.pocket.tokenizer import train_tokenizer
from gauntlet.training.pocket.trees import LessonTree, collate
from gauntlet.training.pocket.writing import (
    CLOZE,
    COUNTERFACTUAL,
    LABELS,
    TALKS,
    Writer,
    prompts_of,
)

METHODS = pytest.mark.parametrize("method", [CLOZE, COUNTERFACTUAL], ids=["cloze", "verdict"])


@pytest.fixture(scope="module")
def model() -> LlamaForCausalLM:
    return AutoModelForCausalLM.from_pretrained(train.WEIGHTS).eval()


@pytest.fixture(scope="module")
def writer() -> Writer:
    return Writer(AutoTokenizer.from_pretrained(train.WEIGHTS))


@pytest.fixture(scope="module")
def teacher() -> Network:
    # Fitted to fewer decisions, a teacher's opinion is too noisy to judge by.
    return teach(seed=1, decisions=15_000, rounds=2)


@pytest.fixture(scope="module")
def decisions(teacher: Network) -> list[Lesson]:
    rng = np.random.default_rng(2024)
    return list(islice(data.uno_lessons(teacher, 2, rng), 300))


# The shipped files.


SHIPPED = (train.WEIGHTS, train.DUEL_WEIGHTS, train.OBSERVER_WEIGHTS, train.GAMEBENCH_WEIGHTS)


@pytest.mark.parametrize("folder", SHIPPED)
def test_shipped_files_take_less_than_4_mb(folder: Path) -> None:
    assert sum(file.stat().st_size for file in folder.iterdir()) < 4e6


def test_every_label_is_one_token_wherever_an_answer_stands(writer: Writer) -> None:
    for label, token in zip(LABELS, writer.labels, strict=True):
        assert writer.encode(f"\n {label}")[-1] == token
        assert writer.backend.decode([token]) == f" {label}"
        assert len(writer.encode(label)) == 1


TOKENIZERS = [AutoTokenizer.from_pretrained(folder) for folder in SHIPPED[:2]]


@settings(max_examples=100)
@given(st.sampled_from(TOKENIZERS), st.text())
def test_any_text_encodes_and_decodes(tokenizer: Any, text: str) -> None:
    assume(not any(special in text for special in tokenizer.all_special_tokens))
    backend = tokenizer.backend_tokenizer
    assert backend.decode(backend.encode(text).ids) == text


# How it reads.


@METHODS
def test_static_part_and_branches_are_cut_between_tokens(
    method: Method, writer: Writer, decisions: list[Lesson]
) -> None:
    rng = np.random.default_rng(0)
    for lesson in [*decisions[:50], *islice(data.tic_tac_toe_lessons(rng), 20)]:
        prompts = prompts_of(method, lesson.turn, rng)
        tree = writer.tree(prompts)
        whole = [writer.encode(prompt.text) for prompt in prompts]
        assert [[*tree.stem, *branch] for branch in tree.branches] == whole


def test_a_packed_tree_is_answered_as_its_prompts_one_by_one(
    model: LlamaForCausalLM, writer: Writer, decisions: list[Lesson]
) -> None:
    rng = np.random.default_rng(0)
    asked = [prompts_of(CLOZE, lesson.turn, rng) for lesson in decisions[:4]]
    packed = answers(model, writer, [writer.tree(prompts) for prompts in asked])
    for prompts, rows in zip(asked, packed, strict=True):
        assert rows == pytest.approx(one_by_one(model, writer, prompts), abs=1e-3)


def one_by_one(model: LlamaForCausalLM, writer: Writer, prompts: tuple[Prompt, ...]) -> np.ndarray:
    ids = [torch.tensor([writer.encode(prompt.text)]) for prompt in prompts]
    with torch.no_grad():
        logits = [model(one).logits[0, -1].log_softmax(-1) for one in ids]
    return torch.stack(logits)[:, writer.labels].numpy()


# The lessons.


@pytest.fixture(scope="module")
def talked() -> list[Lesson]:
    """Arena decisions, of cards, colours and challenges, of two and of five players."""
    rng = np.random.default_rng(11)
    return [lesson for seats in (2, 5) for lesson in islice(data.arena_lessons(seats, rng), 60)]


def test_a_conversation_is_taught_as_it_is_held(writer: Writer, talked: list[Lesson]) -> None:
    for number, lesson in enumerate(talked):
        method, seed = TALKS[number % len(TALKS)], [7, number]
        turns = writing.conversation(lesson, method, np.random.default_rng(seed))
        tree = writer.talk(lesson, method, np.random.default_rng(seed))
        assert tree.stem == writer.encode("".join(text for turn in turns for text in turn))
        read = [writer.backend.decode([tree.stem[place + 1]]) for place in tree.places[:-1]]
        said = [parse_option(reply, lesson.turn.observation.options) for _, reply in turns]
        assert [int(one) - 1 for one in read if one.isdigit()] == said


def test_each_reply_is_taught_token_by_token_and_its_number_by_worth(
    writer: Writer, talked: list[Lesson]
) -> None:
    for lesson in talked:
        tree = writer.talk(lesson, TALKS[0], np.random.default_rng(3))
        ends = [n for n, target in enumerate(tree.targets) if target.ids.tolist() == [writer.end]]
        assert len(ends) == 3
        for end in ends:
            number = tree.targets[end - 2]
            assert number.chances == pytest.approx(writing.softmax(lesson.logits))
            assert len(number.ids) == len(lesson.logits)


def test_a_tokenizer_without_the_labels_is_refused() -> None:
    with pytest.raises(ValueError, match="does not read ' B' as one token"):
        Writer(train_tokenizer(["Answer: A"], 300))


def test_the_lessons_of_the_arena_ask_for_cards_colours_and_challenges(
    talked: list[Lesson],
) -> None:
    assert {lesson.thought for lesson in talked} == set(data.THOUGHTS)
    assert sum(share for shares in data.SHARES.values() for share in shares) == pytest.approx(1)


def test_a_letter_is_wanted_as_far_as_its_option_is_good() -> None:
    target = writing.letters(np.log([1.0, 2.0, 7.0]), rotation=2)
    assert target[:3] == pytest.approx([0.7, 0.1, 0.2])
    assert target[3:].sum() == 0


def test_a_verdict_is_good_as_far_as_the_option_beats_the_best_other() -> None:
    target = writing.verdict(np.log([1.0, 3.0, 2.0]), option=1)
    assert target[LABELS.index("good")] == pytest.approx(3 / (3 + 2))
    assert target.sum() == pytest.approx(1)


def test_the_teacher_plays_well_from_what_it_sees(teacher: Network) -> None:
    """Random play wins 49.5% from seat 1; four standard errors above 55% are 59.4%."""
    state, row, wins = rules.blank(2), np.empty(FEATURES, np.int64), 0
    for game in range(2000):
        rules.deal(state, 2, game)
        wins += playout(teacher, state, 1, np.uint64(game), row) == 1
    assert wins / 2000 > 0.594


SMALL = "--batch 8 --width 32 --heads 2 --hidden 64 --workers 1 --rate 0.01"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "falls"),
    [
        ("--steps 80 --layers 2", 3),
        ("--lessons gamebench --steps 40", 1.5),
        ("--lessons observer --steps 60", 1.5),
    ],
)
def test_training_lowers_the_loss_and_leaves_a_checkpoint(
    tmp_path: Path, teacher: Network, arguments: str, falls: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train, "teach", lambda seed, decisions: teacher)
    monkeypatch.setattr(gamebench, "QUESTIONS", 30)
    train.main([*arguments.split(), *SMALL.split(), "--out", str(tmp_path)])
    losses = train.json.loads((tmp_path / "training.json").read_text())["losses"]
    assert losses[-1] < losses[0] / falls
    assert Checkpoint(str(tmp_path)).load().answer([]) == []


# How it plays.


@METHODS
def test_it_chooses_better_than_chance_in_the_teachers_eyes(
    method: Method, model: LlamaForCausalLM, writer: Writer, decisions: list[Lesson]
) -> None:
    rng = np.random.default_rng(0)
    trees = [writer.tree(prompts_of(method, d.turn, rng)) for d in decisions]
    gained = possible = 0.0
    for lesson, rows in zip(decisions, answers(model, writer, trees), strict=True):
        scores = (
            rotations_summed(rows) if method is CLOZE else np.exp(rows[:, -2]) - np.exp(rows[:, -1])
        )
        worth = lesson.logits - lesson.logits.mean()
        gained += worth[scores.argmax()]
        possible += worth.max()
    assert gained > 0.3 * possible


def rotations_summed(rows: np.ndarray) -> np.ndarray:
    chances = np.exp(rows[:, : len(rows)])
    return np.sum([np.roll(row, turn) for turn, row in enumerate(chances)], axis=0)


@pytest.mark.parametrize(
    "method",
    [CLOZE, pytest.param(COUNTERFACTUAL, marks=pytest.mark.slow)],
    ids=["cloze", "verdict"],
)
def test_it_beats_a_random_player_at_tic_tac_toe(
    method: Method, model: LlamaForCausalLM, writer: Writer
) -> None:
    # A random first player wins 58.5% of games and loses 28.8%; three standard errors are 6.6 and
    # 6.1 points of 500 games.
    wins, losses, draws = play(model, writer, TicTacToe(), method, seat=0, deals=500, seed=5)
    assert wins + losses + draws == 500
    assert wins > 0.651 * 500
    assert losses < 0.227 * 500


# Small parts.


def test_padding_is_never_an_answer() -> None:
    batch = collate([LessonTree([1, 2], [[3], [4, 5]], [2, 4]), LessonTree([6], [[7]], [1])])
    assert batch.asked.tolist() == [[2, 4], [1, 0]]
    assert batch.real.tolist() == [[True, True], [True, False]]
    assert batch.positions.tolist() == [[0, 1, 2, 2, 3], [0, 1, 0, 0, 0]]
