"""Attention: what is not computed says so, and causal masks lie where the modes put them."""

from __future__ import annotations

import numpy as np
import pytest

from drynpu_mindspore_kernels.compositions import COMPOSITIONS

BNSD = 1
ROWS, COLUMNS = 2, 3


def attend(mode: int) -> np.ndarray:
    """Return what two queries see of three keys that all score alike, as shares of the values 1, 10 and 100."""
    query, key = np.zeros((1, 1, ROWS, 4), np.float32), np.zeros((1, 1, COLUMNS, 4), np.float32)
    value = np.array([1, 10, 100], np.float32).reshape(1, 1, COLUMNS, 1)
    absent = [None] * 7
    result = COMPOSITIONS["FlashAttentionScore"](query, key, value, *absent, 1, 1.0, 1.0, 0, 0, 0, BNSD, mode)
    return np.asarray(result[3]).ravel()


def test_causal_masks_are_aligned_at_the_first_or_the_last_position() -> None:
    np.testing.assert_allclose(attend(0), [37, 37], rtol=1e-6)
    np.testing.assert_allclose(attend(2), [1, 5.5], rtol=1e-6)
    np.testing.assert_allclose(attend(3), [5.5, 37], rtol=1e-6)


@pytest.mark.parametrize("mode", [4, 6])
def test_masks_that_are_not_computed_are_refused(mode: int) -> None:
    with pytest.raises(ValueError, match=f"sparse_mode {mode} is not supported; use 0 to 3"):
        attend(mode)
