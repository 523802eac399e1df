"""What formulas of primitives on sequences and single rows use. NumPy alone computes them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np


def transduced(x: Any, labels: Any, blank: int = 0) -> Any:
    """
    Return for ``[b, t, u, v]`` how unlikely the labels are: every way through time and labels, one after the other.

    A step in time is a blank, a step in the labels the next label; the way ends with a blank at the last place.
    """
    logs = x - np.log(np.exp(x).sum(-1, keepdims=True))
    _, times, places, _ = x.shape
    results = []
    for each, wanted in zip(logs, labels, strict=True):
        total = 0.0
        for moments in itertools.combinations_with_replacement(range(times), places - 1):
            way = sum(each[t, u, wanted[u]] for u, t in enumerate(moments))
            for t in range(times):
                way += each[t, sum(moment <= t for moment in moments), blank]
            total += np.exp(way)
        results.append(-np.log(total))
    return np.array(results)


def at_rows(x: Any, rows: Any, values: Any) -> Any:
    """Return *x* with other rows at some places."""
    result = np.array(x)
    result[list(rows)] = values
    return result


def proximal(w: Any, squares: Any, linear: Any, gradient: Any, options: Any) -> Any:
    """Return weights after a step of FTRL with the power -0.5; *options* are the rate, l1 and l2."""
    rate, l1, l2 = options
    more = squares + gradient**2
    linear = linear + gradient - (np.sqrt(more) - np.sqrt(squares)) / rate * w
    return np.where(abs(linear) > l1, (np.sign(linear) * l1 - linear) / (np.sqrt(more) / rate + 2 * l2), 0)
