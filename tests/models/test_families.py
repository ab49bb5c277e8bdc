"""Every family of causal language models, small: `benchmarks/families.py` prints the table."""

from __future__ import annotations

import pytest
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from benchmarks.families import FAILED, line, rows

CLOSE = 1e-4
AMPLIFIED = {"hrm_text": 1e-3}
"""Families whose repeated passes through the same layers amplify rounding."""
BORDERED = {"gpt_neo": "portable to 64", "phi3": "general to 64", "llama4_text": "general to 64"}
"""Families with a border within the prompts that the fast path does not know, and must detect."""
WINDOWED = ("gemma2", "gemma3_text", "gpt_oss", "ministral", "olmo3", "cohere2")
"""Families with windows that the prompts exceed."""


@pytest.mark.slow
def test_every_family_is_scored_as_one_prompt_at_a_time():
    results = []
    for row in rows(sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)):
        print(line(row), flush=True)
        results.append(row)
    scored = {row.family: row for row in results if row.difference is not None}
    assert len(scored) > 130
    assert not [row for row in results if row.path.startswith(FAILED)]
    limits = {family: AMPLIFIED.get(family, CLOSE) for family in scored}
    assert not [row for row in scored.values() if not row.difference < limits[row.family]]
    assert not [row for row in scored.values() if row.others]
    assert not [row for row in scored.values() if row.texts.startswith("other")]
    assert {family: scored[family].path for family in BORDERED} == BORDERED
    assert {scored[family].path for family in WINDOWED} == {"general"}
    assert scored["llama"].path == "flat"
    assert sum(row.path.startswith("general") for row in scored.values()) > 80


@pytest.mark.parametrize(
    ("family", "path", "texts"),
    [
        ("phi3", "general to 64", "same, anew"),
        ("gemma4_text", "general", "same, cached"),
        ("mamba", "reference", "same, anew"),
        ("nemotron_h", "reference", "same, anew"),
    ],
)
def test_a_family_is_as_the_table_says(family, path, texts):
    (row,) = rows([family])
    assert (row.path, row.others, row.texts) == (path, 0, texts)
    assert row.difference < CLOSE
