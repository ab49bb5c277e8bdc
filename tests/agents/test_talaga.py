"""The look-ahead tree: growth, batches of requests, backup, actors."""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gauntlet.agents.actors import LookAhead, Perfect, Playouts, Scripted
from gauntlet.agents.base import Answer, Decision, Goal, Question, Turn, gather_all
from gauntlet.agents.lookahead import Node, Thought
from gauntlet.agents.minimax import Minimax
from gauntlet.agents.prompting.talaga import Talaga
from gauntlet.agents.random import Random
from gauntlet.games.rock_paper_scissors import RockPaperScissors
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.games.uno import Uno
from gauntlet.games.uno.arena import UnoArena
from gauntlet.models.base import Generate, Generation, Prompt, Reply, Request
from gauntlet.models.fake import Fake
from tests.agents.play import drive, turn_at, unasked
from tests.agents.test_minimax import board

GAME = TicTacToe()


def node(*children: Node, mine: bool = True, value: float | None = None, times: int = 0) -> Node:
    made = Node(own=mine, value=value, times=times, children=list(children))
    for number, child in enumerate(children):
        child.option = number
    return made


def replies(*values: float | None) -> Node:
    return node(*(node(value=value) for value in values), mine=False)


def test_a_tree_worked_by_hand() -> None:
    """The replies leave 0.2, 0.5 (a leaf without a figure counts half) and 0.6; a win at once 1."""
    root = node(replies(0.9, 0.2), replies(0.7, None), replies(0.6, 0.8))
    assert [child.worth for child in root.children] == [0.2, 0.5, 0.6]
    assert root.worth == 0.6
    assert Thought(root, ()).best.option == 2
    won = node(replies(0.9, 0.2), node(value=1.0))
    assert Thought(won, ()).best.option == 1


def test_own_moves_deeper_in_the_tree_take_the_most() -> None:
    own = node(node(value=0.1), node(value=0.9))
    assert node(node(own, node(value=0.95), mine=False)).worth == 0.9


def test_of_equals_the_one_taken_more_often_counts_then_the_first() -> None:
    root = node(*(node(value=0.5, times=times) for times in (1, 3, 3)))
    assert Thought(root, ()).best.option == 1


ASK = r"Legal moves: (.*)\n"


def talker(request: Request) -> Reply:
    """M and M_O take the legal moves in turn; M_R prefers the player who holds the centre; the
    rephrased question is short."""
    assert isinstance(request, Generate)
    told = request.prompt.changing
    if moves := re.search(ASK, told):
        names = moves.group(1).split(", ")
        said = [f"<{names[number % len(names)]}>" for number in range(request.n)]
    elif "in other words" in told:
        said = ["How good?"] * request.n
    else:
        own = re.search("Your marks: (.*)", told)
        held = own is not None and "C2R2" in own.group(1)
        said = [f"Well.\nThe winning rate is {80 if held else 30}"] * request.n
    return Generation(said[0], 1, 1, tuple(said[1:]))


def rounds(method: Any, turn: Turn, answer: Any = talker) -> tuple[Decision, list[Any]]:
    """Return the decision, and all requests in their batches."""
    thinking = method.ask(turn, np.random.default_rng(0))
    return questions(thinking, lambda several: tuple(map(answer, several)))


def questions(thinking: Any, answer: Any) -> tuple[Any, list[Any]]:
    """Return the result and the requests; each batch has several requests."""
    asked: list[Any] = []
    try:
        asked.append(next(thinking))
        while True:
            asked.append(thinking.send(answer(asked[-1])))
    except StopIteration as stop:
        return stop.value, asked


def first_turn() -> Turn:
    return turn_at(GAME, GAME.deal(np.random.default_rng(0)), 0)


def test_a_decision_takes_three_questions_however_many_calls() -> None:
    decision, asked = rounds(Talaga(), first_turn())
    assert [[one.n for one in question] for question in asked] == [
        [12, 1],  # M, and the question in other words
        [6] * 4,  # M_O
        [3, 2] * 8,  # M_R
    ]
    assert decision.attempts == 13 + 24 + 40
    assert len(decision.notes["candidates"]) == 4
    assert decision.notes["candidates"][0] == (0, 2, 0.3)
    assert {request.prompt.static for request in (*asked[0], *asked[2])} == {
        asked[0][0].prompt.static
    }


def test_candidates_are_filled_up_in_board_order() -> None:
    def shy(request: Request) -> Reply:
        assert isinstance(request, Generate)
        return Generation("<C2R2>", 1, 1, ("<C2R2>",) * (request.n - 1))

    decision, _ = rounds(Talaga(), first_turn(), shy)
    assert [one[:2] for one in decision.notes["candidates"]] == [(4, 12), (0, 0), (1, 0), (2, 0)]


