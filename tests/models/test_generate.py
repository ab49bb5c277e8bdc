"""Free text: against the library's own loop, and the same in any batch."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from gauntlet.common.errors import ModelError
from gauntlet.models.base import Generate, Prompt, Score
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.engine import kv_cache, writing
from gauntlet.models.engine.generate import Generator
from gauntlet.models.engine.text import Text, choose, loops
from gauntlet.models.engine.tokens import load_tokens
from gauntlet.models.engine.writing import Writing

COLOURS = ("red", "green", "blue", "yellow")
PROMPT = Prompt("Rules: draw.\n", "Hand: red 1\n", "Answer:")


@pytest.fixture(scope="module")
def local(checkpoint_folder):
    return Checkpoint(str(checkpoint_folder)).load()


def test_greedy_text_is_what_the_library_writes(local, checkpoint_folder, tokenizer):
    network = AutoModelForCausalLM.from_pretrained(checkpoint_folder)
    ids = tokenizer(PROMPT.text, return_tensors="pt")["input_ids"]
    expected = network.generate(ids, max_new_tokens=12, do_sample=False, pad_token_id=1)[0]
    (reply,) = local.answer([Generate(PROMPT, max_tokens=12)])
    written = expected[ids.shape[1] :]
    assert reply.text == tokenizer.decode(written, skip_special_tokens=True)
    assert reply.prompt_tokens == ids.shape[1]
    assert reply.tokens == int((written != tokenizer.eos_token_id).sum())


@pytest.mark.parametrize("family", ["llama", "mistral", "qwen2", "qwen3"])
def test_many_at_once_write_what_each_writes_alone(family, make_checkpoint):
    folder = make_checkpoint(family)
    asks = mixed_asks()
    together = Checkpoint(str(folder)).load().answer(asks)
    network = AutoModelForCausalLM.from_pretrained(folder)
    one_by_one = Generator(network, load_tokens(folder, "", False))
    assert one_by_one.write(asks) == together
    assert len({reply.text for reply in together}) > len(asks) // 2


def mixed_asks() -> list[Generate]:
    """Prompts and texts of many lengths, greedy and sampled, with and without stop strings."""
    rng = random.Random(5)
    return [
        Generate(
            Prompt("Rules: draw.\n", f"Hand: {' '.join(rng.choices(COLOURS, k=number))}\n", ":"),
            max_tokens=rng.randint(1, 70),
            temperature=rng.choice([0.0, 0.7]),
            stop=rng.choice([(), ("e", "\n\n")]),
            seed=number,
        )
        for number in range(20)
    ]


def test_a_text_does_not_depend_on_company_order_or_threads(local):
    asks = mixed_asks()
    together = local.answer(asks)
    assert [local.answer([ask])[0] for ask in asks[::-3]] == together[::-3]
    torch.set_num_threads(3)
    assert local.answer(asks) == together
    torch.set_num_threads(1)


def test_logits_of_a_step_are_the_same_bits_in_any_company(local, monkeypatch):
    """Equal texts could hide unequal rounding, so this looks at the logits themselves."""
    asks, seen = mixed_asks()[:9], watched_logits(local, monkeypatch)
    local.answer(asks)
    count = len(seen)
    for width in (1, 4):
        for start in range(0, len(asks), width):
            local.answer(asks[start : start + width])
    assert len(seen) == count > 100


def watched_logits(local, monkeypatch):
    """The logits that each token is chosen from; fails if they are other bits the next time."""
    follow, seen = local._writer._endings._follow, {}

    def watch(text, guess, logits, likeliest):
        start = len(text.written)
        follow(text, guess, logits, likeliest)
        for place, row in zip(range(start, len(text.written)), logits, strict=False):
            assert torch.equal(seen.setdefault((text.request, place), row), row)

    monkeypatch.setattr(local._writer._endings, "_follow", watch)
    return seen


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("temperature", [0.0, 0.3])
def test_right_guesses_save_steps_and_none_changes_a_bit(
    checkpoint_folder, monkeypatch, dtype, temperature
):
    local = Checkpoint(str(checkpoint_folder), dtype=dtype).load()
    step, steps, texts = local._scorer.engine.step, [], {}
    monkeypatch.setattr(local._scorer.engine, "step", lambda *args: steps.append(1) or step(*args))
    seen = watched_logits(local, monkeypatch)
    asks = [Generate(ask.prompt, 150, temperature, seed=3) for ask in mixed_asks()[:5]]

    def unguessed(text, most):
        texts[text.request] = text
        return []

    def guess(text, most):
        """All right but every eighth."""
        coming = texts[text.request].written[len(text.written) :][:most]
        return [token ^ ((len(text.written) + at) % 8 == 0) for at, token in enumerate(coming)]

    monkeypatch.setattr(Text, "guess", unguessed)
    replies, count = local.answer(asks), len(steps)
    monkeypatch.setattr(Text, "guess", guess)
    local._writer._left = None
    assert local.answer(asks) == replies
    assert len(seen) == sum(reply.tokens for reply in replies) > 300
    assert len(steps) - count < 0.5 * count


def test_a_text_is_guessed_to_go_on_as_before():
    text = Text(Generate(PROMPT, 9), 0, [7, 1, 2, 3, 4, 5, 1, 2], (), 9, "length", False)
    assert text.guess(3) == []
    text.written.append(3)
    assert text.guess(3) == [4, 5, 1]
    assert text.guess(7) == [4, 5, 1, 2, 3, 4, 5]
    text.written += [9, 1, 2, 3]
    assert text.guess(2) == [9, 1]
    text.begin_again()
    assert text.guess(3) == []


def test_attention_whose_bits_depend_on_other_queries_makes_no_guesses(
    checkpoint_folder, monkeypatch
):
    plain = kv_cache.attend_last

    def uneven(queries, keys, values, mask, scaling):
        return plain(queries, keys, values, mask, scaling) * (1 + 0.01 * mask.shape[1])

    monkeypatch.setattr(kv_cache, "attend_last", uneven)
    kv_cache.steady.cache_clear()
    local = Checkpoint(str(checkpoint_folder)).load()
    assert Writing(local._scorer, local._writer._endings)._most_guesses == 0
    kv_cache.steady.cache_clear()
    monkeypatch.undo()
    assert Writing(local._scorer, local._writer._endings)._most_guesses == writing.GUESSES


def test_texts_that_join_later_are_what_they_are_alone(local):
    """Each look brings further requests, and ended texts are delivered before the others."""
    asks = mixed_asks()
    alone = [local.answer([ask])[0] for ask in asks]
    coming, replies = [asks[place : place + 3] for place in range(4, len(asks), 3)], {}
    writing = []

    def more():
        writing.append(len(replies))
        return coming.pop(0) if coming else []

    local.answer_on(asks[:4], more, replies.__setitem__)
    assert [replies[number] for number in range(len(asks))] == alone
    assert writing[-1] == len(asks)
    assert 0 < writing[1] < len(asks)


def test_scores_are_answered_while_texts_are_written(local):
    score, seen = Score((PROMPT,), ("A", "B")), []
    coming = [[score]]
    local.answer_on(
        [Generate(PROMPT, 60, 1.0, seed=2)],
        lambda: coming.pop() if coming else [],
        lambda number, reply: seen.append((number, reply)),
    )
    assert [number for number, _ in seen] == [1, 0]
    assert seen[0][1] == local.answer([score])[0]


@pytest.mark.parametrize("temperature", [0.0, 0.7])
@pytest.mark.parametrize("at_once", [True, False])
def test_a_cut_text_goes_on_where_it_was_cut(checkpoint_folder, monkeypatch, temperature, at_once):
    """Asked for again with more room, in the same stream or in the next call."""
    first = Generate(PROMPT, 20, temperature, seed=3)
    longer, other = replace(first, max_tokens=50), Generate(Prompt("", "e"), 33, 0.9, seed=4)
    local = Checkpoint(str(checkpoint_folder)).load()
    (full,) = Checkpoint(str(checkpoint_folder)).load().answer([longer])
    steps, step = [], local._scorer.engine.step
    monkeypatch.setattr(local._scorer.engine, "step", lambda *args: steps.append(1) or step(*args))
    replies, coming = {}, [[longer]] if at_once else []

    def more():
        return coming.pop() if coming and 0 in replies else []

    local.answer_on([first, other] if at_once else [first], more, replies.__setitem__)
    again = replies[2] if at_once else local.answer([longer])[0]
    assert replies[0].finishes == ("length",)
    assert again == full
    assert len(steps) < 55, "the first 20 tokens were not written twice"


@pytest.mark.parametrize(
    ("end_loops", "finish", "tokens"), [(256, "loop", 272), (0, "length", 300)]
)
def test_a_text_that_repeats_itself_is_ended(
    checkpoint_folder, monkeypatch, end_loops, finish, tokens
):
    local = Checkpoint(str(checkpoint_folder), end_loops=end_loops).load()
    scripted(monkeypatch, local, "red 1 " + "blue green yellow " * 300)
    (reply,) = local.answer([Generate(PROMPT, 300, 1.0)])
    assert (reply.finishes, reply.tokens) == ((finish,), tokens)


@pytest.mark.parametrize(("period", "loop"), [(1, True), (37, True), (85, True), (91, False)])
def test_a_loop_is_an_exact_repetition_of_a_short_part(period, loop):
    part = list(range(period))
    written = [7, 8, 9, *(part * 400)[:269]]
    assert loops(written, 256) is loop
    assert not loops(written, 0)
    assert not loops(written[:-1], 256)  # not a length that is looked at
    written[-100] += 1
    assert not loops(written, 256)
    assert loops(written, 64) is (period <= 32)


def test_out_of_memory_halves_what_is_written_at_once(local, monkeypatch, caplog):
    asks = mixed_asks()
    expected = local.answer(asks)
    step = local._scorer.engine.step

    def small(tokens, places, furthest, mixing):
        if (places > 0).sum() > 9:
            raise torch.OutOfMemoryError("out of memory")
        return step(tokens, places, furthest, mixing)

    monkeypatch.setattr(local._scorer.engine, "step", small)
    assert local.answer(asks) == expected
    assert "out of memory" in caplog.text


def test_a_stop_string_ends_the_text_and_is_left_off(local):
    (full,) = local.answer([Generate(PROMPT, 12)])
    stop = full.text[4:6]
    (stopped,) = local.answer([Generate(PROMPT, 12, stop=(stop,))])
    assert stopped.text == full.text[: full.text.index(stop)]
    assert stopped.tokens < full.tokens
    assert (full.finishes, stopped.finishes) == (("length",), ("stop_string",))


def test_tokens_are_drawn_by_their_chances():
    logits = torch.tensor([0.0, -torch.inf, 1.0, 2.0])
    rng = np.random.default_rng(0)
    drawn = np.bincount([choose(logits, 0.5, rng) for _ in range(4000)], minlength=4) / 4000
    chances = torch.softmax(logits / 0.5, dim=-1).numpy()
    assert drawn == pytest.approx(chances, abs=0.02)
    assert choose(logits, 0.0, rng) == 3
    assert {choose(logits, 1e-320, rng) for _ in range(9)} == {3}


def scripted(monkeypatch, local, text: str) -> None:
    """Let sampling choose the tokens of `text`, then the end of the text."""
    chosen = iter([*local.tokens._bare(text), 1])
    monkeypatch.setattr("gauntlet.models.engine.text.choose", lambda *_: next(chosen))


def test_a_text_that_the_model_ends_is_plain(local, monkeypatch):
    scripted(monkeypatch, local, "red 1")
    (reply,) = local.answer([Generate(PROMPT, 90, 1.0)])
    assert (reply.text, reply.details) == ("red 1", ())


@pytest.mark.parametrize("room", [0, 1, 5])
def test_a_text_fills_what_the_context_leaves(checkpoint_folder, room):
    for engine in ("packed", "reference"):
        local = Checkpoint(str(checkpoint_folder), engine=engine).load()
        filling = Prompt("", "e" * 600)
        while len(local.tokens.encode(filling)) > 512 - room:
            filling = Prompt("", filling.changing[:-1])
        (reply,) = local.answer([Generate(filling, 600)])
        written = 512 - len(local.tokens.encode(filling))
        assert (reply.tokens, reply.finishes) == (written, ("context",))
        assert bool(reply.text) is bool(written)


def test_a_prompt_longer_than_the_context_has_an_empty_answer(local):
    too_long, fits = Generate(Prompt("", "e " * 600), 5), Generate(PROMPT, 5)
    empty, text = local.answer([too_long, fits])
    assert (empty.text, empty.tokens, empty.finishes) == ("", 0, ("context",))
    assert empty.prompt_tokens > 512
    assert text == local.answer([fits])[0]


def test_thoughts_are_apart_and_no_stop_string_cuts_them(local, monkeypatch):
    text = "<think>I say Move: red\nor blue</think>\nMove: red 1\nand more"
    scripted(monkeypatch, local, text)
    (reply,) = local.answer([Generate(PROMPT, 90, 1.0, stop=("\n",))])
    assert reply.text == "Move: red 1"
    assert reply.detail().thoughts == "I say Move: red\nor blue"
    assert reply.detail().finish == "stop_string"
    thought = len(local.tokens._bare("<think>I say Move: red\nor blue</think>"))
    assert reply.thought_tokens in (thought, thought + 1)
    assert thought < reply.tokens


def test_harmonys_channels_are_read_from_tokens(checkpoint_folder, tmp_path, monkeypatch):
    """gpt-oss: its tags are made of special tokens, which decoding leaves out."""
    folder = shutil.copytree(checkpoint_folder, tmp_path / "harmony")
    marks = ["<|start|>", "<|channel|>", "<|message|>", "<|end|>"]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({"additional_special_tokens": marks})
    tokenizer.chat_template = (
        "{% for m in messages %}<|start|>{{ m.role }}"
        "{% if m.role == 'assistant' %}<|channel|>final{% endif %}<|message|>{{ m.content }}<|end|>"
        "{% endfor %}{% if add_generation_prompt %}<|start|>assistant{% endif %}"
    )
    tokenizer.save_pretrained(folder)
    network = AutoModelForCausalLM.from_pretrained(folder)
    network.resize_token_embeddings(len(tokenizer))
    network.save_pretrained(folder)
    model = Checkpoint(str(folder)).load()
    text = "<|channel|>analysis<|message|>red or\nblue<|end|><|start|>assistant"
    text += "<|channel|>final<|message|>red 1\nblue"
    scripted(monkeypatch, model, text)
    free = Prompt("Rules: draw.\n", "Hand: red 1\n")
    (reply,) = model.answer([Generate(free, 90, 1.0, stop=("\n",))])
    assert (reply.text, reply.detail().thoughts) == ("red 1", "red or\nblue")
    assert reply.detail().finish == "stop_string"
    thought = len(model.tokens._bare(text.partition("red 1")[0]))
    assert reply.thought_tokens == thought < reply.tokens
    # A cue and a score are of the answer: not where the model would begin a channel.
    answer = "<|start|>assistant<|channel|>final<|message|>"
    assert model.tokens.text(free).endswith("<|end|><|start|>assistant")
    assert model.tokens.text(free, answering=True).endswith(f"<|end|>{answer}")
    assert model.tokens.text(PROMPT).endswith(f"<|end|>{answer}Answer:")


@pytest.mark.parametrize("engine", ["packed", "reference"])
def test_a_score_and_a_cue_are_not_asked_within_thoughts(checkpoint_folder, tmp_path, engine):
    folder = shutil.copytree(checkpoint_folder, tmp_path / "thinker")
    (folder / "chat_template.jinja").write_text(
        "{% for m in messages %}<s>{{ m.content }}{% endfor %}"
        "{% if add_generation_prompt %}<think>\n{% endif %}"
    )
    model = Checkpoint(str(folder), engine=engine).load()
    closed = "<s>Rules: draw.\nHand: red 1\n<think>\n</think>\n\nAnswer:"
    assert model.tokens.text(PROMPT) == closed
    free = replace(PROMPT, cue="")
    raw = Checkpoint(str(checkpoint_folder), engine=engine).load()
    for prompt, text in ((PROMPT, closed), (free, closed.removesuffix("Answer:"))):
        (scored,) = model.answer([Score((prompt,), ("A", "B"))])
        (expected,) = raw.answer([Score((Prompt("", text.removeprefix("<s>")),), ("A", "B"))])
        assert scored.logprobs == expected.logprobs
    assert model.tokens.text(free).endswith("<think>\n"), "a text may think"


@pytest.mark.parametrize("opening", ["", "<think>\n"])
def test_thoughts_that_do_not_end_are_no_answer(local, monkeypatch, opening):
    scripted(monkeypatch, local, ("" if opening else "<think>") + "red is good, blue is good")
    most = 12
    (reply,) = local.answer([Generate(Prompt("", "Go.\n" + opening), most, 1.0, stop=("is",))])
    assert reply.text == ""
    assert reply.detail().finish == "length"
    assert reply.detail().thoughts.startswith("red" if opening else "r")
    assert reply.thought_tokens == reply.tokens == most


def test_thinking_room_comes_on_top(checkpoint_folder):
    plain, roomy = (
        Checkpoint(str(checkpoint_folder)),
        Checkpoint(str(checkpoint_folder), thinking_room=7),
    )
    asks = [Generate(PROMPT, 5), Generate(PROMPT, 12), Generate(PROMPT, 0)]
    _, long, _ = plain.load().answer(asks)
    more, _, none = roomy.load().answer(asks)
    assert more == long
    assert none.tokens == 0
    assert roomy.identity() == {**plain.identity(), "thinking_room": 7}
    with pytest.raises(ValueError, match=r"thinking_room -1 .* at least 0"):
        Checkpoint("x", thinking_room=-1)


@pytest.mark.parametrize("engine", ["packed", "reference"])
def test_a_cancelled_text_ends_at_its_next_token(engine, checkpoint_folder, monkeypatch):
    """Ctrl-C or a time limit must not wait for a long text to be complete."""
    model = Checkpoint(str(checkpoint_folder), engine=engine).load()
    extend, tokens = model._writer._endings.extend, []

    def count(active, *rest):
        extend(active, *rest)
        tokens.append(len(active))
        if len(tokens) == 3:
            model.cancel()

    monkeypatch.setattr(model._writer._endings, "extend", count)
    with pytest.raises(ModelError, match="the run ends"):
        model.answer([Generate(PROMPT, max_tokens=60)])
    assert len(tokens) == 3
    with pytest.raises(ModelError, match="the run ends"):
        model.answer([Score((PROMPT,), COLOURS)])
