"""Simulate any game with scripted players: by the game's own fast path if it has one, else by its
rules.

Every game has the policy "random", which is uniform over the options. `lack` says why a game cannot
be played on from what a seat knows. A seed and the number of the game or playout determine all
chance: playout i has the same deal and the same chance after every option.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from gauntlet.common.errors import UserError
from gauntlet.games.base import Action, Game, Observation, TextAction, TextMove, default_text_move
from gauntlet.games.capabilities import (
    WIN,
    PlayedOut,
    RandomlyEnded,
    Sampled,
    Scored,
    Scripted,
    Simulated,
    Speaking,
    nothing_hidden,
)
from gauntlet.games.contract import (
    array,
    chances,
    check_length,
    fault,
    figures,
    final_returns,
    legal_actions,
    observation,
    seats_to_move,
    values_with_score,
)

RANDOM = "random"

DEAL, MOVES, HIDDEN, WORDS = range(4)
"""The purpose of a random stream."""

Rng = np.random.Generator


def policies_of(game: Game[Any]) -> tuple[str, ...]:
    """Return the names of the game's scripted players; "random" is always among them."""
    own = tuple(game.policies) if isinstance(game, Scripted) else ()
    return own if RANDOM in own else (RANDOM, *own)


def check_policy(game: Game[Any], policy: str) -> None:
    """Raises ValueError if the game has no scripted player of that name."""
    if policy not in (known := policies_of(game)):
        raise ValueError(
            f"{type(game).__name__} has no scripted policy {policy!r}; it has {', '.join(known)}"
        )


def check_known_policy(game: str, policy: str, policies: Iterable[str]) -> None:
    """The check of a game itself, under its display name: raises ValueError unless the policy is
    among `policies`."""
    if policy not in (names := tuple(policies)):
        raise ValueError(f"{game} has the policies {', '.join(names)}, not {policy!r}")


def targeted_policy(game: Game[Any], policy: str, seat: int, at: int | None) -> str:
    """Return the name of `policy` when it plays `seat` and targets seat `at`.

    Raises ValueError if it needs a target and `at` is None.
    """
    own = getattr(game, "aimed", None)
    return policy if own is None else str(own(policy, seat, at))


def probabilities(game: Game[Any], policy: str, seen: Observation) -> tuple[float, ...]:
    """Return the probability with which a scripted player takes each option; they sum to 1.

    Raises ValueError for an unknown policy.
    """
    if isinstance(game, Scripted) and policy != RANDOM:
        return chances(game, policy, seen)
    _check(game, (policy,))
    return (1 / len(seen.options),) * len(seen.options)


def policy_probabilities(game: Game[Any], policies: Sequence[str], seen: Observation) -> np.ndarray:
    """As `probabilities`, for several policies: float64 (policies, options)."""
    return np.array([probabilities(game, policy, seen) for policy in policies])


def simulate(game: Game[Any], policies: Sequence[str], games: int, seed: int) -> np.ndarray:
    """Play `games` games between scripted players, one policy per seat.

    Returns int64 counts of shape (num_seats + 1,): wins by seat, then games nobody won. A shared
    win counts for each of its seats. Raises ValueError unless there is one known policy per seat.
    """
    _check(game, policies, game.num_seats)
    if isinstance(game, Simulated):
        counts = game.simulate(policies, games, seed)
        array(game, "simulate", counts, (game.num_seats + 1,))
        if counts.min() < 0 or counts.max() > games or counts.sum() < games:
            allowed = f"the wins of each seat in {games} games, then the games without a winner"
            raise fault(game, "simulate", counts, allowed)
        return counts
    return simulate_by_rules(game, policies, games, seed)


def scores_of(
    game: Any, policies: Sequence[str], games: int, seed: int, measure: str
) -> np.ndarray:
    """Return the checked `Scored.scores`."""
    results = game.scores(policies, games, seed, measure)
    return array(game, "scores", results, (games, game.num_seats))


def simulate_by_rules(
    game: Game[Any], policies: Sequence[str], games: int, seed: int
) -> np.ndarray:
    """As `simulate`, always by the rules."""
    counts = np.zeros(game.num_seats + 1, np.int64)
    for number in range(games):
        last, _ = play_game(game, policies, seed, number)
        wins = [worth > 0 for worth in final_returns(game, last)]
        counts += np.array([*wins, not any(wins)], np.int64)
    return counts


