"""A person at the terminal as a model: output, and handling of typed input."""

from __future__ import annotations

import math
import os
import signal
import threading
from collections.abc import Iterator

import pytest

from gauntlet.common.errors import ModelError
from gauntlet.models.base import Generate, Generation, Prompt, Score, Scores
from gauntlet.models.human import Terminal, TerminalModel


class Person:
    """A person who types into a model's keyboard, ahead of the prompts."""

    def __init__(self) -> None:
        reading, self.writing = os.pipe()
        self.reading = reading
        self.model = TerminalModel(reading)

    def types(self, text: str) -> None:
        os.write(self.writing, text.encode())


@pytest.fixture
def person() -> Iterator[Person]:
    someone = Person()
    patience = threading.Timer(20, someone.model.cancel)
    patience.start()  # a line that is not taken would be waited for without end
    yield someone
    patience.cancel()
    os.close(someone.reading)


def question(*moves: str) -> Score:
    changing = "".join(f"{move}\n" for move in moves) + "Hand: 3 cards\n"
    return Score((Prompt("You play Snap.\n", changing, "Choice:"),), ("1", "2", "3"))


def test_what_is_typed_is_certain_and_all_else_impossible(person: Person) -> None:
    person.types("2\n")
    (reply,) = person.model.answer([question()])
    assert reply == Scores(((-math.inf, 0.0, -math.inf),), (7,))


def test_lines_typed_ahead_answer_one_question_each(person: Person) -> None:
    person.types("1\n 3 \n")
    first, second = person.model.answer([question(), question()])
    assert isinstance(first, Scores)
    assert isinstance(second, Scores)
    assert first.logprobs[0].index(0.0) == 0
    assert second.logprobs[0].index(0.0) == 2


def test_any_other_line_is_asked_about_again(
    person: Person, capsys: pytest.CaptureFixture[str]
) -> None:
    person.types("four\n\n4\n3\n")
    (reply,) = person.model.answer([question()])
    assert isinstance(reply, Scores)
    assert reply.logprobs[0].index(0.0) == 2
    output = capsys.readouterr().out
    for wrong in ("'four'", "''", "'4'"):
        assert f"{wrong} is not one of 1, 2, 3\nChoice:" in output
    assert output.count("You play Snap.") == 1


def test_an_options_name_is_taken_for_its_number(
    person: Person, capsys: pytest.CaptureFixture[str]
) -> None:
    """In any case, with spaces or underscores; a number stays one, whatever the options' names."""
    listed = "Options:\n1) FOLD\n2) RAISE_HALF_POT\n3) 1\n"
    request = Score((Prompt("", listed, "Your choice:"),), ("1", "2", "3"))
    person.types("fold\nraise half pot\n1\ncall\n3) 1\n3\n")
    replies = person.model.answer([request] * 4)
    chosen = [reply.logprobs[0].index(0.0) for reply in replies if isinstance(reply, Scores)]
    assert chosen == [0, 1, 0, 2]
    output = capsys.readouterr().out
    assert "'call' is not one of 1, 2, 3" in output
    assert "'3) 1' is not one of 1, 2, 3" in output


def test_what_was_read_is_not_printed_again(
    person: Person, capsys: pytest.CaptureFixture[str]
) -> None:
    person.types("1\n1\n1\n")
    for moves in ((), ("one",), ("one", "two")):
        person.model.answer([question(*moves)])
    assert capsys.readouterr().out == (
        "You play Snap.\nHand: 3 cards\nChoice: one\nHand: 3 cards\nChoice: two\nHand: 3 cards\n"
        "Choice: "
    )


def test_a_message_without_room_for_words_waits_for_nobody(
    person: Person, capsys: pytest.CaptureFixture[str]
) -> None:
    person.types("hello there\n")
    shown, written = person.model.answer(
        [Generate(Prompt("", "It is over.\n"), 0), Generate(Prompt("", "", "Say:"), 8)]
    )
    assert (shown, written) == (Generation("", 3, 0), Generation("hello there", 1, 2))
    assert capsys.readouterr().out.startswith("It is over.\n")


def test_cancelling_ends_the_wait(person: Person) -> None:
    timer = threading.Timer(0.05, person.model.cancel)
    timer.start()
    with pytest.raises(ModelError, match="nobody is at the terminal"):
        person.model.answer([question()])
    timer.join()


def test_the_end_of_the_input_interrupts(person: Person) -> None:
    """No default answer is given: the wait continues until the program hangs up."""
    interrupted = []
    before = signal.signal(
        signal.SIGINT, lambda *_: (interrupted.append(True), person.model.cancel())
    )
    try:
        os.close(person.writing)
        waiting = threading.Thread(target=_refused, args=(person.model,))
        waiting.start()
        waiting.join(30)
    finally:
        signal.signal(signal.SIGINT, before)
    assert interrupted == [True]
    assert not waiting.is_alive()


def _refused(model: TerminalModel) -> None:
    with pytest.raises(ModelError, match="nobody is at the terminal"):
        model.answer([question()])


def test_nobody_reads_a_prompt_for_each_option(person: Person) -> None:
    two = Score(question().prompts * 2, ("1", "2"))
    with pytest.raises(ModelError, match="one prompt a decision, not 2"):
        person.model.answer([two])


def test_the_source_is_a_value_that_costs_nothing() -> None:
    assert Terminal() == Terminal()
    assert hash(Terminal()) == hash(Terminal())
    Terminal().check_choices(("any", "word at all"))
