"""UNO Arena's rules, one by one, on positions laid out in words, and what holds in every game."""

from __future__ import annotations

from gauntlet.games.uno import State
from gauntlet.games.uno import rules as cards
from gauntlet.games.uno.arena import UnoArena, rules
from tests.games import test_uno_rules as layout


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


def winners(state: State) -> list[int]:
    game = UnoArena(int(state.array[cards.SEATS]))
    assert game.to_move(state) == ()
    return [seat for seat, worth in enumerate(game.returns(state)) if worth > 0]


PILE = ", ".join(f"green {number}" for number in range(8))
YELLOW = PILE.replace("green", "yellow")


def test_the_next_player_is_asked_about_a_wild_draw_four() -> None:
    state = position("red 7", "wild draw four, blue 8", "red 1", "red 2", direction=-1)
    state = play(state, "wild draw four", "blue")
    assert (layout.mover(state), options(state)) == (2, ["challenge", "draw four cards"])
    (told,) = (f.text for f in UnoArena(3).observe(state, 2).facts if f.name == "To decide")
    assert (
        told == "whether to challenge the wild draw four of player 0, played on red and naming blue"
    )


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
