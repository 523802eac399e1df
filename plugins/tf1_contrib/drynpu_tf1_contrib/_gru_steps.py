"""
A gated recurrent layer over a sequence, and its gradient, in NumPy.

TensorFlow has no operator for the whole sequence. These functions are one node of its graph each, as the vendor's
operators are, where a loop of TensorFlow would leave some ten nodes for every step.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
GATES: Final = 3
"""Update, reset and new, in the order of the weights' columns."""


def forward(
    x: Array, w_x: Array, w_h: Array, b_x: Array, b_h: Array, h: Array, attention: Array, lengths: Array
) -> list[Array]:
    """
    Return h, the update gate, the attended update gate, the reset gate, the new gate and the product behind it.

    Parameters
    ----------
    x, h:
        [time, batch, features], and the first state [batch, hidden].
    w_x, w_h, b_x, b_h:
        [features, 3 x hidden], [hidden, 3 x hidden] and [3 x hidden]; columns in the order update, reset, new.
    attention:
        [time, batch, 1]: how much the update gate is taken back; zeros leave a plain layer.
    lengths:
        [batch]: beyond it the state stays, and gates are zero.
    """
    kind = x.dtype
    x, w_x, w_h, b_x, b_h, h, attention = _wide(x, w_x, w_h, b_x, b_h, h, attention)
    hidden = h.shape[1]
    results = np.zeros((6, x.shape[0], *h.shape), x.dtype)
    for time in range(x.shape[0]):
        of_x, of_h = x[time] @ w_x + b_x, h @ w_h + b_h
        update = _sigmoid(of_x[:, :hidden] + of_h[:, :hidden])
        reset = _sigmoid(of_x[:, hidden : 2 * hidden] + of_h[:, hidden : 2 * hidden])
        product = of_h[:, 2 * hidden :]
        new = np.tanh(of_x[:, 2 * hidden :] + reset * product)
        attended = (1 - attention[time]) * update
        runs = (time < lengths)[:, None]
        h = np.where(runs, (1 - attended) * new + attended * h, h)
        results[0, time] = h
        for place, gate in enumerate((update, attended, reset, new, product), 1):
            results[place, time] = np.where(runs, gate, 0)
    return [part.astype(kind) for part in results]


def backward(
    x: Array, w_x: Array, w_h: Array, h: Array, attention: Array, lengths: Array, slope: Array, *saved: Array
) -> list[Array]:
    """
    Return the gradients of x, w_x, w_h, b_x, b_h, h and attention.

    *slope* is the slope of h at all times, *saved* what :func:`forward` returned.
    """
    kind = x.dtype
    x, w_x, w_h, h, attention, slope = _wide(x, w_x, w_h, h, attention, slope)
    states, update, attended, reset, new, product = _wide(*saved)
    dx, dw_x, dw_h = np.zeros_like(x), np.zeros_like(w_x), np.zeros_like(w_h)
    db_x, db_h = np.zeros(w_x.shape[1], x.dtype), np.zeros(w_h.shape[1], x.dtype)
    d_attention, carried = np.zeros_like(attention), np.zeros_like(h)
    for time in reversed(range(x.shape[0])):
        runs = (time < lengths)[:, None]
        before = states[time - 1] if time else h
        total = slope[time] + carried
        d_attended = np.where(runs, total * (before - new[time]), 0)
        d_new = np.where(runs, total * (1 - attended[time]) * (1 - new[time] ** 2), 0)
        d_attention[time] = -(d_attended * update[time]).sum(axis=1, keepdims=True)
        d_update = d_attended * (1 - attention[time]) * update[time] * (1 - update[time])
        d_reset = d_new * product[time] * reset[time] * (1 - reset[time])
        of_x = np.concatenate([d_update, d_reset, d_new], axis=1)
        of_h = np.concatenate([d_update, d_reset, d_new * reset[time]], axis=1)
        carried = np.where(runs, total * attended[time] + of_h @ w_h.T, total)
        dx[time] = of_x @ w_x.T
        dw_x += x[time].T @ of_x
        dw_h += before.T @ of_h
        db_x += of_x.sum(axis=0)
        db_h += of_h.sum(axis=0)
    return [part.astype(kind) for part in (dx, dw_x, dw_h, db_x, db_h, carried, d_attention)]


def _wide(*arrays: Array) -> list[Array]:
    """Return halves in single precision, in which a device's core adds up as well; others as they are."""
    return [array.astype(np.float32) if array.dtype.itemsize < 4 else array for array in arrays]


def _sigmoid(x: Array) -> Array:
    values: Array = 0.5 * (1 + np.tanh(0.5 * x))
    return values
