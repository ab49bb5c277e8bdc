"""GGUF files and llama.cpp servers: the protocol, against llama.cpp itself with tiny random models,
and with a real model where the cache has it."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from gauntlet.common.errors import ModelError, Stopped
from gauntlet.models.base import Dialogue, Generate, Prompt, Score, Scores
from gauntlet.models.chat import KNOWN, thoughts_of
from gauntlet.models.llama_cpp import answers
from gauntlet.models.llama_cpp.answers import finish_of, parse_draft, seed_of
from gauntlet.models.llama_cpp.client import Client, LocalServer
from gauntlet.models.llama_cpp.sources import Gguf, LlamaServer
from tests.gguf_files import POSITIONS, TEMPLATE, write_gguf

installed = pytest.mark.skipif(
    not (find_spec("xllamacpp") and find_spec("gguf")), reason="the extra gguf is not installed"
)
RULES = "Rules: take a letter.\n"
QUESTION = Prompt(RULES, "A: one, B: two. Which?\n", "Answer:")
LETTERS = ("A", "B", "C")
FAR = Prompt("", "far " * POSITIONS)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf", TEMPLATE)


def source(file: Path, **settings: Any) -> Gguf:
    return Gguf(str(file), **{"threads": 1, "slots": 1, **settings})


@pytest.fixture(scope="module")
def model(file: Path) -> Iterator[answers.LlamaCpp]:
    with closing(source(file, slots=2).load()) as loaded:
        yield loaded


def scores(model: Any, *prompts: Prompt, choices: tuple[str, ...] = LETTERS) -> Scores:
    (reply,) = model.answer([Score(prompts, choices)])
    assert isinstance(reply, Scores)
    return reply


@installed
def test_scores_are_of_the_whole_vocabulary(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few log-probabilities, or all of them: the same ones for the choices, and they sum to 1."""
    monkeypatch.setattr(answers, "FIRST", 1 << 10)
    text = model._texts.text(QUESTION, answering=True).text
    spelt = tuple(map(model._vocabulary.spellings, LETTERS))
    full = model._hear(QUESTION, spelt)
    assert math.isclose(sum(map(math.exp, full.listed.values())), 1, rel_tol=1e-4)
    assert text.endswith("</s>[assistant]\nAnswer:")
    monkeypatch.setattr(answers, "FIRST", 1)
    assert scores(model, QUESTION).logprobs[0] == pytest.approx(full.logprobs(spelt), abs=1e-4)
    assert scores(model, QUESTION).tokens == (full.tokens,)


@installed
@pytest.mark.parametrize("template", ["", TEMPLATE])
def test_a_token_that_ends_texts_is_left_out(template: str, file: Path, tmp_path: Path) -> None:
    """A file may want it after every text, where a model would be asked what follows the end."""
    replies = []
    for ends in (False, True):
        gguf = write_gguf(tmp_path / f"{ends}.gguf", template, ends=ends)
        with closing(source(gguf).load()) as model:
            replies.append(model.answer([Score((QUESTION,), LETTERS), Generate(QUESTION, 5)]))
    (scored, written), (scored_too, written_too) = replies
    assert isinstance(scored, Scores)
    assert isinstance(scored_too, Scores)
    assert scored_too.tokens == scored.tokens
    assert scored_too.logprobs[0] == pytest.approx(scored.logprobs[0], abs=1e-3)
    assert written_too == written


@installed
@pytest.mark.parametrize("bos", ["", "{{ bos_token }}"])
def test_a_template_that_prints_today_prints_a_day_that_stays(bos: str, tmp_path: Path) -> None:
    """A server prints its own day, so the template is rendered here."""
    dated = f"{bos}{{{{ strftime_now('%Y-%m-%d') }}}}\n{TEMPLATE}"
    ours, plain = (write_gguf(tmp_path / f"{n}.gguf", t) for n, t in enumerate((dated, TEMPLATE)))
    assert source(ours).identity()["date"] == "2024-07-26"
    assert "date" not in source(ours, chat=False).identity()
    with closing(source(ours).load()) as model, closing(source(plain).load()) as other:
        text = model._texts.text(QUESTION, answering=True).text
        assert text == "2024-07-26\n" + other._texts.text(QUESTION, answering=True).text
        server = LlamaServer(model._client._address.geturl())
        assert scores(model, QUESTION).tokens[0] == scores(other, QUESTION).tokens[0] + 11
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LLAMA_API_KEY", model._client._key)
            assert server.identity()["date"] == "2024-07-26"


