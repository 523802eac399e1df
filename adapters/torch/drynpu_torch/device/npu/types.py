"""``torch.npu.FloatTensor`` and its kin: names for tensors and storages of one dtype on the device."""

from __future__ import annotations

from typing import Any, Final

import torch

from drynpu_torch.device._objects import is_tensor
from drynpu_torch.device._placement import known_device, storage_device
from drynpu_torch.device._state import DEVICE_TYPE, state

_DTYPES: Final = {
    "BFloat16": torch.bfloat16,
    "Bool": torch.bool,
    "Byte": torch.uint8,
    "Char": torch.int8,
    "Double": torch.float64,
    "Float": torch.float32,
    "Half": torch.float16,
    "Int": torch.int32,
    "Long": torch.int64,
    "Short": torch.int16,
}


class _TensorType(type):
    """The type of the tensors of one dtype on the device; calling it makes one."""

    dtype: torch.dtype

    def __instancecheck__(cls, instance: object) -> bool:
        return is_tensor(instance) and instance.dtype == cls.dtype and known_device(instance) is not None

    def __call__(cls, *arguments: Any) -> torch.Tensor:
        """Return a tensor of the values in a sequence, or one of these sizes without values."""
        if len(arguments) == 1 and not isinstance(arguments[0], (int, torch.Size)):
            return torch.tensor(arguments[0], dtype=cls.dtype, device=DEVICE_TYPE)
        return torch.empty(*(arguments or (0,)), dtype=cls.dtype, device=DEVICE_TYPE)


class _StorageType(type):
    """The type of the storages of one dtype on the device; calling it makes one."""

    dtype: torch.dtype

    def __instancecheck__(cls, instance: object) -> bool:
        if not isinstance(instance, torch.storage.TypedStorage) or instance.dtype != cls.dtype:
            return False
        untyped = instance._untyped_storage
        return untyped.device.type == DEVICE_TYPE or (state().library is None and storage_device(untyped) is not None)

    def __call__(cls, size: int = 0) -> torch.storage.TypedStorage:
        """Return a storage of *size* elements without values."""
        untyped = torch.empty(size, dtype=cls.dtype, device=DEVICE_TYPE).untyped_storage()
        storage: torch.storage.TypedStorage = torch.storage.TypedStorage(  # type: ignore[no-untyped-call]
            wrap_storage=untyped, dtype=cls.dtype, _internal=True
        )
        return storage


def _types(kind: type, suffix: str) -> dict[str, type]:
    module = f"torch.{DEVICE_TYPE}"
    types = {}
    for name, dtype in _DTYPES.items():
        content = {"dtype": dtype, "__module__": module, "__doc__": f"{suffix} of {dtype} on the device."}
        types[f"{name}{suffix}"] = kind(f"{name}{suffix}", (), content)
    return types


TYPES: Final = _types(_TensorType, "Tensor") | _types(_StorageType, "Storage")
"""The types by their names in ``torch.npu``."""
