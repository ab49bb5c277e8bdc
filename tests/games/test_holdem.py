"""Hold'em as a game: observations, how matches end, scripted players, beliefs, playouts."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from gauntlet.agents.search import Search
from gauntlet.games.base import parse_move
from gauntlet.games.capabilities import WIN, measures_of
from gauntlet.games.compiling import derive
from gauntlet.games.contract import values_with_score
from gauntlet.games.holdem import Holdem, State, game, rules
from gauntlet.games.holdem.playouts import DEAL, believe, make_belief
from gauntlet.games.holdem.policies import PAIRS, make_room, preflop
from gauntlet.games.holdem.words import NAMES, parse
from gauntlet.games.playouts import play_on, probabilities, results, simulate
from tests.agents.play import drive, turn_at, unasked
from tests.games import holdem_amounts
from tests.games.bare import Guessed, Judged
from tests.games.cases import final, walk

HANDS = Holdem(mode="hands", hands=2)
ONE = Holdem(mode="hands", hands=1)


def after(played: Any, *names: str, deal: int = 0) -> State:
    """Return the state after these actions of a deal."""
    state: State = played.deal(np.random.default_rng(deal))
    for name in names:
        state = played.play(state, (NAMES.index(name),))
    return state


def test_every_amount_is_as_written_down() -> None:
    """After an intended change: `python -m tests.games.holdem_amounts`."""
    assert holdem_amounts.table() == holdem_amounts.FILE.read_text(encoding="utf-8")


def test_a_move_is_read_in_any_spelling() -> None:
    for action, name in enumerate(NAMES):
        assert parse(str(action)) == parse_move(str(action)) == action
        spellings = (name, name.lower(), f"<{name}>", f"< {name.replace('_', ' ')} >")
        assert {parse(text) for text in (*spellings, name.replace("_", "").title())} == {action}
    for wrong in ("", "8", "RAISE", "<RAISE_4BB>", "call 2"):
        with pytest.raises(ValueError, match="is no action; the actions are FOLD, CHECK"):
            parse(wrong)


def test_every_name_fits_the_format_of_moves_and_is_an_intent() -> None:
    assert tuple(HANDS.intents) == NAMES
    for name in NAMES:
        for text in (name, name.lower().replace("_", " "), name.replace("_", "")):
            assert re.fullmatch(HANDS.move_format, text, re.IGNORECASE)
    assert not re.search(HANDS.move_format, "raise it by 3 bb", re.IGNORECASE)


def test_what_a_seat_sees_holds_no_seed_and_no_hidden_card() -> None:
    for state, seats, _ in walk(Holdem(), 5):
        for seat in seats:
            cells = HANDS.observe(state, seat).view.cells
            assert cells[rules.SEED] == 0
            known = [cell for cell in cells[rules.CARDS : rules.LOG] if cell >= 0]
            street = state.array.item(rules.STREET)
            assert len(known) == 2 + rules.faceup(street)


def test_cards_are_settled_by_the_deal_whatever_was_played() -> None:
    """Hand h of deal d is the same in every mode and against all opponents; seats take turns."""
    dealt: dict[int, set[tuple[int, ...]]] = {}
    for played in (Holdem(), Holdem(hands=50, raises="neuron"), Holdem(mode="hands", hands=6)):
        for policy in ("random", "caller", "maniac"):
            rng, state = np.random.default_rng(1), played.deal(np.random.default_rng(9))
            while seats := played.to_move(state):
                hand = state.array.item(rules.HAND)
                told = tuple(state.array[rules.CARDS : rules.LOG].tolist())
                dealt.setdefault(hand, set()).add(told)
                assert state.array[rules.DEALER] == hand % 2
                chances = probabilities(played, policy, played.observe(state, seats[0]))
                options = played.legal(state, seats[0])
                state = played.play(state, (options[int(rng.choice(len(options), p=chances))],))
    assert len(dealt) > 5
    assert {len(told) for told in dealt.values()} == {1}
    assert len({cards for told in dealt.values() for cards in told}) == len(dealt)


def test_a_match_ends_with_all_chips_or_is_flagged() -> None:
    ended = [final(Holdem(), seed) for seed in range(20)]
    assert all(sorted(Holdem().returns(state)) == [-1.0, 1.0] for state in ended)
    assert {Holdem().measure(state)["capped"] for state in ended} == {(0.0, 0.0)}
    short = Holdem(hands=1)
    state = after(short, "RAISE_3BB", "FOLD")
    assert short.to_move(state) == ()
    assert short.returns(state) == (0.01, -0.01)
    found = values_with_score(short, state)
    assert found["capped"] == (1.0, 1.0)
    assert found[WIN.name] == (1.0, 0.0)
    assert found["bb_per_hand"] == (1.0, -1.0)
    assert found["hands_won"] == (1.0, 0.0)
    assert "over after the last hand: player 0 +2 chips, player 1 -2" in short.show(state)


def test_a_match_is_judged_by_wins_and_hands_by_chips() -> None:
    assert measures_of(Holdem())[0] == WIN
    assert [one.name for one in measures_of(Holdem())].count("win") == 1
    assert measures_of(HANDS)[0].name == "bb_per_hand"
    state = final(HANDS, 3)
    first, second = HANDS.measure(state)["bb_per_hand"]
    assert first == -second == HANDS.returns(state)[0] * HANDS.stack / HANDS.big_blind


def tied(paper_bugs: bool) -> State:
    """A hand that is checked down on a board that both play."""
    played = Holdem(mode="hands", hands=1, paper_bugs=paper_bugs)
    state = after(played, "CALL")
    array = state.array.copy()
    array[rules.CARDS : rules.LOG] = [0, 5, 1, 4, 51, 46, 41, 36, 31]
    state = State(array, state.history)
    for _ in range(7):
        state = played.play(state, (rules.CHECK,))
    return state


def test_a_tied_pot_is_split_and_with_paper_bugs_player_0s() -> None:
    assert tied(paper_bugs=False).array[rules.STACKS : rules.STACKS + 2].tolist() == [200, 200]
    assert tied(paper_bugs=False).array[rules.TIES] == 1
    assert "the pot is split, 2 to player 0 and 2 to player 1" in tied(False).history
    assert tied(paper_bugs=True).array[rules.STACKS : rules.STACKS + 2].tolist() == [202, 198]
    assert tied(paper_bugs=True).array[rules.WINS] == 1


def test_scripted_players_play_as_they_say() -> None:
    for seed in range(40):
        for state, seats, _ in walk(ONE, seed):
            for seat in seats:
                seen = ONE.observe(state, seat)
                chances = {
                    policy: dict(zip(seen.options, probabilities(ONE, policy, seen), strict=True))
                    for policy in ONE.policies
                }
                calls = "CHECK" if "CHECK" in seen.options else "CALL"
                raises = "RAISE_POT" if "RAISE_POT" in seen.options else calls
                assert chances["caller"][calls] == chances["maniac"][raises] == 1
                few = {name for name, chance in chances["neuron_random"].items() if chance}
                assert few == set(seen.options) - {"ALL_IN", "RAISE_3BB"}
                (taken,) = (name for name, chance in chances["tight"].items() if chance)
                parts = dict.fromkeys(seen.options, 0.0)
                for name, part in ((calls, 0.125), (raises, 0.125), (taken, 0.75)):
                    parts[name] += part
                assert chances["mixed"] == pytest.approx(parts)


def test_strengths_before_the_flop_are_those_of_tables() -> None:
    """Against a random hand, all-in: aces win 85.2%, 72 offsuit 34.6%, 32 offsuit 32.3%."""
    found = preflop()
    aces, seven_two, three_two = found[13 * 12 + 12], found[13 * 0 + 5], found[13 * 0 + 1]
    assert aces == pytest.approx(0.852, abs=0.025)
    assert seven_two == pytest.approx(0.346, abs=0.025)
    assert three_two == pytest.approx(0.323, abs=0.025)


def believed(state: State, policy: str) -> np.ndarray:
    """The weight of each of PAIRS for the seat to move, if the other plays by `policy`."""
    belief = make_belief()
    believe(state.array, ONE.code(policy), make_room(), belief)
    return np.diff(belief.sums, prepend=0)


def test_what_is_believed_is_bayes_rule_over_the_moves() -> None:
    """Against the policy's own chances of every move, hand of two cards by hand."""
    line = ("RAISE_POT", "CALL", "CHECK", "RAISE_HALF_POT", "CALL", "CHECK", "CHECK")
    state = after(ONE, *line, deal=4)
    (seat,) = ONE.to_move(state)
    got = believed(state, "mixed")
    expected = []
    for first, second in PAIRS[::45].tolist():
        array = after(ONE, deal=4).array.copy()
        seen = [*array[rules.CARDS + 2 * seat :][:2], *array[rules.BOARD :][:5]]
        array[rules.CARDS + 2 * (1 - seat) :][:2] = first, second
        replay, chance = State(array), float(not {first, second} & set(map(int, seen)))
        for name in line:
            (mover,) = ONE.to_move(replay)
            told = ONE.observe(replay, mover)
            if mover != seat:
                chance *= probabilities(ONE, "mixed", told)[told.options.index(name)]
            replay = ONE.play(replay, (NAMES.index(name),))
        expected.append(chance)
    assert len(set(expected)) > 3
    assert got[::45] == pytest.approx(expected)


