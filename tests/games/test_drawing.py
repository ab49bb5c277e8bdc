"""Drawings of games: they show all that a seat knows, nothing else, and escape everything."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet.common.markup import tag
from gauntlet.games import drawing
from gauntlet.games.base import Fact, Game, Observation, default_text_move
from gauntlet.games.codenames import Codenames
from gauntlet.games.codenames.game import KINDS, SPYMASTERS
from gauntlet.games.hive import Hive
from gauntlet.games.hive import rules as bugs_rules
from gauntlet.games.hive import words as bugs
from gauntlet.games.holdem import drawing as holdem
from gauntlet.games.holdem import rules as poker
from gauntlet.games.holdem import words
from gauntlet.games.holdem.game import Holdem
from gauntlet.games.rock_paper_scissors import HANDS, RockPaperScissors
from gauntlet.games.santorini import Santorini
from gauntlet.games.santorini import rules as heights
from gauntlet.games.sea_battle import SeaBattle
from gauntlet.games.sea_battle import rules as sea
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.games.uno.arena.game import ANSWERS, UnoArena
from gauntlet.games.uno.game import Uno
from gauntlet.games.uno.state import hand
from gauntlet.games.uno.words import CARD_NAMES, COLOURS
from gauntlet.games.watch import Watch
from tests.games.cases import final

SHORT = settings(max_examples=12, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)
GAMES = (
    *(Uno(2), Uno(4), UnoArena(3), Holdem(), Holdem(mode="hands", hands=2)),
    *(TicTacToe(), TicTacToe(size=5, win_length=4), RockPaperScissors(rounds=25)),
    *(Santorini(), Santorini(paper_bugs=True), SeaBattle(most_turns=9), SeaBattle(num_seats=6)),
    *(Codenames(), Codenames(4, paper_bugs=True)),
)
WATCH = Watch(of=RockPaperScissors(rounds=20))


class Page(HTMLParser):
    """A browser's view of a drawing: its elements, their names and labels."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.labels: list[str] = []
        self.words = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        given = dict(attrs)
        assert not [key for key in given if key.startswith("on")]
        if given.get("role") == "img" and given.get("aria-label"):
            self.labels.append(str(given["aria-label"]))

    def handle_data(self, data: str) -> None:
        self.words += data


def course(game: Game[Any], seed: int, most: int = 60) -> Iterator[Any]:
    """The states of a random game, the last one too."""
    rng = np.random.default_rng(seed)
    state = game.deal(rng)
    for _ in range(most):
        yield state
        seats = game.to_move(state)
        if not seats:
            return
        legal = [game.legal(state, seat) for seat in seats]
        taken = [options[int(rng.integers(len(options)))] for options in legal]
        state = game.play(state, [default_text_move(option, rng) for option in taken])


def some_state(game: Game[Any], seed: int) -> Any:
    """Return a state of a random game that is not over."""
    states = [state for state in course(game, seed) if game.to_move(state)]
    return states[seed % len(states)]


@pytest.mark.parametrize("game", GAMES, ids=lambda game: type(game).__name__)
def test_every_state_has_a_drawing_beside_its_game(game: Game[Any]) -> None:
    assert drawing.has_drawing(game)
    for state in list(course(game, 7, most=400))[::9]:
        assert Page(drawing.draw_state(game, state)).names[0] == "div"
        for seat in game.to_move(state):
            assert Page(drawing.draw_view(game, game.observe(state, seat))).names[0] == "div"


@SHORT
@given(seed=SEEDS)
@pytest.mark.parametrize("game", [Uno(3), UnoArena(3)], ids=["uno", "arena"])
def test_a_player_of_uno_sees_the_own_hand_and_no_other(game: Game[Any], seed: int) -> None:
    state = some_state(game, seed)
    (seat,) = game.to_move(state)
    page = Page(drawing.draw_view(game, game.observe(state, seat)))
    shown = Counter(label for label in page.labels if "face down" not in label)
    top = state.array.item(6) & 63
    own = [CARD_NAMES[kind] for kind in hand(state.array, seat)]
    assert shown == Counter([*own, CARD_NAMES[top]])
    sizes = [len(hand(state.array, other)) for other in range(3) if other != seat]
    for size in sizes:
        assert f"{size} card{'s' * (size != 1)} face down" in page.labels


@SHORT
@given(seed=SEEDS)
@pytest.mark.parametrize("game", [Uno(3), UnoArena(3)], ids=["uno", "arena"])
def test_with_all_cards_open_every_card_of_every_hand_is_there(game: Game[Any], seed: int) -> None:
    state = some_state(game, seed)
    labels = Counter(Page(drawing.draw_state(game, state)).labels)
    held = Counter(CARD_NAMES[kind] for seat in range(3) for kind in hand(state.array, seat))
    assert held <= labels


