"""The pocket model's tokenizer: byte-level BPE with the words that vary as single tokens.

A game's prompts repeat the same phrases around a few words that change between decisions. Those
words are split off before BPE, so each is one token spelled the same everywhere; the phrases
between them stay whole, so BPE can merge each into one or a few tokens. Any text can be encoded,
byte by byte if necessary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

END = "<|end|>"
PAD = "<|pad|>"

COLOURS = "red|green|blue|yellow"
CUTS = (
    r"\n\n",  # ends the static part of a prompt
    r"\nOptions:",  # ends the common part of a decision's prompts
    r"\n(?:[A-Z]|\d+)\)",
    r"(?<=Answer:) (?:[A-Z]|good|bad)",
    rf"(?<=[:,)]|played|naming|now|Is) (?:{COLOURS}|wild draw four|wild)(?: naming)?",
    rf"(?<={COLOURS}) (?:\d|skip|reverse|draw two)",
    r"(?<=[:,)]|marked|Is) C\dR\d",
    rf" \d+ (?:{COLOURS})(?! naming)",  # counts, in a review of the moves
    r"(?<=holds|Players:|Piles:|from,) \d+",
    r' \{"(?:thoughts|reflection)": "[^"\n]*", "action": "',  # a reply up to its number
    r'\d+(?="\})',
    r'"\}',
)


def train_tokenizer(texts: Iterable[str], size: int) -> PreTrainedTokenizerFast:
    """Return a tokenizer of at most `size` tokens, fewer if the texts give no more merges."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex("|".join(CUTS)), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(texts, trainer(size))
    return wrapped(tokenizer, 2048)


def trainer(size: int) -> trainers.BpeTrainer:
    """Return a trainer of byte-level BPE with at most `size` tokens."""
    return trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[END, PAD],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )


def wrapped(tokenizer: Tokenizer, longest: int) -> PreTrainedTokenizerFast:
    """Wrap the tokenizer for transformers, for texts of at most `longest` tokens."""
    typed: Callable[..., PreTrainedTokenizerFast] = PreTrainedTokenizerFast
    return typed(
        tokenizer_object=tokenizer,
        eos_token=END,
        pad_token=PAD,
        model_max_length=longest,
        clean_up_tokenization_spaces=False,
    )
