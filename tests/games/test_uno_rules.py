"""UNO's rules, one by one, on positions laid out in words."""

from __future__ import annotations

import pytest

from gauntlet.common.errors import IllegalAction
from gauntlet.games.uno import State, Uno, rules
from gauntlet.games.uno.words import CARD_NAMES, COLOURS, MOVE_NAMES


def position(
    top: str,
    *hands: str,
    pile: str = "",
    colour: str = "",
    direction: int = 1,
    to_move: int = 0,
) -> State:
    """A position. Cards are named as the game names them; `pile` lists the next card first.

    Cards not named lie among the played ones, under the top card.
    """
    left = rules.DECK.tolist()
    stacks = {rules.PILE: take(left, pile)[::-1]}
    stacks |= {rules.hand_of(seat): take(left, cards) for seat, cards in enumerate(hands)}
    (card,) = take(left, top)
    stacks[rules.PLAYED] = [*left, card]
    array = rules.blank(len(hands))
    array[rules.SEATS], array[rules.TO_MOVE], array[rules.DIRECTION] = (
        len(hands),
        to_move,
        direction,
    )
    array[rules.TOP], array[rules.TRAIT] = card, rules.trait_of(card)
    array[rules.TOP_BY] = array[rules.WINNER] = -1
    array[rules.COLOUR] = COLOURS.index(colour) if colour else (card & 63) // 15
    for at, cards in stacks.items():
        array[at] = len(cards)
        array[at + 1 : at + 1 + len(cards)] = cards
    return State(array)


def take(left: list[int], names: str) -> list[int]:
    """Takes the named cards from those left."""
    taken = []
    for name in names.split(", ") if names else []:
        card = next(card for card in left if CARD_NAMES[card & 63] == name)
        left.remove(card)
        taken.append(card)
    return taken


def options(state: State, quirks: bool = False) -> str:
    game = Uno(int(state.array[rules.SEATS]), quirks)
    (seat,) = game.to_move(state)
    return ", ".join(MOVE_NAMES[action] for action in game.legal(state, seat))


def play(state: State, *moves: str) -> State:
    for move in moves:
        state = Uno(int(state.array[rules.SEATS])).play(state, (MOVE_NAMES.index(move),))
    return state


def hands(state: State) -> list[str]:
    cells = state.array.tolist()
    starts = [rules.hand_of(seat) for seat in range(cells[rules.SEATS])]
    return [
        ", ".join(CARD_NAMES[c & 63] for c in cells[at + 1 : at + 1 + cells[at]]) for at in starts
    ]


def mover(state: State) -> int:
    return int(state.array[rules.TO_MOVE])


@pytest.mark.parametrize(
    ("top", "held", "expected"),
    [
        ("red 7", "red 3, green 7, blue 8", "red 3, green 7"),
        ("red skip", "green skip, blue reverse, red 0", "red 0, green skip"),
        ("red 7", "blue 8, wild", "wild naming red, wild naming green, "
         "wild naming blue, wild naming yellow"),
        ("red 7", "blue 8, wild draw four", "wild draw four naming red, "
         "wild draw four naming green, wild draw four naming blue, wild draw four naming yellow"),
        ("red 7", "red 8, wild draw four", "red 8"),
        ("red 7", "blue 8, yellow draw two", "draw a card"),
    ],
)  # fmt: skip
def test_what_may_be_played(top: str, held: str, expected: str) -> None:
    assert options(position(top, held, "red 1")) == expected


def test_a_wild_draw_four_waits_until_no_wild_is_left() -> None:
    assert "draw four" not in options(position("red 7", "blue 8, wild, wild draw four", "red 1"))


def test_after_a_wild_only_its_colour_counts() -> None:
    state = position("wild", "red 3, green 3, blue 3", "red 1", colour="green")
    assert options(state) == "green 3"


def test_equal_cards_are_one_option_by_default_and_listed_twice_with_quirks() -> None:
    state = position("red 7", "blue 7, red 3, blue 7", "red 1")
    assert options(state) == "red 3, blue 7"
    assert options(state, quirks=True) == "blue 7, red 3, blue 7"


def test_two_wilds_are_listed_once_where_the_first_stands() -> None:
    state = position("red 7", "blue 1, wild, red 3, wild", "red 1")
    wilds = ", ".join(f"wild naming {colour}" for colour in COLOURS)
    assert options(state, quirks=True) == f"{wilds}, red 3"


@pytest.mark.parametrize(
    ("card", "stays"),
    [("red 9", False), ("red skip", False), ("blue 7", True), ("blue 9", True), ("wild", False)],
)
def test_a_drawn_card_plays_itself_by_colour_or_if_wild_but_not_by_number(
    card: str, stays: bool
) -> None:
    state = position("red 7", "blue 8", "red 1, red 2", pile=f"{card}, green 1")
    after = play(state, "draw a card")
    assert hands(after)[0] == (f"blue 8, {card}" if stays else "blue 8")
    assert CARD_NAMES[after.array[rules.TOP] & 63] == ("red 7" if stays else card)
    told = "drew a card" if stays else f"drew and played {card}"
    assert after.history[0].startswith(f"player 0 {told}")


