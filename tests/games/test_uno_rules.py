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


def test_after_a_drawn_wild_chance_names_the_colour() -> None:
    state = position("red 7", "blue 8", "red 1", pile="wild")
    colours = set()
    for seed in range(40):
        state.array[rules.SEED] = seed
        colours.add(play(state, "draw a card").history[0])
    assert colours == {f"player 0 drew and played wild naming {colour}" for colour in COLOURS}


def test_after_the_last_ply_nobody_has_won() -> None:
    state = position("red 7", "red 3, blue 8", "red 1")
    state.array[rules.PLY] = rules.PLY_CAP - 1
    assert Uno().to_move(state) == (0,)
    late = play(state, "red 3")
    assert (Uno().to_move(late), Uno().returns(late)) == ((), (0, 0))


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
