"""What formulas of cells use: recurrent networks, transformers, images, metrics. NumPy and SciPy alone compute them."""

from __future__ import annotations

import itertools
import runpy
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage, spatial, special

_numbers = runpy.run_path(str(Path(__file__).with_name("inputs.py")))["numbers"]


def elman(gates: Any, state: Any, activation: Any = np.tanh) -> Any:
    """Return the state of a plain recurrent cell."""
    hidden = activation(gates[0] + gates[1])
    del state
    return (hidden,)


def rectified(gates: Any, state: Any) -> Any:
    """Return the state of a recurrent cell that keeps what is positive."""
    return elman(gates, state, lambda value: np.maximum(value, 0))


def lstm(gates: Any, state: Any) -> Any:
    """Return hidden state and memory of an LSTM; gates stand as enter, forget, cell, leave."""
    enter, forget, cell, leave = np.split(gates[0] + gates[1], 4, -1)
    memory = special.expit(forget) * state[1] + special.expit(enter) * np.tanh(cell)
    return special.expit(leave) * np.tanh(memory), memory


def gru(gates: Any, state: Any) -> Any:
    """Return the state of a GRU; gates stand as reset, update, new."""
    (reset, update, new), (old_reset, old_update, old_new) = (np.split(each, 3, -1) for each in gates)
    update = special.expit(update + old_update)
    new = np.tanh(new + special.expit(reset + old_reset) * old_new)
    return (new + update * (state[0] - new),)


_GATES = {elman: 1, rectified: 1, lstm: 4, gru: 3}


def recurrent(cell: Any, x: Any, hidden: int, layers: int = 1, ways: int = 1, **options: Any) -> Any:
    """
    Return ``[time, batch, ways * hidden]`` of stacked recurrent layers of ``filled(...)``.

    *lengths* says how many steps each sequence of the batch has; a second way goes over each sequence from its end.
    *bias* is false where there is none, *states* are those before the first step: ``[layers * ways, batch, hidden]``.
    """
    wide, count, places = _GATES[cell] * hidden, layers * ways, itertools.count()
    sizes = [x.shape[2] if number < ways else ways * hidden for number in range(count)]
    into = [_numbers((wide, size), next(places)) for size in sizes]
    back = [_numbers((wide, hidden), next(places)) for _ in range(count)]
    bias = options.get("bias", True)
    offsets = [_numbers((wide,), next(places)) if bias else 0 for _ in range(2 * count)]
    lengths = options.get("lengths", np.full(x.shape[1], len(x)))
    for layer in range(layers):
        results = []
        for way in range(ways):
            number = layer * ways + way
            parameters = into[number], back[number], offsets[number], offsets[count + number]
            states = [part[number] for part in options.get("states", (np.zeros((count, x.shape[1], hidden)),) * 2)]
            results.append(_directed(cell, x, parameters, states, (lengths, way == 1)))
        x = np.concatenate(results, -1)
    return x


def _directed(cell: Any, x: Any, parameters: Any, states: Any, order: Any) -> Any:
    """Return the states of one layer in one direction, 0 behind the end of each sequence."""
    into, back, offset, back_offset = parameters
    lengths, from_end = order
    result = np.zeros((*x.shape[:2], back.shape[1]), np.result_type(x, back))
    for row, length in enumerate(lengths):
        state = tuple(part[row : row + 1] for part in states)
        for step in reversed(range(length)) if from_end else range(length):
            gates = x[step, row : row + 1] @ into.T + offset, state[0] @ back.T + back_offset
            state = cell(gates, state)
            result[step, row] = state[0][0]
    return result


class Supply:
    """Gives the parameters of ``filled(...)`` one after the other."""

    def __init__(self) -> None:
        self._places = itertools.count()

    def __call__(self, *shape: int) -> Any:
        return _numbers(shape, next(self._places))


def two_heads(supply: Any, size: int) -> Any:
    """Return attention of two heads over ``[length, batch, size]`` and a memory of another length."""
    weight, offset, out, out_offset = supply(3 * size, size), supply(3 * size), supply(size, size), supply(size)

    def attend(query: Any, memory: Any) -> Any:
        inputs = zip((query, memory, memory), np.split(weight, 3), np.split(offset, 3), strict=True)
        parts = [each @ w.T + b for each, w, b in inputs]
        split = [part.reshape(*part.shape[:2], 2, -1).transpose(1, 2, 0, 3) for part in parts]
        scores = split[0] @ split[1].swapaxes(-1, -2) / np.sqrt(size / 2)
        found = special.softmax(scores, -1) @ split[2]
        return found.transpose(2, 0, 1, 3).reshape(query.shape) @ out.T + out_offset

    return attend


