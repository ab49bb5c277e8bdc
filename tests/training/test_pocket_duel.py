"""The second pocket model: its tutor, packing of its lessons, and the shipped files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from gauntlet.agents.base import Turn
from gauntlet.agents.llm import LLM
from gauntlet.agents.minimax import Minimax
from gauntlet.agents.prompting.direct import Direct
from gauntlet.agents.prompting.talaga import Talaga
from gauntlet.agents.random import Random
from gauntlet.agents.rule import Rule
from gauntlet.games.holdem import Holdem
from gauntlet.games.playouts import probabilities
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.models.base import Generate, Generation, Reply, Request
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.engine.local import Local
from gauntlet.training.pocket import train
from gauntlet.training.pocket.duel import course, evaluate
from gauntlet.training.pocket.duel.course import Encoder, card_turns, grid_lessons, tree
from gauntlet.training.pocket.duel.evaluate import METHODS, play
from gauntlet.training.pocket.duel.prompt_parsing import parse_prompt
from gauntlet.training.pocket.duel.replies import exchanges
from gauntlet.training.pocket.duel.tutor import Cards, Marks, knowing, reply
from tests.agents.play import drive

SHORT = 60
"""More tokens than any of the tutor's replies has."""
TURNS = {"grid": grid_lessons, "cards": card_turns}
BOTH = pytest.mark.parametrize("turns", TURNS.values(), ids=TURNS)


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    found: PreTrainedTokenizerFast = AutoTokenizer.from_pretrained(train.DUEL_WEIGHTS)
    return found


@pytest.fixture(scope="module")
def model() -> Iterator[Local]:
    local = Checkpoint("pkg:models/pocket_duel/weights").load()
    yield local
    local.close()


def sample_turns(turns: Any, count: int, seed: int) -> list[Turn]:
    """Return turns spaced apart."""
    return list(islice(turns(np.random.default_rng(seed)), 0, 5 * count, 5))


def first_prompt(turn: Turn, method: Any = None) -> Any:
    """The first prompt about a turn."""
    request = next((method or Direct()).ask(turn, np.random.default_rng(0)))
    assert isinstance(request, Generate)
    return request.prompt


def tutored(request: Request) -> Reply:
    """The tutor as a model."""
    assert isinstance(request, Generate)
    text = reply(request.prompt)
    for stop in request.stop:
        text = text.partition(stop)[0]
    return Generation(text, 0, 0, (text,) * (request.n - 1))


# What the tutor knows.


def test_a_position_is_read_back_as_it_is() -> None:
    for turn in sample_turns(grid_lessons, 40, 1):
        state = turn.observation.view
        found = Marks(parse_prompt(first_prompt(turn))).state
        assert (found, len(found.moves)) == (state, len(state.moves))


def test_supposed_moves_are_played() -> None:
    game = TicTacToe()
    state = game.play(game.play(game.deal(np.random.default_rng(0)), (4,)), (0,))
    turn = evaluate.turn_of(game, state, 0)
    judged: list[Any] = []

    def answer(request: Request) -> Reply:
        assert isinstance(request, Generate)
        if "The winning rate is N" in request.prompt.changing:
            judged.append(knowing(request.prompt))
        return tutored(request)

    drive(LLM(Talaga(k=1)), turn, answer)
    assert {tuple(known.state.moves[:2]) for known in judged} == {(4, 0)}
    assert {len(known.state.moves) for known in judged} == {3}


def test_a_prompt_of_no_game_is_refused() -> None:
    (turn,) = sample_turns(grid_lessons, 1, 1)
    prompt = first_prompt(turn)
    with pytest.raises(ValueError, match="without a player and a game"):
        parse_prompt(type(prompt)("Rules: none\n", prompt.changing))


def test_the_tutor_moves_perfectly() -> None:
    for turn in sample_turns(grid_lessons, 60, 2):
        (move,) = {turn.observation.options.index(Marks(parse_prompt(first_prompt(turn))).best())}
        scores = drive(Minimax(), turn, tutored)[0].scores
        assert scores[move] == max(scores)


def test_the_tutor_plays_hold_em_as_the_tight_player() -> None:
    for turn in sample_turns(card_turns, 80, 3):
        told = Cards(parse_prompt(first_prompt(turn))).best()
        chances = probabilities(turn.game, "tight", turn.observation)
        assert turn.observation.options[int(np.argmax(chances))] == told