@pytest.mark.parametrize("measure", ["bb_per_hand", "hands_won"])
def test_playouts_by_the_rules_go_as_compiled_ones(measure: str) -> None:
    """From true cards; the rules' playouts draw other luck, so means are compared."""
    state, policies = after(HANDS, "RAISE_3BB", deal=3), ("random", "mixed")
    mine = results(Judged(HANDS), state, 1, policies, 60, 5, False, measure)
    theirs = results(HANDS, state, 1, policies, 4000, 5, False, measure)
    assert mine.shape == (len(HANDS.legal(state, 1)), 60, 2)
    error = mine.std(axis=1) / 60**0.5 + theirs.std(axis=1) / 4000**0.5 + 1e-9
    assert (abs(mine.mean(axis=1) - theirs.mean(axis=1)) < 4.5 * error).all()


def test_compiled_games_are_the_games_of_the_rules() -> None:
    """Players without randomness: move by move the same end as in `scores`."""
    found = HANDS.scores(("tight", "maniac"), 30, 6, "bb_per_hand")
    for number in range(30):
        array = HANDS.settings.copy()
        seed = np.uint64(derive(6, DEAL, number)).astype(np.int64)
        rules.deal(array, int(seed))
        start = State(array, ("the first hand is dealt",))
        last, _ = play_on(Guessed(HANDS), start, ("tight", "maniac"), np.random.default_rng(0))
        assert HANDS.measure(last)["bb_per_hand"] == tuple(found[number])
    assert found.std() > 0


