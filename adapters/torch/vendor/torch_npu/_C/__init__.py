"""The facade of ``torch_npu._C``, the vendor's compiled module: the names in it that scripts import."""

from __future__ import annotations

from typing import NoReturn

from torch_npu._C import _distributed_c10d as _distributed_c10d

from drynpu.plugins import join_parts as _join_parts
from drynpu.plugins import missing_part as _missing_part
from drynpu_torch.device.npu import _marking as _mstx  # noqa: F401
from drynpu_torch.device.npu._control import host_empty_cache as _npu_hostEmptyCache  # noqa: F401
from drynpu_torch.device.npu._devices import device_count as _npu_getDeviceCount  # noqa: F401
from drynpu_torch.device.npu._host_runtime import HostRuntime as _npurt  # noqa: F401
from drynpu_torch.device.npu._settings import option_bytes as _npu_getOption  # noqa: F401
from drynpu_torch.device.npu.streams import is_current_stream_capturing as _npu_isCurrentStreamCapturing  # noqa: F401
from drynpu_torch.device.npu.streams import raw_stream as _npu_getCurrentRawStream  # noqa: F401
from drynpu_torch.device.npu.streams import raw_stream as _npu_getCurrentRawStreamNoWait  # noqa: F401
from drynpu_torch.device.npu.utils import empty_strided_npu as _empty_strided_npu  # noqa: F401
from drynpu_torch.device.npu.utils import weak_ref_tensor as _weak_ref_tensor  # noqa: F401

globals().update(_join_parts(__name__))


def __getattr__(name: str) -> NoReturn:
    if "graph" in name.lower():
        raise _missing_part(f"{__name__}.{name}", "torch_graphs")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