@installed
def test_damaged_weights_are_named_before_anything_is_played(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="its logits are not finite"):
        source(write_gguf(tmp_path / "nan.gguf", damaged=True)).load()


@installed
def test_a_template_that_loses_the_question_is_refused(tmp_path: Path) -> None:
    gguf = write_gguf(tmp_path / "lost.gguf", "{% for m in messages %}[{{ m.role }}]{% endfor %}")
    with pytest.raises(ModelError, match=r"; set chat to false$"):
        source(gguf).load()


@installed
@pytest.mark.parametrize(
    ("opening", "closed"),
    [("<think>\n", "<think>\n</think>\n\n"), ("[THINK]", "[THINK]\n[/THINK]\n\n")],
)
def test_thoughts_that_a_template_opens_are_closed(
    opening: str, closed: str, tmp_path: Path
) -> None:
    gguf = write_gguf(
        tmp_path / "thinker.gguf", TEMPLATE.replace("[assistant]\n", f"[assistant]\n{opening}")
    )
    with closing(source(gguf).load()) as model:
        free = Prompt(RULES, "Which?\n")
        assert model._texts.text(free, answering=False).text.endswith(f"[assistant]\n{opening}")
        assert model._texts.text(free, answering=True).text.endswith(f"[assistant]\n{closed}")
        assert model._texts.text(QUESTION, answering=False).text.endswith(f"\n{closed}Answer:")


