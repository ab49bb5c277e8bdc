"""Requirements on a game's optional capabilities (games/capabilities.py), checked for every game of
conf/game that has them."""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any

import numpy as np
import pytest
from scipy.stats import fisher_exact

from gauntlet.games import drawing
from gauntlet.games.base import (
    Fact,
    Game,
    Observation,
    TextAction,
    TextMove,
    default_text_move,
    move_fault,
)
from gauntlet.games.capabilities import (
    MATCH_SCORE,
    WIN,
    HasMeasures,
    HasRuleHeadings,
    Sampled,
    Simulated,
    Speaking,
    Valued,
    full_rules,
    has_draws,
    judgeable_measures,
    measures_of,
    nothing_hidden,
    seatings_of,
)
from gauntlet.games.contract import values_with_score
from gauntlet.games.playouts import policies_of, probabilities, sample, simulate
from gauntlet.games.uno import Uno
from tests.games import test_conformance as conformance
from tests.games.cases import CASES, HIDDEN, NAMED, ONE_WINNER, Match, match_of, unseen_by

game, matches = conformance.game, conformance.matches

SECRETIVE = (
    *("air_land_sea", "arctic_scavengers", "are_you_the_traitor", "codenames", "holdem", "pit"),
    *("sea_battle", "two_rooms", "uno_arena"),
)
"""Games of ours with hidden information and a `sample`."""


def test_what_is_hidden_cannot_be_read_off(game: Game[Any], matches: list[Match]) -> None:
    """Exchanging all that a seat cannot see changes nothing of what it is told or may do."""
    for match in matches:
        keeps_secrets(game, match)


def keeps_secrets(game: Game[Any], match: Match) -> None:
    rng = np.random.default_rng(match.seed)
    for state, seat, seen in match.views:
        if nothing_hidden(game) or isinstance(game, Sampled):
            other = sample(game, seen, rng)
            assert other == state or not nothing_hidden(game)
        elif type(game) in HIDDEN:
            other = HIDDEN[type(game)](seat, state, rng)
        else:
            pytest.skip("the game does not say how to exchange what it hides: it has no sample")
        assert game.observe(other, seat) == seen
        assert game.legal(other, seat) == game.legal(state, seat)
        assert seat in game.to_move(other)


@pytest.mark.parametrize("name", SECRETIVE)
def test_a_fact_that_tells_a_secret_is_found(name: str) -> None:
    """Each of these games, with a fact more: the whole state as it is drawn for a spectator."""
    talkative = telling_all(NAMED[name])
    with pytest.raises(AssertionError):
        keeps_secrets(talkative, match_of(talkative, 0))


def telling_all(game: Game[Any]) -> Game[Any]:
    kind = type(game)

    def observe(self: Any, state: Any, seat: int) -> Observation:
        seen = kind.observe(self, state, seat)
        drawn = Fact("Told by mistake", self.show(state))
        return dataclasses.replace(seen, facts=(*seen.facts, drawn))

    made: Any = type("TellingAll", (kind,), {"observe": observe})
    fields = dataclasses.fields(game)  # type: ignore[arg-type]
    told: Game[Any] = made(**{field.name: getattr(game, field.name) for field in fields})
    return told


def test_the_exchange_of_hidden_cards_really_exchanges_them() -> None:
    game = Uno()
    state = game.deal(np.random.default_rng(0))
    assert game.show(unseen_by(0, state, np.random.default_rng(1))) != game.show(state)


def test_a_sampled_state_can_be_played_to_its_end(game: Game[Any], matches: list[Match]) -> None:
    if not isinstance(game, Sampled):
        pytest.skip("has no sample")
    for match in matches:
        rng = np.random.default_rng(match.seed)
        state = sample(game, match.views[0][2], rng)
        while seats := game.to_move(state):
            options = [game.legal(state, seat) for seat in seats]
            state = game.play(
                state, [default_text_move(own[rng.integers(len(own))], rng) for own in options]
            )
        assert len(game.returns(state)) == game.num_seats


