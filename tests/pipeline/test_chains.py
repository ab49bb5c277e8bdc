"""Chains of questions, their times, and a match's draws, in whatever order replies come."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.common.errors import Stopped
from gauntlet.games.rock_paper_scissors import RockPaperScissors
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.models.base import Reply, Scores
from gauntlet.models.fake import Fake
from gauntlet.pipeline.config.read import MOST_SEED
from gauntlet.pipeline.log.exchanges import exchange
from gauntlet.pipeline.log.schema import Clock, MatchRecord
from gauntlet.pipeline.plan.cells import Player, digest
from gauntlet.pipeline.plan.rng import deal_key, stream, streams
from gauntlet.pipeline.play.chains import (
    Answered,
    Ask,
    Chain,
    answer_questions,
    run,
    run_concurrently,
)
from gauntlet.pipeline.play.clock import MatchTimer
from gauntlet.pipeline.play.match import margin, play
from gauntlet.pipeline.play.scheduler import Scheduler
from tests.pipeline.asking import (
    Asking,
    Late,
    Named,
    ask,
    cell_of,
    fakes_reply,
    score,
    tasks_of,
    text_of,
)
from tests.pipeline.records import decided, ended

Result = TypeVar("Result")

GAMES = [TicTacToe(), RockPaperScissors(rounds=3)]
FAKE = Player("fake", Asking(), Fake(), None)
PLAYERS = ((Asking(rounds=2, together=3), Fake(1)), (Asking(rounds=3), Fake(2)))


def in_order(chain: Chain[Result], choose: Callable[[int], int]) -> Result:
    """Run a chain; of n waiting asks, number choose(n) is answered next."""
    waiting: list[Ask] = []
    come: Answered | None = None
    while True:
        try:
            waiting += next(chain) if come is None else chain.send(come)
        except StopIteration as stop:
            assert not waiting, "it ended before its asks were answered"
            result: Result = stop.value
            return result
        picked = waiting.pop(choose(len(waiting)))
        come = Answered(picked, fakes_reply(picked))


def asking(*texts: str) -> Chain[list[str]]:
    """Make these requests one after the other; return them as received."""
    heard = []
    for text in texts:
        come = yield (ask(text),)
        heard.append(text_of(come.ask.request))
    return heard


@pytest.mark.parametrize("game", GAMES)
@given(chance=st.randoms(use_true_random=False))
def test_a_match_comes_out_the_same_in_any_order_of_replies(game: Any, chance: Any) -> None:
    cell = cell_of(game, *PLAYERS)
    (task,) = tasks_of(cell, 1)
    expected = run(play(cell, task, 5), fakes_reply)
    assert in_order(play(cell, task, 5), chance.randrange) == expected
    assert sum(len(made.asked) for made in expected.decisions) > 5


@given(chance=st.randoms(use_true_random=False))
def test_nested_chains_return_their_results_in_their_order(chance: random.Random) -> None:
    inner = run_concurrently([asking("c", "d"), asking()])
    outer: Chain[Any] = run_concurrently([asking("a", "b"), inner, asking("e")])
    assert in_order(outer, chance.randrange) == [["a", "b"], [["c", "d"], []], ["e"]]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_several_requests_come_back_in_the_order_in_which_they_were_asked(
    order: tuple[int, ...],
) -> None:
    def thinking() -> Any:
        return (yield (score("a"), score("b"), score("c")))

    asked: list[dict[str, Any]] = []
    chain = answer_questions(thinking(), FAKE, asked, {})
    asks = next(chain)
    assert [text_of(each.request) for each in asks] == ["a", "b", "c"]
    replies = [Scores(((float(-number), 0.0),), (1,)) for number in range(3)]
    *early, last = order
    for number in early:
        assert chain.send(Answered(asks[number], replies[number])) == ()
    with pytest.raises(StopIteration) as ended:
        chain.send(Answered(asks[last], replies[last]))
    assert ended.value.value == tuple(replies)
    assert [exchange.logprobs for exchange in asked] == [reply.logprobs for reply in replies]


def test_a_single_request_is_sent_a_reply_and_a_tuple_of_one_a_tuple() -> None:
    def thinking(question: Any) -> Any:
        return (yield question)

    reply = fakes_reply(ask("a"))
    assert run(answer_questions(thinking(score("a")), FAKE, [], {}), lambda _: reply) == reply
    assert run(answer_questions(thinking((score("a"),)), FAKE, [], {}), lambda _: reply) == (reply,)
    assert run(answer_questions(thinking(()), FAKE, [], {}), lambda _: reply) == ()


def test_an_error_of_one_chain_is_the_error_of_all() -> None:
    def broken() -> Chain[None]:
        yield (ask("a"),)
        raise ValueError("bad card")

    with pytest.raises(ValueError, match="bad card"):
        run(run_concurrently([asking("b", "c"), broken()]), fakes_reply)


def test_an_answer_that_runs_out_is_not_the_end_of_the_chain() -> None:
    replies: Iterator[Reply] = iter([fakes_reply(ask("a"))])
    with pytest.raises(StopIteration):
        run(asking("a", "b"), lambda _: next(replies))


def test_a_player_without_a_model_that_asks_is_named() -> None:
    (task,) = tasks_of(cell_of(TicTacToe(), (Asking(), None), (Asking(), None)), 1)
    with pytest.raises(Stopped, match="asks a model, but the player has none"):
        run(play(cell_of(TicTacToe(), (Asking(), None), (Asking(), None)), task, 1), fakes_reply)


# --- clock


def test_times_follow_the_record_where_seats_are_asked_in_turns() -> None:
    texts = ("own 1", "other 1", "other 2", "own 2", "heard at the end")
    asks = {text: ask(text) for text in texts}
    watch = MatchTimer(began=1000.0)
    for number, text in enumerate(texts):
        watch.register(asks[text])
        watch.answered(asks[text], watch._zero + number, watch._zero + number + 0.5)

    def seat(number: int, *texts: str) -> object:
        made = (exchange(asks[text].request, fakes_reply(asks[text]), {}) for text in texts)
        return decided(number, asked=tuple(made))

    record = ended(seat(0, "own 1", "own 2"), seat(1, "other 1", "other 2"))  # type: ignore[arg-type]
    assert watch.read(record) == Clock(1000.0, ((0, 0.5), (3, 3.5), (1, 1.5), (2, 2.5)))
    assert watch.read(ended(decided(0, asked=()))) is None


def test_a_match_is_told_when_it_asked() -> None:
    """Two seats that move at once make several requests to slow models: no request begins before
    its turn, and each is answered after its beginning."""
    slow, fake = Named("slow"), Fake()
    cell = cell_of(RockPaperScissors(rounds=2), (Asking(2, 2), slow), (Asking(3), fake))
    playing = Scheduler({cell.key: cell}, 3, {slow: Late(2), fake: fake.load()}, 8)
    try:
        made = [future.result(timeout=30) for future in playing.submit(tasks_of(cell, 3))]
    finally:
        playing.close()
    for record in (one.record for one in made):
        assert isinstance(record, MatchRecord)
        assert record.clock is not None
        times = iter(record.clock.asked)
        for decision in record.decisions:
            own = [next(times) for _ in decision.asked]
            assert all(0 <= began <= answered for began, answered in own)
            first = own[:2] if decision.seat == 0 else own[:1]
            later = own[len(first) :]
            assert max(end for _, end in first) <= min(begin for begin, _ in later)


# --- margin


SCORES = st.lists(st.floats(-50, 0), min_size=2, max_size=9)


@given(SCORES, st.data())
def test_a_change_of_less_than_half_the_margin_leaves_the_first_choice(scores, data):
    gap = margin(scores)
    moved = [x + data.draw(st.floats(-0.49, 0.49)) * gap for x in scores]
    if gap > 1e-9:
        assert moved.index(max(moved)) == scores.index(max(scores))


@pytest.mark.parametrize(
    ("scores", "expected"), [((), None), ((0.4,), None), ((1.0, 3.0, 2.5), 0.5), ((2.0, 2.0), 0.0)]
)
def test_margins(scores, expected):
    assert margin(scores) == expected


# --- chance


@given(
    st.integers(0, MOST_SEED), st.integers(0, 2**40), st.lists(st.integers(0, 2**31), max_size=4)
)
def test_a_stream_is_numpys_of_seed_game_deal_and_purpose(
    seed: int, deal: int, purpose: list[int]
) -> None:
    game = TicTacToe()
    numbers = [seed, int(digest(deal_key(game)), 16), deal, *purpose]
    expected = np.random.default_rng(numbers).bit_generator.state
    assert stream(seed, game, deal, *purpose).bit_generator.state == expected
    assert streams(seed, game, deal)(*purpose).bit_generator.state == expected
