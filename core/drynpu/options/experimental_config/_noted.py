"""What the profiler notes down of the environment of a run (torch_npu_profiler.md 3.4)."""

from __future__ import annotations

from collections.abc import Mapping

NOTED_VARIABLES = (
    "ASCEND_GLOBAL_LOG_LEVEL",
    "HCCL_RDMA_TC",
    "HCCL_RDMA_SL",
    "ACLNN_CACHE_LIMIT",
    "HOST_CACHE_CAPACITY",
    "ASCEND_ENHANCE_ENABLE",
    "PYTORCH_NPU_ALLOC_CONF",
    "ASCEND_LAUNCH_BLOCKING",
    "HCCL_ALGO",
)
"""Names of the variables under ``ENV_VARIABLES``."""


def noted_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the vendor notes down; unset ones are empty."""
    return {name: environ.get(name, "") for name in NOTED_VARIABLES}