def play_game(game: Game[Any], policies: Sequence[str], seed: int, number: int) -> tuple[Any, int]:
    """Play game `number` by the rules; return its final state and its number of plies."""
    start = game.deal(_stream(seed, DEAL, number))
    return play_on(game, start, policies, _stream(seed, MOVES, number))


def play_on(game: Game[Any], state: Any, policies: Sequence[str], rng: Rng) -> tuple[Any, int]:
    """Play `state` to its end; return the final state and the number of plies.

    Raises UserError if the game does not end.
    """
    plies = 0
    while seats := seats_to_move(game, state):
        check_length(game, plies)
        moves = [scripted_move(game, state, seat, policies[seat], rng) for seat in seats]
        state, plies = game.play(state, moves), plies + 1
    return state, plies


def random_playout(game: Game[Any]) -> Callable[[Any, Rng], Sequence[float]]:
    """Return the game's fastest function from a state, finished or not, to the returns of one game
    that goes on at random. It raises UserError if the game does not end."""
    if isinstance(game, RandomlyEnded):
        return lambda state, rng: figures(game, "random_playout", game.random_playout(state, rng))
    return partial(_played_out if isinstance(game, PlayedOut) else _played_on, game)


def _played_on(game: Game[Any], state: Any, rng: Rng) -> Sequence[float]:
    return final_returns(game, play_on(game, state, (RANDOM,) * game.num_seats, rng)[0])


def _played_out(game: Any, state: Any, rng: Rng) -> Sequence[float]:
    if not seats_to_move(game, state):
        return final_returns(game, state)
    policies = (RANDOM,) * game.num_seats
    won = game.winners(state, policies, 1, int(rng.integers(2**63)), False)
    array(game, "winners", won, (None, 1))
    winners = int(won[int(rng.random() * len(won)), 0])  # after a random option
    lost = -1.0 if winners else 0.0
    return [1.0 if winners >> seat & 1 else lost for seat in range(game.num_seats)]


def no_playouts_reason(game: Game[Any], measure: str = WIN.name) -> str:
    """Return why the game cannot be played on from what a seat knows; "" if it can."""
    fast = measure == WIN.name and isinstance(game, PlayedOut)
    if nothing_hidden(game) or isinstance(game, Sampled) or fast:
        return ""
    return (
        f"{type(game).__name__} cannot be played on from what a seat knows: it has no `sample`, "
        "nor `perfect_information = True` where nothing is hidden"
    )


def sample(game: Game[Any], seen: Observation, rng: Rng) -> Any:
    """Return a state consistent with what a seat knows. Raises UserError if the game cannot."""
    if isinstance(game, Sampled):
        return game.sample(seen, rng)
    if not nothing_hidden(game):
        raise UserError(no_playouts_reason(game) or f"{type(game).__name__} has no `sample`")
    return seen.view


def results(
    game: Game[Any],
    state: Any,
    seat: int,
    policies: Sequence[str],
    playouts: int,
    seed: int,
    hidden: bool,
    measure: str = WIN.name,
    moves: Mapping[int, Action] | None = None,
) -> np.ndarray:
    """Return every seat's result after each option of `seat`, per playout.

    policies: what every seat plays, one per seat, including seats that move simultaneously with
    `seat`. hidden: True redeals what `seat` cannot see in each playout; False plays on from the
    actual state. measure: the name of the result. moves: moves that replace some text options, by
    their index; the others use an example text.

    Returns float64 of shape (options, playouts, seats), options in the order of `legal`. Raises
    ValueError for unknown policies, and UserError if `hidden` is set and `lack` gives a reason.
    """
    _check(game, policies, game.num_seats)
    if isinstance(game, Scored):
        return _outcomes(game, state, seat, policies, playouts, seed, hidden, measure)
    if measure == WIN.name and isinstance(game, PlayedOut):
        won = game.winners(state, policies, playouts, seed, hidden)
        array(game, "winners", won, (len(legal_actions(game, state, seat)), playouts))
        seats = np.arange(game.num_seats, dtype=won.dtype)[:, None, None]
        # Keep a seat's results contiguous: an innermost axis of two or three seats is slow.
        return np.moveaxis((won >> seats & 1).astype(float), 0, -1)
    if not hidden:
        return _after(game, lambda rng: state, seat, policies, playouts, seed, measure, moves)
    seen = observation(game, state, seat)
    return _after(
        game, lambda rng: sample(game, seen, rng), seat, policies, playouts, seed, measure, moves
    )


