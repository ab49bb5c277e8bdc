"""The pocket model: what is shipped, how it reads a decision, and that it has learnt to play."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

from games.tic_tac_toe import TicTacToe
from games.uno.game import Uno
from models.base import Prompt
from models.pocket import data, train
from models.pocket.data import CLOZE, COUNTERFACTUAL, LABELS, Lesson, Writer
from models.pocket.evaluate import answers, play
from models.pocket.teacher import Network, teach, win_counts
from models.pocket.tokenizer import train_tokenizer
from models.pocket.trees import Tree, collate, visible

METHODS = pytest.mark.parametrize("method", [CLOZE, COUNTERFACTUAL], ids=["cloze", "verdict"])


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


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


# What is shipped.


def test_shipped_files_take_less_than_4_mb() -> None:
    assert sum(file.stat().st_size for file in train.WEIGHTS.iterdir()) < 4e6


def test_shipped_model_is_a_llama_of_half_a_million_weights(model: LlamaForCausalLM) -> None:
    assert isinstance(model, LlamaForCausalLM)
    assert 300_000 < model.num_parameters() < 600_000


def test_every_label_is_one_token_wherever_an_answer_stands(writer: Writer) -> None:
    for label, token in zip(LABELS, writer.labels, strict=True):
        assert writer.encode(f"\n {label}")[-1] == token
        assert writer.backend.decode([token]) == f" {label}"
        assert len(writer.encode(label)) == 1


@settings(max_examples=200)
@given(st.text())
def test_any_text_encodes_and_decodes(text: str) -> None:
    tokenizer = AutoTokenizer.from_pretrained(train.WEIGHTS)
    assume(not any(special in text for special in tokenizer.all_special_tokens))
    writer = Writer(tokenizer)
    assert writer.backend.decode(writer.encode(text)) == text


# How it reads.


@METHODS
def test_static_part_and_branches_are_cut_between_tokens(
    method: data.Method, writer: Writer, decisions: list[Lesson]
) -> None:
    rng = np.random.default_rng(0)
    for lesson in [*decisions[:50], *islice(data.tic_tac_toe_lessons(rng), 20)]:
        prompts = data.prompts_of(method, lesson.turn, rng)
        tree = writer.tree(prompts)
        whole = [writer.encode(prompt.text) for prompt in prompts]
        assert [[*tree.stem, *branch] for branch in tree.branches] == whole


def test_a_decision_is_short(writer: Writer, decisions: list[Lesson]) -> None:
    rng = np.random.default_rng(0)
    prompts = [data.prompts_of(CLOZE, lesson.turn, rng)[0] for lesson in decisions]
    assert np.mean([len(writer.encode(prompt.static)) for prompt in prompts]) < 12
    assert np.mean([len(writer.encode(prompt.text)) for prompt in prompts]) < 70


def test_a_token_sees_the_stem_and_its_own_branch() -> None:
    # Stem of two tokens, branches of two and one, one token of padding.
    seen = visible(np.array([[0, 0, 1, 1, 2, -1]]))[0].astype(int)
    assert seen[:5].tolist() == [
        [1, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0],
        [1, 1, 1, 0, 0, 0],
        [1, 1, 1, 1, 0, 0],
        [1, 1, 0, 0, 1, 0],
    ]


def test_a_packed_tree_is_answered_as_its_prompts_one_by_one(
    model: LlamaForCausalLM, writer: Writer, decisions: list[Lesson]
) -> None:
    rng = np.random.default_rng(0)
    asked = [data.prompts_of(CLOZE, lesson.turn, rng) for lesson in decisions[:4]]
    packed = answers(model, writer, [writer.tree(prompts) for prompts in asked])
    for prompts, rows in zip(asked, packed, strict=True):
        assert rows == pytest.approx(one_by_one(model, writer, prompts), abs=1e-3)


def one_by_one(model: LlamaForCausalLM, writer: Writer, prompts: tuple[Prompt, ...]) -> np.ndarray:
    ids = [torch.tensor([writer.encode(prompt.text)]) for prompt in prompts]
    with torch.no_grad():
        logits = [model(one).logits[0, -1].log_softmax(-1) for one in ids]
    return torch.stack(logits)[:, writer.labels].numpy()


# What it is taught.


def test_a_letter_is_wanted_as_far_as_its_option_is_good() -> None:
    target = data.letters(np.log([1.0, 2.0, 7.0]), rotation=2)
    assert target[:3] == pytest.approx([0.7, 0.1, 0.2])
    assert target[3:].sum() == 0


def test_a_verdict_is_good_as_far_as_the_option_beats_the_best_other() -> None:
    target = data.verdict(np.log([1.0, 3.0, 2.0]), option=1)
    assert target[LABELS.index("good")] == pytest.approx(3 / (3 + 2))
    assert target.sum() == pytest.approx(1)


def test_the_teacher_plays_well_from_what_it_sees(teacher: Network) -> None:
    # Random play wins 49.5% from seat 1; four standard errors above 55% are 59.4%.
    assert win_counts(teacher, 2, 1, 2000, 7) / 2000 > 0.594


def test_training_lowers_the_loss_and_leaves_a_checkpoint(
    tmp_path: Path, teacher: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train, "teach", lambda seed, decisions: teacher)
    small = "--steps 120 --batch 8 --width 32 --layers 2 --heads 2 --hidden 64 --workers 1"
    train.main([*small.split(), "--rate", "0.01", "--out", str(tmp_path)])
    losses = train.json.loads((tmp_path / "training.json").read_text())["losses"]
    assert losses[-1] < losses[0] / 3
    assert AutoModelForCausalLM.from_pretrained(tmp_path).config.hidden_size == 32


# How it plays.


@METHODS
def test_it_chooses_better_than_chance_in_the_teachers_eyes(
    method: data.Method, model: LlamaForCausalLM, writer: Writer, decisions: list[Lesson]
) -> None:
    rng = np.random.default_rng(0)
    trees = [writer.tree(data.prompts_of(method, d.turn, rng)) for d in decisions]
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


@METHODS
def test_it_beats_a_random_player_at_tic_tac_toe(
    method: data.Method, model: LlamaForCausalLM, writer: Writer
) -> None:
    # A random first player wins 58.5% of games and loses 28.8%.
    wins, losses, draws = play(model, writer, TicTacToe(), method, seat=0, deals=200, seed=5)
    assert wins + losses + draws == 200
    assert wins > 140
    assert losses < 40


def test_play_is_the_same_each_time(model: LlamaForCausalLM, writer: Writer) -> None:
    runs = [play(model, writer, Uno(), COUNTERFACTUAL, 1, deals=10, seed=3) for _ in range(2)]
    assert runs[0] == runs[1]


# Small parts.


def test_padding_is_never_an_answer() -> None:
    batch = collate([Tree([1, 2], [[3], [4, 5]]), Tree([6], [[7]])])
    assert batch.asked.tolist() == [[2, 4], [1, 0]]
    assert batch.real.tolist() == [[True, True], [True, False]]
    assert batch.positions.tolist() == [[0, 1, 2, 2, 3], [0, 1, 0, 0, 0]]


def test_words_that_vary_are_tokens_of_their_own() -> None:
    texts = [f"Top card: red {n}\nYour hand: blue {n}, wild\nOptions:\nA) red {n}" for n in "123"]
    writer = train_tokenizer(texts, 400)
    pieces = [writer.decode([token]) for token in writer.encode(texts[0])]
    assert pieces.count(" red") == 2
    assert pieces.count(" 1") == 3