def test_the_opponent_is_told_to_beat_the_player_from_its_own_seat() -> None:
    _, (_, others, _) = rounds(Talaga(), first_turn())
    for request in others:
        assert "You are player 1 in a game of Tic-Tac-Toe." in request.prompt.static
        assert "Goal: beat player 0" in request.prompt.static
    marked = [re.search("Opponent's marks: (.*)", one.prompt.changing) for one in others]
    assert [found.group(1) for found in marked if found] == ["C1R1", "C2R1", "C3R1", "C1R2"]


def test_leaves_are_told_from_the_players_seat_and_questions_alone_differ() -> None:
    _, (_, _, judged) = rounds(Talaga(), first_turn())
    plain, other = judged[0].prompt.changing, judged[1].prompt.changing
    assert plain.startswith("Your marks: C1R1\nOpponent's marks: C2R1\n")
    assert "How likely is it, from 0 to 100" in plain
    assert plain.replace(plain.splitlines()[-3], "How good?") == other


def test_a_win_is_worth_one_and_not_asked_for_unless_it_should_be() -> None:
    turn = turn_at(GAME, board("XX. OO. ..."), 0)
    decision, asked = rounds(Talaga(n1=5), turn)
    assert turn.observation.options[decision.option] == "C3R1"
    assert decision.notes["candidates"][0][2] == 1
    told, more = rounds(Talaga(n1=5, llm_terminal=True), turn)
    assert len(more[-1]) > len(asked[-1])
    assert told.notes["candidates"][0][2] < 1


def test_the_opponent_is_not_asked_where_all_replies_are_wanted() -> None:
    turn = turn_at(GAME, board("XOX OXO ..."), 0)
    _, asked = rounds(Talaga(), turn)
    told = [request.prompt.changing for request in asked[1]]
    assert len(asked) == 2, "three moves are left, and each reply is one of two"
    assert all("The winning rate" in text for text in told)


def test_the_reward_of_an_opponents_move_counts_against_the_player() -> None:
    def sure(request: Request) -> Reply:
        assert isinstance(request, Generate)
        if "advantage" in request.prompt.changing and "other words" not in request.prompt.changing:
            figure = 90 if "player 1 makes this move next: C2R2" in request.prompt.changing else 20
            said = f"The advantage score is {figure}"
            return Generation(said, 1, 1, (said,) * (request.n - 1))
        return talker(request)

    decision, _ = rounds(Talaga(reward="move", n1=2, n2=9), first_turn(), sure)
    assert [worth for _, _, worth in decision.notes["candidates"]] == [0.1, 0.1]
    decision, asked = rounds(Talaga(reward="move", k=1), first_turn(), sure)
    assert [worth for _, _, worth in decision.notes["candidates"]] == [0.2] * 4
    assert len(asked) == 2


def test_figures_that_cannot_be_read_are_dropped() -> None:
    said = iter(["The winning rate is 100", "no idea", "The winning rate is 50"])

    def unsure(request: Request) -> Reply:
        assert isinstance(request, Generate)
        if "winning rate" in request.prompt.changing:
            texts = [next(said, "?") for _ in range(request.n)]
            return Generation(texts[0], 1, 1, tuple(texts[1:]))
        return talker(request)

    decision, _ = rounds(Talaga(k=1, perturbations=0), first_turn(), unsure)
    assert [worth for _, _, worth in decision.notes["candidates"]] == [0.75, 0.5, 0.5, 0.5]
    assert decision.notes["answers"][-12:].count("malformed") == 10


def test_only_without_a_single_readable_reply_a_fallback_decides() -> None:
    for said in ("", "well"):
        mute = lambda asked, said=said: Generation(said, 1, 1, (said,) * (asked.n - 1))  # noqa: E731
        unusable, _ = rounds(Talaga(), first_turn(), mute)
        assert (unusable.status, type(unusable).__name__) == ("malformed", "Unusable")


def test_what_is_hidden_from_all_is_not_told_to_the_opponent() -> None:
    game = UnoArena(2)
    for seed in range(5):
        state = game.deal(np.random.default_rng(seed))
        (seat,) = game.to_move(state)
        turn = turn_at(game, state, seat)
        _, asked = rounds(Talaga(), turn, talker)
        others = [one for question in asked for one in question if "beat" in one.prompt.static]
        assert not any("Your hand" in one.prompt.changing for one in others)
        own = [f.text for f in turn.observation.facts if f.name == "Your hand"]
        assert not any(own[0] in one.prompt.changing for one in others)


@pytest.mark.parametrize("game", [Uno(2), RockPaperScissors(2, 3)], ids=["no sample", "at once"])
def test_where_no_state_is_known_the_move_is_supposed(game: Any) -> None:
    state = game.deal(np.random.default_rng(4))
    turn = turn_at(game, state, game.to_move(state)[0])
    assert len(turn.options) > 1
    _, asked = rounds(Talaga(), turn)
    assert len(asked) == 2
    name, seat = turn.observation.options[0], turn.observation.seat
    assert f"Suppose that play goes on so: player {seat}: {name}\n" in asked[1][0].prompt.changing


