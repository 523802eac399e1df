"""
The ACL profiling calls' own vocabulary: data-type mask, counter codes, configuration types (cann_msprof.md 1.7).

Tables and functions between them and the neutral model. Handles, states and return codes are the facade's.
"""

from __future__ import annotations

from drynpu.options.acl_config._config_types import (
    CONFIG_TYPES,
    MAX_CONFIG_BYTES,
    apply_configs,
    read_config,
)
from drynpu.options.acl_config._data_types import (
    AICORE_METRICS,
    DATA_TYPES,
    mask_names,
    metric_group,
    request_from_mask,
    unsupported_bits,
    widen_mask,
)

__all__ = [
    "AICORE_METRICS",
    "CONFIG_TYPES",
    "DATA_TYPES",
    "MAX_CONFIG_BYTES",
    "apply_configs",
    "mask_names",
    "metric_group",
    "read_config",
    "request_from_mask",
    "unsupported_bits",
    "widen_mask",
]
