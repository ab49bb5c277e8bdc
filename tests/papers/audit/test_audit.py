"""A paper's claims, recomputed from its own printed numbers."""

from __future__ import annotations

from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from gauntlet.papers import reproduce
from gauntlet.papers.audit import findings as audit
from gauntlet.papers.audit import llm_uno as audit_llm_uno
from gauntlet.papers.audit import observer as audit_observer
from gauntlet.papers.audit import talaga as audit_talaga
from gauntlet.papers.audit import uno_arena as audit_uno_arena
from gauntlet.papers.gamebench import matches
from gauntlet.papers.published import paper

FINDINGS = {
    # what an independent reading of the paper's numbers came to
    "LU-01": ("fails", ["2.69 points", "3,615 give 51.64%", "3,616 give 51.66%", "3,619 wins"]),
    "LU-02": ("holds", ["1B z=4.961", "p=0.0162", "24B z=6.281", "70B z=4.502"]),
    "LU-03": ("holds", ["1B z=1.593 p=0.0555", "z=1.684 p=0.0461", "35.78%", "35.94%"]),
    "LU-04": ("fails", ["p=0.0988 with 10,000", "p=0.0518 with 100,000"]),
    "LU-05": ("fails", ["p=0.0461", "0.00625", "34%"]),
    "LU-06": ("fails", ["2 of the three", "0.74 to 0.96 points"]),
    "LU-08": ("fails", ["within noise", "8B z=0.9"]),
    "LU-09": ("fails", ["54.2", "52.10%"]),
    "LU-12": ("holds", ["0.6916 / 0.2645 / 1.5190"]),
    "LU-14": ("fails", ["35.2"]),
    "UA-01": ("fails", ["not defined: DAR@K, DNQ", "ADR@K, DQN"]),
    "UA-02": ("fails", ["only with 500", "114 / 121 / 102 / 100 / 78", "103.00%", "15 shared"]),
    "UA-03": ("fails", ["54.01 - 53.05 = +0.96", "-0.96%"]),
    "UA-04": ("fails", ["2.3824 - 2.3482 = +0.0342", "+1.14%: worse"]),
    "UA-05": ("fails", ["7 of 7"]),
    "UA-06": (
        "fails",
        [
            "Table 2: ODHR@2 0.956, ADR@2 -0.958, ODHR@3 0.705, ADR@3 -0.924, ODHR@4 0.807, "
            "ADR@4 -0.907",
            "Table 3: ODHR@2 0.632, ADR@2 -0.638, ODHR@3 0.851, ADR@3 -0.866, ODHR@4 0.810, "
            "ADR@4 -0.707",
            "fits Table 3",
        ],
    ),
    "UA-07": ("fails", ["ODHR@4 DQN 37.74", "ODHR@2 GPT-3.5 57.34", "ADR@2 GPT-3.5 1.427"]),
    "UA-08": (
        "fails",
        [
            "ODHR@2 Gemini 49.88",
            "ADR@2 Gemini 1.501",
            "ADR@4 Gemini 2.516",
            "ODHR@4 Llama 2 24.9",
            "worst in WR, ODHR@3, ADR@3",
        ],
    ),
    # of 21 brackets, the two misprints of UA-03 and UA-04 do not follow the convention
    "UA-11": ("holds", ["19 of 21", "GPT-3.5 ADR@2 (UA-03), without strategy ADR@4 (UA-04)"]),
    "UA-12": ("fails", ["24 of 24"]),
    "UA-13": ("fails", ["p=0.24;", "p=0.389", "p=0.033", "p=0.129", "1 of 5", "0 have p < 0.01"]),
    "UA-14": ("fails", ["z=0.80", "z=0.60", "+0.69, +0.95"]),
    "UA-15": ("fails", ["Gemini z=1.699", "p=0.0446", "p=0.0537", "not significant: Llama 2."]),
    "UA-16": ("holds", ["GPT-3.5 1, GPT-4 0, Gemini 1, Llama 2 2, ChatGLM3 2"]),
    "TA-01": ("holds", ["14 of 14 means", "42 of 42 rates"]),
    "TA-02": ("fails", ["loses in 0 final positions, so 0.00%", "86%, and 4.5% lost"]),
    "TA-03": ("fails", ["prompt +14.5, cot +17.5, cot-sc +15, tot +21.5, react +16.5"]),
    "TA-04": ("fails", ["36 to 36 head to head", "it loses 40.17%, and cot 41.50%"]),
    "TA-05": ("fails", ["10 are listed", "8 are choices"]),
    "TA-10": (
        "fails",
        [
            "tot p=0.018, cot-sc p=0.043, react p=0.099, prompt p=0.0048, cot p=0.0014",
            "not below 0.05: react; not below 0.01 (Bonferroni): tot, cot-sc",
            "add up",
        ],
    ),
    "TA-11": ("holds", ["3 of 3 rows: 37/59, 48/37, 56/35"]),
    "TA-13": ("fails", ["21 points, and 60% more wins"]),
    "TA-14": ("fails", ["37 to 59", "48-37", "56-35"]),
    **{f"TA-{number:02}": ("not_computable", [""]) for number in (6, 7, 8, 9, 12)},
    "OB-01": ("fails", ["EVLoss goes to 0.0004"]),
    "OB-02": ("fails", ["goes to 2 ", "Union to 1.333"]),
    "OB-03": (
        "fails",
        ["27.63", "0.0125 / 0.0000 / 0.1667", "0.0130 / 0.0000 / 0.1317", "0.0133 / 0.0000 / 0.22"],
    ),
    "OB-04": ("fails", ["H-C 1.040, N-G 1.078, D-Y 1.099"]),
    "OB-09": ("fails", ["46 of 361 pairs", "has 56.2% where", "and 0.0% where"]),
    "OB-10": ("fails", ["9 of 9 pairs stop after 1 step", "X-Y, Y-X, Z-Z end elsewhere"]),
    "OB-12": ("holds", ["of 200 are 9 of 9, of 190 4", "of 14 to 18 points"]),
    "OB-13": ("fails", ["51.6% (nine runs of ten 29 to 74", "66.0% (nine runs of ten 37 to 93"]),
    "OB-14": ("fails", ["of 3,336 truths and guesses", "100 cost nothing"]),
    "OB-15": ("fails", ["these are 92%"]),
    **{f"OB-{number:02}": ("not_computable", [""]) for number in (5, 6, 7, 8, 11, 16)},
    "GB-02": ("fails", ["really ARC, SB, SN"]),
    "GB-03": ("fails", ["all but CN"]),
    "GB-04": ("fails", ["7 of these ratings have no match"]),
    "GB-07": ("fails", ["SB has 0.20"]),
    "GB-11": ("holds", ["6 of 6"]),
    **{
        f"GB-{number:02}": ("not_computable", ["match file is not here"])
        for number in (1, 6, 8, 9, 10)
    },
    **{f"GB-{number:02}": ("not_computable", [""]) for number in (5, 12, 13)},
}
"""Of GameBench without its match file: with it see tests/papers/gamebench."""


