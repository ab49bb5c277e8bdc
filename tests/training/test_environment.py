"""The environment: a sweep's matches, its parsers, and rewards that add up."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
import pytest

from gauntlet.common.errors import UserError
from gauntlet.games.tic_tac_toe import State, TicTacToe
from gauntlet.models.base import Generate, Generation, Prompt
from gauntlet.models.fake import Fake
from gauntlet.pipeline.config.compose import composed
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.plan.build import build_cells
from gauntlet.pipeline.plan.cells import Task
from gauntlet.pipeline.play.chains import run
from gauntlet.pipeline.play.match import play
from gauntlet.training.environment.credit import Advantage
from gauntlet.training.environment.environment import Environment
from gauntlet.training.environment.match import Match
from gauntlet.training.environment.setting import setting

made = cache(partial(Environment))
TEXTS = ('{"action": "1"}', '{"action": "2"}', '{"action": "5"}', "I pass.")


def fake_reply(text: str) -> str:
    """Return the fake model's reply to a prompt with this text."""
    (reply,) = Fake(texts=TEXTS).load().answer([Generate(Prompt("", text), 200)])
    assert isinstance(reply, Generation)
    return reply.text


def swept(words: list[str], deal: int, rotation: int) -> MatchRecord:
    """The match as a sweep of the fake model plays it."""
    configs, sweep = composed([*words, "model=fake", "prompt=vanilla"])
    (cell,) = build_cells(configs)
    cell.players[1].model.__dict__["texts"] = TEXTS  # a config holds no list of texts

    def answer(ask: Any) -> Any:
        return ask.source.load().answer([ask.request])[0]

    return run(play(cell, Task(cell.key, deal, rotation, "one"), sweep.seed), answer)


@pytest.mark.parametrize(
    ("game", "opponent", "seats"),
    [
        ("uno", "rule", ["seats=against", "seats.0.player=rule"]),
        (
            "uno",
            ("random", "rule"),
            [
                *("seats=against", "seats.0.player=random"),
                "+seats.2={player: rule, goal: win}",
            ],
        ),
        ("tic_tac_toe", "random", ["seats=solo"]),
    ],
)
def test_a_match_is_the_sweeps(game: str, opponent: Any, seats: list[str]) -> None:
    own = Environment(game, opponent, seed=7)
    words = [f"game={game}", "seed=7", *seats]
    for rotation, seat in enumerate(own.seats):
        text = own.reset(11, seat)
        while not own.done:
            text, *_ = own.step(fake_reply(text))
        here, there = own.match.record, swept(words, 11, rotation)
        assert here is not None
        assert here.returns == there.returns
        assert [(one.seat, one.options, one.chosen, one.status) for one in here.decisions] == [
            (one.seat, one.options, one.chosen, one.status) for one in there.decisions
        ]
        assert [one.asked for one in here.decisions if one.seat != seat] == [
            one.asked for one in there.decisions if one.seat != seat
        ]


def test_what_is_asked_is_read_by_the_methods_own_parser() -> None:
    own = made("uno")
    own.reset(4)
    first, second, *_ = own.options
    _, reward, _, info = own.step('I think... {"action": "2"}')
    assert (info["option"], info["status"], info["fallback"], reward) == (second, "ok", False, 0.0)
    assert first != second
    *_, info = own.step("no idea")
    assert (info["status"], info["fallback"]) == ("malformed", True)
    *_, info = own.step('{"action": "99"}')
    assert (info["status"], info["fallback"]) == ("illegal", True)


def test_a_method_that_asks_again_is_answered_again() -> None:
    own = Environment("tic_tac_toe", prompt="direct")
    text = own.reset(0)
    again, reward, done, info = own.step("Nothing comes to mind.")
    assert (reward, done, info["answered"]) == (0.0, False, False)
    assert again.startswith(text)
    assert "That names no legal move" in again
    *_, info = own.step(f" <{own.options[0]}>")
    assert (info["answered"], info["status"]) == (True, "ok")


def test_rewards_add_up_to_the_result() -> None:
    own = Environment("tic_tac_toe", words=("measure=match_score",))
    for deal in range(20):
        own.reset(deal, deal % 2)
        total, info = 0.0, dict[str, Any]()
        while not own.done:
            _, reward, _, info = own.step('{"action": "1"}')
            total += reward
        record = own.match.record
        assert record is not None
        assert total == info["result"] == (1 + record.returns[deal % 2]) / 2


