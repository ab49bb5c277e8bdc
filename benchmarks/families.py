"""Every family of causal language models, built small: how it is scored, and how exactly.

    python -m benchmarks.families [FAMILY ...] [--markdown F]

A network of each family that transformers can build from its config with small sizes and random
weights; windows, chunks and positions' first range get 64 tokens where the family has such. The
packed scorer and the plain one score decisions of 12 to 330 tokens, on both sides of those borders;
a text is written across a border, with and without what the network keeps of its beginning.

Needs torch and transformers, no network.
"""

from __future__ import annotations

import argparse
import gc
import logging
import signal
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from benchmarks.networks import tokens_of
from benchmarks.small import BORDER, built
from gauntlet.common.errors import ModelError
from gauntlet.models.base import Generate, Prompt, Score
from gauntlet.models.engine.generate import Generator
from gauntlet.models.engine.packed import Packed
from gauntlet.models.engine.ragged_forward import Flat
from gauntlet.models.engine.reference import Reference
from gauntlet.models.engine.tokens import Tokens

PATIENCE = 30
"""Seconds of processor time for one family."""
FAILED = "failed"
"""Opens the path of a family that was built and could be neither scored nor refused."""
COLOURS = ("red", "green", "blue", "yellow")


@dataclass(frozen=True)
class Row:
    """What one family showed.

    path: the way of scoring, and up to how many tokens; or why there is none.
    difference: the largest of a log-probability from the plain scorer's; None where not scored.
    others: prompts, of `prompts`, where another choice comes first.
    texts: whether the text is the same one, written with or without a cache; "" if none was.
    """

    family: str
    path: str
    difference: float | None = None
    others: int = 0
    prompts: int = 0
    texts: str = ""


def rows(families: Sequence[str]) -> Iterator[Row]:
    """One row a family, in order."""
    tokens = tokens_of("pocket")
    signal.signal(signal.SIGPROF, _late)
    for family in families:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            signal.setitimer(signal.ITIMER_PROF, PATIENCE)
            what = "not built"
            try:
                network = built(family, len(tokens.tokenizer))
                what = FAILED
                row = measured(family, network, tokens)
            except TimeoutError as error:
                row = Row(family, f"not measured: {_line(error)}")
            except Exception as error:  # of a library, while it builds: of any kind
                row = Row(family, f"{what}: {_line(error)}")
            signal.setitimer(signal.ITIMER_PROF, 0)
            yield row
        gc.collect()


def measured(family: str, network: Any, tokens: Tokens) -> Row:
    """How the network is scored, and how far from the plain scorer."""
    asked = decisions()
    try:
        packed, plain = Packed(network, tokens), Reference(network, tokens)
        exact, scored = plain.score(asked), packed.score(asked)
    except ModelError as error:
        return Row(family, f"refused: {_line(error)}")
    pairs = [
        (np.array(a), np.array(b))
        for x, y in zip(exact, scored, strict=True)
        for a, b in zip(x.logprobs, y.logprobs, strict=True)
    ]
    return Row(
        family,
        path_of(packed),
        max(float(np.abs(a - b).max()) for a, b in pairs),
        sum(int(a.argmax() != b.argmax()) for a, b in pairs),
        len(pairs),
        texts_of(network, tokens, packed),
    )


def path_of(packed: Packed) -> str:
    if packed.engine is None:
        return "reference"
    name = type(packed.engine).__name__.lower()
    return name if packed.proof.objection is None else f"{name} to {packed.proof.proven}"