def _standard(supply: Any, size: int) -> Any:
    """Return a layer norm."""
    scale, offset = supply(size), supply(size)
    return lambda x: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * scale + offset


def transformer_layer(supply: Any, x: Any, inner: int, memory: Any = None, norm_first: bool = False) -> Any:
    """Return a layer of an encoder, or of a decoder where there is a memory; two heads."""
    size = x.shape[-1]
    attend, seen = two_heads(supply, size), memory is not None and two_heads(supply, size)
    w1, b1, w2, b2 = supply(inner, size), supply(inner), supply(size, inner), supply(size)
    steps = [lambda y: attend(y, y)]
    if memory is not None:
        steps.append(lambda y: seen(y, memory))
    steps.append(lambda y: np.maximum(y @ w1.T + b1, 0) @ w2.T + b2)
    for step, norm in zip(steps, [_standard(supply, size) for _ in steps], strict=True):
        x = x + step(norm(x)) if norm_first else norm(x + step(x))
    return x


def transformer(x: Any, memory: Any, inner: int) -> Any:
    """Return an encoder and a decoder of a layer each, both with a norm at the end."""
    supply = Supply()
    seen = transformer_layer(supply, x, inner)
    seen = _standard(supply, x.shape[-1])(seen)
    found = transformer_layer(supply, memory, inner, seen)
    return _standard(supply, x.shape[-1])(found)


def encoded(x: Any, inner: int, layers: int, memory: Any = None) -> Any:
    """Return stacked layers of an encoder, or of a decoder where there is a memory."""
    supply = Supply()
    for _ in range(layers):
        x = transformer_layer(supply, x, inner, memory)
    return x


