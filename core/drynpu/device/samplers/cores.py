"""
Counters of single cores over time: which core a block of a kernel ran on, and what it had counted by when.

The model: a kernel deals its blocks out to the cores in turn, from the first on (block *b* of a kernel on *c* cores
runs on core ``b % c``), every block counts the same, and counters rise evenly while the kernel runs. Everything else is
exact: over all cores and samples the counts equal the kernels' counts.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from drynpu.arrays import I64
from drynpu.device.samplers.traffic import Flow


def block_shares(total: I64, blocks: int, cores: int) -> I64:
    """
    Split what a kernel of *blocks* blocks counted into what each core did.

    ``total`` has shape ``[e]``, the result ``[cores, e]`` with exactly that sum; what does not come out even goes to
    later blocks.
    """
    core_blocks = blocks // cores + (np.arange(cores) < blocks % cores)
    whole, rest = np.divmod(total, blocks)
    done = np.cumsum(core_blocks)[:, None]
    reached = whole * done + rest * done // blocks
    return np.asarray(np.diff(reached, axis=0, prepend=0), np.int64)


def core_counts(
    start_ns: npt.ArrayLike, end_ns: npt.ArrayLike, blocks: I64, counts: I64, *, cores: int, times_ns: npt.ArrayLike
) -> I64:
    """
    Return what each core counted since its last reading.

    Parameters
    ----------
    start_ns, end_ns:
        When kernels run, ``[n]``; every end after its start.
    blocks:
        Blocks of each kernel on this kind of core, ``[n]``; none for those that do not use it.
    counts:
        What each kernel counts over all blocks, ``[n, e]``.
    cores:
        Cores of this kind.
    times_ns:
        When the counters are read, ``[s]``, rising.

    Returns
    -------
    I64
        ``[s, cores, e]``, never negative. The sum over samples is the kernels' up to the last reading.
    """
    start, end, times = (np.asarray(values, np.float64) for values in (start_ns, end_ns, times_ns))
    reached = np.zeros((len(times), cores, counts.shape[1]))
    # Kernels of as many blocks use the cores alike, so they are one flow for each counter.
    for number in np.unique(blocks[blocks > 0]).tolist():
        rows = blocks == number
        total = counts[rows].sum(axis=0)
        shares = block_shares(total, number, cores)
        for event in np.flatnonzero(total).tolist():
            done = Flow(start[rows], end[rows], counts[rows, event]).by(times) / total[event]
            reached[:, :, event] += done[:, None] * shares[:, event]
    return np.diff(np.rint(reached).astype(np.int64), axis=0, prepend=0)
