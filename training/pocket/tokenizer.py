"""The pocket model's tokenizer: byte-level BPE in which the words that vary stand alone.

A game's prompts repeat the same phrases around a few words that change from decision to
decision. Those words are cut off before BPE sees the text, so each is one token spelled the same
wherever it stands; the phrases between them are left whole, so BPE can merge each into one or a
few tokens. Any text encodes, byte by byte where it must.
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
    r"\nOptions:",  # ends what the prompts of one decision share
    r"\n(?:[A-Z]|\d+)\)",
    r"(?<=Answer:) (?:[A-Z]|good|bad)",
    rf"(?<=[:,)]|played|naming|now|Is) (?:{COLOURS}|wild draw four|wild)(?: naming)?",
    rf"(?<={COLOURS}) (?:\d|skip|reverse|draw two)",
    r"(?<=[:,)]|marked|Is) C\dR\d",
    rf" \d+ (?:{COLOURS})(?! naming)",  # counts, in a look back on the moves
    r"(?<=holds|Players:|Piles:|from,) \d+",
    r' \{"(?:thoughts|reflection)": "[^"\n]*", "action": "',  # a reply up to its number
    r'\d+(?="\})',
    r'"\}',
)


def train_tokenizer(texts: Iterable[str], size: int) -> PreTrainedTokenizerFast:
    """A tokenizer of at most `size` tokens, fewer where the texts give no more merges."""
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
    """Of byte-level BPE with at most `size` tokens."""
    return trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[END, PAD],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )


def wrapped(tokenizer: Tokenizer, longest: int) -> PreTrainedTokenizerFast:
    """As transformers wants it, for texts of at most `longest` tokens."""
    typed: Callable[..., PreTrainedTokenizerFast] = PreTrainedTokenizerFast
    return typed(
        tokenizer_object=tokenizer,
        eos_token=END,
        pad_token=PAD,
        model_max_length=longest,
        clean_up_tokenization_spaces=False,
    )
