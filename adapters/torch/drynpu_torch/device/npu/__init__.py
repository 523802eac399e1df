"""
``torch.npu``, which is also ``torch_npu.npu``: the documented functions of the vendor's module.

All documented names exist; using one that drynpu does not provide raises an error that says why.
"""

from __future__ import annotations

from drynpu.plugins import missing_part
from drynpu_torch.device.npu import (
    _control,
    _devices,
    _host_runtime,
    _raw_memory,
    _recovery,  # noqa: F401 - a module of the vendor's
    _settings,
    amp,
    autocast_utils,  # noqa: F401 - a module of the vendor's
    backends,
    deterministic,  # noqa: F401 - as above
    memory,
    npu_config,  # noqa: F401 - as above
    random,
    streams,
    utils,
)
from drynpu_torch.device.npu._also_in import ALSO_IN
from drynpu_torch.device.npu._control import *
from drynpu_torch.device.npu._control import lazy_call as _lazy_call  # noqa: F401 - a name that PyTorch's device modules have
from drynpu_torch.device.npu._devices import *
from drynpu_torch.device.npu._devices import init as _lazy_init  # noqa: F401 - a name that PyTorch's device modules have
from drynpu_torch.device.npu._devices import is_in_bad_fork as _is_in_bad_fork  # noqa: F401 - PyTorch asks before it seeds
from drynpu_torch.device.npu._host_runtime import *
from drynpu_torch.device.npu._raw_memory import *
from drynpu_torch.device.npu._refused import REFUSED
from drynpu_torch.device.npu._settings import *
from drynpu_torch.device.npu._versions import get_soc_version as get_soc_version
from drynpu_torch.device.npu.amp import get_amp_supported_dtype, is_bf16_supported
from drynpu_torch.device.npu.backends import *
from drynpu_torch.device.npu.memory import *
from drynpu_torch.device.npu.mstx import mstx
from drynpu_torch.device.npu.random import *
from drynpu_torch.device.npu.streams import *
from drynpu_torch.device.npu.types import TYPES
from drynpu_torch.device.npu.utils import _get_device_index as _get_device_index

globals().update(TYPES | REFUSED)
for _module, _names in ALSO_IN.items():
    vars(globals()[_module]).update({name: globals()[name] for name in _names})

__all__ = [
    "amp",
    "get_amp_supported_dtype",
    "is_bf16_supported",
    "memory",
    "mstx",
    "random",
    "streams",
    "utils",
]
__all__ += _control.__all__
__all__ += _devices.__all__
__all__ += _host_runtime.__all__
__all__ += _raw_memory.__all__
__all__ += _settings.__all__
__all__ += backends.__all__
__all__ += memory.__all__
__all__ += random.__all__
__all__ += streams.__all__
__all__ += [*TYPES, *REFUSED]


def __getattr__(name: str) -> object:
    if name == "default_generators":
        return random.generators_by_device()
    if "graph" in name.lower():
        raise missing_part(f"torch.npu.{name}", "torch_graphs")
    raise AttributeError(f"module 'torch.npu' has no attribute {name!r}")
