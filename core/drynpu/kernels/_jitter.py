"""Repeatable noise on kernel durations (device_and_cost_model.md 5, step 5)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from drynpu.arrays import F64, I64, U64, Integers
from drynpu.kernels._types import KernelSpec, TensorDesc

# device_and_cost_model.md 5, step 5.
_SIGMA = 0.04
_SIGMA_SHORT = 0.12
_SHORT_NS = 3000.0
# Twelve uniform numbers of 16 bits each, out of three words of 64: see `_normal`.
_WORDS = 3
_PIECES_PER_WORD = 4
_PIECE_BITS = np.uint64(16)
# At most 6 sigma of 12 % go in: the first term left out, 0.72**15 / 15!, is below 1e-14.
_EXP_TERMS = 14


def occurrences(kernel_index: Integers) -> I64:
    """Return, per launch, how many earlier launches (shape ``[m]``) have the same kernel."""
    order = np.argsort(kernel_index, kind="stable")
    ordered = kernel_index[order]
    first = np.searchsorted(ordered, ordered, side="left")
    count = np.empty(len(kernel_index), np.int64)
    count[order] = np.arange(len(kernel_index)) - first
    return count


def jitter(
    kernel_index: Integers,
    occurrence: Integers,
    duration_ns: F64,
    seed: int,
    kernels: Sequence[KernelSpec] = (),
) -> F64:
    """
    Return a factor per launch, log-normal with median 1: sigma 4 %, 12 % for kernels under 3 us.

    The factor depends on the seed, the kernel and the occurrence only, and is computed from integers and IEEE
    additions and multiplications: it is exactly the same in every run and on every machine.

    Parameters
    ----------
    kernel_index:
        Kernel of each launch, shape ``[m]``; indexes *duration_ns* and *kernels*.
    occurrence:
        How often the kernel was launched before, or any other number that tells its launches apart, shape ``[m]``.
    duration_ns:
        Cost of each kernel without noise, shape ``[k]``.
    seed:
        Any integer.
    kernels:
        What the kernels are, ``[k]``: makes the noise follow a kernel when its index moves. Without it the index
        is the identity.

    Returns
    -------
    numpy.ndarray
        float64, shape ``[m]``; a factor scales the duration and all engine and pipe times of its launch alike.
    """
    if len(kernel_index) == 0:
        return np.empty(0, np.float64)
    identity = _identities(kernels) if kernels else np.arange(len(duration_ns), dtype=np.uint64)
    sigma = np.where(duration_ns < _SHORT_NS, _SIGMA_SHORT, _SIGMA)
    return _exp(sigma[kernel_index] * _normal(_states(identity[kernel_index], occurrence, seed)))


def draw_quantiles(
    quantiles: Sequence[float], kernel_index: Integers, occurrence: Integers, seed: int, kernels: Sequence[KernelSpec]
) -> F64:
    """
    Return a number per launch, shape ``[m]``, of the distribution with these *quantiles* at equal distances.

    It depends on the seed, the kernel and the occurrence only, as `jitter` does; the two are independent.
    """
    if len(kernel_index) == 0:
        return np.empty(0, np.float64)
    state = _mix(_states(_mix(_identities(kernels))[kernel_index], occurrence, seed))
    shares = (state >> np.uint64(11)).astype(np.float64) / 2.0**53
    return np.interp(shares, np.linspace(0.0, 1.0, len(quantiles)), np.asarray(quantiles, np.float64))


def _states(identity: U64, occurrence: Integers, seed: int) -> U64:
    state = _mix(identity + _mix(np.full(1, seed % 2**64, np.uint64)))
    return _mix(state ^ _mix(occurrence.astype(np.int64).astype(np.uint64)))


def _identities(kernels: Sequence[KernelSpec]) -> U64:
    """Hash what a kernel is called and works on; the rest follows from these."""
    hashes = [
        hashlib.blake2b(
            repr((k.name, k.op_type, k.task_type.value, _tensors(k.inputs), _tensors(k.outputs))).encode(),
            digest_size=8,
        ).digest()
        for k in kernels
    ]
    return np.frombuffer(b"".join(hashes), "<u8").astype(np.uint64)


def _tensors(tensors: Sequence[TensorDesc]) -> tuple[tuple[object, ...], ...]:
    return tuple((t.shape, t.dtype, t.format) for t in tensors)


def _mix(state: U64) -> U64:
    """Return splitmix64 of each state (Steele, Lea, Flood 2014)."""
    mixed = state + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _normal(state: U64) -> F64:
    """
    Return a normal number per state: the sum of 12 uniform ones less 6, which has variance 1.

    Summed as integers, because the usual transforms need logarithms, whose last bit differs between machines.
    Its tails end at 6 sigma.
    """
    total = np.zeros(len(state), np.uint64)
    for word in range(1, _WORDS + 1):
        bits = _mix(state + np.uint64(word))
        for _ in range(_PIECES_PER_WORD):
            total += bits & np.uint64(0xFFFF)
            bits >>= _PIECE_BITS
    pieces = _WORDS * _PIECES_PER_WORD
    return (total.astype(np.float64) + 0.5 * pieces) / 65536.0 - pieces / 2


def _exp(x: F64) -> F64:
    """Return e**x for |x| < 1 by its series: additions and multiplications only, for the reason of _normal."""
    result = np.ones_like(x)
    for term in range(_EXP_TERMS, 0, -1):
        result = 1.0 + result * x / term
    return result
