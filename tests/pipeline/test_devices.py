"""How many workers fit, and which share a device."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.common.errors import UserError
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.fake import Fake
from gauntlet.pipeline.launch.devices import allot


def in_shards(*shards: int) -> list[Checkpoint]:
    return [Checkpoint(f"folder{i}", shards=count) for i, count in enumerate(shards)]


@pytest.mark.parametrize(
    ("shards", "gpus", "wanted", "workers", "devices", "sharing"),
    [
        ((1,), 8, None, 8, 1, 1),  # a copy on each GPU
        ((1, 1), 8, 16, 16, 1, 1),  # whole models share a worker's device, workers a GPU
        ((4,), 8, None, 2, 4, 1),  # 70B on two times four
        ((4,), 8, 1, 1, 4, 1),
        ((4, 2), 8, None, 1, 6, 1),  # two models in shards, side by side
        ((4, 4), 4, None, 1, 4, 2),  # no room side by side: they share
        ((1, 4), 8, None, 1, 5, 1),  # a whole model next to four shards
        ((1, 4), 4, None, 1, 4, 2),
        ((2,), 5, None, 2, 2, 1),  # one GPU stays idle
    ],
)
def test_what_fits(shards, gpus, wanted, workers, devices, sharing):
    found = allot(in_shards(*shards), gpus, wanted, "GPU")
    assert (found.workers, found.devices, found.sharing) == (workers, devices, sharing)


@pytest.mark.parametrize(
    ("shards", "devices", "wanted", "message"),
    [
        ((4,), 2, None, "model 'folder0' needs 4 shards x 1 GPU; this cluster has 2 GPUs"),
        ((2,), 1, None, "model 'folder0' needs 2 shards x 1 GPU; this cluster has 1 GPU"),
        (
            (4,),
            8,
            3,
            "launch.workers=3 needs 3 workers x 4 GPUs; this cluster has 8, enough for 2",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_the_sum(shards, devices, wanted, message):
    with pytest.raises(UserError, match=f"^{re.escape(message)}$"):
        allot(in_shards(*shards), devices, wanted, "GPU")


def test_a_model_without_shards_needs_no_checkpoint():
    assert allot([Fake()], 2, None, "core").workers == 2


@given(
    shards=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    gpus=st.integers(1, 24),
    wanted=st.none() | st.integers(1, 6),
)
def test_ranks_never_meet_on_a_device_unless_said(shards, gpus, wanted):
    sources = in_shards(*shards)
    try:
        found = allot(sources, gpus, wanted, "GPU")
    except UserError:
        return
    spans = sorted((first, first + source.shards) for source, first in found.first.items())
    assert all(stop <= found.devices for _, stop in spans)
    if found.first:
        assert found.workers * found.devices <= gpus
    if found.sharing == 1:
        assert all(left[1] <= right[0] for left, right in pairwise(spans))
        assert not spans or spans[0][0] == (1 in shards), "a whole model has the first device"
