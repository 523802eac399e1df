"""
Recurrent nodes: LSTM, GRU and RNN of ONNX in all directions, with initial states, lengths, peepholes and layouts.

ONNX's reference evaluator computes one direction alone, forwards, and no cell state. Formulas come from
https://onnx.ai/onnx/operators (LSTM, GRU, RNN).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from drynpu.arrays import Array

Function: TypeAlias = Callable[[Array], Array]
Step: TypeAlias = Callable[[Array, list[Array]], list[Array]]
"""From what the input gives to a step, and the states before it, to the states behind it; the first is the output."""


def run_lstm(inputs: Sequence[Array | None], attrs: Mapping[str, object]) -> tuple[Array, ...]:
    """Return ``Y, Y_h, Y_c`` of an LSTM; inputs are ``X W R B sequence_lens initial_h initial_c P``."""
    tensors = _padded(inputs, 8)
    peepholes = tensors[7]
    hidden = _weight(tensors, 2).shape[2]

    def cell(direction: int) -> Step:
        gate, candidate, outgoing = _functions(attrs, direction, ("Sigmoid", "Tanh", "Tanh"))
        recurrent = _weight(tensors, 2)[direction].T
        peep = np.zeros(3 * hidden, recurrent.dtype) if peepholes is None else peepholes[direction]
        p_input, p_output, p_forget = np.split(peep, 3)

        def step(projected: Array, states: list[Array]) -> list[Array]:
            h, c = states
            i, o, f, g = np.split(_clip(projected + h @ recurrent, attrs), 4, axis=-1)
            i = gate(i + p_input * c)
            f = 1 - i if attrs.get("input_forget") else gate(f + p_forget * c)
            c = f * c + i * candidate(g)
            return [gate(o + p_output * c) * outgoing(c), c]

        return step

    return _run(tensors, attrs, cell, gates=4, state_inputs=(5, 6))


def run_gru(inputs: Sequence[Array | None], attrs: Mapping[str, object]) -> tuple[Array, ...]:
    """Return ``Y, Y_h`` of a GRU; inputs are ``X W R B sequence_lens initial_h``."""
    tensors = _padded(inputs, 6)
    hidden = _weight(tensors, 2).shape[2]

    def cell(direction: int) -> Step:
        gate, candidate = _functions(attrs, direction, ("Sigmoid", "Tanh"))
        recurrent = _weight(tensors, 2)[direction].T
        new_bias = np.zeros(hidden, recurrent.dtype) if tensors[3] is None else tensors[3][direction][5 * hidden :]

        def step(projected: Array, states: list[Array]) -> list[Array]:
            (h,) = states
            z, r = np.split(gate(_clip(projected[:, : 2 * hidden] + h @ recurrent[:, : 2 * hidden], attrs)), 2, axis=-1)
            mine = projected[:, 2 * hidden :]
            if attrs.get("linear_before_reset"):
                n = mine + r * (h @ recurrent[:, 2 * hidden :] + new_bias)
            else:
                n = mine + (r * h) @ recurrent[:, 2 * hidden :] + new_bias
            return [(1 - z) * candidate(_clip(n, attrs)) + z * h]

        return step

    # The bias of the hidden part of the new gate stands apart: it may be inside the reset.
    return _run(tensors, attrs, cell, gates=3, state_inputs=(5,), joined_biases=5)


def run_rnn(inputs: Sequence[Array | None], attrs: Mapping[str, object]) -> tuple[Array, ...]:
    """Return ``Y, Y_h`` of a plain recurrent layer; inputs are ``X W R B sequence_lens initial_h``."""
    tensors = _padded(inputs, 6)

    def cell(direction: int) -> Step:
        (activation,) = _functions(attrs, direction, ("Tanh",))
        recurrent = _weight(tensors, 2)[direction].T
        return lambda projected, states: [activation(_clip(projected + states[0] @ recurrent, attrs))]

    return _run(tensors, attrs, cell, gates=1, state_inputs=(5,))


RECURRENT: Mapping[str, Callable[[Sequence[Array | None], Mapping[str, Any]], tuple[Array, ...]]] = {
    "LSTM": run_lstm,
    "GRU": run_gru,
    "RNN": run_rnn,
}
"""What computes a node, by its type."""


def _run(
    tensors: Sequence[Array | None],
    attrs: Mapping[str, object],
    cell: Callable[[int], Step],
    *,
    gates: int,
    state_inputs: Sequence[int],
    joined_biases: int | None = None,
) -> tuple[Array, ...]:
    """Return all outputs of all directions in the layout of the node."""
    batch_first = bool(attrs.get("layout"))
    x, weights = _weight(tensors, 0), _weight(tensors, 1)
    x = np.swapaxes(x, 0, 1) if batch_first else x
    steps, batch, _ = x.shape
    hidden = _weight(tensors, 2).shape[2]
    lengths = np.full(batch, steps) if tensors[4] is None else np.asarray(tensors[4]).astype(np.int64).reshape(-1)
    backwards = {"reverse": (True,), "bidirectional": (False, True)}.get(_text(attrs.get("direction")), (False,))
    outputs, last = [], []
    for direction, back in enumerate(backwards):
        projected = x @ weights[direction].T + _bias(tensors[3], direction, gates, hidden, joined_biases, x.dtype)
        states = [_initial(tensors[place], direction, batch, hidden, x.dtype, batch_first) for place in state_inputs]
        y, states = _steps(projected, states, cell(direction), lengths, back=back)
        outputs.append(y)
        last.append(states)
    y = np.stack(outputs, axis=1).astype(x.dtype)
    finals = [np.stack([each[number] for each in last]).astype(x.dtype) for number in range(len(state_inputs))]
    if batch_first:
        return np.transpose(y, (2, 0, 1, 3)), *(np.swapaxes(each, 0, 1) for each in finals)
    return y, *finals


def _steps(
    projected: Array, states: list[Array], step: Step, lengths: Array, *, back: bool
) -> tuple[Array, list[Array]]:
    """Return the outputs of all steps, 0 behind the end of a sample, and the states behind its last step."""
    count = len(projected)
    outputs = np.zeros((count, *states[0].shape), projected.dtype)
    for number in range(count)[:: -1 if back else 1]:
        alive = (number < lengths)[:, None]
        following = step(projected[number], states)
        states = [np.where(alive, new, old) for new, old in zip(following, states, strict=True)]
        outputs[number] = np.where(alive, following[0], 0)
    return outputs, states


def _bias(biases: Array | None, direction: int, gates: int, hidden: int, joined: int | None, dtype: Any) -> Array:
    """Return what is added to the products of the inputs: both biases of each gate, up to those that stand apart."""
    if biases is None:
        return np.zeros(gates * hidden, dtype)
    of_input, of_state = np.split(biases[direction], 2)
    if joined is None:
        return np.asarray(of_input + of_state)
    of_state = np.concatenate(
        [of_state[: (joined - gates) * hidden], np.zeros_like(of_state[(joined - gates) * hidden :])]
    )
    return np.asarray(of_input + of_state)


def _initial(state: Array | None, direction: int, batch: int, hidden: int, dtype: Any, batch_first: bool) -> Array:
    if state is None:
        return np.zeros((batch, hidden), dtype)
    return np.asarray(state[:, direction] if batch_first else state[direction])


def _padded(inputs: Sequence[Array | None], count: int) -> list[Array | None]:
    return [*inputs, *[None] * (count - len(inputs))]


def _weight(tensors: Sequence[Array | None], place: int) -> Array:
    value = tensors[place]
    if value is None:
        raise ValueError(f"input {place} of a recurrent node is missing")
    return value


def _clip(values: Array, attrs: Mapping[str, Any]) -> Array:
    bound = attrs.get("clip")
    return values if bound is None else np.clip(values, -bound, bound)


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _functions(attrs: Mapping[str, Any], direction: int, defaults: Sequence[str]) -> list[Function]:
    """Return the activations of a direction; alpha and beta are listed for those that have them, in order."""
    names = [_text(name) for name in attrs.get("activations") or ()]
    alphas, betas = list(attrs.get("activation_alpha") or ()), list(attrs.get("activation_beta") or ())
    if not names:
        return [_activation(name, 0, 0) for name in defaults]
    every = []
    for name in names:
        alpha, beta = _DEFAULTS.get(name.lower(), (None, None))
        alpha = alphas.pop(0) if alpha is not None and alphas else alpha
        beta = betas.pop(0) if beta is not None and betas else beta
        every.append(_activation(name, alpha or 0, beta or 0))
    count = len(defaults)
    return every[direction * count : (direction + 1) * count] or every[:count]


_DEFAULTS: Mapping[str, tuple[float | None, float | None]] = {
    "affine": (1.0, 0.0),
    "leakyrelu": (0.01, None),
    "thresholdedrelu": (1.0, None),
    "scaledtanh": (1.0, 1.0),
    "hardsigmoid": (0.2, 0.5),
    "elu": (1.0, None),
}
"""Alpha and beta of the activations that have them."""


def _activation(name: str, alpha: float, beta: float) -> Function:
    """Return an activation; raises `ValueError` for a name that ONNX does not have."""
    activations: dict[str, Function] = {
        "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "tanh": np.tanh,
        "relu": lambda x: np.maximum(x, 0),
        "softsign": lambda x: x / (1 + np.abs(x)),
        "softplus": lambda x: np.logaddexp(x, 0),
        "affine": lambda x: alpha * x + beta,
        "leakyrelu": lambda x: np.where(x >= 0, x, alpha * x),
        "thresholdedrelu": lambda x: np.where(x >= alpha, x, 0),
        "scaledtanh": lambda x: alpha * np.tanh(beta * x),
        "hardsigmoid": lambda x: np.clip(alpha * x + beta, 0, 1),
        "elu": lambda x: np.where(x >= 0, x, alpha * (np.exp(np.minimum(x, 0)) - 1)),
    }
    if name.lower() not in activations:
        raise ValueError(f"activation {name} is not known")
    return activations[name.lower()]