def test_a_drawn_skip_takes_effect_but_a_drawn_wild_draw_four_does_not() -> None:
    skipped = play(position("red 7", "blue 8", "red 1", "red 2", pile="red skip"), "draw a card")
    assert mover(skipped) == 2
    state = position("red 7", "blue 8", "red 1", "red 2", pile="wild draw four, red 3, red 4")
    drawn = play(state, "draw a card")
    assert (mover(drawn), hands(drawn)) == (1, ["blue 8", "red 1", "red 2"])


def test_after_a_drawn_wild_chance_names_the_colour() -> None:
    state = position("red 7", "blue 8", "red 1", pile="wild")
    colours = set()
    for seed in range(40):
        state.array[rules.SEED] = seed
        colours.add(play(state, "draw a card").history[0])
    assert colours == {f"player 0 drew and played wild naming {colour}" for colour in COLOURS}


@pytest.mark.parametrize(
    ("card", "direction", "expected"),
    [
        ("red 5", 1, 1),
        ("red 5", -1, 2),
        ("red skip", 1, 2),
        ("red skip", -1, 1),
        ("red reverse", 1, 2),
        ("red reverse", -1, 1),
        ("red draw two", 1, 2),
    ],
)
def test_whose_turn_it_is_next_of_three(card: str, direction: int, expected: int) -> None:
    pile = "green 1, green 2"
    state = position("red 7", f"{card}, blue 8", "red 1", "red 2", pile=pile, direction=direction)
    assert mover(play(state, card)) == expected


@pytest.mark.parametrize(("card", "expected"), [("skip", 0), ("draw two", 0), ("reverse", 1)])
def test_of_two_players_a_skip_lets_play_again_and_a_reverse_does_not(
    card: str, expected: int
) -> None:
    state = position("red 7", f"red {card}, blue 8", "red 1", pile="green 1, green 2")
    assert mover(play(state, f"red {card}")) == expected


def test_draw_two_and_wild_draw_four_fill_the_next_hand() -> None:
    pile = "green 1, green 2, green 3, green 4, green 5"
    two = play(position("red 7", "red draw two, blue 8", "red 1", pile=pile), "red draw two")
    assert hands(two) == ["blue 8", "red 1, green 1, green 2"]
    state = position("red 7", "wild draw four, blue 8", "red 1", pile=pile)
    four = play(state, "wild draw four naming green")
    assert hands(four) == ["blue 8", "red 1, green 1, green 2, green 3, green 4"]
    assert (mover(four), int(four.array[rules.COLOUR])) == (0, COLOURS.index("green"))


def test_the_first_empty_hand_wins_and_its_last_card_still_counts() -> None:
    state = position("red 7", "red draw two", "red 1", "red 2", pile="green 1, green 2")
    won = play(state, "red draw two")
    assert Uno(3).to_move(won) == ()
    assert Uno(3).returns(won) == (1, -1, -1)
    assert hands(won) == ["", "red 1, green 1, green 2", "red 2"]


def test_after_the_last_ply_nobody_has_won() -> None:
    state = position("red 7", "red 3, blue 8", "red 1")
    state.array[rules.PLY] = rules.PLY_CAP - 1
    assert Uno().to_move(state) == (0,)
    late = play(state, "red 3")
    assert (Uno().to_move(late), Uno().returns(late)) == ((), (0, 0))


@pytest.mark.parametrize(
    ("action", "pile", "shuffled"),
    [
        ("draw a card", "", True),
        ("draw a card", "green 1", False),
        ("red draw two", "green 1", True),
        ("red draw two", "green 1, green 2", False),
        ("wild draw four naming red", "green 1, green 2, green 3", True),
    ],
)
def test_when_the_pile_is_short_all_played_cards_make_a_new_one(
    action: str, pile: str, shuffled: bool
) -> None:
    held = {"r": "red draw two", "w": "wild draw four"}.get(action[0], "blue 8")
    top = "red 7" if action[0] == "r" else "yellow 9"
    after = play(position(top, f"{held}, blue 6", "red 1", pile=pile), action).array
    assert after[rules.SHUFFLES] == shuffled
    if shuffled:
        held_cards = after[rules.hand_of(0)] + after[rules.hand_of(1)]
        assert after[rules.PILE] + after[rules.PLAYED] + held_cards == 108
        assert after[rules.PLAYED] == after[rules.AUTO]


def test_where_no_card_is_left_a_draw_takes_what_there_is() -> None:
    left = rules.DECK.tolist()
    take(left, "red 7, wild draw four, blue 8")
    rest = ", ".join(CARD_NAMES[card & 63] for card in left)
    state = position("red 7", "wild draw four, blue 8", rest)
    two_drawn = play(state, "wild draw four naming red")
    assert len(hands(two_drawn)[1].split(", ")) == len(left) + 2
    none_drawn = play(two_drawn, "draw a card")
    assert (mover(none_drawn), hands(none_drawn)[0]) == (1, "blue 8")


def test_an_illegal_move_names_the_move_and_the_position() -> None:
    state = position("red 7", "blue 8, red 3", "red 1")
    with pytest.raises(IllegalAction, match=r"'blue 8' is not legal in:\n(.*\n)*player 0: blue 8"):
        play(state, "blue 8")
    with pytest.raises(IllegalAction, match="action 61 is not legal"):
        Uno().play(state, (61,))
