"""Chips by hand of hold'em matches, replayed from the log, and hands won."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.games.capabilities import seatings_of
from gauntlet.games.holdem import rules, words
from gauntlet.games.holdem.game import Holdem
from gauntlet.papers.talaga.ends import PERCENT, Counted, model_name
from gauntlet.papers.verdicts import Estimate
from gauntlet.pipeline.config.read import Seed
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.recorded import recorded_game
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.plan.rng import DEAL, stream
from gauntlet.stats.means import limits, per_deal

STACK = Holdem.stack
"""Starting chips of either side, as in the paper."""
COLUMNS = ("player", "opponent", "deal", "match", "hand", "chips")
QUANTILES = {"lowest_tenth": 0.1, "lower_quarter": 0.25, "median": 0.5, "upper_quarter": 0.75,
             "highest_tenth": 0.9}  # fmt: skip


def curves(folder: Path) -> pd.DataFrame:
    """Return the chips of every player of an output_dir after each hand of each match, for both
    sides; hand 0 is the stack. Matches that end early keep their final value up to the last hand of
    any."""
    rows = list(_rows(folder))
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    wide = table.pivot_table(index=list(COLUMNS[:4]), columns="hand", values="chips", sort=False)
    return (
        wide.ffill(axis=1).reset_index().melt([*COLUMNS[:4]], var_name="hand", value_name="chips")
    )


def _rows(folder: Path) -> Iterator[tuple[Any, ...]]:
    place = Folder(folder)
    for about in place.sweep_cells():
        game = recorded_game(place.description(about)["identity"]["game"])
        assert isinstance(game, Holdem)
        players = [model_name(name) for name in about.players]
        for record in place.matches(about.stem):
            seating = seatings_of(game)[record.rotation % game.num_seats]
            for hand, won in enumerate([0, *won_by_hand(game, place.seed, record)]):
                for seat, sign in ((0, 1), (1, -1)):
                    own, other = players[seating[seat]], players[seating[1 - seat]]
                    name = f"{record.match}.{seat}"
                    yield own, other, record.deal, name, hand, game.stack + sign * won


def won_by_hand(game: Holdem, seed: Seed, record: MatchRecord) -> list[int]:
    """Return the cumulative winnings of seat 0 after every hand of a match. Raises ValueError if
    its moves are not legal in the current game."""
    array = game.deal(stream(seed, game, record.deal, DEAL)).array.copy()
    wins = _finished_hands(array)
    for decision in record.decisions:
        if rules.over(array) or not rules.legal(array) >> words.parse(decision.move) & 1:
            raise ValueError(f"match {record.match}: {decision.move} is not legal there")
        rules.act(array, words.parse(decision.move))
        wins += _finished_hands(array)
    return wins


def _finished_hands(array: np.ndarray) -> list[int]:
    """Seat 0's winnings after each hand that the last action ended, and deal the next hand."""
    wins = []
    while rules.over(array):
        wins.append(array.item(rules.WON))
        if not rules.another_hand(array):
            break
        rules.next_hand(array)
    return wins


def chip_quantiles(table: pd.DataFrame) -> pd.DataFrame:
    """Return median, quantiles, mean and standard deviation of the player's chips over the matches
    of each pair, by hand. table: from `curves`."""
    groups = table.groupby(["player", "opponent", "hand"], sort=False)["chips"]
    summary = groups.agg(matches="count", mean="mean", sd="std")
    for name, share in QUANTILES.items():
        summary[name] = groups.quantile(share)
    return summary.reset_index()


def finals(table: pd.DataFrame) -> Counted:
    """Return, by player and opponent, the mean final chips, from 0 to two stacks, with their 95%
    interval by deals; the number of matches, and of deals."""
    last = table[table["hand"] == table["hand"].max()]
    shares = {}
    for (player, other), rows in last.groupby(["player", "opponent"], sort=False):
        by_deal = rows.groupby("deal")["chips"].mean()
        low, high = limits(by_deal.to_numpy(float), (0.0, 2.0 * STACK))
        share = Estimate(float(by_deal.mean()), float(low), float(high))
        shares[player, other] = (share, len(rows), len(by_deal))
    return shares


def hands_won(folder: Path) -> Counted:
    """Return, by player and opponent, the player's share of the hands won by one side alone, with
    its 95% interval by deals; the number of hands, and of deals."""
    place, shares = Folder(folder), {}
    for about in place.sweep_cells():
        other, player = map(model_name, about.players)
        outcomes: list[np.ndarray] = []
        deals: list[int] = []
        for record in place.matches(about.stem):
            seat = (1 + record.rotation) % 2
            won = [int(record.measures["hands_won"][one]) for one in (seat, 1 - seat)]
            outcomes.append(np.repeat([1.0, 0.0], won))
            deals += [record.deal] * sum(won)
        values = np.concatenate([*outcomes, []])
        if len(values):
            low, high = limits(per_deal(values, deals), (0.0, 1.0))
            told = (float(values.mean()), float(low), float(high))
            share = Estimate(*(PERCENT * one for one in told))
            shares[player, other] = (share, len(values), len(set(deals)))
    return shares
