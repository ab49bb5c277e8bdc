"""Sizing a sweep: by published figures of the models, by formulas, and by a pilot's spread."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm, ttest_1samp

from gauntlet.common.errors import UserError
from gauntlet.models.base import Prompt, Score
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.pipeline.plan import __main__ as plan
from gauntlet.pipeline.plan.__main__ import main
from gauntlet.pipeline.sizing import planner
from gauntlet.pipeline.sizing.planner import (
    DEVICES,
    GIB,
    SHAPES,
    Load,
    devices,
    fit,
    shape_of,
)
from gauntlet.pipeline.sizing.workload import Work, tokens
from gauntlet.pipeline.tables.registry import load_cells
from gauntlet.pipeline.tables.sweep.primary_test import results_by_deal
from gauntlet.stats.power import deals_from_pilot
from tests.nodes import ROOT
from tests.pipeline.composing import composed
from tests.pipeline.conftest import Capsys, Refusal, Sweep

NAMED = {
    "llama1b": 1_235_814_400,
    "llama8b": 8_030_261_248,
    "mistral24b": 23_572_403_200,
    "llama70b": 70_553_706_496,
}
"""Parameters as the hub counts them in the published weights."""


def load(path: str = "meta-llama/Llama-3.3-70B-Instruct", **settings: object) -> Load:
    work = Work(decisions=1000, prompts=3000, sent=900_000, packed=250_000, statics={"rules": 170})
    source = Checkpoint(path, dtype="bfloat16", **settings)  # type: ignore[arg-type]
    return Load("m", source, shape_of(path), work, 1)


@pytest.mark.parametrize("name", NAMED)
def test_the_named_models_have_the_published_sizes_without_their_weights(name: str) -> None:
    node = (ROOT / "gauntlet" / "conf" / "model" / f"{name}.yaml").read_text()
    path = next(line.split()[1] for line in node.splitlines() if line.startswith("path:"))
    assert shape_of(path).parameters == NAMED[name]


def test_a_folder_is_sized_by_its_config_and_agrees_with_its_weights() -> None:
    header = (ROOT / "gauntlet" / "models/pocket/weights/model.safetensors").read_bytes()
    length = int.from_bytes(header[:8], "little")
    table = json.loads(header[8 : 8 + length])
    shapes = [entry["shape"] for key, entry in table.items() if key != "__metadata__"]
    stored = sum(shape[0] * (shape[1] if len(shape) > 1 else 1) for shape in shapes)
    assert shape_of("pkg:models/pocket/weights").parameters == stored


def test_what_cannot_be_sized_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"has no config\.json"):
        shape_of(str(tmp_path))
    copy = tmp_path / "moe"
    copy.mkdir()
    config = json.loads((ROOT / "gauntlet" / "models/pocket/weights/config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, "num_local_experts": 8}))
    with pytest.raises(UserError, match="only dense models are planned"):
        shape_of(str(copy))
    (copy / "config.json").write_text(json.dumps({"model_type": "x", "hidden_size": 8}))
    with pytest.raises(UserError, match="has no num_attention_heads"):
        shape_of(str(copy))


@pytest.mark.parametrize(
    ("text", "count", "name"),
    [
        ("8xH100", 8, "H100"),
        ("h200", 1, "H200"),
        ("2 x a100-40", 2, "A100-40"),
        ("4x4090", 4, "4090"),
        ("16xcpu", 16, "cpu"),
        ("1*L40S", 1, "L40S"),
    ],
)
def test_hardware_is_a_number_and_a_name(text: str, count: int, name: str) -> None:
    assert devices(text) == (count, DEVICES[name])


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("8xH10", "did you mean 'H100'"),
        ("8xA100", "did you mean 'A100-"),
        ("0xH100", "there may be 1 to 100,000 devices"),
        ("9" * 5000 + "xH100", "there may be 1 to 100,000 devices"),
        ("9999999xH100", "there may be 1 to 100,000 devices"),
        ("", "no device ''"),
        ("8x", "no device"),
    ],
)
def test_unknown_hardware_gets_the_nearest(text: str, hint: str) -> None:
    with pytest.raises(UserError, match=hint):
        devices(text)


@pytest.mark.parametrize(
    ("hardware", "shards", "replicas"),
    [
        ("8xH100", 4, 2),
        ("8xA100-80", 4, 2),
        ("8xH200", 2, 4),
        ("4xH100", 4, 1),
        ("16xA100-40", 8, 2),
    ],
)
def test_seventy_billion_parameters_take_as_many_devices_as_hold_them(
    hardware: str, shards: int, replicas: int
) -> None:
    found = fit(load(), *devices(hardware))
    assert (found.shards, found.replicas) == (shards, replicas)
    assert found.weights * found.shards == pytest.approx(2 * NAMED["llama70b"] / GIB)
    assert found.memory <= planner.USABLE * devices(hardware)[1].memory


def test_what_does_not_fit_is_refused_with_the_sum() -> None:
    with pytest.raises(UserError, match=r"131\.4 weights \+ .* = .* GiB per device") as refused:
        fit(load(), *devices("1xH100"))
    assert "\n" not in str(refused.value)
    with pytest.raises(UserError, match=r"in 2 shards"):
        fit(load(shards=2), *devices("8xH100"))
    assert fit(load(shards=8), *devices("8xH100")).shards == 8
    with pytest.raises(UserError, match="does not fit"):
        fit(load(shards=8), *devices("4xH200"))


def test_seventy_billion_parameters_run_on_one_device_with_weights_on_the_disk() -> None:
    """Half of the memory holds weights, and a layer more while it runs; the others are read once a
    pass."""
    with pytest.raises(UserError, match=r"with model\.offload=disk model\.shards=1 it takes"):
        fit(load(), *devices("1xH100"))
    count, device = devices("1xH100")
    shape = SHAPES["meta-llama/Llama-3.3-70B-Instruct"]
    own = load(offload="disk")
    found = fit(own, count, device)
    layer = 2 * shape.layer_parameters / 80 / GIB
    assert found.weights == pytest.approx(0.5 * (0.9 * device.memory - found.cache) + layer)
    assert found.memory <= planner.USABLE * device.memory
    assert found.weights + found.on_disk == pytest.approx(2 * NAMED["llama70b"] / GIB)
    with pytest.raises(UserError, match="does not fit") as refused:
        fit(own, *devices("1xcpu"))
    assert "offload" not in str(refused.value)


def test_tokens_of_a_decision_by_the_formulas() -> None:
    """As sent K (P + S + b); packed S + K b, with the static part P in memory."""
    prompts = tuple(
        Prompt("one two three\n", f"four five {letter} six", " seven") for letter in "AB"
    )
    work = Work()
    work.add(Score(prompts, ("A", "B")))
    static, state = tokens("one two three\n"), tokens("four five ")
    branch = tokens("A six seven")
    assert (work.decisions, work.prompts) == (1, 2)
    assert work.sent == 2 * (static + state + branch)
    assert work.packed == state + 2 * branch
    twice = work.plus(work, 2.0)
    assert (twice.sent, twice.statics) == (3 * work.sent, work.statics)


def test_tokens_are_words_digits_and_marks_as_large_tokenizers_cut_them() -> None:
    assert tokens("Player 1 holds 1234 cards.\n") == 9  # Player| |1| holds| |123|4| cards|.\n


@pytest.mark.filterwarnings("ignore")
def test_the_command_needs_no_weights_and_fits_the_terminal(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gauntlet.pipeline.sizing.workload.SAMPLE", 3)
    monkeypatch.setattr("gauntlet.pipeline.sizing.planner.SAMPLE", 3)
    given = ["model=llama8b,llama70b", "prompt=cloze", "deals=100", "--hardware", "8xH100"]
    assert plan.main(given) == 0
    said = capsys.readouterr().out
    assert all(len(line.rstrip()) <= 100 for line in said.splitlines())
    (memory, work) = (line.split() for line in said.splitlines() if "Llama-3.3-70B" in line)
    assert memory[1] == "70.6G"
    assert memory[-2:] == ["4", "2"]
    assert int(work[1]) == 1
    assert work[-2] > "0" < work[-1]
    assert not (tmp_path / "outputs" / "quickstart").exists(), "planning plays nothing"


def test_noise_cells_are_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The same number of decisions again, with prompts a token longer; controls use no model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gauntlet.pipeline.sizing.workload.SAMPLE", 3)
    monkeypatch.setattr("gauntlet.pipeline.sizing.planner.SAMPLE", 3)
    words = ["model=llama1b", "prompt=vanilla", "game=tic_tac_toe", "deals=3", "baseline=null"]
    (plain,), (noisy,) = (
        planner.loads(*composed(*words, f"noise_floor={floor}"))[0] for floor in ("false", "true")
    )
    assert (plain.cells, noisy.cells) == (1, 2)
    assert 1.5 < noisy.work.decisions / plain.work.decisions < 2.5
    assert noisy.work.sent > 1.5 * plain.work.sent


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["model=fake", "--hardware", "H100"], "nothing to size"),
        (["model=llama70b", "--hardware", "2xA100-40"], "does not fit 2 x A100-40"),
        (["model=llama1b", "--hardware", "Z80"], "no device 'Z80'"),
        (["model=hf", "model.path=some/model", "--hardware", "H100"], "its shape is not known"),
        (["model=lama1b", "--hardware", "H100"], "did you mean"),
    ],
)
def test_mistakes_are_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, refusal: Refusal, words: list[str], line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gauntlet.pipeline.sizing.workload.SAMPLE", 1)
    assert line in refusal(plan.main([*words, "deals=10", "prompt=cloze"]))


# --- by a pilot


def test_the_deals_are_those_of_the_normal_formula() -> None:
    likely, safe = deals_from_pilot(50, 0.6, 0.1, power=0.9, alpha=0.05, cells=2)
    wanted = (0.6 * (norm.ppf(1 - 0.05 / 4) + norm.ppf(0.9)) / 0.1) ** 2
    assert likely == int(np.ceil(wanted))
    assert likely < safe < 1.4 * likely
    assert deals_from_pilot(5000, 0.6, 0.1, 0.9, 0.05, 2)[1] < 1.03 * likely


def test_what_is_planned_finds_the_effect_as_often_as_it_says() -> None:
    """2,000 pilots of 20 deals, each followed by a sweep of the safe number of deals: at least 80%
    of the numbers have the power, so over all more than it is reached."""
    numbers = np.random.default_rng(0)
    enough = found = 0
    exact = (2.0 * (norm.ppf(0.975) + norm.ppf(0.8)) / 0.7) ** 2
    for _ in range(2000):
        spread = numbers.normal(0, 2.0, 20).std(ddof=1)
        safe = deals_from_pilot(20, spread, 0.7)[1]
        enough += safe >= exact
        found += ttest_1samp(numbers.normal(0.7, 2.0, safe), 0).pvalue < 0.05
    assert enough / 2000 == pytest.approx(0.8, abs=0.03)
    assert found / 2000 > 0.8


@pytest.mark.parametrize("numbers", [(1, 0.5, 0.1), (9, 0.0, 0.1), (9, 0.5, 0.0)])
def test_no_pilot_no_spread_and_no_gain_are_refused(numbers: tuple[int, float, float]) -> None:
    with pytest.raises(ValueError, match="pilot"):
        deals_from_pilot(*numbers)


def test_the_command_lists_every_comparison(sweep: Sweep, folder: Path, capsys: Capsys) -> None:
    assert sweep("prompt=cloze,counterfactual", "deals=30", "baseline=random") == 0
    capsys.readouterr()
    assert main(["--pilot", str(folder), "expect.gain=0.1"]) == 0
    shown = capsys.readouterr().out
    assert "cloze - baseline" in shown
    assert "cloze - fake counterfactual" in shown or "counterfactual - fake cloze" in shown
    assert "To show 10.0 points with 90% power" in " ".join(shown.split())
    assert "3 tests" in shown


def test_the_spread_is_that_of_the_deals(sweep: Sweep, folder: Path, capsys: Capsys) -> None:
    """Intervals of few deals are wider than normal ones, so they do not tell it."""
    assert sweep("game=tic_tac_toe", "prompt=cloze,counterfactual", "deals=12") == 0
    cells = load_cells(folder)
    won = [cell.outcomes.column("figure")[cell.outcomes.column("deal").argsort()] for cell in cells]
    assert results_by_deal(cells[0]) == pytest.approx(won[0])
    assert results_by_deal(*cells) == pytest.approx(won[0] - won[1])
    capsys.readouterr()
    assert main(["--pilot", str(folder), "expect.gain=0.1", "game=tic_tac_toe"]) == 0
    assert f"{100 * (won[0] - won[1]).std(ddof=1):.1f}" in capsys.readouterr().out


def test_a_folder_that_compares_nothing_is_refused(
    sweep: Sweep, folder: Path, refusal: Refusal, capsys: Capsys
) -> None:
    assert sweep("prompt=cloze", "deals=3") == 0
    capsys.readouterr()
    assert "is no pilot" in refusal(main(["--pilot", str(folder)]))


def test_an_adaptive_sweep_plays_at_most_its_deals(capsys: Capsys) -> None:
    asked = ("pairing=adaptive", "players=[vanilla,first]", "game=tic_tac_toe", "model=pocket")
    assert main(["--hardware", "1xH100", *asked, "deals=10"]) == 0
    assert "at most 10 deals per cell" in capsys.readouterr().out