@SHORT
@given(seed=SEEDS)
def test_a_player_of_holdem_sees_two_cards_and_the_board_of_now(seed: int) -> None:
    game = Holdem()
    state = some_state(game, seed)
    (seat,) = game.to_move(state)
    cells = state.array
    up = poker.faceup(cells.item(poker.STREET))
    board = cells[poker.BOARD : poker.BOARD + up].tolist()
    names = [name(number) for number in [*cells[poker.hole_slice(seat)].tolist(), *board]]
    page = Page(drawing.draw_view(game, game.observe(state, seat)))
    legal = game.legal(state, seat)
    actions = [f"{words.NAMES[one]}: {words.meaning(cells, one)}" for one in legal]
    assert page.labels[-len(actions) :] == actions
    cards = [label for label in page.labels[: -len(actions)] if "chips" not in label]
    assert Counter(cards) == Counter([*names, *["a card face down"] * (2 + 5 - up)])
    for field in (poker.STACKS, poker.BETS):
        for other in range(2):
            assert f"{cells.item(field + other)} chips" in page.labels
    whole = Page(drawing.draw_state(game, state)).labels
    assert {name(number) for number in cells[poker.CARDS : poker.BOARD].tolist()} <= set(whole)
    assert "a card face down" not in whole


def name(number: int) -> str:
    """ "ace of spades"."""
    return f"{holdem.RANKS[number >> 2]} of {holdem.SUITS[number & 3][0]}"


@SHORT
@given(seed=SEEDS)
def test_every_mark_is_drawn_and_every_free_cell_has_its_options_number(seed: int) -> None:
    game = TicTacToe(size=4)
    state = some_state(game, seed)
    (seat,) = game.to_move(state)
    html = str(drawing.draw_view(game, game.observe(state, seat)))
    for number, kind in enumerate(("d-cross", "d-ring")):
        assert html.count(f'class="{kind}"') == state.marks[number].bit_count()
    numbers = [int(found) for found in re.findall(r'class="d-word">(\d+)<', html)]
    assert numbers == list(range(1, 17 - len(state.moves)))


def test_the_line_that_won_is_struck_through_and_no_other() -> None:
    game, rng = TicTacToe(), np.random.default_rng(0)
    state = game.deal(rng)
    for cell in (0, 1, 4, 2, 8):
        assert "d-won" not in drawing.draw_state(game, state)
        state = game.play(state, [cell])
    assert 'class="d-won" x1="172.0" y1="172.0" x2="52.0" y2="52.0"' in drawing.draw_state(
        game, state
    )


@SHORT
@given(seed=SEEDS)
def test_towers_pawns_and_options_are_where_they_are(seed: int) -> None:
    game = Santorini()
    state = some_state(game, seed)
    (seat,) = game.to_move(state)
    html = str(drawing.draw_view(game, game.observe(state, seat)))
    levels = state.cells[: heights.SQUARES]
    assert html.count('class="d-storey"') == sum(min(level, 3) for level in levels)
    assert html.count('class="d-dome"') == levels.count(heights.COMPLETE)
    placed = [at for at in state.cells[heights.PAWNS : heights.PAWNS + 4] if at >= 0]
    assert html.count('class="d-pawn ') == len(placed)
    numbers = [int(found) for found in re.findall(r'class="d-word d-option">(\d+)<', html)]
    assert numbers == list(range(1, len(game.legal(state, seat)) + 1))
    assert "d-option" not in drawing.draw_state(game, state)


@SHORT
@given(seed=SEEDS)
def test_ships_afloat_are_drawn_and_what_others_chose_is_not(seed: int) -> None:
    game = SeaBattle()
    state = some_state(game, seed)
    for seat in game.to_move(state):
        seen = game.observe(state, seat)
        html = str(drawing.draw_view(game, seen))
        damage = state.cells[sea.DAMAGE : sea.DAMAGE + sea.SHIPS]
        assert html.count('class="d-pawn ') == sum(harm < sea.SUNK for harm in damage)
        assert html.count(" d-own") == 1
        other = game.sample(seen, np.random.default_rng(seed))
        assert html == drawing.draw_view(game, game.observe(other, seat))


def test_rounds_are_told_last_first_with_who_won_them() -> None:
    game = RockPaperScissors(rounds=4)
    state = ((0, 1), (2, 1), (0, 2))
    words = Page(drawing.draw_state(game, state)).words
    assert words.index(HANDS[2]) < words.index(HANDS[1])
    assert "3 of 4 rounds played, score 2:1" in words


