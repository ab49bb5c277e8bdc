"""The tree of a decision's prompts: every text can be read off it, and nothing else is visible."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.models.engine.trie import chain, grow, shared_length

TEXTS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=7), min_size=1, max_size=6)


@given(TEXTS)
def test_each_end_sees_exactly_its_own_text(texts):
    tree = grow(texts)
    for text, end in zip(texts, tree.ends, strict=True):
        seen = np.flatnonzero(tree.sees[end])
        assert tree.tokens[seen].tolist() == text
        assert tree.depths[seen].tolist() == list(range(len(text)))


@given(TEXTS)
def test_each_shared_beginning_is_there_once(texts):
    beginnings = {tuple(text[: i + 1]) for text in texts for i in range(len(text))}
    assert len(grow(texts).tokens) == len(beginnings)


@given(TEXTS)
def test_a_token_sees_what_its_parent_sees_and_itself(texts):
    tree = grow(texts)
    for node, row in enumerate(tree.sees):
        seen = np.flatnonzero(row)
        assert seen[-1] == node, "no token sees a later one"
        if len(seen) > 1:
            assert np.flatnonzero(tree.sees[seen[-2]]).tolist() == seen[:-1].tolist()


def test_two_prompts_that_part_after_two_tokens():
    tree = grow([[5, 6, 8], [5, 6, 7, 9]])
    assert tree.tokens.tolist() == [5, 6, 7, 9, 8]
    assert tree.depths.tolist() == [0, 1, 2, 3, 2]
    assert tree.ends.tolist() == [4, 3]
    assert tree.sees.astype(int).tolist() == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [1, 1, 1, 1, 0],
        [1, 1, 0, 0, 1],
    ]


def test_a_chain_is_the_tree_of_one_text_without_an_end():
    tree, other = chain([3, 1, 2]), grow([[3, 1, 2]])
    assert (tree.tokens == other.tokens).all()
    assert (tree.sees == other.sees).all()
    assert len(tree.ends) == 0


@given(st.lists(st.integers(0, 1)), st.lists(st.integers(0, 1)))
def test_shared_length(left, right):
    length = shared_length(left, right)
    assert left[:length] == right[:length]
    assert left[length : length + 1] != right[length : length + 1] or length == len(left)
