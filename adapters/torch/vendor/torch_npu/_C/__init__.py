"""The facade of ``torch_npu._C``, the vendor's compiled module: the names in it that scripts import."""

from __future__ import annotations

from torch_npu._C import _distributed_c10d as _distributed_c10d

from drynpu_torch.device.npu import _marking as _mstx  # noqa: F401
from drynpu_torch.device.npu._control import host_empty_cache as _npu_hostEmptyCache  # noqa: F401
from drynpu_torch.device.npu._devices import device_count as _npu_getDeviceCount  # noqa: F401
from drynpu_torch.device.npu._host_runtime import HostRuntime as _npurt  # noqa: F401
from drynpu_torch.device.npu._settings import option_bytes as _npu_getOption  # noqa: F401
from drynpu_torch.device.npu.graphs import NPUTaskGroupHandle as _NPUTaskGroupHandle  # noqa: F401
from drynpu_torch.device.npu.graphs import graph_pool_handle as _graph_pool_handle  # noqa: F401
from drynpu_torch.device.npu.graphs import is_current_stream_capturing as _npu_isCurrentStreamCapturing  # noqa: F401
from drynpu_torch.device.npu.graphs import weak_ref_tensor as _weak_ref_tensor  # noqa: F401
from drynpu_torch.device.npu.utils import empty_strided_npu as _empty_strided_npu  # noqa: F401