def test_matches_side_by_side_do_not_meet() -> None:
    one, two = made("uno"), made("uno").another()
    first = one.reset(1)
    two.reset(2)
    two.step("x")
    assert one.reset(1) == first
    assert two.setting is one.setting


# --- advantages


def worth(game: TicTacToe, state: State, seat: int) -> float:
    """Return the score of `seat` from here on under random play, over every line of play."""
    movers = game.to_move(state)
    if not movers:
        return (1 + game.returns(state)[seat]) / 2
    options = game.legal(state, movers[0])
    return sum(worth(game, game.play(state, [cell]), seat) for cell in options) / len(options)


def test_an_advantage_is_that_of_all_lines_of_play() -> None:
    own = Environment("tic_tac_toe", prompt="letter", reward="advantage", playouts=150)
    game, checked = TicTacToe(), 0
    for deal in range(3):
        own.reset(deal, 0)
        while not own.done:
            state, before = own.match.state, len(own.match.decisions)
            _, reward, _, info = own.step("A")
            if not info["answered"] or len(state.moves) < 4:
                continue
            taken = own.match.decisions[before].chosen
            values = [worth(game, game.play(state, [cell]), 0) for cell in game.legal(state, 0)]
            assert reward == pytest.approx(values[taken] - np.mean(values), abs=4 * 0.5 / 150**0.5)
            checked += 1
    assert checked >= 3


@pytest.mark.slow
def test_the_references_mean_and_the_advantages_give_the_players_mean() -> None:
    """The lemma: for a player that always takes the first letter, whose mean result is computed
    from the same matches."""
    own = Environment("tic_tac_toe", prompt="letter", reward="advantage", playouts=3)
    totals, results = [], []
    for deal in range(60):
        own.reset(deal, 0)
        total, info = 0.0, dict[str, Any]()
        while not own.done:
            _, reward, _, info = own.step("A")
            total += reward
        totals.append(total)
        results.append(info["result"])
    reference = worth(TicTacToe(), State((0, 0), ()), 0)
    gaps = reference + np.array(totals) - np.array(results)
    assert abs(gaps.mean()) < 4 * gaps.std(ddof=1) / len(gaps) ** 0.5


def test_the_decisions_of_a_hidden_game_share_out_what_its_playouts_find() -> None:
    own = Environment("uno", prompt="letter", reward="advantage", playouts=5)
    own.reset(3)
    rewards = []
    while not own.done:
        rewards.append(own.step("B")[1])
    whole = Advantage(own.setting, 5).due(own.match, own.seat)
    assert sum(rewards) == pytest.approx(whole)
    assert len({round(reward, 9) for reward in rewards}) > 3


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"opponent": "pocket"}, "is no scripted policy"),
        ({"words": ("measure=match_score",)}, "judge by wins"),
        ({"game": "rock_paper_scissors"}, "has no playouts"),
        ({"words": ("baseline=null",)}, "no baseline"),
    ],
)
def test_advantages_that_cannot_be_had_are_refused(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(UserError, match=why):
        Environment(**{"reward": "advantage", **settings})


# --- several learners, and what cannot be had


def test_every_seat_can_be_asked() -> None:
    own = setting("tic_tac_toe", ["self"], "vanilla", 1)
    match = Match(own, own.task(0, 0))
    askers = []
    while match.prompt is not None:
        askers.append(match.seating.index(match.player))
        match.answer('{"action": "1"}')
    assert askers == [0, 1, 0, 1, 0, 1, 0]  # the first free cell in turns: seat 0 has a diagonal
    assert match.record is not None
    assert match.record.returns == (1.0, -1.0)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"prompt": "cloze"}, "asks for likelihoods"),
        ({"opponent": "nobody"}, "nobody"),
        ({"opponent": ()}, "name one or more"),
        ({"reward": "praise"}, "result or advantage"),
        ({"playouts": 0}, "1 or more"),
        ({"opponent": "self"}, "plays one seat"),
        ({"words": ("seed=1,2", "paper_bugs=false,true")}, "plays one cell"),
    ],
)
def test_what_cannot_be_had_is_said_in_one_line(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(UserError, match=why):
        Environment(**settings).reset(0)


def test_calls_out_of_turn_are_refused() -> None:
    own = made("tic_tac_toe").another()
    with pytest.raises(UserError, match="reset"):
        own.step("x")
    with pytest.raises(UserError, match="the learner may sit in 1, 0"):
        own.reset(0, 2)
    with pytest.raises(UserError, match="deal is -1"):
        own.reset(-1)
    own.reset(0)
    while not own.done:
        own.step("x")
    with pytest.raises(UserError, match="the match is over"):
        own.step("x")