MARKS = re.compile(r'data-(?:move|then)="([\d ]+)"')
"""The options, by their index, for which a part of a drawing stands."""


def test_a_drawing_shows_every_state_and_what_each_seat_knows(
    game: Game[Any], matches: list[Match]
) -> None:
    if not drawing.has_drawing(game):
        pytest.skip("has no drawing")
    drawing.style_of(game)
    for match in matches:
        assert drawing.draw_state(game, match.last)
        for state, _, seen in match.views:
            assert drawing.draw_state(game, state)
            marked = MARKS.findall(drawing.draw_view(game, seen))
            assert {int(move) for moves in marked for move in moves.split()} <= {
                *range(len(seen.options))
            }


def test_every_measure_is_a_figure_a_seat_in_its_range(
    game: Game[Any], matches: list[Match]
) -> None:
    known = {measure.name: measure for measure in measures_of(game)}
    assert len(known) == len(measures_of(game))
    assert known[WIN.name] == WIN
    for match in matches:
        figures = values_with_score(game, match.last)
        assert figures.keys() == known.keys() | {MATCH_SCORE.name}
        known[MATCH_SCORE.name] = MATCH_SCORE
        for name, own in figures.items():
            assert len(own) == game.num_seats
            assert all(map(math.isfinite, own))
            assert all(known[name].low <= figure <= known[name].high for figure in own)


def test_seatings_seat_every_player_once_and_begin_as_numbered(game: Game[Any]) -> None:
    seatings = seatings_of(game)
    assert seatings[0] == tuple(range(game.num_seats))
    assert len(set(seatings)) == len(seatings)
    assert all(sorted(seating) == list(seatings[0]) for seating in seatings)


def test_seatings_keep_partners_together(game: Game[Any], matches: list[Match]) -> None:
    """Where the same seats are teams in every deal, the same players are teams in every seating."""
    dealt = {
        frozenset(frozenset(seen.team) for _, _, seen in match.views if seen.team)
        for match in matches
    }
    if len(dealt) > 1:
        return
    (fixed,) = dealt
    for seating in seatings_of(game):
        assert {frozenset(seating[seat] for seat in team) for team in fixed} == fixed


def test_scripted_players_choose_among_the_options(game: Game[Any], matches: list[Match]) -> None:
    assert policies_of(game)[0] == "random"
    for _, _, seen in (view for match in matches for view in match.views):
        for policy in policies_of(game):
            chances = probabilities(game, policy, seen)
            assert len(chances) == len(seen.options)
            assert min(chances) >= 0
            assert sum(chances) == pytest.approx(1, abs=1e-12)


def test_what_scripted_players_say_will_do(game: Game[Any], matches: list[Match]) -> None:
    if not isinstance(game, Speaking):
        pytest.skip("its scripted players have no words of their own")
    rng = np.random.default_rng(matches[0].seed)
    for state, seat, seen in (view for match in matches for view in match.views):
        options = game.legal(state, seat)
        for at, option in enumerate(options):
            if isinstance(option, TextAction):
                for policy in policies_of(game)[1:]:
                    said = TextMove(option, game.words(policy, seen, at, rng))
                    assert move_fault(said, options) == ""


def test_what_a_position_is_worth_is_a_share_and_at_the_end_the_score(
    game: Game[Any], matches: list[Match]
) -> None:
    if not isinstance(game, Valued):
        pytest.skip("does not tell what a position is worth")
    seats = range(game.num_seats)
    for match in matches:
        for state, _, _ in match.plies:
            assert all(0 <= game.worth(state, seat) <= 1 for seat in seats)
        scores = values_with_score(game, match.last)["match_score"]
        assert [game.worth(match.last, seat) for seat in seats] == pytest.approx(list(scores))


