"""UNO's invariants, observations, and the scripted players against RLCard's."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rlcard.games.uno.game import UnoGame
from rlcard.games.uno.utils import ACTION_LIST, ACTION_SPACE
from rlcard.models.uno_rule_models import UNORuleAgentV1

from gauntlet.games.base import Observation
from gauntlet.games.uno import State, Uno, rules
from gauntlet.games.uno.state import hand
from gauntlet.games.uno.words import CARD_NAMES
from tests.games.test_uno_lockstep import Chance
from tests.games.test_uno_rules import play, position

seeds = st.integers(0, 2**32 - 1)
seats = st.integers(2, 10)
few = settings(max_examples=30, deadline=None)


def states(game: Uno, deal: int, choices: int) -> Iterator[State]:
    """A deal played by random moves."""
    rng = np.random.default_rng(choices)
    state = game.deal(np.random.default_rng(deal))
    yield state
    while movers := game.to_move(state):
        state = game.play(state, (int(rng.choice(game.legal(state, movers[0]))),))
        yield state


def cards(state: State, stack: int) -> list[int]:
    cells: list[int] = state.array.tolist()
    return cells[stack + 1 : stack + 1 + cells[stack]]


@few
@given(seats, seeds, seeds, seeds)
def test_chance_is_the_same_however_play_went(n: int, deal: int, left: int, right: int) -> None:
    """Until a reshuffle both plays of a deal draw the same cards in the same order; after as many
    reshuffles, cards in both piles lie in the same order; the k-th random colour is the same."""
    first, second = (list(states(Uno(n), deal, choices)) for choices in (left, right))
    whole = cards(first[0], rules.PILE)
    piles: list[dict[int, list[int]]] = [{}, {}]
    for pile, played in zip(piles, (first, second), strict=True):
        for state in played:
            shuffles = state.array.item(rules.SHUFFLES)
            if shuffles == first[0].array[rules.SHUFFLES]:
                assert cards(state, rules.PILE) == whole[: state.array[rules.PILE]]
            pile.setdefault(shuffles, cards(state, rules.PILE))
    for shuffles in piles[0].keys() & piles[1].keys():
        ours, theirs = piles[0][shuffles], piles[1][shuffles]
        assert [c for c in ours if c in theirs] == [c for c in theirs if c in ours]
    named = [drawn_colours(played) for played in (first, second)]
    assert all(a == b for a, b in zip(*named, strict=False))


def drawn_colours(played: list[State]) -> list[int]:
    return [
        after.array.item(rules.COLOUR)
        for before, after in pairwise(played)
        if after.array[rules.COLOURS] > before.array[rules.COLOURS]
    ]


@few
@given(seeds)
def test_a_deal_seats_any_number_of_players_with_the_same_pile(seed: int) -> None:
    two, ten = (Uno(n).deal(np.random.default_rng(seed)) for n in (2, 10))
    for seat in range(2):
        assert hand(two.array, seat)[:7] == hand(ten.array, seat)[:7]


def facts_of(observation: Observation) -> dict[str, str]:
    return {fact.name: fact.text for fact in observation.facts}


def test_the_next_player_follows_the_direction_but_with_paper_bugs_the_logged_reverses() -> None:
    names = ["red reverse, blue 1, blue 2", "red 1, red 4", "red 2, red 5"]
    turned_up = position("red 7", *names, direction=-1)
    assert facts_of(Uno(3).observe(turned_up, 0))["Next player"] == "player 2"
    assert facts_of(Uno(3, paper_bugs=True).observe(turned_up, 0))["Next player"] == "player 1"
    logged = play(position("red 7", *names), "red reverse")
    for game in (Uno(3), Uno(3, paper_bugs=True)):
        assert facts_of(game.observe(logged, 2))["Next player"] == "player 1"
    drawn = play(position("red 7", "blue 1", "red 1", "red 2", pile="red reverse"), "draw a card")
    assert facts_of(Uno(3).observe(drawn, 2))["Next player"] == "player 1"
    assert facts_of(Uno(3, paper_bugs=True).observe(drawn, 2))["Next player"] == "player 0"


def test_with_paper_bugs_a_seat_is_shown_what_rlcard_shows() -> None:
    """The same cards in the same order, the same options, and the colour of the card object."""
    game = Uno(2, paper_bugs=True)
    stale = 0
    for seed in range(80):
        array = rules.blank(2)
        rules.deal(array, 2, seed)
        state, theirs = State(array), rlcard_game(seed)
        rng = np.random.default_rng(seed)
        while movers := game.to_move(state):
            seen, shown = game.observe(state, movers[0]), theirs.get_state(movers[0])
            top = CARD_NAMES[ACTION_SPACE[shown["target"]]]
            if "wild" in top:
                top += f", colour now {colour_of(shown['target'])}"
                stale += shown["target"][0] != theirs.round.target.color
            assert facts_of(seen)["Top card"].startswith(f"{top}, ")
            names = [CARD_NAMES[ACTION_SPACE[card]] for card in shown["hand"]]
            assert facts_of(seen)["Your hand"] == ", ".join(names)
            assert list(seen.view.options) == [ACTION_SPACE[a] for a in shown["legal_actions"]]
            assert seen.view.sizes == tuple(shown["num_cards"])
            action = int(rng.choice(seen.view.options))
            theirs.step(ACTION_LIST[action])
            state = game.play(state, (action,))
    assert stale > 20


def colour_of(card: str) -> str:
    return {"r": "red", "g": "green", "b": "blue", "y": "yellow"}[card[0]]


def rlcard_game(seed: int) -> UnoGame:
    game = UnoGame()
    game.np_random = Chance(seed)
    game.init_game()
    return game


def test_the_rule_player_is_that_of_rlcard(monkeypatch: pytest.MonkeyPatch) -> None:
    """RLCard's player either knows its move or draws it uniformly from a list. The colour named
    by a wild draw four must be one that is held most; of several RLCard takes the first."""
    monkeypatch.setattr(np.random, "choice", list)
    agent = UNORuleAgentV1()
    kinds: Counter[str] = Counter()
    for seed in range(50):
        for paper_bugs in (False, True):
            game = Uno(3, paper_bugs)
            for state in states(game, seed, seed):
                for seat in game.to_move(state):
                    kinds[rule_move(agent, game, game.observe(state, seat), state)] += 1
    assert min(kinds[kind] for kind in ("draw", "wild draw four", "list")) > 20, kinds


def rule_move(agent: Any, game: Uno, observation: Observation, state: State) -> str:
    """Compares the two players in one position; how RLCard's came to its move."""
    chances: defaultdict[int, float] = defaultdict(float)
    for action, chance in zip(
        observation.view.options, game.probabilities("rule", observation), strict=True
    ):
        chances[action] += chance
    held = [ACTION_LIST[kind] for kind in hand(state.array, observation.seat)]
    listed = [
        ACTION_LIST[action] for action in Uno(3, paper_bugs=True).legal(state, observation.seat)
    ]
    move = agent.step({"raw_legal_actions": listed, "raw_obs": {"hand": held}})
    if isinstance(move, list):
        expected = {ACTION_SPACE[a]: n / len(move) for a, n in Counter(move).items()}
        assert {a: chance for a, chance in chances.items() if chance} == pytest.approx(expected)
        return "list"
    assert chances[ACTION_SPACE[move]] > 0
    likely = [action for action, chance in chances.items() if chance]
    if move == "draw":
        assert likely == [rules.DRAW]
        return "draw"
    plain = Counter(card[0] for card in held if "wild" not in card)
    tied = {colour for colour in "rgby" if plain[colour] == max(plain.values(), default=0)}
    assert {ACTION_LIST[action][0] for action in likely} == tied
    return "wild draw four"


def test_random_is_uniform_over_options_and_with_paper_bugs_over_held_cards() -> None:
    state = position("red 7", "blue 7, red 3, blue 7, wild", "red 1")
    seen = Uno().observe(state, 0)
    assert Uno().probabilities("random", seen) == pytest.approx([1 / 6] * 6)
    seen = Uno(paper_bugs=True).observe(state, 0)
    assert seen.options[:3] == ("blue 7", "red 3", "blue 7")
    assert Uno(paper_bugs=True).probabilities("random", seen) == pytest.approx([1 / 7] * 7)
    assert Uno(paper_bugs=True).probabilities("rule", seen)[:3] == pytest.approx([1 / 3] * 3)
