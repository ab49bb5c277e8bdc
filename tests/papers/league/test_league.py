"""The public league: what is computed from its matches, and how a model joins."""

from __future__ import annotations

from pathlib import Path
from socket import create_server

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.stats import ttest_1samp

from gauntlet.common.conf_folders import CONF
from gauntlet.papers.league import join, matches, results
from gauntlet.pipeline.log import archive
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.metadata_files import parse_object, to_bytes
from tests.pipeline.conftest import Capsys, Once, Refusal
from tests.pipeline.logs import edited

PLAYERS = "players=[random,first_option,uct_4?,uct_16?,uct_64?,fake/pride,fake/cloze]"
FAKE = "_target_: gauntlet.models.fake.Fake\n"
CHECKPOINT = "_target_: gauntlet.models.checkpoint.Checkpoint\npath: {}\n"
LEAGUE = ("experiment=league", "game=tic_tac_toe,holdem_hands,uno", PLAYERS, "deals=2")


@pytest.fixture
def league(once: Once) -> Path:
    return once(*LEAGUE)


@pytest.fixture
def packed(league: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout whose league is the small one."""
    log = tmp_path / "log.tar.xz"
    archive.pack(Folder(league), log)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(join, "LOG", log)
    monkeypatch.setattr(join, "logs", lambda: [log])
    few = ("game=tic_tac_toe,holdem_hands,uno", "launch=inline")
    monkeypatch.setattr(join, "MORE", (*join.MORE, *few))
    return tmp_path


def test_games_have_the_leagues_names() -> None:
    told = {
        "uno": "uno",
        "evergreen[family=mnk,seed=3]": "evergreen mnk",
        "openspiel:hex[parameters={board_size:5}]": "hex",
        "textarena:Nim": "Nim, typed",
    }
    assert {label: matches.game_of(label) for label in told} == told


def test_only_complete_deals_count_and_each_score_is_the_players(league: Path) -> None:
    games = matches.read([league])
    frame = games.matches
    assert set(frame.groupby(matches.KEYS).size()) == {2}
    assert frame["score"].isin([0, 0.5, 1]).all()
    uno = frame[(frame["game"] == "uno") & (frame["player"] == "first_option")]
    log = Folder(league)
    (about,) = (
        one
        for one in log.sweep_cells()
        if (one.labels["game"], one.labels["agent"]) == ("uno", "first_option")
    )
    won = [np.mean([one.measures["win"][seat] for seat in one.measured])
           for one in log.matches(about.stem)]  # fmt: skip
    assert sorted(uno["score"]) == sorted(won)
    assert set(games.letters["player"]) == {"fake/cloze"}


def test_a_mean_over_games_is_students_t() -> None:
    values = np.random.default_rng(1).normal(0.1, 0.2, 12)
    mean, theirs = results.Mean.over_units(values), ttest_1samp(values, 0)
    assert mean.p == pytest.approx(theirs.pvalue)
    assert (mean.low, mean.high) == pytest.approx(tuple(theirs.confidence_interval()))
    assert np.isnan(results.Mean.over_units([0.3]).p)


@pytest.mark.parametrize(("value", "units", "p"), [(0.5, 3, 0.25), (-0.1, 6, 1 / 32), (0, 9, 1)])
def test_equal_values_have_the_p_of_the_sign_test_and_no_interval(
    value: float, units: int, p: float
) -> None:
    mean = results.Mean.over_units([value] * units)
    assert (mean.value, mean.p, mean.units) == (pytest.approx(value), p, units)
    assert np.isnan([mean.low, mean.high]).all()
    assert mean.brief() == f"{100 * value:+.0f}"


def test_a_rung_is_placed_at_its_own_playouts() -> None:
    levels = {"uct_4": 0.6, "uct_16": 0.7, "uct_64": 0.8, "me": 0.65}
    rows = {player: [level + at / 50 for at in range(5)] for player, level in levels.items()}
    scores = pd.DataFrame(rows, index=[*"abcde"]).T
    assert np.isnan(results.playouts(scores[[*"abcd"]], "me")[0]), "too few games"
    assert results.playouts(scores, "uct_16")[0] == pytest.approx(16)
    assert results.playouts(scores, "me")[0] == pytest.approx(8)  # halfway in the logarithm


@pytest.mark.parametrize("games", [5, 13])
def test_random_play_is_excluded_where_students_t_excludes_it(games: int) -> None:
    rng = np.random.default_rng(games)
    levels = {"uct_4": 0.68, "uct_16": 0.79, "uct_64": 0.85, "me": 0.5}
    p, fewest = [], []
    for _ in range(300):
        rows = {
            player: level + 0.12 * rng.standard_normal(games) for player, level in levels.items()
        }
        rows["me"] += rng.choice([0.0, 0.1])
        scores = pd.DataFrame(rows, index=[str(at) for at in range(games)]).T
        p.append(ttest_1samp(rows["me"], 0.5, alternative="greater").pvalue)
        fewest.append(results.playouts(scores, "me")[1])
    assert [one > 1 for one in fewest] == [one < 0.025 for one in p]
    assert 0 < sum(one > 1 for one in fewest) < 300


def test_the_results_are_printed(league: Path, capsys: Capsys, tmp_path: Path) -> None:
    figure = tmp_path / "map.png"
    assert results.main(["--logs", str(league), "--figure", str(figure)]) == 0
    told = capsys.readouterr().out
    assert "| `uct_64` |" in told
    assert "5. **Where do letters decide?**" in told
    assert figure.stat().st_size > 10_000


def test_the_short_tables_name_models_and_numbers(league: Path, capsys: Capsys) -> None:
    assert results.main(["brief", "--logs", str(league)]) == 0
    assert "For comparison: `first_option` " in capsys.readouterr().out
    assert results.main(["facts", "--logs", str(league)]) == 0
    played = len(matches.read([league]).matches)
    assert f"{played:,} matches of 6 players" in capsys.readouterr().out


def test_a_model_joins_and_its_entry_is_checked(
    packed: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = packed / "mine.yaml"
    model.write_text("_target_: gauntlet.models.fake.Fake\nseed: 7\n")
    words = [str(model), "--deals", "1", "--methods", "cloze"]
    assert join.main(words) == 0
    entry = packed / join.ENTRIES / "mine"
    told = capsys.readouterr().out
    assert "mine/cloze is number" in told
    assert " by rating" in told
    assert yaml.safe_load((entry / join.MODEL).read_text()) == {
        "_target_": "gauntlet.models.fake.Fake",
        "seed": 7,
    }
    monkeypatch.setattr(join, "REFERENCE", "fake")
    assert join.main(["--check", str(entry)]) == 0
    assert "6 matches played again as recorded, all is well" in capsys.readouterr().out
    played = Path("outputs/join/mine")
    file = next(iter((played / "records").glob("uno-*.jsonl")))
    honest = file.read_bytes()

    def check() -> str:
        archive.pack(Folder(played), entry / matches.LOG.name)
        assert join.main(["--check", str(entry)]) == 1
        return capsys.readouterr().out

    edited(file, lambda line: {**line, "returns": line["returns"][::-1]})
    assert "played again" in check()
    file.write_bytes(b"".join(honest.splitlines(keepends=True)[:-1]))
    assert "1 match of 1 deal" in check()
    file.write_bytes(honest)
    (entry / "more.sh").touch()
    assert "more.sh is no part of an entry" in check()
    (entry / "more.sh").unlink()
    (entry / join.MODEL).write_text("_target_: gauntlet.models.fake.Fake\nseed: 8\n")
    assert "model.fake is 7, in model.yaml 8" in check()
    (entry / join.MODEL).write_text(model.read_text())
    cell = played / "cells" / f"{file.stem}.json"
    described = parse_object(cell.read_bytes())

    def labelled(label: str, name: str) -> None:
        labels = {**described["labels"], label: name}
        cell.write_bytes(to_bytes({**described, "labels": labels}))

    labelled("prompt", "pride")
    assert "identity.players.1.agent.method.class is agents.prompting.cl" in check()
    labelled("agent", "mine/best")
    assert "labels.agent is mine/best, not the model by cloze" in check()
    file.unlink()
    cell.unlink()
    assert "left out\n  uno by cloze" in check()


@pytest.fixture
def entry(packed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An entry without fault."""
    (packed / "mine.yaml").write_text(f"{FAKE}seed: 7\n")
    assert join.main(["mine.yaml", "--deals", "1", "--methods", "cloze"]) == 0
    monkeypatch.setattr(join, "REFERENCE", "fake")
    monkeypatch.setattr(matches, "ENTRIES", packed / join.ENTRIES)
    return packed / join.ENTRIES / "mine"


def test_what_counts_is_what_is_checked(entry: Path, capsys: Capsys, refusal: Refusal) -> None:
    capsys.readouterr()
    hidden = entry.rename(entry.with_name(".mine"))
    assert hidden / matches.LOG.name in matches.logs()
    assert "a name has small letters" in refusal(join.main(["--check"]))
    hidden.rename(entry)
    (entry.parent / "stray").mkdir()
    assert join.main(["--check"]) == 2, "an entry without files"
    (entry.parent / "stray").rmdir()
    assert join.main(["--check"]) == 0
    link = entry / "model.yaml"
    link.rename(entry.parent.parent / "model.yaml")
    link.symlink_to(entry.parent.parent / "model.yaml")
    capsys.readouterr()
    assert str(link) in refusal(join.main(["--check"]))


def test_an_entry_does_not_take_a_name_of_the_league(
    entry: Path, capsys: Capsys, refusal: Refusal
) -> None:
    assert join.main(["--check", str(entry.rename(entry.with_name("fake")))]) == 1
    assert "the league has a model of this name, fake" in capsys.readouterr().out
    Path("fake.yaml").write_bytes((CONF / "model" / "fake.yaml").read_bytes())
    assert "the league has a model of this name" in refusal(join.main(["fake.yaml"]))


def test_a_check_contacts_nobody(
    entry: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLAMA_API_KEY", "the reviewer's")
    with create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        address = f"base_url: http://127.0.0.1:{server.getsockname()[1]}\n"
        for text in (
            f"_target_: gauntlet.models.llama_cpp.sources.LlamaServer\n{address}",
            f"_target_: gauntlet.models.api.openai.OpenAI\nname: m\n{address}",
        ):
            (entry / join.MODEL).write_text(text)
            assert join.main(["--check", str(entry)]) == 1, "the log is of another kind"
        with pytest.raises(TimeoutError):
            server.accept()


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (f"{FAKE}seed: many\n", 1),
        (f"{FAKE}seed: 7\nparameters: many\n", 1),
        (f"{FAKE}seed: 7\nsize: 1\n", 1),
        (CHECKPOINT.format("pkg:models/missing"), 1),
        (CHECKPOINT.format("someone/model"), 1),
        ("_target_: os.system\n", 2),
    ],
)
def test_a_bad_model_file_passes_no_check(
    text: str, status: int, entry: Path, capsys: Capsys
) -> None:
    (entry / join.MODEL).write_text(text)
    assert join.main(["--check", str(entry)]) == status
    assert "all is well" not in capsys.readouterr().out


