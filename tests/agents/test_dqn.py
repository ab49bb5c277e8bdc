"""The DQN player: it takes the best legal option, and the shipped networks win."""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gauntlet.agents.dqn.network import Network, load, save
from gauntlet.agents.dqn.player import DQN
from gauntlet.games.sea_battle import SeaBattle
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.games.uno import State, Uno
from gauntlet.games.uno.arena import UnoArena
from gauntlet.games.uno.arena.rules import CALL, COLOUR, PHASE, YIELD
from gauntlet.games.uno.rules import ACTIONS
from gauntlet.training.dqn.evaluate import game_of, last_test, main, over_seeds, rate
from tests.agents.play import drive, turn_at, unasked

SHIPPED_GAMES = pytest.mark.parametrize("game", [Uno(), UnoArena()], ids=str)


def random_network(game: Any, seed: int = 0) -> Network:
    rng = np.random.default_rng(seed)
    sizes = [241 + game.num_seats, 8, game.num_codes]
    shapes = list(pairwise(sizes))
    weights = tuple(rng.normal(size=shape).astype(np.float32) for shape in shapes)
    return Network(weights, tuple(np.zeros(out, np.float32) for _, out in shapes))


def preferring(game: Any, *codes: int) -> Network:
    """A network that values these codes, the first most, and any other less, for any input."""
    network = random_network(game)
    values = np.full(game.num_codes, -1, np.float32)
    values[list(codes)] = np.linspace(1, 0.5, len(codes))
    empty = tuple(np.zeros_like(weight) for weight in network.weights)
    return Network(empty, (network.biases[0], values))


def player(folder: Path, game: Any, *networks: Network, seed: int = 0) -> DQN:
    save(folder / f"{game.encoding}.npz", networks)
    return DQN(seed, str(folder))


def test_networks_come_back_as_they_were_saved(tmp_path: Path) -> None:
    networks = [random_network(Uno(), seed) for seed in range(3)]
    save(tmp_path / "a.npz", networks)
    save(tmp_path / "b.npz", networks)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    for one, other in zip(networks, load(tmp_path / "a.npz"), strict=True):
        ours, theirs = (*one.weights, *one.biases), (*other.weights, *other.biases)
        assert all(map(np.array_equal, ours, theirs))


@SHIPPED_GAMES
def test_the_player_takes_the_action_that_its_trainer_takes(game: Any, tmp_path: Path) -> None:
    """The player reads an observation; the trainer reads a practice."""
    network = random_network(game)
    agent, practice = player(tmp_path, game, network), game.practice(1, 3)
    for number in range(10):
        going = practice.begin(number)
        while going:
            values = network.values(practice.features[None])[0]
            values[~practice.legal] = -np.inf
            code = int(values.argmax())
            state = State(practice.state.copy())
            assert code in chosen(agent, game, state)
            going = practice.take(code)


def chosen(agent: DQN, game: Any, state: State) -> set[int]:
    """The codes of the option that the agent takes; of a wild, that of the colour it names."""
    (seat,) = game.to_move(state)
    turn = turn_at(game, state, seat)
    option = 0
    if len(turn.options) > 1:
        option = drive(agent, turn, unasked)[0].option
    after = game.play(state, (turn.options[option],))
    if game.to_move(after) and isinstance(game, UnoArena) and after.array[PHASE] == COLOUR:
        return chosen(agent, game, after)
    return set(game.option_codes(turn.observation)[option])


@pytest.mark.parametrize("answer", [CALL, YIELD])
def test_it_answers_a_wild_draw_four(answer: int, tmp_path: Path) -> None:
    game, asked = UnoArena(), 0
    agent = player(tmp_path, game, preferring(game, ACTIONS + answer))
    practice = game.practice(1, 3)
    for number in range(60):
        going = practice.begin(number)
        while going:
            legal = np.flatnonzero(practice.legal)
            if legal[0] >= ACTIONS:
                state = State(practice.state.copy())
                assert drive(agent, turn_at(game, state, 1), unasked)[0].option == answer
                asked += 1
            going = practice.take(int(legal[-1]))
    assert asked > 3


@SHIPPED_GAMES
def test_scores_are_the_values_of_the_options_best_codes(game: Any, tmp_path: Path) -> None:
    network = random_network(game)
    state = game.deal(np.random.default_rng(1))
    while len(game.legal(state, game.to_move(state)[0])) < 2:
        state = game.play(state, game.legal(state, game.to_move(state)[0]))
    turn = turn_at(game, state, game.to_move(state)[0])
    decision, _ = drive(player(tmp_path, game, network), turn, unasked)
    values = network.values(game.encode(turn.observation)[None])[0]
    expected = [max(values[c] for c in own) for own in game.option_codes(turn.observation)]
    assert decision.scores == pytest.approx(expected)
    assert decision.option == int(np.argmax(decision.scores))