def test_every_finding_is_recomputed_and_comes_out_as_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matches, "FILE", tmp_path / "none.json")
    assert reproduce.main(["audit", "--out", str(tmp_path)]) == 0
    table = pd.read_csv(tmp_path / "audit.csv", index_col="id")
    assert list(table.columns) == ["claim", "recomputed", "verdict"]
    assert sorted(table.index) == sorted(FINDINGS)
    for name, (verdict, parts) in FINDINGS.items():
        assert table.loc[name, "verdict"] == verdict, name
        for part in parts:
            assert part in str(table.loc[name, "recomputed"]), (name, part)


def test_a_search_that_is_not_to_the_end_is_found_to_lose(monkeypatch: pytest.MonkeyPatch) -> None:
    """A uniformly random player reaches lost positions, and wins as often as random does, 43.6%
    over both seats."""
    grid, start = audit_talaga.GRID, audit_talaga.START
    anything = lambda state, seat: (grid.play(state, (a,)) for a in grid.legal(state, seat))  # noqa: E731
    monkeypatch.setattr(audit_talaga, "best", anything)
    for found in (audit_talaga.reached, audit_talaga.win_chance_vs_random):
        found.cache_clear()
    assert audit_talaga.count_losses(start, 0) > 50
    wins = [audit_talaga.win_chance_vs_random(start, seat) for seat in (0, 1)]
    assert wins == pytest.approx([0.585, 0.288], abs=5e-4)
    for found in (audit_talaga.reached, audit_talaga.win_chance_vs_random):
        found.cache_clear()


