"""The loss of a transducer: how unlikely labels are, over all ways to emit them between steps in time."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from scipy import special


def _loss(x: Any, labels: Any, times: Any, lengths: Any, *, blank_label: int = 0) -> tuple[Any, Any]:
    """Return the losses ``[b]`` and the gradients of the logits ``[b, t, u, v]``, 0 behind the ends of sequences."""
    losses, gradients = np.zeros(len(x), np.float32), np.zeros(x.shape, np.float32)
    for number, row in enumerate(x):
        count, places = int(times[number]), int(lengths[number]) + 1
        logs = special.log_softmax(row[:count, :places].astype(np.float64), -1)
        wanted = labels[number, : places - 1]
        losses[number], gradients[number, :count, :places] = _loss_of_one(logs, wanted, blank_label)
    return losses, gradients


def _loss_of_one(logs: Any, wanted: Any, blank: int) -> tuple[float, Any]:
    """Return the loss and the gradient of the logits of one sequence by its logarithms of shares ``[t, u, v]``."""
    stay = logs[:, :, blank]
    emit = np.full(stay.shape, -np.inf)
    emit[:, :-1] = logs[:, np.arange(len(wanted)), wanted]
    before, after = _sums(stay, emit)
    total = after[0, 0]
    here = np.exp(before + after[:-1, :-1] - total)[:, :, None] * np.exp(logs)
    here[:, :, blank] -= np.exp(before + stay + after[1:, :-1] - total)
    moved = np.exp(before + emit + after[:-1, 1:] - total)[:, :-1]
    here[:, np.arange(len(wanted)), wanted] -= moved
    return -total, here


def _sums(stay: Any, emit: Any) -> tuple[Any, Any]:
    """
    Return the logarithms of the shares of all ways to each place, and from each place to the end.

    The second has a row and a column more, behind the ends; the only one there that is an end follows the last place.
    """
    times, places = stay.shape
    before = np.full((times, places), -np.inf)
    before[0, 0] = 0
    after = np.full((times + 1, places + 1), -np.inf)
    after[times, places - 1] = 0
    for t, u in np.ndindex(times, places):
        if t:
            before[t, u] = np.logaddexp(before[t, u], before[t - 1, u] + stay[t - 1, u])
        if u:
            before[t, u] = np.logaddexp(before[t, u], before[t, u - 1] + emit[t, u - 1])
    for t in reversed(range(times)):
        for u in reversed(range(places)):
            after[t, u] = np.logaddexp(after[t + 1, u] + stay[t, u], after[t, u + 1] + emit[t, u])
    return before, after


TRANSDUCER: Final[Mapping[str, Any]] = MappingProxyType({"RNNTLoss": _loss})
"""By primitive, as CANN's operator of the name is documented: it takes logits, and its gradients are theirs."""
