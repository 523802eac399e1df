"""
What L2 still holds when a kernel reads it, by what was touched since.

A cache that drops what was used least recently finds a tensor again if the distinct bytes that were touched since, and
what the kernel itself moves, fit into it. So each tensor that a kernel reads has a share that comes from memory: none
up to three quarters of L2, all from one and a half on, as the cost model has it of kernels by themselves (there nothing
lies in between). A tensor that the recording sees for the first time, and one that lies between the kernels of one
operator, stay as the kernel suggests. So do weights of products: where a genuine run reads one shortly after it was
read, it takes as long as from memory. Results are written to L2 as long as they fit: genuine ones are, whatever their
block held before.

Kernels read what their operator was given: the first of its kernels that takes a tensor of that size.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import evolve, frozen

from drynpu.arrays import F64, I64, Bools
from drynpu.device import innermost
from drynpu.kernels import Accesses, KernelSpec, Tuning, l2_window, overflow_share, presumed_cold
from drynpu.platforms import Chip
from drynpu.simulate._lower import LoweredLaunches, launching_operator

_LEVELS = 16
"""Shares are told apart in so many steps, so that launches of one kernel stay few different ones."""
_REACH = 1.5
"""Of touches whose reuse distance lies between a power of two and the next, how far the window has them once."""


def split_by_reuse(lowered: LoweredLaunches, chip: Chip) -> LoweredLaunches:
    """Return the launches, with kernels of their own for those that find more or less of their inputs in L2."""
    accesses = lowered.recording.accesses
    if accesses is None or not len(lowered.launch_kernel):
        return lowered
    touches = _ordered(accesses, lowered)
    if touches.written.all():
        return lowered
    between = bytes_between(touches)
    share = _missed(lowered, touches, between, chip)
    level = np.where(np.isnan(share), -1, np.rint(share * _LEVELS)).astype(np.int64)
    pair, variant = np.unique(lowered.launch_kernel * (_LEVELS + 2) + level + 1, return_inverse=True)
    kernel, at = pair // (_LEVELS + 2), pair % (_LEVELS + 2) - 1
    kernels = list(lowered.kernels)
    number = kernel.copy()
    for row in np.flatnonzero(at >= 0).tolist():
        number[row] = len(kernels)
        kernels.append(evolve(lowered.kernels[int(kernel[row])], read_miss=int(at[row]) / _LEVELS))
    return evolve(lowered, kernels=tuple(kernels), launch_kernel=number[variant])


@frozen(eq=False, kw_only=True)
class Touches:
    """
    Accesses in the order of the device, ``[n]``.

    ``dispatch`` numbers the launching operators; ``start`` is where the tensor begins, ``is_whole`` whether it is most
    of its block.
    """

    dispatch: I64
    block: I64
    start: I64
    size_bytes: I64
    is_whole: Bools
    written: Bools


def _ordered(accesses: Accesses, lowered: LoweredLaunches) -> Touches:
    operators = lowered.recording.operators
    columns = (operators.start_ns, operators.end_ns, operators.thread, lowered.parent)
    owner = launching_operator(innermost(accesses.time_ns, accesses.thread, *columns), lowered)
    dispatch_of = np.full(len(lowered.parent) + 1, -1, np.int64)
    dispatch_of[lowered.dispatch_op] = np.arange(len(lowered.dispatch_op))
    dispatch = dispatch_of[owner]
    order = np.lexsort((accesses.time_ns, accesses.written, dispatch))
    order = order[dispatch[order] >= 0]
    return Touches(
        dispatch=dispatch[order],
        block=accesses.block[order],
        start=accesses.block[order] + accesses.offset[order],
        size_bytes=accesses.size_bytes[order],
        is_whole=2 * accesses.size_bytes[order] >= accesses.block_bytes[order],
        written=accesses.written[order],
    )


def bytes_between(touches: Touches) -> F64:
    """
    Return the distinct bytes that were touched between each touch and the one before of the same data, ``[n]``.

    NaN where there was none before. Data are the same if they begin at the same place, or if one of the two is most of
    its block. Touches of one operator lie at the same time.

    Of the touches of the same data one counts in a window. Whether an earlier one lies in the window as well follows
    from how long ago it was; touches are taken by powers of two of that, so that this needs no loop over touches.
    """
    count = len(touches.dispatch)
    before = _last_touch(touches)
    since = np.arange(count) - before
    # The window: after the touch before, up to the operator of this one.
    begin = np.where(before >= 0, before + 1, 0)
    end = np.maximum(np.searchsorted(touches.dispatch, touches.dispatch, side="left"), begin)
    total = np.zeros(count)
    classes = np.where(before >= 0, np.floor(np.log2(np.maximum(since, 1))), -1).astype(np.int64)
    for each in np.unique(classes).tolist():
        sizes = np.concatenate(([0.0], np.cumsum(np.where(classes == each, touches.size_bytes, 0.0))))
        last = end if each < 0 else np.minimum(end, begin + int(_REACH * 2**each))
        total += sizes[last] - sizes[begin]
    return np.where(before >= 0, total, np.nan)


def _last_touch(touches: Touches) -> I64:
    """Return the touch before of the same data by an earlier operator, ``[n]``; -1 for none."""
    whole = np.ones(len(touches.dispatch), bool)
    of_block = _last_before(touches.block, touches.dispatch, whole)
    of_all = _last_before(touches.block, touches.dispatch, touches.is_whole)
    of_part = _last_before(touches.start, touches.dispatch, whole)
    return np.where(touches.is_whole, of_block, np.maximum(of_all, of_part))


def _last_before(key: I64, dispatch: I64, counts: Bools) -> I64:
    """Return for each row the last one of its *key* that *counts* and is of an earlier *dispatch*, -1 for none."""
    row = np.arange(len(key))
    order = np.lexsort((row, key))
    keys, numbers = key[order], dispatch[order]
    is_new = np.ones(len(key), bool)
    is_new[1:] = (keys[1:] != keys[:-1]) | (numbers[1:] != numbers[:-1])
    first = np.maximum.accumulate(np.where(is_new, row, 0))
    counted = np.maximum.accumulate(np.where(counts[order], row, -1))
    previous = np.where(first > 0, counted[first - 1], -1)
    previous = np.where((previous >= 0) & (keys[previous] == keys), previous, -1)
    last = np.empty(len(key), np.int64)
    last[order] = np.where(previous >= 0, order[previous], -1)
    return last


def _missed(lowered: LoweredLaunches, touches: Touches, between: F64, chip: Chip) -> F64:
    """Return the share of what each launch reads that comes from memory, ``[m]``; NaN where it is the usual one."""
    inputs = _inputs(lowered.kernels, int(touches.size_bytes.min()), chip)
    per_launch = inputs.count[lowered.launch_kernel]
    launch = np.repeat(np.arange(len(per_launch)), per_launch)
    place = np.arange(len(launch)) - np.repeat(np.cumsum(per_launch) - per_launch, per_launch)
    row = inputs.first[lowered.launch_kernel[launch]] + place
    reads = np.flatnonzero(~touches.written)
    touch = _match(
        (lowered.launch_dispatch[launch], inputs.size_bytes[row]),
        (touches.dispatch[reads], touches.size_bytes[reads]),
    )
    kernel = lowered.launch_kernel[launch]
    distance = np.where(touch >= 0, between[reads[np.maximum(touch, 0)]], np.nan)
    warm, cold = l2_window(chip, Tuning())
    share = np.clip((distance + inputs.moved[kernel] - warm) / (cold - warm), 0.0, 1.0)
    known = ~np.isnan(share) & ~inputs.is_weight[row]
    changed = np.bincount(
        launch, np.where(known, share - inputs.usual[row], 0.0) * inputs.size_bytes[row], len(per_launch)
    )
    usual = inputs.usual_share[lowered.launch_kernel]
    now = np.clip(usual + changed / inputs.read[lowered.launch_kernel], 0.0, 1.0)
    return np.where(np.abs(now - usual) * 2 * _LEVELS < 1, np.nan, now)


@frozen(eq=False, kw_only=True)
class _Inputs:
    """
    What kernels read: ``count`` rows from ``first`` for each kernel, ``[k]``; of each input its bytes and usual share.

    ``moved`` and ``read`` are the bytes of each kernel, ``usual_share`` the share of the latter that usually comes from
    memory. ``is_weight`` says which inputs are weights of products, or what is read as they are.
    """

    first: I64
    count: I64
    moved: I64
    read: I64
    usual_share: F64
    size_bytes: I64
    usual: F64
    is_weight: Bools


def _inputs(kernels: Sequence[KernelSpec], least_bytes: int, chip: Chip) -> _Inputs:
    tuning = Tuning()
    rows: list[tuple[int, float, bool]] = []
    count, shares, read = [], [], []
    for spec in kernels:
        overflow, is_product = overflow_share(spec, chip, tuning), spec.cube_flops > 0
        cold = presumed_cold(spec)
        large = [
            (tensor.size_bytes, 1.0 if is_cold else overflow, is_cold and is_product)
            for tensor, is_cold in zip(spec.inputs, cold, strict=True)
            if tensor.size_bytes >= least_bytes and spec.known and spec.copy is None
        ]
        rows += large
        count.append(len(large))
        # What is gathered is less than the tables that it is gathered from.
        read.append(max(spec.bytes_read, sum(size for size, _, _ in large), 1))
        shares.append(min(overflow + sum(size * (share - overflow) for size, share, _ in large) / read[-1], 1.0))
    counts = np.array(count, np.int64)
    return _Inputs(
        first=np.cumsum(counts) - counts,
        count=counts,
        moved=np.array([spec.bytes_read + spec.bytes_written for spec in kernels], np.int64),
        read=np.array(read, np.int64),
        usual_share=np.array(shares, np.float64),
        size_bytes=np.array([size for size, _, _ in rows], np.int64),
        usual=np.array([share for _, share, _ in rows], np.float64),
        is_weight=np.array([is_weight for _, _, is_weight in rows], bool),
    )


def _match(wanted: tuple[I64, I64], there: tuple[I64, I64]) -> I64:
    """
    Return for each wanted (operator, size) the row of *there* that is the same, each row for one at most; -1 for none.

    Among equal ones the first is matched with the first.
    """
    split = len(wanted[0])
    pairs = np.stack([np.concatenate((a, b)) for a, b in zip(wanted, there, strict=True)], 1)
    _, number = np.unique(pairs, axis=0, return_inverse=True)
    number = number.reshape(-1)
    key = [group * (len(number) + 1) + _rank(group) for group in (number[:split], number[split:])]
    order = np.argsort(key[1], kind="stable")
    at = np.minimum(np.searchsorted(key[1][order], key[0]), max(len(order) - 1, 0))
    if not len(order):
        return np.full(split, -1, np.int64)
    return np.where(key[1][order][at] == key[0], order[at], -1)


def _rank(group: I64) -> I64:
    """Return how many rows before have the same number."""
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    rank = np.empty(len(group), np.int64)
    rank[order] = np.arange(len(group)) - np.searchsorted(ordered, ordered, side="left")
    return rank