def test_tests_from_printed_rates_find_what_is_there() -> None:
    assert audit.z_and_p(0.3596, 0.35, 7000)[1] == pytest.approx(0.0461, abs=5e-5)
    assert audit.z_and_p_of_two(0.40, 7000, 0.35, 10_000)[1] < 1e-9
    assert audit.z_and_p_of_two(0.35, 7000, 0.35, 10_000) == pytest.approx((0.0, 0.5))


Steps = tuple[str | int, ...]
CLAUDE = "claude-3.7-sonnet"
CHANGES: list[tuple[str, list[tuple[Steps, Any]]]] = [
    # a finding, and what print would have to say for it to come out the other way
    ("UA-01", [(("names", "tables"), ["WR", "ADR@K"])]),
    ("UA-02", [(("table3", "games"), 500)]),
    (
        "UA-03",
        [(("table4", "changes", "GPT-3.5", 1), 0.96), (("table4", "changes", "GPT-3.5", 2), -0.96)],
    ),
    ("UA-04", [(("table5", "changes", "without strategy", 6), 1.14)]),
    ("UA-05", [(("table5", "threshold"), 0.0)]),
    ("UA-06", [(("correlations", "table"), "table3")]),
    (
        "UA-07",
        [
            (("table2", "rows", "GPT-4", 5), 38.0),
            (("table2", "rows", "DQN", 1), 58.0),
            (("table2", "rows", "DQN", 2), 1.42),
        ],
    ),
    ("UA-08", [(("table3", "worst", "columns"), ["WR", "ODHR@3", "ADR@3"])]),
    ("UA-11", [(("table4", "changes", "GPT-4", 2), -0.66)]),
    ("UA-12", [(("table3", "rows", "ChatGLM3", 2), 1.4)]),
    ("UA-13", [(("table4", "games"), 20_000)]),
    ("UA-14", [(("table5", "games"), 2000)]),
    ("UA-15", [(("table2", "rows", "Llama 2", 0), 53.8)]),
    ("UA-16", [(("table4", "rows", "GPT-4 TUTRI", 0), 50.0)]),
    ("LU-01", [(("cells", 6, "value"), 0.5170)]),
    ("TA-01", [(("table1", "wins", 0), 31.5)]),
    ("TA-01", [(("table1", "rows", "cot", 0), 54.2)]),
    ("TA-03", [(("table1", "rows", "random", place), 60) for place in (2, 4, 6)]),
    ("TA-04", [(("table1", "rows", "cot-sc", 3), 30), (("table1", "rows", "react", 4), 50)]),
    ("TA-05", [(("actions", "said"), 10)]),
    ("TA-10", [(("table2", "rows", "react"), [55, 32, 13, 23])]),
    ("TA-11", [(("table3", "rows", "k2_n2", 2), 31)]),
    ("TA-13", [(("abstract", "advantage"), 60)]),
    ("TA-14", [(("table3", "rows", "k2_n2", 0), 60)]),
    ("OB-01", [(("ev", "divisor"), 1)]),
    ("OB-02", [(("brier", "largest"), 2)]),
    ("OB-09", [(("table1", "rows", model, 2), -1) for model in ("gpt-4o-mini", "o3", CLAUDE)]),
    ("OB-12", [(("table1", "rounds"), 190)]),
    ("OB-13", [(("table1", "rows", "o3", 0), 20.0), (("table1", "rows", "o3", 1), 20.0)]),
    ("OB-15", [(("table2", "snippets", 2, "hands", "paper"), 0.52)]),
]


@pytest.mark.parametrize(("name", "edits"), CHANGES)
def test_another_number_in_print_changes_the_verdict(
    name: str, edits: list[tuple[Steps, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = {"LU": audit_llm_uno, "UA": audit_uno_arena, "TA": audit_talaga, "OB": audit_observer}
    module: Any = modules[name[:2]]
    data = paper(module.__name__.rpartition(".")[2])
    before = module.CHECKS[name]()[2]
    for (*steps, last), value in edits:
        where: Any = reduce(getitem, steps, data)
        where[last] = value
    monkeypatch.setattr(module, "paper", lambda _: data)
    assert module.CHECKS[name]()[2] != before
