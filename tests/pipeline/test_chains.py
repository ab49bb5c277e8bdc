"""Request chains: the result does not depend on the order of the replies."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.games.rock_paper_scissors import RockPaperScissors
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.models.base import Reply, Scores
from gauntlet.models.fake import Fake
from gauntlet.pipeline.play.chains import Answered, Ask, Chain, answer_questions, joined, run
from gauntlet.pipeline.play.match import play
from tests.pipeline.asking import Asking, ask, cell_of, fakes_reply, score, tasks_of, text_of

Result = TypeVar("Result")

GAMES = [TicTacToe(), RockPaperScissors(rounds=3)]
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
    inner = joined([asking("c", "d"), asking()])
    outer: Chain[Any] = joined([asking("a", "b"), inner, asking("e")])
    assert in_order(outer, chance.randrange) == [["a", "b"], [["c", "d"], []], ["e"]]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_several_requests_come_back_in_the_order_in_which_they_were_asked(
    order: tuple[int, ...],
) -> None:
    def thinking() -> Any:
        return (yield (score("a"), score("b"), score("c")))

    asked: list[dict[str, Any]] = []
    chain = answer_questions(thinking(), Fake(), asked, {})
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
    assert run(answer_questions(thinking(score("a")), Fake(), [], {}), lambda _: reply) == reply
    assert run(answer_questions(thinking((score("a"),)), Fake(), [], {}), lambda _: reply) == (
        reply,
    )
    assert run(answer_questions(thinking(()), Fake(), [], {}), lambda _: reply) == ()


def test_a_seat_goes_on_while_the_other_ones_reply_is_late() -> None:
    chain = joined([asking("a", "b", "c"), asking("late")])
    first, late = next(chain)
    for text in "bc":
        (first,) = chain.send(Answered(first, fakes_reply(first)))
        assert text_of(first.request) == text
    assert chain.send(Answered(first, fakes_reply(first))) == ()
    with pytest.raises(StopIteration) as ended:
        chain.send(Answered(late, fakes_reply(late)))
    assert ended.value.value == [["a", "b", "c"], ["late"]]


@pytest.mark.parametrize("game", GAMES)
def test_a_failed_ask_ends_the_match_with_its_error(game: Any) -> None:
    chain = play(cell_of(game, *PLAYERS), tasks_of(cell_of(game, *PLAYERS), 1)[0], 5)
    next(chain)
    with pytest.raises(ConnectionError, match="cut"):
        chain.throw(ConnectionError("cut"))
    with pytest.raises(StopIteration):
        next(chain)


def test_an_error_of_one_chain_is_the_error_of_all() -> None:
    def broken() -> Chain[None]:
        yield (ask("a"),)
        raise ValueError("bad card")

    with pytest.raises(ValueError, match="bad card"):
        run(joined([asking("b", "c"), broken()]), fakes_reply)


def test_an_answer_that_runs_out_is_not_the_end_of_the_chain() -> None:
    replies: Iterator[Reply] = iter([fakes_reply(ask("a"))])
    with pytest.raises(StopIteration):
        run(asking("a", "b"), lambda _: next(replies))


def test_a_player_without_a_model_that_asks_is_named() -> None:
    (task,) = tasks_of(cell_of(TicTacToe(), (Asking(), None), (Asking(), None)), 1)
    with pytest.raises(AssertionError, match="asks a model but has none"):
        run(play(cell_of(TicTacToe(), (Asking(), None), (Asking(), None)), task, 1), fakes_reply)
