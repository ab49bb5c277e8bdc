"""The second pocket model's tokenizer: frequent phrases of the prompts are single tokens.

A text is split into lines, and lines at the words that vary: cells, cards, actions, numbers. Pieces
that then occur often become tokens, however long, without the merges that lead to them; the rest is
byte-level BPE. So any text can be encoded, and a prompt has some 40 to 120 tokens.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from gauntlet.games.holdem import words
from gauntlet.training.pocket.tokenizer import trainer, wrapped

ACTIONS = "|".join(words.NAMES)
BEFORE_NUMBER = (
    *("Hand: ", "hand ", "Pot: ", "player [01] ", r"\(you\) ", "raise to ", "adding ", "bet with "),
    *("wins ", "beats ", "pays ", "rate is ", "score is ", "choice is ", "; ", "to player [01], "),
    *("They play ", "begin with ", "stacks of ", "wins; after "),
    *(f"{name} to " for name in words.NAMES),
    "CALL ",
)
CUTS = (
    r",? <?C\dR\d>?",
    # A player's own cards have other tokens than those on the board, so both are found at once;
    # ranks and suits are separate, since hands are made of either.
    r"Your cards: [2-9TJQKA]",
    r"(?<=Your cards: [2-9TJQKA])[cdhs] [2-9TJQKA]",
    r"(?<=Your cards: [2-9TJQKA][cdhs] [2-9TJQKA])[cdhs]\n",
    r" [2-9TJQKA](?=[cdhs](?![a-z]))",
    r"(?<= [2-9TJQKA])[cdhs](?![a-z])",
    rf"^(?:{ACTIONS}): [a-z ]+ (?=\d)",  # a line that explains an action
    rf",? <?(?:{ACTIONS})>?(?: to (?=\d)| (?=\d)|(?! raises?| and|: ))",
    rf"(?<={'|'.join(BEFORE_NUMBER)})\d+",
    rf"(?<=\(| is )(?:{'|'.join(words.CATEGORIES)})",
    r"^\d+\)",
)
OFTEN = 25
"""Minimum count for a piece to become a token."""


def phrase_tokenizer(
    texts: Iterable[str], merged: int, cuts: Sequence[str] = CUTS, dropped: str | None = None
) -> PreTrainedTokenizerFast:
    """Return a tokenizer with the pieces that occur OFTEN in `texts`, and at most `merged` BPE
    tokens.

    cuts: patterns of the pieces that are isolated in a line. dropped: a pattern of text to omit.
    """
    dropping = [pre_tokenizers.Split(Regex(dropped), "removed")] if dropped else []
    cutting = pre_tokenizers.Sequence(
        [
            *dropping,
            pre_tokenizers.Split(Regex(r"\n"), "merged_with_previous"),
            pre_tokenizers.Split(Regex("|".join(cuts)), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    tokenizer.pre_tokenizer = cutting
    return with_pieces(tokenizer, texts, merged, OFTEN)


def with_pieces(
    tokenizer: Tokenizer, texts: Iterable[str], merged: int, often: int, most: int | None = None
) -> PreTrainedTokenizerFast:
    """Return a tokenizer that splits like `tokenizer`, trained on `texts`: at most `merged` BPE
    tokens plus the pieces that occur at least `often` times, the most frequent ones up to `most`
    tokens in total."""
    lines = Counter(line for text in texts for line in text.splitlines(keepends=True))
    pieces: Counter[str] = Counter()
    for line, count in lines.items():
        told = tokenizer.normalizer.normalize_str(line) if tokenizer.normalizer else line
        for piece, _ in tokenizer.pre_tokenizer.pre_tokenize_str(told):
            pieces[piece] += count
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(lines, trainer(merged))
    definition = json.loads(tokenizer.to_str())
    vocabulary = definition["model"]["vocab"]
    met = [
        piece for piece, count in pieces.most_common() if count >= often and piece not in vocabulary
    ]
    for piece in sorted(met[: None if most is None else most - len(vocabulary)]):
        vocabulary[piece] = len(vocabulary)
    return wrapped(Tokenizer.from_str(json.dumps(definition)), 8192)