def thought(name: str, questions: int) -> Generator[Question, Answer, list[str]]:
    heard = []
    for number in range(questions):
        reply = yield Generate(Prompt("", f"{name}{number}"), 1)
        assert isinstance(reply, Generation)
        heard.append(reply.text)
    return heard


def test_thoughts_side_by_side_are_asked_at_once_and_hear_their_own() -> None:
    thinking = gather_all([thought("a", 2), thought("b", 0), thought("c", 1)])
    echo = lambda asked: Generation(asked.prompt.changing, 1, 1)  # noqa: E731
    heard, asked = questions(thinking, lambda several: tuple(map(echo, several)))
    assert heard == [["a0", "a1"], [], ["c0"]]
    assert [len(question) for question in asked] == [2, 1]


def test_answers_given_one_by_one_lead_to_the_same_decision() -> None:
    model = Fake(texts=("<C1R1>", "<C2R2> <C3R1>", "The winning rate is 70", "is 10", "?")).load()
    apart, _ = rounds(Talaga(), first_turn(), lambda request: model.answer([request])[0])
    thinking = Talaga().ask(first_turn(), np.random.default_rng(0))
    at_once, _ = questions(thinking, lambda several: tuple(model.answer(several)))
    assert at_once == apart


ANY = Scripted(Random())


def scripted(**settings: Any) -> LookAhead:
    actors = {"mover": ANY, "opponent": ANY, "judge": Perfect()}
    return LookAhead(**{**actors, **settings})


def test_movers_that_score_propose_their_best_in_order_and_noise_anything() -> None:
    turn = turn_at(GAME, board("X.. .O. ..X"), 1)
    sure, _ = talk(Scripted(Minimax()).propose([turn], 3, np.random.default_rng(0)))
    assert [turn.observation.options[one] for one in sure[0].options] == ["C2R1", "C1R2", "C3R2"]
    noisy = [
        talk(Scripted(Minimax(), 1.0).propose([turn], 1, np.random.default_rng(seed)))[0]
        for seed in range(60)
    ]
    assert {one.options[0] for (one,) in noisy} == set(range(6))


def talk(thinking: Generator[Any, Any, Any]) -> tuple[Any, list[Any]]:
    try:
        next(thinking)
    except StopIteration as stop:
        return stop.value, []
    raise AssertionError("it asks")


def test_a_whole_tree_with_perfect_values_plays_perfectly() -> None:
    """With every candidate and the values of perfect play two plies find what minimax finds."""
    wide = scripted(n1=9, n2=9)
    for drawn, seat in (("XX. .O. ...", 1), ("X.. .O. ..X", 1), ("X.. ... ...", 1)):
        turn = turn_at(GAME, board(drawn), seat)
        best, _ = drive(Minimax(), turn, unasked)
        decision, _ = drive(wide, turn, unasked)
        assert best.scores[decision.option] == max(best.scores)


def test_playouts_tell_a_threat_from_none() -> None:
    turn = turn_at(GAME, board("XX. OO. ..."), 0)
    decision, _ = drive(scripted(n1=5, n2=9, judge=Playouts(10)), turn, unasked)
    worth = worths(turn, decision)
    assert worth["C3R1"] == 1
    assert worth["C1R3"] == 0
    assert turn.observation.options[decision.option] == "C3R1"


def test_votes_take_out_some_of_the_noise() -> None:
    leaf, turn = Node(state=board("XX. OO. ...")), first_turn()
    spread = []
    for votes in (1, 5):
        judge = Perfect(noise=0.5, votes=votes)
        drawn = [
            talk(judge.judge(turn, [leaf], np.random.default_rng(seed)))[0][0].value
            for seed in range(200)
        ]
        spread.append(np.std(drawn))
    assert spread[1] < 0.6 * spread[0]


def test_a_goal_to_help_turns_the_tree_round() -> None:
    turn = replace(turn_at(GAME, board("XX. OO. ..."), 0), goal=Goal(helps=1))
    decision, _ = drive(scripted(n1=5, n2=9), turn, unasked)
    worth = worths(turn, decision)
    assert worth == {"C3R1": 0, "C3R2": 0.5, "C1R3": 1, "C2R3": 1, "C3R3": 1}
    assert worth[turn.observation.options[decision.option]] == 1


def worths(turn: Turn, decision: Decision) -> dict[str, float]:
    """Return the value of each candidate, by name."""
    found = decision.notes["candidates"]
    return {turn.observation.options[option]: value for option, _, value in found}


def test_a_tree_without_any_model_asks_none() -> None:
    method = Talaga(mover=ANY, opponent=ANY, judge=Perfect())
    decision, asked = rounds(method, first_turn())
    assert (asked, decision.attempts, decision.fallback) == ([], 0, False)
