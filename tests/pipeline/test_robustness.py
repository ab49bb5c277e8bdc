"""Several wordings, seeds, samples and seats in one sweep: the matches, and the tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gauntlet.agents.random import Random
from gauntlet.games.uno import Uno
from gauntlet.pipeline import report
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import Adjusted, CellResults
from gauntlet.pipeline.plan.cells import Cell, Plan, Player, Task, seed_of_deal
from gauntlet.pipeline.plan.identity import cell_identity
from gauntlet.pipeline.play.chains import run
from gauntlet.pipeline.play.match import play
from gauntlet.pipeline.run import main
from gauntlet.pipeline.tables.commands.robustness import crossed, split_wording
from gauntlet.pipeline.tables.registry import TERMINAL, Results, tables
from gauntlet.pipeline.tables.sweep.outcomes import seeds
from tests.pipeline.conftest import Capsys, Refusal
from tests.pipeline.made import about, made_of, won

PLAYERS = tuple(Player("random", Random(), None, None) for _ in range(2))


def cell(samples: int = 1, rotate: bool = False) -> Cell:
    labels = {"game": "uno", "seats": "solo", "agent": "random", "model": "-", "prompt": "-"}
    own = (Uno(2), PLAYERS, (1,), (1,), "win", rotate, False, None, {})
    made = Cell("x", labels, *own, samples)
    return replace(made, identity=cell_identity(made))


def moves(own: Cell, seed: int, deal: int, rotation: int) -> list[str]:
    def unasked(ask: object) -> object:
        raise AssertionError(f"{ask}: nobody asks a model here")

    record = run(play(own, Task(own.key, deal, rotation, "id"), seed), unasked)  # type: ignore[arg-type]
    return [decision.move for decision in record.decisions]


def test_the_deals_of_several_seeds_are_those_of_each() -> None:
    own = cell()
    pooled = {task.match for task in Plan((own,), 6, (7, 8, 9)).tasks()}
    apart = {task.match for seed in (7, 8, 9) for task in Plan((own,), 2, seed).tasks()}
    assert pooled == apart
    assert [seed_of_deal((7, 8, 9), deal) for deal in range(4)] == [(7, 0), (8, 0), (9, 0), (7, 1)]


def test_a_sample_has_the_deal_and_new_luck_of_play() -> None:
    several = cell(samples=3)
    first, second, third = (moves(several, 1, 0, rotation) for rotation in several.rotations)
    assert first == moves(cell(), 1, 0, 0), "the first sample is the match that one is"
    assert len({tuple(each) for each in (first, second, third)}) == 3
    assert second == moves(several, 1, 0, several.rotations[1])


def test_numbers_of_samples_and_rotations() -> None:
    assert list(cell(samples=3).rotations) == [0, 2, 4]
    assert list(cell(samples=3, rotate=True).rotations) == [0, 1, 2, 3, 4, 5]
    turned = cell(samples=2, rotate=True)
    assert [turned.seats_of((1,), rotation) for rotation in turned.rotations] == [
        *((1,), (0,), (1,), (0,))
    ]
    assert [turned.sample(rotation) for rotation in turned.rotations] == [0, 0, 1, 1]
    assert cell().key != cell(samples=2).key


def made(name: str, values: np.ndarray, wording: str = "plain") -> CellResults:
    """values: (deals, samples, seats) of wins."""
    _, samples, seats = values.shape
    own = about(name, rotations=samples * seats, model="pocket")
    prompt = "cloze" if wording == "plain" else f"cloze[moves=3,wording={wording}]"
    labels = {**own.labels, "prompt": prompt}
    where = tuple((seat,) for _ in range(samples) for seat in range(seats))
    return won(replace(own, samples=samples, seats=where, labels=labels), values.ravel().tolist())


@pytest.mark.parametrize(
    ("label", "name", "wording"),
    [
        ("cloze", "cloze", "plain"),
        ("cloze[wording=terse]", "cloze", "terse"),
        ("cloze[moves=3,wording=formal]", "cloze[moves=3]", "formal"),
        ("cloze[moves=3]", "cloze[moves=3]", "plain"),
    ],
)
def test_a_label_without_its_wording(label: str, name: str, wording: str) -> None:
    assert split_wording(label) == (name, wording)


def test_the_crossed_design_has_every_match_at_its_place() -> None:
    values = np.random.default_rng(0).integers(0, 2, (5, 3, 2))
    found = crossed([made("a", values), made("b", 1 - values, "terse")])
    assert found.shape == (2, 5, 3, 2)
    assert (found[0] == values).all()
    assert (found[1] == 1 - values).all()


def test_a_wording_that_matters_is_seen() -> None:
    rng = np.random.default_rng(1)
    cells = [
        made(name, (rng.random((200, 2, 2)) < chance).astype(int), wording)
        for name, wording, chance in (("a", "terse", 0.2), ("b", "formal", 0.5), ("c", "x", 0.8))
    ]
    table = made_of(cells)["components"].set_index("component")
    assert table.loc["wording", "levels"] == "3"
    assert table.loc["wording", "variance"] == pytest.approx(0.09, abs=0.02)  # of .2, .5 and .8
    assert table.loc["seat", "low"] == 0
    assert table["share"].sum() == pytest.approx(1)
    assert table.loc["rest", "variance"] == pytest.approx(0.19, abs=0.02)


def test_the_best_of_several_cells_is_drawn_back() -> None:
    rng = np.random.default_rng(2)
    cells = [made(f"c{n}", rng.integers(0, 2, (50, 1, 1))) for n in range(6)]
    table = made_of(cells)["pooled"]
    best = table.loc[table["mean"].idxmax()]
    assert table["group_mean"].iloc[0] < best["pooled"] < best["mean"]
    assert best["low"] < 0.5 < best["high"]
    assert made_of(cells[:2])["pooled"].empty


def test_adjusted_means_are_pooled_where_every_cell_has_one() -> None:
    """With twelve times less noise they are shrunk less; a shared reference moves all equally and
    pulls none towards the others."""
    rng = np.random.default_rng(2)
    raw = [made(f"c{n}", rng.integers(0, 2, (400, 1, 1))) for n in range(4)]
    deals, means = np.arange(400), (0.4, 0.45, 0.5, 0.6)
    values = [mean + rng.normal(0, 0.14, 400) for mean in means]

    def pooled(error: float) -> Results:
        found = [Adjusted(deals, one, "random", 0.5, error) for one in values]
        pairs = zip(raw, found, strict=True)
        return made_of([replace(cell, adjusted=own) for cell, own in pairs])

    exact = pooled(0.0)
    known, shared = exact["pooled"], pooled(0.1)["pooled"]
    assert known["adjusted"].tolist() == pytest.approx([one.mean() for one in values])
    assert known["adj_error"].tolist() == pytest.approx([one.std(ddof=1) / 20 for one in values])
    drawn = (known["adj_pooled"] - known["adj_group_mean"]) / (
        known["adjusted"] - known["adj_group_mean"]
    )
    assert drawn.between(0.8, 1).all()
    assert (known[["mean", "pooled"]] == made_of(raw)["pooled"][["mean", "pooled"]]).all(axis=None)
    assert shared["adj_pooled"].tolist() == pytest.approx(known["adj_pooled"].tolist(), abs=1e-3)
    assert (shared["adj_high"] - shared["adj_low"] > 0.3).all()
    (best, *_) = next(tables()["pooled"].sheets(exact, TERMINAL)).rows
    assert best[0] == exact.names["c3"]
    assert best[2] == f"{100 * values[3].mean():.1f}%"
    last = Adjusted(deals, values[3], "random", 0.5, 0.0)
    mixed = made_of([*raw[:3], replace(raw[3], adjusted=last)])["pooled"]
    assert mixed["adj_pooled"].isna().all()


def test_seats_and_seeds_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.zeros((6, 2, 2), int)
    values[:, :, 1] = 1  # seat 1 wins
    values[2::3] = 0  # but with the third seed
    result = made("a", values)
    seats = made_of([result])["seats"].set_index("seat")
    assert seats["mean"].to_dict() == pytest.approx({"0": 0.0, "1": 2 / 3})
    assert (seats["matches"] == 12).all()
    monkeypatch.setattr(Folder, "seed", (4, 5, 6))
    by_seed = list(seeds(made_of([result])))
    assert {row["seed"]: row["mean"] for row in by_seed} == {4: 0.5, 5: 0.5, 6: 0.0}
    assert [row["deals"] for row in by_seed] == [2, 2, 2]
    monkeypatch.setattr(Folder, "seed", 4)
    assert not list(seeds(made_of([result])))
    assert made_of([made("b", values[:, :, :1])])["seats"].empty


def test_one_config_crosses_seeds_samples_and_seats(
    tmp_path: Path, capsys: Capsys, refusal: Refusal
) -> None:
    folder = tmp_path / "out"
    sweep = ["game=tic_tac_toe", "agent=random", "prompt=cloze", "samples=2", "rotate=true"]
    sweep += ["deals=2", f"output_dir={folder}", "tracking=none", "launch=inline", "baseline=null"]
    assert main([*sweep, "seed=3,1"]) == 0
    assert "1 cell, 4 deals each, 16 matches; seeds 3, 1" in capsys.readouterr().out
    assert report.main([str(folder), "--full"]) == 0
    told, _, _ = capsys.readouterr().out.partition("report: ")
    for title in ("By seat", "By seed", "Variance components"):
        assert f"\n{title}\n" in told
    assert max(map(len, told.splitlines())) <= 100
    assert Folder(folder).seed == (3, 1)
    assert set(pd.read_csv(folder / "seeds.csv")["seed"]) == {3, 1}
    assert {*pd.read_csv(folder / "components.csv")["component"]} >= {"deal", "seat", "sample"}
    assert "holds matches of seed 3,1, not 3" in refusal(main([*sweep, "seed=3"]))


def test_cells_without_a_spread_are_pooled_too() -> None:
    always = made("always", np.ones((30, 1, 1), int))
    others = [made(f"c{n}", np.arange(30).reshape(30, 1, 1) % 2) for n in range(2)]
    table = made_of([always, *others])["pooled"].set_index("cell")
    assert 0 < table.loc["always", "error"] < 0.1
    assert table.loc["always", "pooled"] < 1
    assert table["high"].max() == 1, "no further than a measure can go"