def test_other_weights_make_another_player(tmp_path: Path) -> None:
    first, second, third = tmp_path / "1", tmp_path / "2", tmp_path / "3"
    first.mkdir()
    third.mkdir()
    one = player(first, Uno(), random_network(Uno()))
    shutil.copytree(first, second)
    assert DQN(weights=str(second), digest=one.digest) == one
    assert player(third, Uno(), random_network(Uno(), 1)) != one
    with pytest.raises(ValueError, match=f"^digest is {one.digest}; the networks in {third} have "):
        DQN(weights=str(third), digest=one.digest)


def test_what_it_cannot_play_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nowhere'; no networks"):
        DQN(weights=str(tmp_path / "nowhere"))
    agent = player(tmp_path, Uno(), random_network(Uno()))
    agent.check(Uno())
    with pytest.raises(ValueError, match="SeaBattle does not tell its decisions in numbers"):
        agent.check(SeaBattle())
    with pytest.raises(ValueError, match="no network for uno-3; there are uno-2"):
        agent.check(Uno(3))
    with pytest.raises(ValueError, match="seed is 1; uno-2 has seeds 0 to 0"):
        DQN(1, str(tmp_path)).check(Uno())


def damaged(kind: str, content: bytes, path: Path) -> None:
    """Write a file that holds no networks."""
    number = np.zeros(3, np.float32)
    if kind == "another's":
        np.savez(path, a=number, b=number)
    elif kind == "one array":
        with path.open("wb") as file:
            np.save(file, number)
    elif kind == "other shapes":
        np.savez(path, weight0=number, bias0=number)
    elif kind == "layers apart":
        first, second = np.zeros((1, 4, 5)), np.zeros((1, 6, 7))
        np.savez(path, weight0=first, bias0=first[:, 0], weight1=second, bias1=second[:, 0])
    else:
        path.write_bytes({"empty": b"", "cut short": content[:-99], "text": b"no\n"}[kind])


@pytest.mark.parametrize(
    "kind",
    ["another's", "one array", "other shapes", "layers apart", "empty", "cut short", "text"],
)
def test_a_damaged_file_is_refused_with_its_path(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "uno-2.npz"
    save(path, [random_network(Uno())])
    damaged(kind, path.read_bytes(), path)
    with pytest.raises(ValueError, match=r"uno-2\.npz holds no networks of training.dqn.train"):
        DQN(weights=str(tmp_path)).check(Uno())
    path.unlink()
    path.mkdir()
    with pytest.raises(ValueError, match=r"uno-2\.npz cannot be read"):
        DQN(weights=str(tmp_path))


def test_networks_of_another_shape_are_refused(tmp_path: Path) -> None:
    agent = player(tmp_path, Uno(), random_network(Uno(3)))
    with pytest.raises(ValueError, match="244 numbers into the values of 61 codes; it tells 243"):
        agent.check(Uno())


def test_a_write_that_fails_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "uno-2.npz"
    save(path, [random_network(Uno())])
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="disk full"):
        save(path, [random_network(Uno(), 1)])
    assert path.read_bytes() == before


def test_the_command_line_reports_and_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    player(tmp_path, Uno(), random_network(Uno()), random_network(Uno(), 1))
    asked = ["--weights", str(tmp_path), "--games", "50", "--game"]
    assert main([*asked, "games.uno.Uno"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("|")[1].strip() for line in lines[2:]] == [
        *("seed 0", "seed 1", "all, over games", "all, over seeds")
    ]
    assert lines[4].startswith("| all, over games | 100 | ")
    assert main([*asked, "games.uno.arena.UnoArena"]) == 2
    assert main([*asked, "games.uno.Nothing"]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 2
    assert "no network for uno_arena-2" in errors[0]
    (tmp_path / "uno-2.npz").write_bytes(b"")
    assert main([*asked, "games.uno.Uno"]) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert "uno-2.npz holds no networks" in error
    with pytest.raises(ValueError, match="is no class of a game for two"):
        game_of("games.uno.Nothing")


def test_a_game_is_found_by_its_full_name_and_by_its_id() -> None:
    assert type(game_of("gauntlet.games.uno.Uno")) is type(game_of("games.uno.Uno")) is Uno


def test_the_interval_over_seeds_is_students() -> None:
    # Sd .015811 and t(.975, 4) = 2.7764: .0196 to either side.
    mean, low, high = over_seeds(np.array([0.5, 0.52, 0.48, 0.51, 0.49]))
    assert (mean, low, high) == pytest.approx((0.5, 0.4804, 0.5196), abs=1e-4)


@pytest.mark.parametrize(
    ("game", "seats", "least"),
    [(Uno(), (1,), 0.5), (UnoArena(), (1,), 0.5), (TicTacToe(), (0, 1), 0.9)],
    ids=str,
)
def test_what_comes_with_the_project_beats_a_random_player(
    game: Any, seats: tuple[int, ...], least: float
) -> None:
    """1,000 games of each of five networks in the seats that they learnt. A random player wins less
    than half of them there: 44% in Tic-Tac-Toe."""
    networks = DQN().networks(game)
    ended = [last_test(game, network, 10**9, 1000, seats) for network in networks]
    assert len(networks) == 5
    assert rate(np.concatenate(ended)).low > least
