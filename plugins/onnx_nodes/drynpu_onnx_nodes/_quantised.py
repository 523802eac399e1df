"""Quantised products: ONNX's reference evaluator lets results beyond the type's range wrap, where they saturate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from drynpu.arrays import Array


def run_quantised_product(inputs: Sequence[Array], attrs: Mapping[str, object]) -> tuple[Array, ...]:
    """Return the result of a QLinearMatMul of ``a scale zero b scale zero``, with scale and zero of the result."""
    del attrs
    a, a_scale, a_zero, b, b_scale, b_zero, scale, zero = inputs
    product = np.matmul(a.astype(np.int32) - a_zero.astype(np.int32), b.astype(np.int32) - b_zero.astype(np.int32))
    whole = np.rint(product * (a_scale * b_scale / scale)) + zero.astype(np.int32)
    bounds = np.iinfo(zero.dtype)
    return (np.clip(whole, bounds.min, bounds.max).astype(zero.dtype),)


QUANTISED = {"QLinearMatMul": run_quantised_product}
"""What computes a node, by its type."""