def values(
    game: Game[Any],
    seen: Observation,
    benefits: int,
    policies: Sequence[str],
    playouts: int,
    seed: int,
    measure: str = WIN.name,
) -> np.ndarray:
    """Return the mean result of seat `benefits` after each option, float64 of shape (options,).

    Estimated from `playouts` games per option, given what the observing seat knows: as `results`
    with `hidden`, and with the same errors.
    """
    _check(game, policies, game.num_seats)
    if isinstance(game, Scored):
        state = sample(game, seen, _stream(seed, HIDDEN, 0))
        outcomes = _outcomes(game, state, seen.seat, policies, playouts, seed, True, measure)
        return np.asarray(outcomes[:, :, benefits].mean(axis=1))
    if measure == WIN.name and isinstance(game, PlayedOut):
        means = game.values(seen, benefits, policies, playouts, seed)
        return array(game, "values", means, (len(seen.options),))
    outcomes = _after(
        game, lambda rng: sample(game, seen, rng), seen.seat, policies, playouts, seed, measure
    )
    return np.asarray(outcomes[:, :, benefits].mean(axis=1))


def _outcomes(
    game: Any, state: Any, seat: int, policies: Sequence[str], playouts: int, *settings: Any
) -> np.ndarray:
    outcomes = game.outcomes(state, policies, playouts, *settings)
    options = len(legal_actions(game, state, seat))
    return array(game, "outcomes", outcomes, (options, playouts, game.num_seats))


def _after(
    game: Game[Any],
    world: Callable[[Rng], Any],
    seat: int,
    policies: Sequence[str],
    playouts: int,
    seed: int,
    measure: str,
    moves: Mapping[int, Action] | None = None,
) -> np.ndarray:
    """As `results`, by the rules; each playout starts from its own `world`."""
    results = []
    for playout in range(playouts):
        start = world(_stream(seed, HIDDEN, playout))
        options = dict(enumerate(legal_actions(game, start, seat))) | dict(moves or {})
        row = []
        for option in options.values():
            rng = _stream(seed, MOVES, playout)
            move = default_text_move(option, _stream(seed, WORDS, playout))
            other_moves = [
                move if mover == seat else scripted_move(game, start, mover, policies[mover], rng)
                for mover in seats_to_move(game, start)
            ]
            last, _ = play_on(game, game.play(start, other_moves), policies, rng)
            row.append(values_with_score(game, last)[measure])
        results.append(np.array(row, float))
    return np.stack(results, axis=1)


def scripted_move(game: Game[Any], state: Any, seat: int, policy: str, rng: Rng) -> Action:
    """Return a scripted player's move. Observations are slow, so none is made for "random", nor for
    a single option that takes no text."""
    options = legal_actions(game, state, seat)
    if policy == RANDOM or (len(options) == 1 and not isinstance(options[0], TextAction)):
        return default_text_move(options[int(rng.random() * len(options))], rng)
    seen = observation(game, state, seat, options)
    passed = np.cumsum(probabilities(game, policy, seen)) <= rng.random()
    at = min(int(passed.sum()), len(options) - 1)
    return fill_text(game, policy, seen, options, at, rng)


def fill_text(
    game: Game[Any],
    policy: str,
    seen: Observation,
    options: Sequence[Action],
    at: int,
    rng: Rng,
) -> Action:
    """Return the move of a scripted player that takes the option at this index. A text option gets
    the text that the game supplies, or one of the examples."""
    option = options[at]
    if isinstance(option, TextAction) and policy != RANDOM and isinstance(game, Speaking):
        text = game.words(policy, seen, at, rng)
        if not isinstance(text, str) or option.text.fault(text):
            raise fault(game, f"words of {policy!r}", text, option.text.ask)
        return TextMove(option, text)
    return default_text_move(option, rng)


def _check(game: Game[Any], policies: Sequence[str], count: int = 1) -> None:
    """Raises ValueError unless there are `wanted` policies that the game may know."""
    name = type(game).__name__
    if len(policies) != count:
        raise ValueError(f"{count} seats of {name} need as many policies, got {len(policies)}")
    unknown = set(policies) - {RANDOM}
    if unknown and not isinstance(game, Scripted):
        raise ValueError(f"{name} has the policy {RANDOM!r} alone, not {min(unknown)!r}")


def _stream(seed: int, purpose: int, number: int) -> Rng:
    return np.random.default_rng((seed, purpose, number))
