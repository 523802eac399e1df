"""The facade of ``torch_npu.contrib.transfer_to_npu``: importing it lets a CUDA script run as an NPU script."""

from __future__ import annotations

from drynpu_transfer.devices import to_npu as _replace_cuda_to_npu_in_dict  # noqa: F401
from drynpu_transfer.devices import with_hccl_backend as _wrapper_hccl  # noqa: F401
from drynpu_transfer.devices import with_npu_devices as _wrapper_cuda  # noqa: F401
from drynpu_transfer.patches import forget_nccl as _del_nccl_device_backend_map  # noqa: F401
from drynpu_transfer.patches import transfer
from drynpu_transfer.patches import without_cuda_config as _wrapper_profiler  # noqa: F401

transfer()