@BOTH
@pytest.mark.parametrize("name", METHODS)
def test_every_reply_of_the_tutor_can_be_read(name: str, turns: Any) -> None:
    for turn in sample_turns(turns, 4, 4):
        decision, _ = drive(LLM(METHODS[name]), turn, tutored)
        assert decision.status == "ok"
        assert not {"malformed", "illegal"} & set(decision.notes["answers"])


# How lessons are packed.


@BOTH
def test_a_tree_teaches_every_token_of_the_replies(
    turns: Any, tokenizer: PreTrainedTokenizerFast
) -> None:
    encode, rng = Encoder(tokenizer), np.random.default_rng(6)
    for turn in sample_turns(turns, 4, 6):
        for group in exchanges(turn, rng):
            found = tree(encode, group)
            rows = [[*found.stem, *branch] for branch in found.branches]
            assert rows == [encode(one.prompt.text) + encode(one.reply) for one in group]
            ends = iter(zip(found.places, found.targets, strict=True))
            laid = [*found.stem, *(token for branch in found.branches for token in branch)]
            for exchange in group:
                wanted = [*encode(exchange.reply), encode.end]
                taught = [next(ends) for _ in wanted]
                assert [int(target.ids[0]) for _, target in taught] == wanted
                assert [laid[place + 1] for place, _ in taught[:-1]] == wanted[:-1]


@BOTH
def test_text_is_encoded_line_by_line_as_whole(
    turns: Any, tokenizer: PreTrainedTokenizerFast
) -> None:
    encode = Encoder(tokenizer)
    for turn in sample_turns(turns, 5, 7):
        text = first_prompt(turn, METHODS["react"]).text
        assert encode(text) == tokenizer.backend_tokenizer.encode(text).ids
        assert len(encode(text)) < 180


# The shipped files.


@pytest.mark.parametrize("name", METHODS)
def test_it_answers_every_method_in_its_form(name: str, model: Local) -> None:
    method: Any = replace(METHODS[name], max_tokens=SHORT)
    if isinstance(method, Talaga):
        method = replace(method, n1=2, n2=1)
    for game, other in (evaluate.TABLES["grid_random"], evaluate.TABLES["cards_caller"]):
        _, answers = play(model, game, method, other, 1)
        assert answers["malformed"] == 0
        assert answers["illegal"] <= 0.05 * answers["read"]


def test_it_beats_a_random_player_at_tic_tac_toe(model: Local) -> None:
    # A random player wins 43.6% over both seats; three standard errors of 80 matches are 14 points.
    found, _ = play(model, TicTacToe(), Direct(max_tokens=SHORT), Random(), 40)
    assert found.mean() > 0.75


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_replies_that_cannot_be_read_are_rare(name: str, model: Local) -> None:
    for game, other in evaluate.TABLES.values():
        _, answers = play(model, game, METHODS[name], other, 8 if name == "talaga" else 40)
        replies = answers["read"] + answers["malformed"] + answers["illegal"]
        assert answers["malformed"] < 0.01 * replies
        assert answers["illegal"] < 0.02 * replies


@pytest.mark.slow
@pytest.mark.parametrize(("opponent", "deals"), [(Random(), 1500), (Rule("caller"), 600)])
def test_it_wins_money(opponent: Any, deals: int, model: Local) -> None:
    found, _ = play(model, Holdem(mode="hands", hands=2), Direct(), opponent, deals)
    by_deal = found.mean(1)
    assert by_deal.mean() > 2 * by_deal.std(ddof=1) / deals**0.5


@pytest.mark.slow
def test_training_lowers_the_loss_and_can_go_on_from_its_checkpoint(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(course, "TURNS", 100)
    first, second = tmp_path / "first", tmp_path / "second"
    small = "--lessons duel --steps 40 --batch 8 --width 32 --heads 2 --hidden 64 --workers 1"
    train.main([*small.split(), "--rate", "0.01", "--out", str(first)])
    begun = train.json.loads((first / "training.json").read_text())
    assert begun["losses"][-1] < begun["losses"][0] / 1.5
    train.main([*small.split(), "--start", str(first), "--out", str(second)])
    going_on = train.json.loads((second / "training.json").read_text())
    assert going_on["before"] == begun
    assert going_on["losses"][0] < begun["losses"][0] / 1.5
    assert Checkpoint(str(second)).load().answer([]) == []
