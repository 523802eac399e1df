"""Shapes that operators return, as numpy returns them."""

from __future__ import annotations

import numpy as np
import pytest

from drynpu.kernels.ops import axes_of, concatenated, padded, reduced, replaced, stacked, tiled

X = np.zeros((2, 3, 5))


@pytest.mark.parametrize("axes", [(0,), (1,), (-1,), (0, 2), (-3, 1)])
@pytest.mark.parametrize("keep", [True, False])
def test_a_reduction_leaves_the_other_dims(axes: tuple[int, ...], keep: bool) -> None:
    assert reduced(X.shape, axes_of(X.shape, axes), keep=keep) == X.sum(axis=axes, keepdims=keep).shape


def test_no_dims_are_all_axes() -> None:
    assert axes_of(X.shape, None) == axes_of(X.shape, ()) == (0, 1, 2)
    assert axes_of((), None) == ()


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_joined_tensors_add_up_along_the_axis(axis: int) -> None:
    other = np.zeros(replaced(X.shape, axis, 7))
    assert concatenated([X.shape, other.shape], axis) == np.concatenate([X, other], axis).shape
    assert replaced((), 0, 7) == ()


@pytest.mark.parametrize("axis", [0, 2, 3, -1, -4])
def test_stacked_tensors_get_a_new_axis(axis: int) -> None:
    assert stacked(X.shape, axis, 4) == np.stack([X] * 4, axis).shape


def test_tiling_repeats_each_dim() -> None:
    assert tiled(X.shape, (4, 1, 2, 3)) == np.tile(X, (4, 1, 2, 3)).shape == (4, 2, 6, 15)
    assert tiled(X.shape, (4, 1)) is None
    assert tiled(X.shape, (1, -1, 1)) is None
    assert tiled(X.shape, (1, 0, 2)) == np.tile(X, (1, 0, 2)).shape == (2, 0, 10)


def test_pads_come_in_pairs_from_the_last_dim_on() -> None:
    assert padded(X.shape, (1, 2, 0, 4)) == np.pad(X, [(0, 0), (0, 4), (1, 2)]).shape == (2, 7, 8)
    assert padded(X.shape, (-5, -1)) is None
    assert padded(X.shape, (1,) * 8) is None
