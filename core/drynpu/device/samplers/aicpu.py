"""How an AI CPU kernel spends its time: dispatch, scheduling, preparation, compute, copying the results out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import frozen

from drynpu.arrays import F64
from drynpu.kernels import KernelSpec, Tuning

# Of the fixed cost of a kernel: the way to the AI CPU, its scheduler, and the preparation inside the task.
_DISPATCH, _SCHEDULING = 0.5, 0.25


@frozen(eq=False, kw_only=True)
class AicpuSplit:
    """
    Shares of the duration of each kernel, float64 ``[m]``; with preparation (what is left over) they make 1.

    In time order: dispatch, scheduling, preparation, compute, copy.
    """

    dispatch: F64
    scheduling: F64
    compute: F64
    copy: F64


def split_aicpu(kernels: Sequence[KernelSpec], tuning: Tuning | None = None) -> AicpuSplit:
    """
    Split AI CPU kernels along the cost model that timed them.

    A kernel costs a fixed start, the bytes it moves and the operations it does (``kernels.cost``). Of the start, half
    is dispatch, a quarter scheduling and a quarter preparation; writing the results is the copy; reading and
    computing is the compute part. Jitter scales all parts alike. There is no measurement behind the split of the
    start.
    """
    tuning = tuning or Tuning()
    written = np.array([k.bytes_written for k in kernels], np.float64) / tuning.aicpu.bytes_per_ns
    read = np.array([k.bytes_read for k in kernels], np.float64) / tuning.aicpu.bytes_per_ns
    worked = np.array([k.vector_ops + k.cube_flops for k in kernels], np.float64) / tuning.aicpu.ops_per_ns
    total = tuning.aicpu.start_ns + written + read + worked
    return AicpuSplit(
        dispatch=_DISPATCH * tuning.aicpu.start_ns / total,
        scheduling=_SCHEDULING * tuning.aicpu.start_ns / total,
        compute=(read + worked) / total,
        copy=written / total,
    )