@installed
def test_a_choice_that_is_not_listed_has_a_ceiling(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = scores(model, QUESTION)
    monkeypatch.setattr(answers, "FIRST", 2)
    monkeypatch.setattr(answers, "MOST", 2)
    cut = scores(model, QUESTION)
    assert -math.inf in cut.logprobs[0]
    missing = [t for t, c in zip(true.logprobs[0], cut.logprobs[0], strict=True) if c == -math.inf]
    assert max(missing) <= cut.ceilings[0]


@installed
def test_a_choice_of_several_tokens_is_refused(file: Path) -> None:
    source(file).check_choices(LETTERS)
    with pytest.raises(ModelError, match="'Maybe'"):
        source(file).check_choices(("A", "Maybe"))


@installed
def test_scores_do_not_depend_on_the_cache(model: Any) -> None:
    prompts = [Prompt(RULES * 8, f"Turn {n}.\n", "Answer:") for n in range(6)]
    forth = [scores(model, prompt).logprobs[0] for prompt in prompts]
    back = [scores(model, prompt).logprobs[0] for prompt in reversed(prompts)]
    for row, other in zip(forth, reversed(back), strict=True):
        assert row == pytest.approx(other, abs=1e-3)


@installed
def test_raw_text_is_the_prompt_itself(file: Path) -> None:
    with closing(source(file, chat=False).load()) as model:
        assert model._texts.text(QUESTION, answering=True).text == QUESTION.text


@installed
def test_a_dialogue_and_a_system_text_are_messages(model: Any) -> None:
    dialogue = Dialogue(RULES, "Which?", "Answer:", "Be brief.\n", ((" A", "Sure?"),))
    assert model._texts.text(dialogue, answering=True).text == (
        "[system]\nBe brief.\n</s>[user]\nRules: take a letter.\nWhich?</s>"
        "[assistant]\nAnswer: A</s>[user]\nSure?</s>[assistant]\nAnswer:"
    )


@installed
def test_a_text_is_the_same_for_the_same_seed(model: Any) -> None:
    (three,) = model.answer([Generate(QUESTION, 8, temperature=1.0, seed=7, n=3)])
    (single,) = model.answer([Generate(QUESTION, 8, temperature=1.0, seed=7)])
    assert three.text == single.text
    assert len({*three.texts}) == 3
    assert (single.tokens, single.finishes) == (8, ("length",))


@installed
def test_a_text_ends_at_a_stop_string_or_with_the_context(model: Any) -> None:
    (whole,) = model.answer([Generate(QUESTION, 40)])
    stop = next(letter for letter in whole.text if letter.isascii() and letter.isalpha())
    (cut,) = model.answer([Generate(QUESTION, 40, stop=(stop,))])
    assert cut.text == whole.text.partition(stop)[0]
    assert cut.finishes == ("stop_string",)
    (full,) = model.answer([Generate(QUESTION, 2 * POSITIONS, temperature=1.0, seed=1)])
    assert full.finishes[0] in ("context", "stop")


@installed
def test_a_prompt_longer_than_the_context(model: Any) -> None:
    (reply,) = model.answer([Generate(FAR, 8, n=2)])
    assert (reply.texts, reply.finishes) == (("", ""), ("context", "context"))
    assert reply.prompt_tokens > POSITIONS
    with pytest.raises(ModelError, match=rf"does not fit into its context of {POSITIONS}"):
        scores(model, FAR)


@installed
def test_waiting_requests_end_with_the_model(file: Path) -> None:
    model, errors = source(file).load(), []

    def write() -> None:
        try:
            while True:
                model.answer([Generate(QUESTION, POSITIONS, temperature=1.0)])
        except ModelError as error:
            errors.append(str(error))

    thread = threading.Thread(target=write)
    thread.start()
    time.sleep(0.3)
    model.close()
    thread.join(10)
    assert not thread.is_alive()
    assert errors[0].endswith("the run ends")


@installed
def test_the_identity_is_the_content(file: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved.gguf"
    moved.write_bytes(file.read_bytes())
    here = source(file).identity()
    assert here == source(moved, threads=2, context=2 * POSITIONS).identity()
    assert here["context"] == POSITIONS
    assert here != source(file, chat=False).identity()
    assert here != source(file, context=256).identity()
    assert here != source(file, slots=2).identity()
    assert here != source(write_gguf(moved, TEMPLATE, seed=1)).identity()


@installed
def test_auto_takes_the_file_s_own_template(file: Path, tmp_path: Path) -> None:
    plain = write_gguf(tmp_path / "plain.gguf")
    assert [source(path).identity()["chat"] for path in (file, plain)] == [True, False]
    with pytest.raises(ModelError, match="set chat to auto or false"):
        source(plain, chat=True).identity()


@installed
def test_a_file_in_parts_is_all_of_them(file: Path, tmp_path: Path) -> None:
    first, second = (tmp_path / f"m-0000{n}-of-00002.gguf" for n in (1, 2))
    first.write_bytes(file.read_bytes())
    with pytest.raises(ModelError, match=r"m-00002-of-00002\.gguf"):
        source(first).identity()
    second.write_bytes(b"GGUF 1")
    before = source(first).identity()
    second.write_bytes(b"GGUF 22")
    assert source(first).identity() != before


def test_a_missing_file_and_others_are_refused_in_one_line(
    tmp_path: Path, checkpoint_folder: Path
) -> None:
    text, short = tmp_path / "text.gguf", tmp_path / "short.gguf"
    pointer = tmp_path / "pointer.gguf"
    pointer.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n")
    text.write_text("hello")
    short.write_bytes(b"GGUF\x03\x00")
    for path, why in (
        (tmp_path / "none.gguf", "does not exist"),
        (tmp_path, "is a folder"),
        (checkpoint_folder, "model=hf plays this folder"),
        (pointer, "is a pointer of Git LFS"),
        (text, "is no GGUF file"),
        (short, "is truncated or damaged"),
    ):
        with pytest.raises(ModelError, match=why) as raised:
            source(path).identity()
        assert "\n" not in str(raised.value)


@installed
def test_llama_cpp_s_own_reason_is_shown(file: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(file.read_bytes()[:-4000])
    with pytest.raises(ModelError, match="not within the file bounds"):
        source(cut).load()
    alien = write_gguf(tmp_path / "alien.gguf", architecture="zebra")
    with pytest.raises(ModelError, match="'zebra'"):
        source(alien).load()


@pytest.mark.parametrize(
    "settings", [{"chat": "yes"}, {"context": 0}, {"slots": 0}, {"threads": -1}]
)
def test_settings_that_are_not_allowed(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        Gguf("x.gguf", **settings)


@installed
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_the_server_ends_with_the_run(file: Path, end: signal.Signals) -> None:
    program = (
        "import sys, time; from gauntlet.models.llama_cpp.sources import Gguf\n"
        f"model = Gguf({str(file)!r}, threads=1, slots=1).load()\n"
        "print(model._client._address.port, flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        os.kill(process.pid, end)
    client = Client("it", f"http://127.0.0.1:{port}")
    assert any(_is_gone(client) for _ in range(100))


def _is_gone(client: Client) -> bool:
    try:
        client.ask("health")
    except Stopped as error:
        return "refused" in str(error)
    time.sleep(0.05)
    return False


@installed
def test_a_running_server_gives_the_same_answers(
    file: Path, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = LocalServer(str(file), 1, POSITIONS, 2)
    try:
        there = LlamaServer(server.address)
        with pytest.raises(Stopped, match=r"wants a key, .*LLAMA_API_KEY"):
            there.load()
        monkeypatch.setenv("LLAMA_API_KEY", server.key)
        there.check_choices(LETTERS)
        identity = there.identity()
        assert identity["llama_server"] == file.name
        assert server.address not in json.dumps(identity)
        with closing(there.load()) as remote:
            assert remote.slots == 2
            row = scores(remote, QUESTION).logprobs[0]
            assert row == pytest.approx(scores(model, QUESTION).logprobs[0], abs=1e-3)
    finally:
        server.close()
    with pytest.raises(Stopped, match=r"no llama\.cpp server answers"):
        there.identity()


@installed
def test_a_server_of_a_model_without_template_takes_raw_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = LocalServer(str(write_gguf(tmp_path / "plain.gguf")), 1, 256, 1)
    monkeypatch.setenv("LLAMA_API_KEY", server.key)
    try:
        assert LlamaServer(server.address).identity()["chat"] is False
    finally:
        server.close()


Respond = Callable[[str], tuple[int, Mapping[str, Any]]]


@contextmanager
def fake_server(respond: Respond) -> Iterator[str]:
    """The address of a server that replies with a status and JSON."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, body = respond(self.path)
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_GET  # noqa: N815 - the library's name

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


LOADING = (503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}})


def test_a_server_that_loads_its_model_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gauntlet.models.llama_cpp.client.POLL_SECONDS", 0.01)
    replies = iter([LOADING, LOADING])
    listed = {"completion_probabilities": [{"top_logprobs": [{"id": 5, "logprob": -0.1}]}]}
    ready = {"total_slots": 3, "tokens": [5], "tokens_evaluated": 1, **listed}
    with fake_server(lambda _: next(replies, (200, ready))) as address:
        assert LlamaServer(address, chat=False).load().slots == 3
    with (
        fake_server(lambda _: LOADING) as address,
        pytest.raises(Stopped, match=r"Loading model"),
    ):
        LlamaServer(address, timeout=0.1).load()


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("", "wants a key, .*LLAMA_API_KEY"),
        ("wrong", "it does not accept the key in the variable LLAMA_API_KEY"),
        ("se\ncret", "the variable LLAMA_API_KEY holds a space"),
        ("sécret", "the variable LLAMA_API_KEY holds a space"),
    ],
)
def test_a_key_that_is_missing_or_wrong_is_named(
    monkeypatch: pytest.MonkeyPatch, key: str, line: str
) -> None:
    monkeypatch.setenv("LLAMA_API_KEY", key)
    refused = (401, {"error": {"message": "Invalid API Key", "code": 401}})
    with (
        fake_server(lambda _: refused) as address,
        pytest.raises(ModelError, match=line) as raised,
    ):
        LlamaServer(address).load()
    assert "cret" not in str(raised.value)


def test_another_server_is_named_as_such() -> None:
    with (
        fake_server(lambda _: (404, {"detail": "Not Found"})) as address,
        pytest.raises(Stopped, match=r"model=openai"),
    ):
        LlamaServer(address).load()


@pytest.mark.parametrize("url", ["localhost:9931", "ftp://host", "http://me:secret@host"])
def test_an_address_is_checked(url: str) -> None:
    with pytest.raises(ValueError, match="base_url"):
        LlamaServer(url)


@pytest.mark.parametrize(
    ("reply", "finish"),
    [
        ({"stop_type": "eos"}, "stop"),
        ({"stop_type": "word", "stopping_word": "."}, "stop_string"),
        ({"stop_type": "limit"}, "length"),
        ({"stop_type": "limit", "truncated": True}, "context"),
        ({"stop_type": "none"}, "unknown"),
    ],
)
def test_why_a_text_ended(reply: dict[str, Any], finish: str) -> None:
    assert finish_of(reply) == finish


def test_thoughts_are_kept_apart() -> None:
    reply = {"content": "I take A.</think>\n\nA", "stop_type": "eos"}
    draft = parse_draft(reply, thoughts_of(None), KNOWN[0])
    assert (draft.text, draft.detail().thoughts) == ("A", "I take A.")


def test_seeds_are_32_bits_and_differ() -> None:
    seeds = {seed_of(seed, sample) for seed in range(100) for sample in range(10)}
    assert len(seeds) == 1000
    assert max(seeds) < 2**32 - 1
