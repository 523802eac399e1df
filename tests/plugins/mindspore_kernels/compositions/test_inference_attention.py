"""Attention of inference: lengths, masks, caches, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from drynpu_mindspore_kernels.compositions import COMPOSITIONS

BNSD = 1


def prompt(mode: int, *, before: int = 0, after: int = 0, lengths: Any = None, key_lengths: Any = None) -> np.ndarray:
    """Return what three queries see of four keys that score alike, as shares of the values 1, 10, 100 and 1000."""
    query, key = np.zeros((1, 1, 3, 2), np.float32), np.zeros((1, 1, 4, 2), np.float32)
    value = np.array([1, 10, 100, 1000], np.float32).reshape(1, 1, 4, 1)
    mask = np.zeros((3, 4), bool)
    options = (1, 1.0, before, after, BNSD, 1, mode, 1)
    found = COMPOSITIONS["PromptFlashAttention"](query, key, value, mask, lengths, key_lengths, *[None] * 6, *options)
    return np.asarray(found).ravel()


def test_modes_hide_what_they_say() -> None:
    np.testing.assert_allclose(prompt(1), [277.75] * 3)
    np.testing.assert_allclose(prompt(0, before=0, after=1), [5.5, 55, 550])
    np.testing.assert_allclose(prompt(2), [1, 5.5, 37], rtol=1e-6)
    np.testing.assert_allclose(prompt(3), [5.5, 37, 277.75], rtol=1e-6)
    np.testing.assert_allclose(prompt(4, before=0, after=0), [10, 100, 1000])


def test_what_is_behind_a_length_is_not_seen_and_not_computed() -> None:
    np.testing.assert_allclose(prompt(1, lengths=[2], key_lengths=[3]), [37, 37, 0], rtol=1e-6)
    np.testing.assert_allclose(prompt(3, lengths=[2], key_lengths=[3]), [5.5, 37, 0], rtol=1e-6)


def test_a_mode_that_is_not_computed_is_refused() -> None:
    with pytest.raises(ValueError, match="sparse_mode 5 is not supported; use 0 to 4"):
        prompt(5)


def test_a_cache_of_int8_is_meant_as_other_numbers() -> None:
    query = np.zeros((1, 1, 2), np.float32)
    key, value = np.zeros((1, 2, 2), np.int8), np.array([[[1, 2], [3, 4]]], np.int8)
    scale, offset = np.array([[1, 1], [0.5, 2]], np.float32), np.array([[0, 0], [1, -1]], np.float32)
    tensors = (None, None, None, None, None, None, None, None, scale, offset, None, None)
    found = COMPOSITIONS["IncreFlashAttention"](query, key, value, *tensors, 1, 0, 1.0, 1, 0, 1)
    np.testing.assert_allclose(np.ravel(found), [1.5, 4])


def test_blocks_of_a_cache_are_read_in_the_order_of_the_table() -> None:
    query, keys = np.zeros((1, 1, 1), np.float32), np.zeros((3, 2, 1, 1), np.float32)
    values = np.array([1, 10, 100, 1000, 10000, 100000], np.float32).reshape(3, 2, 1, 1)
    table, lengths = np.array([[2, 0]]), np.array([3])
    found = COMPOSITIONS["PagedAttention"](query, keys, values, table, lengths, *[None] * 5, 1, 1.0, 1, 0, 0, 0)
    np.testing.assert_allclose(np.ravel(found), [(10000 + 100000 + 1) / 3])


def test_rows_are_written_into_their_slots_and_others_dropped() -> None:
    key, value = np.array([[[1.0]], [[2.0]]]), np.array([[[3.0]], [[4.0]]])
    caches = np.zeros((2, 2, 1, 1)), np.ones((2, 2, 1, 1))
    _, keys, values = COMPOSITIONS["ReshapeAndCache"](key, value, *caches, np.array([2, -1]))
    np.testing.assert_array_equal(np.ravel(keys), [0, 0, 1, 0])
    np.testing.assert_array_equal(np.ravel(values), [1, 1, 3, 1])
