"""The lessons of the second pocket model as trees of tokens, and its tokenizer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice

import numpy as np
from transformers import PreTrainedTokenizerFast

from gauntlet.agents.base import Turn
from gauntlet.games.holdem import Holdem
from gauntlet.training.pocket.data import grid_turns, turn_of
from gauntlet.training.pocket.duel.phrases import phrase_tokenizer
from gauntlet.training.pocket.duel.replies import Exchange, exchanges
from gauntlet.training.pocket.trees import LessonTree, Target

# --- turns of Tic-Tac-Toe and hold'em

IDLE = 0.3
"""Probability of teaching a turn where no move is better, or where the tutor checks or folds."""
HOLDEM = (
    *(Holdem(mode="hands", hands=hands) for hands in (2, 2, 2, 2, 1, 3, 5, 10, 20, 50, 100)),
    *(Holdem(mode="match", hands=hands) for hands in (200, 200, 200, 200, 100, 50, 10)),
    *(Holdem(mode="hands", stack=stack) for stack in (50, 100)),
    *(Holdem(mode="match", stack=stack) for stack in (50, 100)),
    *(Holdem(mode=mode, raises="neuron", paper_bugs=True) for mode in ("hands", "match")),
)
HANDS = 4
"""Of longer matches, the turns of about this many hands are taught."""
PLAYERS = ("random", "caller", "maniac", "tight", "mixed", "mixed")


def grid_lessons(rng: np.random.Generator) -> Iterator[Turn]:
    """Yield turns of Tic-Tac-Toe with a choice, the idle ones less often."""
    for turn, worth in grid_turns(rng):
        if len(worth) > 1 and (worth.min() < worth.max() or rng.random() < IDLE):
            yield turn


def card_turns(rng: np.random.Generator) -> Iterator[Turn]:
    """Yield turns of both seats in matches between the game's scripted players."""
    while True:
        game = HOLDEM[rng.integers(len(HOLDEM))]
        players = [PLAYERS[rng.integers(len(PLAYERS))] for _ in range(2)]
        state = game.deal(rng)
        while movers := game.to_move(state):
            turn = turn_of(game, state, movers[0])
            if len(turn.options) > 1 and rng.random() < HANDS / game.hands:
                passive = game.probabilities("tight", turn.observation)[0] == 1
                if not passive or rng.random() < IDLE:
                    yield turn
            chances = game.probabilities(players[movers[0]], turn.observation)
            state = game.play(state, (turn.options[rng.choice(len(chances), p=chances)],))


# --- trees of tokens

TURNS, MERGED = 2500, 700
"""Number of turns that the tokenizer is trained on, and its number of BPE tokens."""


def turns(rng: np.random.Generator, share: float) -> Iterator[Turn]:
    """Yield turns of both games forever; share: the proportion of Tic-Tac-Toe."""
    grid, cards = grid_lessons(rng), card_turns(rng)
    while True:
        yield next(grid if rng.random() < share else cards)


def tokenizer_of(seed: int, share: float) -> PreTrainedTokenizerFast:
    """Return a tokenizer trained on the prompts and replies of TURNS turns."""
    rng = np.random.default_rng((seed, 1))
    texts = [
        text
        for turn in islice(turns(rng, share), TURNS)
        for group in exchanges(turn, rng)
        for exchange in group
        for text in (exchange.prompt.text, exchange.reply)
    ]
    return phrase_tokenizer(texts, MERGED)


def trees(
    tokenizer: PreTrainedTokenizerFast, rng: np.random.Generator, share: float
) -> Iterator[LessonTree]:
    """Yield every group of exchanges as a tree, forever."""
    encode = Encoder(tokenizer)
    for turn in turns(rng, share):
        for group in exchanges(turn, rng):
            if group:
                yield tree(encode, group)


class Encoder:
    """Line-by-line encoder with a cache; gives the same tokens as the tokenizer."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self.end: int = tokenizer.eos_token_id
        self._line = lru_cache(100_000)(
            lambda line: tuple(tokenizer.backend_tokenizer.encode(line).ids)
        )

    def __call__(self, text: str) -> list[int]:
        return [token for line in text.splitlines(keepends=True) for token in self._line(line)]


def tree(encode: Encoder, group: Sequence[Exchange]) -> LessonTree:
    """One tree of prompts with their replies; the targets are the reply tokens and the end."""
    prompts = [encode(exchange.prompt.text) for exchange in group]
    shared = common([prompt[:-1] for prompt in prompts])
    places: list[int] = []
    targets: list[Target] = []
    branches: list[list[int]] = []
    at = shared
    for prompt, exchange in zip(prompts, group, strict=True):
        reply, first = encode(exchange.reply), at + len(prompt) - shared - 1
        places += range(first, first + len(reply) + 1)
        targets += [Target(np.array([token]), np.ones(1)) for token in (*reply, encode.end)]
        branches.append([*prompt[shared:], *reply])
        at += len(branches[-1])
    return LessonTree(prompts[0][:shared], branches, places, targets)


def common(rows: Sequence[Sequence[int]]) -> int:
    """Return the length of the common prefix of all rows."""
    shortest = min(map(len, rows))
    for place in range(shortest):
        if len({row[place] for row in rows}) > 1:
            return place
    return shortest
