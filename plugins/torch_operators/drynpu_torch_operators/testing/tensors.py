"""Tensors for tests, each on the CPU and on the device with the same numbers."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from drynpu_torch.device import npu, npu_format_cast

_DEVICE_VARIABLE = "SET_NPU_DEVICE"
_NO_FORMAT = -1
Pair = tuple[Tensor, Tensor]


def get_npu_device() -> str:
    """Return the device of tests, which ``SET_NPU_DEVICE`` numbers."""
    return f"npu:{os.environ.get(_DEVICE_VARIABLE, '0')}"


def set_npu_device() -> str:
    """Make the device of tests the current one, and return its name."""
    device = get_npu_device()
    npu.set_device(device)
    return device


def _on_both(values: Any, npu_format: int, device: str | None) -> Pair:
    tensor = torch.from_numpy(values)
    there = tensor.to(device or get_npu_device())
    return tensor, there if npu_format == _NO_FORMAT else npu_format_cast(there, npu_format)


def create_common_tensor(
    item: Sequence[Any],
    minValue: float,  # noqa: N803 - the vendor's name
    maxValue: float,  # noqa: N803 - the vendor's name
    device: str | None = None,
) -> Pair:
    """Return random numbers between two values; *item* is a type of NumPy, a format or -1, and a shape."""
    dtype, npu_format, shape = item[:3]
    values = np.random.uniform(minValue, maxValue, shape).astype(dtype)  # noqa: NPY002 - tests seed NumPy's own state
    return _on_both(np.asarray(values), npu_format, device)


def create_dtype_tensor(
    shape: Sequence[int],
    dtype: torch.dtype,
    npu_format: int = _NO_FORMAT,
    min_value: float = -5,
    max_value: float = 5,
    no_zero: bool = False,
    device: str | None = None,
) -> Pair:
    """Return random numbers of a type of PyTorch; types that are neither floating nor bool become INT32."""
    floating = {torch.half: np.float16, torch.float: np.float32}
    values: Any
    if dtype == torch.bool:
        values = np.random.randint(0, 2, size=shape).astype(bool)  # noqa: NPY002 - see above
    elif dtype in floating:
        values = np.random.uniform(min_value, max_value, shape).astype(floating[dtype])  # noqa: NPY002 - see above
    else:
        values = np.random.randint(int(min_value), int(max_value) + 1, size=shape).astype(np.int32)  # noqa: NPY002
    if no_zero:
        values = np.where(values != 0, values, np.ones_like(values))
    return _on_both(values, npu_format if dtype in floating else _NO_FORMAT, device)


def test_2args_broadcast(function: Callable[[Tensor, Tensor], Tensor]) -> list[list[Any]]:
    """Return the results of *function* on both devices for two pairs of tensors that broadcast."""
    pairs = []
    for shape in ((1, 1, 1), (4, 5)):
        x, y = (
            _on_both(np.random.rand(*size).astype(np.float32), _NO_FORMAT, None)  # noqa: NPY002 - see above
            for size in ((2, 3, 4, 5), shape)
        )
        pairs.append([function(x[0], y[0]).numpy(), function(x[1], y[1]).cpu().numpy()])
    return pairs


test_2args_broadcast.__test__ = False  # type: ignore[attr-defined] # pytest would call it


@contextlib.contextmanager
def freeze_rng_state() -> Iterator[None]:
    """Let random numbers of the host go on behind the block as if it had drawn none."""
    state = torch.get_rng_state()
    yield
    torch.set_rng_state(state)


def iter_indices(tensor: Tensor) -> Any:
    """Return the indices of all numbers: numbers for one dimension, tuples for more."""
    if tensor.dim() < 2:
        return range(tensor.size(0)) if tensor.dim() else range(0)
    return itertools.product(*(range(size) for size in tensor.size()))


def is_iterable(obj: Any) -> bool:
    """Whether one can iterate over *obj*."""
    try:
        iter(obj)
    except TypeError:
        return False
    return True


def check_operators_in_prof(expected_operators: list[str], prof: Any, unexpected_operators: Sequence[str] = ()) -> Any:
    """Whether a profile has all *expected_operators*, which are taken from the list, and no unexpected one."""
    averages = prof.key_averages()
    if not averages:
        print("torch profiling is empty, please check it")  # noqa: T201 - what the vendor's does
        return None
    for name in (item.key.replace("cached_", "") for item in averages):
        if name in (unexpected_operators or ()):
            return False
        if name in expected_operators:
            expected_operators.remove(name)
    return not expected_operators
