"""Recurrent layers that Ascend has in one kernel: long short-term memory and gated recurrent units, both ways."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from scipy import special

_FIRST_GATE = "z"
"""Begin of the ``gate_order`` in which the update gate comes before the reset gate; otherwise it comes behind it."""


def _check(direction: str, keep_prob: float, cell_clip: float, num_proj: int, seq_length: Any = None) -> None:
    """
    Look at what MindSpore's documentation leaves at one value.

    Raises
    ------
    ValueError
        There is another value.
    """
    if seq_length is not None:
        raise ValueError("seq_length is not supported: write None, and mask the results behind the end of a sequence")
    arguments = {"direction": direction, "keep_prob": keep_prob, "cell_clip": cell_clip, "num_proj": num_proj}
    allowed = {"direction": "UNIDIRECTIONAL", "keep_prob": 1.0, "cell_clip": -1.0, "num_proj": 0}
    for name, value in arguments.items():
        if value != allowed[name]:
            raise ValueError(f"{name}={value!r} is not supported, only {allowed[name]!r}")


def _long_memory(
    x: Any,
    weight: Any,
    bias: Any,
    seq_length: Any,
    hidden: Any,
    memory: Any,
    *,
    forget_bias: float = 0.0,
    direction: str = "UNIDIRECTIONAL",
    keep_prob: float = 1.0,
    cell_clip: float = -1.0,
    num_proj: int = 0,
) -> tuple[Any, ...]:
    _check(direction, keep_prob, cell_clip, num_proj, seq_length)
    h, c = (state[0] for state in (hidden, memory))
    steps = []
    for part in x:
        enter, new, forget, out = np.split(np.concatenate([part, h], 1) @ weight + bias, 4, 1)
        i, j, f, o = special.expit(enter), np.tanh(new), special.expit(forget + forget_bias), special.expit(out)
        c = f * c + i * j
        t = np.tanh(c)
        h = o * t
        steps.append((h, h, c, i, j, f, o, t))
    return tuple(np.stack(parts) for parts in zip(*steps, strict=True))


def _long_memory_gradient(
    x: Any,
    weight: Any,
    bias: Any,
    y: Any,
    first_h: Any,
    first_c: Any,
    h: Any,
    c: Any,
    dy: Any,
    dh: Any,
    dc: Any,
    i: Any,
    j: Any,
    f: Any,
    o: Any,
    t: Any,
) -> tuple[Any, ...]:
    del bias, y
    dh, dc = (each.reshape(h.shape[1:]) for each in (dh, dc))
    d_weight, d_bias, d_x = np.zeros_like(weight), np.zeros(weight.shape[1], weight.dtype), np.zeros_like(x)
    before_h = np.concatenate([first_h.reshape(1, *h.shape[1:]), h[:-1]])
    before_c = np.concatenate([first_c.reshape(1, *c.shape[1:]), c[:-1]])
    for n in reversed(range(len(x))):
        dh = dh + dy[n]
        dc = dc + dh * o[n] * (1 - t[n] ** 2)
        slopes = (
            dc * j[n] * i[n] * (1 - i[n]),
            dc * i[n] * (1 - j[n] ** 2),
            dc * before_c[n] * f[n] * (1 - f[n]),
            dh * t[n] * o[n] * (1 - o[n]),
        )
        gates = np.concatenate(slopes, 1)
        d_weight += np.concatenate([x[n], before_h[n]], 1).T @ gates
        d_bias += gates.sum(0)
        back = gates @ weight.T
        d_x[n], dh = back[:, : x.shape[2]], back[:, x.shape[2] :]
        dc = dc * f[n]
    return d_weight, d_bias, d_x, dh, dc


def _gated(
    x: Any,
    from_x: Any,
    from_h: Any,
    bias_x: Any,
    bias_h: Any,
    seq_length: Any,
    hidden: Any,
    *,
    gate_order: str = "rzh",
    reset_after: bool = True,
    direction: str = "UNIDIRECTIONAL",
    keep_prob: float = 1.0,
    cell_clip: float = -1.0,
    num_proj: int = 0,
) -> tuple[Any, ...]:
    _check(direction, keep_prob, cell_clip, num_proj, seq_length)
    if not reset_after:
        raise ValueError("reset_after=False is not supported: leave it True")
    h, steps = hidden.reshape(x.shape[1], -1), []
    for part in x:
        left = part @ from_x + (0 if bias_x is None else bias_x)
        right = h @ from_h + (0 if bias_h is None else bias_h)
        (xr, xz, xn), (hr, hz, hn) = (_by_gate(each, gate_order) for each in (left, right))
        reset, update = special.expit(xr + hr), special.expit(xz + hz)
        new = np.tanh(xn + reset * hn)
        h = (1 - update) * new + update * h
        steps.append((h, h, update, reset, new, hn))
    return tuple(np.stack(parts) for parts in zip(*steps, strict=True))


def _by_gate(columns: Any, order: str) -> list[Any]:
    """Return the columns of the reset, the update and the new gate; the same function puts them back in order."""
    first, second, new = np.split(columns, 3, 1)
    return [second, first, new] if order.startswith(_FIRST_GATE) else [first, second, new]


def _gated_gradient(
    x: Any,
    from_x: Any,
    from_h: Any,
    y: Any,
    first_h: Any,
    h: Any,
    dy: Any,
    dh: Any,
    update: Any,
    reset: Any,
    new: Any,
    hidden_new: Any,
    *unknown: Any,
    gate_order: str = "rzh",
) -> tuple[Any, ...]:
    del y, unknown
    dh = dh.reshape(h.shape[1:])
    before = np.concatenate([first_h.reshape(1, *h.shape[1:]), h[:-1]])
    d_x, d_from_x, d_from_h = np.zeros_like(x), np.zeros_like(from_x), np.zeros_like(from_h)
    d_bias_x, d_bias_h = (np.zeros(from_x.shape[1], np.float32) for _ in range(2))
    for n in reversed(range(len(x))):
        dh = dh + dy[n]
        d_new = dh * (1 - update[n]) * (1 - new[n] ** 2)
        d_reset = d_new * hidden_new[n] * reset[n] * (1 - reset[n])
        d_update = dh * (before[n] - new[n]) * update[n] * (1 - update[n])
        left, right = (
            np.concatenate(_by_gate(np.concatenate([d_reset, d_update, last], 1), gate_order), 1)
            for last in (d_new, d_new * reset[n])
        )
        d_from_x += x[n].T @ left
        d_from_h += before[n].T @ right
        d_bias_x += left.sum(0)
        d_bias_h += right.sum(0)
        d_x[n] = left @ from_x.T
        dh = dh * update[n] + right @ from_h.T
    return d_from_x, d_from_h, d_bias_x, d_bias_h, d_x, dh


RECURRENT: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "DynamicRNN": _long_memory,
        "DynamicRNNGrad": _long_memory_gradient,
        "DynamicGRUV2": _gated,
        "DynamicGRUV2Grad": _gated_gradient,
    }
)
"""By primitive, as MindSpore's documentation of the primitive defines it."""
