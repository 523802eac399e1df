"""
The ACL profiling calls' own vocabulary: data-type mask, counter codes, configuration types (cann_msprof.md 1.7).

Tables and functions between them and the neutral model. Handles, states and return codes are the facade's.
"""

from __future__ import annotations

from drynpu.options.acl_config._config_types import (
    CONFIG_TYPES,
    MAX_CONFIG_BYTES,
    ConfigType,
    apply_configs,
    read_config,
)
from drynpu.options.acl_config._data_types import (
    DATA_TYPES,
    DataType,
    mask_from_request,
    mask_names,
    request_from_mask,
    unsupported_bits,
    widen_mask,
)
from drynpu.options.acl_config._metrics import AICORE_METRICS, metric_group, metrics_code

__all__ = [
    "AICORE_METRICS",
    "CONFIG_TYPES",
    "DATA_TYPES",
    "MAX_CONFIG_BYTES",
    "ConfigType",
    "DataType",
    "apply_configs",
    "mask_from_request",
    "mask_names",
    "metric_group",
    "metrics_code",
    "read_config",
    "request_from_mask",
    "unsupported_bits",
    "widen_mask",
]
