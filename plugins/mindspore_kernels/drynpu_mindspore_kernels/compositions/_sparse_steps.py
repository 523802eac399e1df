"""Steps of optimizers that move some rows of the weights; weights and sums change in place."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np


def _proximal_adagrad(
    weight: Any, squares: Any, rate: Any, l1: Any, l2: Any, gradient: Any, rows: Any
) -> tuple[Any, ...]:
    w, s = np.array(weight), np.array(squares)
    s[rows] += gradient**2
    # MindSpore's text has the plain rate beside l1 and l2. CANN's kernels have this one, and so has the dense step.
    scale = rate / np.sqrt(s[rows])
    moved = w[rows] - scale * gradient
    w[rows] = np.sign(moved) / (1 + scale * l2) * np.maximum(np.abs(moved) - scale * l1, 0)
    return w, s, w, s


def _adadelta(
    weight: Any, squares: Any, changes: Any, rate: Any, share: Any, gradient: Any, rows: Any, *, epsilon: float = 0.0
) -> tuple[Any, ...]:
    w, s, c = (np.array(each) for each in (weight, squares, changes))
    s[rows] = share * s[rows] + (1 - share) * gradient**2
    change = np.sqrt(c[rows] + epsilon) * gradient / np.sqrt(s[rows] + epsilon)
    w[rows] -= rate * change
    c[rows] = share * c[rows] + (1 - share) * change**2
    return w, s, c, w, s, c


SPARSE_STEPS: Final[Mapping[str, Any]] = MappingProxyType(
    {"SparseApplyAdadelta": _adadelta, "SparseApplyProximalAdagrad": _proximal_adagrad}
)
"""By primitive, as MindSpore's documentation defines it; a row stands among those to be moved once."""
