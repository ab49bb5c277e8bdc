"""UNO Arena's rules, one by one, on positions laid out in words, and what holds in every game."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings

from gauntlet.common.errors import IllegalAction
from gauntlet.games.uno import State
from gauntlet.games.uno import rules as cards
from gauntlet.games.uno.arena import UnoArena, rules
from gauntlet.games.uno.words import CARD_NAMES, COLOURS
from tests.games import test_uno_rules as layout
from tests.games.arena_referee import full_deck
from tests.games.cases import seeds, walk

few = settings(max_examples=15, deadline=None)


def position(top: str, *hands: str, pile: str = "", colour: str = "", direction: int = 1) -> State:
    """A position with player 0 to choose a card; `pile` lists the next card first."""
    state = layout.position(top, *hands, pile=pile, colour=colour, direction=direction)
    state.array[rules.BEFORE] = state.array[rules.IN_FORCE]
    return state


def options(state: State) -> list[str]:
    game = UnoArena(int(state.array[cards.SEATS]))
    return list(game.observe(state, layout.mover(state)).options)


def play(state: State, *moves: str) -> State:
    game = UnoArena(int(state.array[cards.SEATS]))
    for move in moves:
        names = options(state)
        assert move in names, f"{move} is not among {names}"
        state = game.play(state, (game.legal(state, layout.mover(state))[names.index(move)],))
    return state


def sizes(state: State) -> list[int]:
    return [state.array.item(cards.hand_of(s)) for s in range(state.array.item(cards.SEATS))]


def winners(state: State) -> list[int]:
    game = UnoArena(int(state.array[cards.SEATS]))
    assert game.to_move(state) == ()
    return [seat for seat, worth in enumerate(game.returns(state)) if worth > 0]


PILE = ", ".join(f"green {number}" for number in range(8))
YELLOW = PILE.replace("green", "yellow")


@pytest.mark.parametrize(
    ("top", "held", "expected"),
    [
        ("red 7", "red 3, blue 7, blue 8", {"red 3", "blue 7"}),
        ("red skip", "green skip, blue reverse, red 0", {"red 0", "green skip"}),
        ("red 7", "red 3, wild, wild draw four", {"red 3", "wild", "wild draw four"}),
        ("red 7", "red 3, red 3, blue 8", {"red 3"}),
        ("red 7", "blue 8, yellow draw two", {"draw a card"}),
    ],
)
def test_what_may_be_played(top: str, held: str, expected: set[str]) -> None:
    assert set(options(position(top, held, "red 1"))) == expected


def test_after_a_wild_only_its_colour_counts() -> None:
    state = position("wild", "red 3, green 3, blue 3, wild", "red 1", colour="green")
    assert set(options(state)) == {"green 3", "wild"}


def test_one_card_is_drawn_and_kept_even_if_it_fits() -> None:
    after = play(position("red 7", "blue 8", "red 1", pile="red 9, red 8"), "draw a card")
    assert layout.hands(after) == ["blue 8, red 9", "red 1"]
    assert layout.mover(after) == 1


def test_a_wild_asks_for_a_colour_and_the_next_player_plays_on_it() -> None:
    state = play(position("red 7", "wild, blue 8", "red 1, green 2"), "wild")
    assert (layout.mover(state), options(state)) == (0, list(COLOURS))
    after = play(state, "green")
    assert (layout.mover(after), options(after)) == (1, ["green 2"])
    assert after.history == ("player 0 played wild naming green",)


def test_the_next_player_is_asked_about_a_wild_draw_four() -> None:
    state = position("red 7", "wild draw four, blue 8", "red 1", "red 2", direction=-1)
    state = play(state, "wild draw four", "blue")
    assert (layout.mover(state), options(state)) == (2, ["challenge", "draw four cards"])
    (told,) = (f.text for f in UnoArena(3).observe(state, 2).facts if f.name == "To decide")
    assert (
        told == "whether to challenge the wild draw four of player 0, played on red and naming blue"
    )


@pytest.mark.parametrize(
    ("rest", "answer", "draws", "mover"),
    [
        ("red 3, blue 8", "challenge", [4, 0, 0], 1),
        ("blue 8, blue 7", "challenge", [0, 6, 0], 2),
        ("wild, blue 7", "challenge", [0, 6, 0], 2),
        ("red 3, blue 8", "draw four cards", [0, 4, 0], 2),
        ("blue 8, blue 7", "draw four cards", [0, 4, 0], 2),
    ],
)
def test_a_challenge_is_right_if_the_colour_before_is_held(
    rest: str, answer: str, draws: list[int], mover: int
) -> None:
    """Played on red 7 and naming blue: red counts, blue and wilds do not."""
    state = position("red 7", f"wild draw four, {rest}", "blue 1, red 1", "red 2, red 4", pile=PILE)
    after = play(state, "wild draw four", "blue", answer)
    assert [size - 2 for size in sizes(after)] == draws
    assert layout.mover(after) == mover
    assert after.array[rules.IN_FORCE] == COLOURS.index("blue")


def test_the_colour_before_is_the_one_that_a_wild_named() -> None:
    state = position("wild", "wild draw four, green 3", "red 1", pile=PILE, colour="green")
    assert sizes(play(state, "wild draw four", "red", "challenge")) == [5, 1]


@pytest.mark.parametrize(
    ("card", "direction", "expected"),
    [("red 5", 1, 1), ("red 5", -1, 2), ("red skip", 1, 2), ("red skip", -1, 1),
     ("red reverse", 1, 2), ("red reverse", -1, 1), ("red draw two", 1, 2)],
)  # fmt: skip
def test_whose_turn_it_is_next_of_three(card: str, direction: int, expected: int) -> None:
    state = position("red 7", f"{card}, blue 8", "red 1", "red 2", pile=PILE, direction=direction)
    assert layout.mover(play(state, card)) == expected


@pytest.mark.parametrize(("card", "expected"), [("skip", 0), ("draw two", 0), ("reverse", 1)])
def test_of_two_players(card: str, expected: int) -> None:
    state = position("red 7", f"red {card}, blue 8", "red 1", pile=PILE)
    after = play(state, f"red {card}")
    assert layout.mover(after) == expected
    assert sizes(after) == [1, 3 if card == "draw two" else 1]


@pytest.mark.parametrize("card", ["red 5", "red draw two", "wild", "wild draw four"])
def test_the_last_card_wins_before_it_has_an_effect(card: str) -> None:
    after = play(position("red 7", card, "red 1", pile=PILE), card)
    assert winners(after) == [0]
    assert sizes(after) == [0, 1]


@pytest.mark.parametrize(
    ("held", "moves", "needed"),
    [
        ("blue 8, blue 9", ("draw a card",), 1),
        ("red draw two, blue 8, blue 9", ("red draw two",), 2),
        ("wild draw four, red 8, red 9", ("wild draw four", "blue", "draw four cards"), 4),
        ("wild draw four, red 8, red 9", ("wild draw four", "blue", "challenge"), 4),
        ("wild draw four, blue 8, blue 9", ("wild draw four", "blue", "challenge"), 6),
    ],
)
def test_the_game_ends_when_a_draw_cannot_be_met(
    held: str, moves: tuple[str, ...], needed: int
) -> None:
    """With one card too few nothing is drawn and all who hold the fewest cards win together."""
    pile = [f"green {number}" for number in range(needed)]
    others = ("yellow 1, yellow 2", "yellow 3, yellow 4", "yellow 5, yellow 6, yellow 7")
    enough = play(position("red 7", held, *others, pile=", ".join(pile)), *moves)
    assert UnoArena(4).to_move(enough) != ()
    assert enough.array[cards.PILE] == 0
    short = play(position("red 7", held, *others, pile=", ".join(pile[1:])), *moves)
    assert sizes(short) == [2, 2, 2, 3]
    assert winners(short) == [0, 1, 2]
    assert UnoArena(4).returns(short) == (1, 1, 1, -1)


def test_what_is_not_open_is_refused() -> None:
    state = position("red 7", "red 3, blue 8", "red 1")
    with pytest.raises(IllegalAction, match=r"action 38 is not legal in:\n(.*\n)*player 0: red 3"):
        UnoArena().play(state, (CARD_NAMES.index("blue 8"),))


@few
@given(seeds)
def test_a_deal_gives_seven_cards_each_and_turns_up_a_number(seed: int) -> None:
    for seats in range(2, 11):
        state = UnoArena(seats).deal(np.random.default_rng(seed))
        assert sizes(state) == [7] * seats
        played = layout_stack(state, cards.PLAYED)
        assert played[-1].split()[-1].isdigit()
        assert not any(card.split()[-1].isdigit() for card in played[:-1])
        assert layout.mover(state) == 0


def layout_stack(state: State, at: int) -> list[str]:
    cells = state.array.tolist()
    return [CARD_NAMES[card & 63] for card in cells[at + 1 : at + 1 + cells[at]]]


@few
@given(seeds)
def test_no_card_is_lost_and_none_comes_back(seed: int) -> None:
    """All 108 cards are somewhere, the pile only shrinks, the played cards only grow."""
    game = UnoArena(2 + seed % 9)
    pile, played = 108, 0
    for state, _, _ in walk(game, seed):
        places = [cards.PILE, cards.PLAYED, *(cards.hand_of(s) for s in range(game.num_seats))]
        assert Counter(c for at in places for c in layout_stack(state, at)) == full_deck()
        assert state.array[cards.PILE] <= pile
        assert state.array[cards.PLAYED] >= played
        pile, played = state.array.item(cards.PILE), state.array.item(cards.PLAYED)


@few
@given(seeds)
def test_those_with_the_fewest_cards_win(seed: int) -> None:
    game = UnoArena(2 + seed % 9)
    *_, (last, _, _) = walk(game, seed)
    held = sizes(last)
    assert winners(last) == [seat for seat, size in enumerate(held) if size == min(held)]


def test_the_rule_player_takes_number_then_colour_then_wild_then_wild_draw_four() -> None:
    for held, expected in (
        ("red 3, blue 7, wild", {"blue 7"}),
        ("red 3, blue 8, wild", {"red 3"}),
        ("blue 8, wild, wild draw four", {"wild"}),
        ("blue 8, wild draw four", {"wild draw four"}),
        ("blue 8", {"draw a card"}),
    ):
        assert rule_takes(position("red 7", held, "red 1")) == expected
    state = play(position("red 7", "wild, blue 8, blue 9, green 1, green 2", "red 1"), "wild")
    assert rule_takes(state) == {"green", "blue"}


def rule_takes(state: State) -> set[str]:
    seen = UnoArena().observe(state, layout.mover(state))
    chances = UnoArena().probabilities("rule", seen)
    return {name for name, chance in zip(seen.options, chances, strict=True) if chance > 0}


def test_playouts_value_a_winning_card_at_one_and_know_the_true_cards() -> None:
    """Player 1 holds one card. Played on from the true cards, naming its colour loses at once."""
    state = position("red 7", "wild, blue 8, blue 9", "green 1", pile=YELLOW)
    state = play(state, "wild")
    true = UnoArena().winners(state, ("random", "random"), 200, 1, False)
    named = dict(zip(options(state), (true & 1).mean(axis=1), strict=True))
    assert named["green"] == 0
    assert named["blue"] == 1
    seen = UnoArena().winners(state, ("random", "random"), 200, 1, True)
    assert (seen[1] & 1).mean() > 0
    one = position("red 7", "red 3", "green 1", pile=YELLOW)
    assert (UnoArena().winners(one, ("random", "random"), 20, 1, True) == 1).all()