def _blurred(image: Any, size: int) -> Any:
    """Return means of windows with the weights of a bell of deviation 1.5."""
    bell = np.exp(-((np.arange(size) - size // 2) ** 2) / (2 * 1.5**2))
    weights = np.outer(bell, bell) / bell.sum() ** 2
    return np.einsum("ncijhw,hw->ncij", np.lib.stride_tricks.sliding_window_view(image, (size, size), (2, 3)), weights)


def alike(a: Any, b: Any, size: int) -> tuple[Any, Any]:
    """Return by image and channel structural similarity, and its part of contrast (Wang et al. 2004)."""
    near, other = _blurred(a, size), _blurred(b, size)
    spread = _blurred(a * a, size) - near**2 + _blurred(b * b, size) - other**2
    contrast = (2 * (_blurred(a * b, size) - near * other) + 0.03**2) / (spread + 0.03**2)
    light = (2 * near * other + 0.01**2) / (near**2 + other**2 + 0.01**2)
    return (light * contrast).mean((2, 3)), contrast.mean((2, 3))


def alike_at_scales(a: Any, b: Any, size: int, powers: Any) -> Any:
    """Return structural similarity at several scales, each half of the one before."""
    result = 1
    for level, power in enumerate(powers):
        whole, contrast = alike(a, b, size)
        result = result * np.maximum(whole if level == len(powers) - 1 else contrast, 0) ** power
        a, b = (
            each.reshape(*each.shape[:2], each.shape[2] // 2, 2, each.shape[3] // 2, 2).mean((3, 5)) for each in (a, b)
        )
    return result.mean(1)


def alignments(logs: Any, labels: Any) -> Any:
    """Return the loss of labels of each sequence, by all paths there are: 0 stands for none, repetitions for one."""
    losses = []
    for batch, wanted in enumerate(labels):
        total = 0.0
        for path in itertools.product(range(logs.shape[2]), repeat=len(logs)):
            if [symbol for symbol, _ in itertools.groupby(path) if symbol] == list(wanted):
                total += np.exp(sum(logs[step, batch, symbol] for step, symbol in enumerate(path)))
        losses.append(-np.log(total))
    return np.array(losses)


def unpooled(x: Any, sizes: Any) -> Any:
    """Return zeros with the largest element of each window of sizes at its place."""
    result, count = np.zeros_like(x), len(sizes)
    for place in np.ndindex(*x.shape[:-count], *(n // s for n, s in zip(x.shape[-count:], sizes, strict=True))):
        window = tuple(slice(p * s, (p + 1) * s) for p, s in zip(place[-count:], sizes, strict=True))
        part = x[(*place[:-count], *window)]
        result[(*place[:-count], *window)] = np.where(part == part.max(), part, 0)
    return result


def by_class(shares: Any, classes: Any) -> tuple[Any, Any]:
    """Return precision and recall of each class; 0 where nothing is named or there is none."""
    named = np.eye(shares.shape[1])[shares.argmax(1)]
    right = np.eye(shares.shape[1])[classes]
    hits = (named * right).sum(0)
    return hits / np.maximum(named.sum(0), 1), hits / np.maximum(right.sum(0), 1)


def edge_distances(shape: Any, other: Any) -> Any:
    """Return the distances of the edge of a shape to the nearest point of another's edge."""
    points = [np.argwhere(each ^ ndimage.binary_erosion(each)) for each in (shape, other)]
    return spatial.distance.cdist(*points).min(1)


def extents(size: int, taken: int) -> Any:
    """Return the places of the first and of the last window of a size."""
    return np.array([0, size - taken])


def sampled_entropy(weights: Any, biases: Any, labels: Any, x: Any, drawn: Any) -> Any:
    """
    Return the cross entropy of each row beside *drawn* classes, each less the logarithm of how often it is expected.

    The rows' own classes are expected 0.3, 0.4, 0.2 and 0.5 times, those drawn 0.6 to 0.9 times. A drawn class that is
    the row's own counts as well.
    """
    labelled = (x * weights[labels]).sum(1) + biases[labels] - np.log([0.3, 0.4, 0.2, 0.5])
    others = x @ weights[drawn].T + biases[drawn] - np.log([0.6, 0.7, 0.8, 0.9])
    return np.log(np.exp(labelled) + np.exp(others).sum(1)) - labelled


def damped_inverse(covariance: Any, damping: float, edge: int = 128) -> Any:
    """Return the inverse of a covariance with its diagonal raised, of each block of *edge* rows by itself."""
    raised = covariance + damping * np.eye(len(covariance))
    begins = range(0, len(raised), edge)
    blocks = [np.linalg.inv(raised[begin : begin + edge, begin : begin + edge]) for begin in begins]
    found = np.zeros_like(raised)
    for begin, block in zip(begins, blocks, strict=True):
        found[begin : begin + edge, begin : begin + edge] = block
    return found


def second_order_dense(x: Any, target: Any, rate: float = 0.1, damping: float = 0.03) -> Any:
    """Return the weights of a dense layer after a step of THOR by the mean squared error."""
    w, b = _numbers((target.shape[1], x.shape[1]), 0), _numbers((target.shape[1],), 1)
    slope = 2 * (x @ w.T + b - target) / target.size
    inputs, outputs = x.T @ x / x.shape[1], slope.T @ slope * len(x)
    raised = damping**0.5
    return w - rate * damped_inverse(outputs, raised) @ slope.T @ x @ damped_inverse(inputs, raised)


def second_order_convolution(
    x: Any, target: Any, kernel: Any, stride: int, pads: Any, rate: float = 0.1, damping: float = 0.03
) -> Any:
    """Return the filters of a convolution after a step of THOR; *pads* are those before and behind rows and columns."""
    w = _numbers(kernel, 0)
    padded = np.pad(x, ((0, 0), (0, 0), *pads))
    seen = np.lib.stride_tricks.sliding_window_view(padded, kernel[2:], (2, 3))[:, :, ::stride, ::stride]
    slope = 2 * (np.einsum("nchwij,ocij->nohw", seen, w) - target) / target.size
    places = slope.shape[2] * slope.shape[3]
    columns = seen.mean(0).transpose(0, 3, 4, 1, 2).reshape(-1, places)
    rows = slope.mean(0).reshape(len(w), places)
    inputs, outputs = columns @ columns.T / places, rows @ rows.T / places * len(x) ** 2
    raised = (damping / places) ** 0.5
    gradient = np.einsum("nohw,nchwij->ocij", slope, seen).reshape(len(w), -1)
    step = damped_inverse(outputs, raised) @ gradient @ damped_inverse(inputs, raised) / places
    return w - rate * step.reshape(kernel)
