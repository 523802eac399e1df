"""The facade of ``torch_npu.utils``."""

from __future__ import annotations

import typing as _typing

from torch_npu.utils.asd_detector import register_asd_hook, set_asd_loss_scale

from drynpu.plugins import join_parts as _join_parts
from drynpu.plugins import missing_part as _missing_part
from drynpu_torch.services import FlopsCounter, get_cann_version, reset_thread_affinity, save_async, set_thread_affinity

_parts = _join_parts(__name__)
globals().update(_parts)

__all__ = [
    "FlopsCounter",
    "get_cann_version",
    "register_asd_hook",
    "reset_thread_affinity",
    "save_async",
    "set_asd_loss_scale",
    "set_thread_affinity",
]
__all__ += [*_parts]

if _typing.TYPE_CHECKING:
    from torch_npu.utils._combined_part import *

_COMBINED = ("npu_combine_tensors", "get_part_combined_tensor", "is_combined_tensor_valid", "combine_tensors")
"""Names that a plugin adds."""


def __getattr__(name: str) -> _typing.NoReturn:
    if name in _COMBINED and _parts.keys().isdisjoint(_COMBINED):
        raise _missing_part(f"{__name__}.{name}", "apex")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
