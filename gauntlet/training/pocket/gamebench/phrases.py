"""The fourth pocket model's tokenizer: splits the prompts of `base` into words and numbers.

A word is one token, spelled the same everywhere, so that a card or a square in the prompt, or an
option's number in the reply, matches its other occurrences; so are names of facts and quoted words.
Text that is the same at every turn of a game (the goal, the rules, the reply format) is dropped,
and so are the last moves, whose outcome is in the facts, and punctuation between words.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from gauntlet.training.pocket.duel.phrases import with_pieces

REPLY, CLOSE = ' {"action": "', '"}'
"""A reply's parts around the number."""
WORDS, END = '", "openended_response": ', "}"
"""What follows the number instead, around the quoted words."""

BUG = r"[wb](?:Q|[SGA]\d)"
"""A piece of Hive."""
MANOEUVRE = "(?:left|forward|right|stay)"
"""A ship's manoeuvre in Sea Battle."""
CUTS = (
    r' ?\{"action":"',
    r'","openended_response":',
    r'"\}',
    r'"[^"\n]*"',
    r"^[A-Z][^:,.;()\d\n]*:",  # the name of a fact
    rf" (?:move|place) {BUG}",
    rf" (?:E|W|NE|NW|SE|SW) of {BUG}",
    rf" ?{BUG}",
    r" ?[A-Za-z]\d{1,2}(?![A-Za-z])",  # a square
    r" to (?:air|land|sea)",
    rf" {MANOEUVRE} fire (?:left|right)(?: hits (?:enemy|yours))?",
    rf" {MANOEUVRE} \d+(?: damage)?",
    r" ?[A-Z][a-z]+(?: [A-Z][a-z]+)+",  # a name of several words
    r" ?[-+]?\d+",
    r" ?[A-Za-z][A-Za-z']*",
    r' ?[^A-Za-z\d\n "]',
)
DROPPED = "|".join(
    (
        r"^(?:You play a game\.|Rules:|More about the rules|H\d+ |Recent moves:|Choose one\.).*\n",
        rf"^(?:[#.A-Z]{{24}}|   a  b  c  d  e|[1-5]  [0-4].*|(?: *(?:\.|{BUG}))+ *)\n",  # a drawing
        r"(?<= hits) [A-Z](?= )",  # which ship
        r"; at most \d+ characters.*$",
        r"(?<=\d)\)(?= )",  # after an option's number
        r' (?=")|[()]',
        r"(?<!\")[,;.](?= [a-z\d]|$)|(?<=\d)[,;.](?= [A-Z])",  # but not between names
    )
)


def word_tokenizer(
    texts: Iterable[str], merged: int, often: int, most: int
) -> PreTrainedTokenizerFast:
    """Return a tokenizer of words; arguments as in `with_pieces`."""
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    tokenizer.normalizer = normalizers.Replace(Regex(DROPPED), "")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\n"), "removed"),
            pre_tokenizers.Split(Regex("|".join(CUTS)), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    return with_pieces(tokenizer, texts, merged, often, most)


def reply_text(number: int, words: str) -> str:
    """The reply that takes the option of this number, from 1, with these words ("" for none)."""
    rest = WORDS + json.dumps(words) + END if words else CLOSE
    return f"{REPLY}{number}{rest}"