def texts_of(network: Any, tokens: Tokens, packed: Packed) -> str:
    """Whether the network writes what it writes when it reads all anew for each token."""
    prompts = [decision.prompts[0] for decision in decisions()]
    prompt = [one for one in prompts if len(tokens.encode(one)) < BORDER][-1]
    length = BORDER + 12 - len(tokens.encode(prompt))
    writer, anew = Generator(network, tokens, packed), Generator(network, tokens)
    request = Generate(prompt, max_tokens=length)
    (text,) = writer.write([request])
    cached = isinstance(packed.engine, Flat) or writer.cached(BORDER + 12)
    anew.cached = lambda room: False  # type: ignore[method-assign]
    same = anew.write([request])[0].text == text.text
    return f"{'same' if same else 'other'}, {'cached' if cached else 'anew'}"


def decisions() -> list[Score]:
    """Cloze decisions of 12 to 330 tokens under every rotation of three cards."""
    rng, asked = np.random.default_rng(3), []
    for told in (0, 1, 2, 4, 6, 10, 20, 36):
        cards = [f"{rng.choice(COLOURS)} {rng.integers(10)}" for _ in range(3)]
        past = "".join(f"Last card: {rng.choice(COLOURS)} {k}\n" for k in range(told))
        turned = [cards[k:] + cards[:k] for k in range(3)]
        options = [
            "".join(f"{letter}) {card}\n" for letter, card in zip("ABC", order, strict=True))
            for order in turned
        ]
        prompts = tuple(
            Prompt("Goal: win.\n" * (told // 2), f"{past}Options:\n{shown}", "Answer:")
            for shown in options
        )
        asked.append(Score(prompts, tuple("ABC")))
    return asked


def _late(*_: object) -> None:
    raise TimeoutError(f"more than {PATIENCE} s of processor time")


def _line(error: Exception) -> str:
    """The first line of an error, short enough for a table."""
    told = (str(error).strip() or type(error).__name__).splitlines()[0]
    return f"{told[:53]}..." if len(told) > 56 else told


def line(row: Row) -> str:
    """A row of the table, in Markdown."""
    numbers = " | | "
    if row.difference is not None:
        numbers = f"{row.difference:.1e} | {row.others} of {row.prompts} | {row.texts}"
    return f"| {row.family} | {row.path} | {numbers} |"


def page(rows: Sequence[Row]) -> str:
    """What docs/families.md holds."""
    scored = [row for row in rows if row.difference is not None]
    ways = Counter(row.path.split()[0] for row in scored)
    largest = max((row.difference or 0.0 for row in scored), default=0.0)
    told = HEAD.format(
        all=len(rows),
        scored=len(scored),
        ways=", ".join(f"{count} {way}" for way, count in sorted(ways.items())),
        largest=largest,
        others=sum(row.others for row in scored),
        prompts=sum(row.prompts for row in scored),
        transformers=transformers.__version__,
        torch=torch.__version__.split("+")[0],
    )
    return "\n".join([told, *map(line, rows), ""])


HEAD = """# How each family is scored

Look up how Gauntlet scores a family of causal language models, and how exact that path is. Written
by `python -m benchmarks.families --markdown docs/families.md`, with transformers {transformers} and
torch {torch} on one CPU thread, in float32. Of {all} families, {scored} could be built small and
scored: {ways}. The largest difference of a log-probability from the
plain scorer's is {largest:.1e}; another choice comes first in {others} of {prompts} prompts.

Networks have random weights; windows, chunks and the first range of positions end at {border}
tokens where the family has them, and prompts have 12 to 330.
[Performance](performance.md#how-it-works) explains the paths. `to 64`: longer texts are scored one
prompt at a time. `text`: a text that crosses {border} tokens, compared with one that is read again
for every token; `cached` if its keys and values were kept. `reference` is the plain scorer itself,
so its difference is 0.

| family | path | max | other first | text |
|---|---|---|---|---|""".replace("{border}", str(BORDER))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("families", nargs="*")
    parser.add_argument("--markdown", type=Path, help="write docs/families.md, or another")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    found = []
    for row in rows(options.families or sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)):
        print(line(row), flush=True)
        found.append(row)
    if options.markdown:
        options.markdown.write_text(page(found))


if __name__ == "__main__":
    main()