def test_a_seats_options_are_worth_what_it_knows() -> None:
    """Other hidden cards change nothing; without `hidden` they do."""
    state = after(HANDS, "RAISE_3BB", "CALL", deal=3)
    (seat,) = HANDS.to_move(state)
    other = HANDS.sample(HANDS.observe(state, seat), np.random.default_rng(1))
    assert other != state
    asked = (seat, ("mixed", "mixed"), 40, 2)
    mine, theirs = (results(HANDS, one, *asked, True, "bb_per_hand") for one in (state, other))
    assert (mine == theirs).all()
    mine, theirs = (results(HANDS, one, *asked, False, "bb_per_hand") for one in (state, other))
    assert (mine != theirs).any()


def test_many_playouts_go_in_parts_that_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiled call cannot be interrupted, so it is a short one."""
    state = after(HANDS, "RAISE_3BB", deal=3)
    asked = (state, 1, ("mixed", "random"), 50, 5, True, "bb_per_hand")
    whole = results(HANDS, *asked), simulate(HANDS, ("mixed", "tight"), 50, 1)
    monkeypatch.setattr(game, "AT_ONCE", 70)
    parts = results(HANDS, *asked), simulate(HANDS, ("mixed", "tight"), 50, 1)
    assert all((one == other).all() for one, other in zip(whole, parts, strict=True))


def test_later_hands_count_alike_after_every_option() -> None:
    """What follows this hand is the same for all: folding only gives it away."""
    state = after(HANDS, "RAISE_3BB", deal=3)
    found = results(HANDS, state, 1, ("caller", "caller"), 200, 5, True, "bb_per_hand")
    alone = results(ONE, after(ONE, "RAISE_3BB", deal=3), 1, ("caller", "caller"), 200, 5, True,
                    "bb_per_hand")  # fmt: skip
    gained, least = 2 * (found - found[0]), alone - alone[0]
    assert gained == pytest.approx(least)


def test_search_calls_with_the_best_and_folds_the_worst() -> None:
    def chosen(cards: tuple[int, int]) -> str:
        state = after(ONE, "ALL_IN", deal=3)
        array = state.array.copy()
        array[rules.CARDS : rules.LOG] = [20, 25, *cards, 2, 7, 13, 18, 40]
        turn = turn_at(ONE, State(array, state.history), 1)
        decision, _ = drive(Search(400, "mixed"), turn, unasked)
        return turn.observation.options[decision.option]

    assert chosen((51, 50)) == "CALL"
    assert chosen((21, 0)) == "FOLD"