@SHORT
@given(seed=SEEDS)
def test_a_spymaster_sees_the_key_and_an_operative_only_what_lies_open(seed: int) -> None:
    game = Codenames(4)
    for state in course(game, seed):
        opened = {place for turn in state.turns for place in turn.guesses}
        named = [
            f"{word}: {KINDS[kind]}" for word, kind in zip(state.words, state.key, strict=True)
        ]
        key = [told + ", open" * (place in opened) for place, told in enumerate(named)]
        assert Page(drawing.draw_state(game, state)).labels == key
        known = [
            told if place in opened else f"{word}: hidden"
            for place, (word, told) in enumerate(zip(state.words, key, strict=True))
        ]
        for seat in game.to_move(state):
            labels = Page(drawing.draw_view(game, game.observe(state, seat))).labels
            assert labels == (key if seat in SPYMASTERS else known)


NO_PLACE: dict[type, Callable[[str], bool]] = {
    Uno: lambda option: False,
    UnoArena: lambda option: option in (*COLOURS, *ANSWERS),
    Holdem: lambda option: False,
    TicTacToe: lambda option: False,
    RockPaperScissors: lambda option: False,
    Santorini: lambda option: False,
    SeaBattle: lambda option: False,
    Codenames: lambda option: option == "stop guessing" or option.startswith("clue "),
    Hive: lambda option: option == "pass",
    Watch: lambda option: True,
}
"""The options of each drawn game for which there is nothing to click."""


@SHORT
@given(seed=SEEDS)
@pytest.mark.parametrize(
    "game", [*GAMES, Hive(max_turns=20), WATCH], ids=lambda g: type(g).__name__
)
def test_every_move_with_a_place_is_marked_there_and_nothing_else_is(
    game: Game[Any], seed: int
) -> None:
    state = some_state(game, seed)
    for seat in game.to_move(state):
        seen = game.observe(state, seat)
        html = drawing.draw_view(game, seen)
        first, then = (
            {
                int(move)
                for found in re.findall(f'data-{name}="([0-9 ]+)"', html)
                for move in found.split()
            }
            for name in ("move", "then")
        )
        no_place = NO_PLACE[type(game)]
        assert first == {at for at, name in enumerate(seen.options) if not no_place(name)}
        assert then <= first
        assert not re.search("data-(move|then)", drawing.draw_state(game, state))


EVIL = '<script>alert(1)</script>"\u202e'


class Bare:
    """A game without a drawing, with malicious text."""

    num_seats = 2

    def show(self, state: Any) -> str:
        return EVIL


def test_words_of_others_are_text_in_every_place() -> None:
    seen = Observation(EVIL, 0, EVIL, (Fact(EVIL, f"{EVIL}\n{EVIL}"),), (EVIL,), (EVIL,))
    game: Any = Bare()
    for html in (
        drawing.draw_state(game, None),
        drawing.draw_view(game, seen),
        drawing.draw_facts(seen),
        tag("p", EVIL, title=EVIL),
    ):
        page = Page(html)
        assert "script" not in page.names
        assert "\u202e" not in html
        assert "<script>" in page.words


@pytest.mark.parametrize("seed", [1, 2])
def test_every_piece_is_drawn_once(seed: int) -> None:
    game = Hive(max_turns=12)
    state = final(game, seed)
    html = str(drawing.draw_state(game, state))
    assert html.count("<polygon") == len(bugs.lying(bugs.pieces_by_cell(state.array)))
    named = re.findall(r"<text[^>]*>(\w+)</text>", html)
    placed = [bugs.NAMES[piece] for piece in bugs.pieces_by_cell(state.array).values()]
    assert sorted(named) == sorted(placed)
    assert html.count("d-hex d-light") == sum(name[0] == "w" for name in placed)
    held = re.findall(r'class="d-piece [^>]*>(\w+)<', html)
    assert sorted(held + placed) == sorted(bugs.NAMES)


def test_neighbours_lie_side_by_side() -> None:
    """A hex's neighbours are its six nearest, all at one distance."""
    game = Hive()
    state = game.deal(np.random.default_rng(0))
    for _ in range(6):
        state = game.play(state, game.legal(state, state.array.item(bugs_rules.PLY) % 2)[-1:])
    html = str(drawing.draw_view(game, game.observe(state, 0)))
    found = re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>(\w+)<', html)
    at = {name: complex(float(x), float(y)) for x, y, name in found}
    cells = {bugs.NAMES[piece]: cell for cell, piece in bugs.pieces_by_cell(state.array).items()}
    for one in at:
        beside = bugs.neighbours(bugs.pieces_by_cell(state.array), cells[one])
        near = {name for name in at if name != one and abs(at[name] - at[one]) < 50}
        assert near == {bugs.NAMES[piece] for piece in beside}


def test_a_table_without_pieces_says_so() -> None:
    game = Hive()
    html = str(drawing.draw_state(game, game.deal(np.random.default_rng(0))))
    assert "nothing lies on the table yet" in html
    assert "player 0, white, to move" in html
