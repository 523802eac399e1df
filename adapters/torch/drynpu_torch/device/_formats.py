"""Private tensor formats: the device has them, the sink's CPU tensors are always plain."""

from __future__ import annotations

import torch

_ND, _NCHW, _NCDHW = 2, 0, 30
_BASE_FORMATS = {4: _NCHW, 5: _NCDHW}
"""Base format by number of dimensions; any other number is plain ND. Ids are those of ``aclFormat``."""


def get_npu_format(tensor: torch.Tensor) -> int:
    """Return the ``aclFormat`` id of a tensor that was never cast: 0 (NCHW), 30 (NCDHW) or 2 (ND)."""
    return _BASE_FORMATS.get(tensor.dim(), _ND)


def npu_format_cast(tensor: torch.Tensor, acl_format: int | torch.Tensor) -> torch.Tensor:  # noqa: ARG001
    """Return *tensor* as it is; a format changes where elements lie on the device, not their values."""
    return tensor


def npu_format_cast_(tensor: torch.Tensor, acl_format: int | torch.Tensor) -> torch.Tensor:  # noqa: ARG001
    """Return *tensor* as it is, for the form that works in place."""
    return tensor
