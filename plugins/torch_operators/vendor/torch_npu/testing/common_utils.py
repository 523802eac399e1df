"""The facade of ``torch_npu.testing.common_utils``."""

from __future__ import annotations

from drynpu_torch_operators.testing.common import (
    PERF_BASELINE_FILE,
    PERF_TEST_ENABLE,
    Baseline,
    PerfBaseline,
    get_cycles_per_ms,
)
from drynpu_torch_operators.testing.decorators import SkipIfNoLapack, SkipIfNotGteCANNVersion, SupportedDevices
from drynpu_torch_operators.testing.scaling import create_scaling_case as _create_scaling_case
from drynpu_torch_operators.testing.scaling import create_scaling_models_optimizers as _create_scaling_models_optimizers
from drynpu_torch_operators.testing.tensors import (
    check_operators_in_prof,
    create_common_tensor,
    create_dtype_tensor,
    freeze_rng_state,
    get_npu_device,
    is_iterable,
    iter_indices,
    set_npu_device,
    test_2args_broadcast,
)

__all__ = [
    "PERF_BASELINE_FILE",
    "PERF_TEST_ENABLE",
    "Baseline",
    "PerfBaseline",
    "SkipIfNoLapack",
    "SkipIfNotGteCANNVersion",
    "SupportedDevices",
    "_create_scaling_case",
    "_create_scaling_models_optimizers",
    "check_operators_in_prof",
    "create_common_tensor",
    "create_dtype_tensor",
    "freeze_rng_state",
    "get_cycles_per_ms",
    "get_npu_device",
    "is_iterable",
    "iter_indices",
    "set_npu_device",
    "test_2args_broadcast",
]
