"""The facade of ``apex.parallel.distributed``."""

from __future__ import annotations

from torch._utils import _flatten_dense_tensors as flatten
from torch._utils import _unflatten_dense_tensors as unflatten

from drynpu_apex.parallel import (
    DistributedDataParallel,
    Reducer,
)
from drynpu_apex.parallel import (
    by_type as split_half_float_double,
)
from drynpu_apex.parallel import (
    flat_call as flat_dist_call,
)

__all__ = ["DistributedDataParallel", "Reducer", "flat_dist_call", "flatten", "split_half_float_double", "unflatten"]