def test_a_game_that_can_be_drawn_says_so_and_is_judged_by_its_score(
    game: Game[Any], matches: list[Match]
) -> None:
    """Hive's published code has draws and games that both lose, and is judged by wins."""
    for match in matches:
        returns = game.returns(match.last)
        if has_draws(game):
            assert judgeable_measures(game)[0] == MATCH_SCORE
            assert max(returns) > 0 or set(returns) == {0.0}
        elif not (isinstance(game, HasMeasures) or getattr(game, "paper_bugs", False)):
            assert 0.0 not in returns


def test_rules_are_a_summary_and_headings(game: Game[Any]) -> None:
    if not isinstance(game, HasRuleHeadings):
        pytest.skip("tells its rules as a whole")
    state = game.deal(np.random.default_rng(0))
    assert game.observe(state, game.to_move(state)[0]).rules == full_rules(game)
    for text in (game.rules_summary, *game.rules_headings, *game.rules_headings.values()):
        assert text == text.strip() != ""
        assert "\n" not in text


def test_an_unknown_policy_is_refused(game: Game[Any]) -> None:
    state = game.deal(np.random.default_rng(0))
    seen = game.observe(state, game.to_move(state)[0])
    with pytest.raises(ValueError, match="clever"):
        probabilities(game, "clever", seen)
    with pytest.raises(ValueError, match="clever"):
        simulate(game, ["clever"] * game.num_seats, 1, 0)
    for wrong in (game.num_seats - 1, game.num_seats + 1):
        with pytest.raises(ValueError, match=f"{game.num_seats}.*{wrong}|random"):
            simulate(game, ["random"] * wrong, 1, 0)


@pytest.mark.parametrize("name", CASES)
def test_simulated_games_add_up(name: str) -> None:
    game = CASES[name]
    most = 1 if isinstance(game, ONE_WINNER) else game.num_seats
    games = 300 if isinstance(game, Simulated) else 6
    for policy in policies_of(game):
        players = [policy] * game.num_seats
        counts = simulate(game, players, games, seed=11)
        assert counts.dtype == np.int64
        assert counts.shape == (game.num_seats + 1,)
        assert counts.min() >= 0
        assert games <= counts.sum() <= games * most
        assert counts.max() <= games
        assert (simulate(game, players, games, seed=11) == counts).all()
        assert simulate(game, players, 0, seed=11).sum() == 0


PLAYED, SIMULATED = 100, 20000


@pytest.mark.parametrize("name", [name for name in CASES if isinstance(CASES[name], Simulated)])
def test_simulated_games_go_as_played_ones(name: str) -> None:
    """Games by `simulate` and games played move by move come from one distribution: for no count
    does Fisher's exact test say otherwise."""
    game = CASES[name]
    names = policies_of(game)
    players = [names[seat % len(names)] for seat in range(game.num_seats)]
    played = np.zeros(game.num_seats + 1, np.int64)
    for seed in range(PLAYED):
        played[winners_of_scripted(game, players, seed)] += 1
    simulated = simulate(game, players, SIMULATED, seed=7)
    for mine, theirs in zip(played.tolist(), simulated.tolist(), strict=True):
        table = [[mine, PLAYED - mine], [theirs, SIMULATED - theirs]]
        assert fisher_exact(table).pvalue > 1e-4, (players, played, simulated)


def winners_of_scripted(game: Any, players: list[str], seed: int) -> list[int]:
    """Return the seats that win a game of scripted players, num_seats if none does."""
    rng = np.random.default_rng(seed)
    state = game.deal(rng)
    while seats := game.to_move(state):
        moves = []
        for seat in seats:
            chances = probabilities(game, players[seat], game.observe(state, seat))
            option = game.legal(state, seat)[rng.choice(len(chances), p=chances)]
            moves.append(default_text_move(option, rng))
        state = game.play(state, moves)
    winners = [seat for seat, worth in enumerate(game.returns(state)) if worth > 0]
    return winners or [game.num_seats]
