"""PyTorch's device-generic tests on the npu."""

from __future__ import annotations

import contextlib
import os
from typing import Any

_CHOSEN = {"PYTORCH_TESTING_DEVICE_FOR_CUSTOM": "privateuse1", "PYTORCH_TESTING_DEVICE_EXCEPT_FOR": "cuda,cpu"}


def choose_npu() -> None:
    """Let ``torch.testing._internal`` make tests for the npu alone, and take those for CUDA as tests for it."""
    os.environ.update(_CHOSEN)
    with contextlib.suppress(ImportError):  # expecttest, without which PyTorch's tests cannot be imported
        from torch.testing._internal import common_device_type, common_utils

        common_device_type.onlyCUDA = common_device_type.onlyPRIVATEUSE1
        common_utils.TEST_CUDA = common_utils.TEST_PRIVATEUSE1


def update_skip_list() -> None:
    """Skip no test: the vendor's list names what its kernels do not take, and drynpu has none."""


def get_decorators(op: Any, test_class: str, test_name: str, device: str, dtype: Any, param_kwargs: Any) -> list[Any]:
    """Return the decorators of the test of an operator that apply, among them what skips it."""
    decorators: list[Any] = []
    for decorator in (*op.decorators, *op.skips):
        is_active = getattr(decorator, "is_active", None)
        if is_active is None:
            decorators.append(decorator)
        elif is_active(test_class, test_name, device, dtype, param_kwargs):
            decorators.extend(decorator.decorators)
    return decorators