def test_a_name_of_conf_is_not_taken_for_another_model(packed: Path, refusal: Refusal) -> None:
    (packed / "pocket.yaml").write_text("_target_: gauntlet.models.fake.Fake\n")
    told = refusal(join.main(["pocket.yaml"]))
    assert "conf/model has another model of this name" in told


def test_a_model_that_joined_before_is_placed_once(
    packed: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    (packed / "mine.yaml").write_text("_target_: gauntlet.models.fake.Fake\nseed: 7\n")
    words = ["mine.yaml", "--deals", "1", "--methods", "cloze"]
    assert join.main(words) == 0
    first = capsys.readouterr().out.splitlines()[-5:]
    logs = [*join.logs(), join.ENTRIES / "mine" / matches.LOG.name]
    monkeypatch.setattr(join, "logs", lambda: logs)
    assert join.main(words) == 0
    assert capsys.readouterr().out.splitlines()[-5:] == first
    assert "| `mine/cloze` |" in first[-2]


def test_weights_of_the_league_do_not_join_under_another_name(
    once: Once, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    league = once(
        "experiment=league", "game=tic_tac_toe", "players=[random,pocket/cloze]", "deals=1"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(join, "LOG", tmp_path / "log.tar.xz")
    monkeypatch.setattr(join, "logs", lambda: [join.LOG])
    archive.pack(Folder(league), join.LOG)
    Path("mine.yaml").write_bytes((CONF / "model" / "pocket.yaml").read_bytes())
    assert join.main(["mine.yaml"]) == 2
    assert "mine.yaml: the league has these weights, as pocket" in capsys.readouterr().err
    entry = tmp_path / "mine"
    entry.mkdir()
    Path("mine.yaml").rename(entry / join.MODEL)
    archive.pack(Folder(league), entry / matches.LOG.name)
    assert join.main(["--check", str(entry)]) == 1
    assert "mine has the weights of pocket" in capsys.readouterr().out


def test_a_model_may_have_the_name_of_the_leagues_folder(packed: Path, capsys: Capsys) -> None:
    file = packed / f"{packed.name}.yaml"
    file.write_text("_target_: gauntlet.models.fake.Fake\nseed: 7\n")
    assert join.main([str(file), "--deals", "1", "--methods", "cloze"]) == 0
    assert " of 7 by rating" in capsys.readouterr().out


def test_a_method_that_the_league_does_not_ask_by_is_named(packed: Path, refusal: Refusal) -> None:
    (packed / "mine.yaml").write_text("_target_: gauntlet.models.fake.Fake\n")
    told = refusal(join.main(["mine.yaml", "--methods", "cloze,cloz,tot"]))
    assert "does not ask by cloz, tot; it does by pride,cloze" in told


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("My Model.yaml", "_target_: x", "a name has small letters"),
        ("mine.yaml", "path: x", "a model's file has a _target_"),
        ("mine.yaml", "_target_: gauntlet.games.uno.Uno", "a model's file has a _target_"),
        ("mine.yaml", "a: [", "mine.yaml: while parsing"),
        ("mine.yaml", "a: \x07", "mine.yaml: unacceptable character"),
        ("mine.yaml", "a: &a [1]\nb: *a", "mine.yaml line 2: write *a out"),
        ("mine.yaml", "a: " + 13 * "[", "at most 12 levels"),
        ("mine.yaml", "#" * 2**17, "more than 65,536 bytes"),
        ("mine.yaml", f"{FAKE}seed: ${{oc.env:SEED}}", "write the values out"),
        ("mine.yaml", f"{FAKE}key: 0123456789abcdef", "holds the value of"),
    ],
)
def test_a_file_that_is_no_model_is_refused(
    packed: Path,
    refusal: Refusal,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    text: str,
    line: str,
) -> None:
    monkeypatch.setenv("MY_API_KEY", "0123456789abcdef")
    (packed / name).write_text(text)
    assert line in refusal(join.main([str(packed / name)]))
