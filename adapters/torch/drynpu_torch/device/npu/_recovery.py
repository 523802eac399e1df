"""Tensors after a fault of the device's memory: the simulated memory has none, so that all are safe."""

from __future__ import annotations

import torch

from drynpu_torch.device._errors import ErrCode, pta_error
from drynpu_torch.device._state import state

_FLAG = "npu_tensor_unsafe_check"


def check_npu_tensor_is_safe(tensor_obj: torch.Tensor) -> bool:
    """Return True. Raises `RuntimeError` for what is no tensor."""
    _must_be_tensor(tensor_obj)
    return True


def update_npu_tensor_to_safe(tensor_obj: torch.Tensor) -> None:
    """Leave a tensor as it is. Raises `RuntimeError` for what is no tensor."""
    _must_be_tensor(tensor_obj)


def mark_all_npu_tensor_unsafe(device: int) -> None:
    """Mark nothing: no memory has a fault. Raises `RuntimeError` for a device that is not there."""
    state().device_index(device)


def set_npu_tensor_unsafe_check_flag(flag: bool) -> None:
    """Keep whether tensors are to be checked."""
    state().options[_FLAG] = str(int(flag))


def get_npu_tensor_unsafe_check_flag() -> bool:
    """Return what was kept."""
    return state().options.get(_FLAG) == "1"


def _must_be_tensor(value: object) -> None:
    if not isinstance(value, torch.Tensor):
        raise RuntimeError(f"param type should be Tensor, could not be {type(value)}" + pta_error(ErrCode.TYPE))
