"""``torch_npu.HiFloat8Tensor``: a tensor that keeps its numbers as codes of HiFloat8 and computes in a wider type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, SupportsIndex

import torch
from torch._ops import OpOverload
from torch.utils._pytree import tree_map
from typing_extensions import Self

from drynpu_torch.device import DEVICE_TYPE, ErrCode, pta_error
from drynpu_torch_operators.operators import TYPE_NUMBERS

_HIFLOAT8: Final = TYPE_NUMBERS["hifloat8"]
_NUMBERS: Final = {torch.float32: 256, torch.float16: 257, torch.bfloat16: 283, torch.int32: 259, torch.uint8: 260}
"""Types that codes are cast to, as the operator takes them."""
_WIDE: Final = (torch.float32, torch.float16, torch.bfloat16)
_aten = torch.ops.aten
_KEEPING: Final = {
    _aten.detach.default,
    _aten.view.default,
    _aten._unsafe_view.default,
    _aten.slice.Tensor,
    _aten.clone.default,
}
"""Operators that leave codes codes; all others compute with the numbers."""


class HiFloat8Tensor(torch.Tensor):
    """
    Numbers of 8 bits that say they have a wider type.

    Parameters
    ----------
    data:
        The codes, UINT8.
    dtype:
        The type that the tensor says it has, and in which it computes.
    """

    _data: torch.Tensor

    def __new__(cls, *, data: torch.Tensor, dtype: torch.dtype = torch.float32) -> Self:
        """Wrap codes, which are moved to the device if need be."""
        for is_wrong, text in (
            (data.element_size() != 1, f"data buffer with 8-bit dtype (got dtype={data.dtype})"),
            (data.requires_grad, "non-differentiable data buffer"),
        ):
            if is_wrong:
                raise ValueError(f"HiFloat8Tensor requires {text}" + pta_error(ErrCode.VALUE))
        data = data.to(DEVICE_TYPE)
        wrapper: Self = torch.Tensor._make_wrapper_subclass(
            cls, data.shape, data.stride(), data.storage_offset(), dtype=dtype, device=data.device
        )
        wrapper._data = data
        return wrapper

    @classmethod
    def make_like(
        cls, tensor: HiFloat8Tensor, *, data: torch.Tensor, dtype: torch.dtype | None = None
    ) -> HiFloat8Tensor:
        """Return other codes with the type of *tensor*."""
        return cls(data=data, dtype=dtype or tensor.dtype)

    @classmethod
    def to_hifloat8(cls, tensor: torch.Tensor) -> HiFloat8Tensor:
        """Return the nearest numbers; the gradient is the result's."""
        rounded: HiFloat8Tensor = _ToHiFloat8.apply(tensor)  # type: ignore[no-untyped-call]
        return rounded

    def from_hifloat8(self, dtype: torch.dtype | None = None) -> torch.Tensor:
        """Return the numbers in *dtype*, by default the type that the tensor says it has."""
        numbers: torch.Tensor = _FromHiFloat8.apply(self, dtype or self.dtype)  # type: ignore[no-untyped-call]
        return numbers

    def to_dtype(self, dtype: torch.dtype) -> HiFloat8Tensor:
        """Return the same codes under another type."""
        return self.make_like(self, data=self._data, dtype=dtype)

    def float(self) -> torch.Tensor:
        """Return the numbers in FP32."""
        return self.from_hifloat8(torch.float32)

    def half(self) -> torch.Tensor:
        """Return the numbers in FP16."""
        return self.from_hifloat8(torch.float16)

    def bfloat16(self) -> torch.Tensor:
        """Return the numbers in BF16."""
        return self.from_hifloat8(torch.bfloat16)

    def cpu(self) -> torch.Tensor:  # type: ignore[override]
        """Return the numbers on the host."""
        return self.from_hifloat8().cpu()

    def __repr__(self) -> str:  # type: ignore[override]
        """Return the form that the vendor's has."""
        return f"HiFloat8Tensor(data={self.from_hifloat8()})"

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Callable[..., object], tuple[object, ...]]:
        """Pickle the codes and the type."""
        return _remake, (self._data, self.dtype)

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls,
        func: OpOverload,
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        """Compute with the numbers; what an operator writes into a tensor of codes becomes codes again."""
        del types
        kwargs = kwargs or {}
        if func in _KEEPING:
            codes: HiFloat8Tensor = args[0]  # type: ignore[assignment]
            return cls.make_like(codes, data=func(codes._data, *args[1:], **kwargs))
        if func is _aten.copy_.default:
            return _copy(*args[:2])  # type: ignore[arg-type]
        wide_args, wide_kwargs = tree_map(_numbers_of, (args, kwargs))
        result = func(*wide_args, **wide_kwargs)
        if not func._schema.is_mutable:
            return result
        for index, argument in enumerate(func._schema.arguments):
            by_place = index < len(args)
            value = args[index] if by_place else kwargs.get(argument.name)
            is_written = argument.alias_info is not None and argument.alias_info.is_write
            if is_written and isinstance(value, HiFloat8Tensor):
                wide = wide_args[index] if by_place else wide_kwargs[argument.name]
                written = _copy(value, wide)
                result = written if result is wide else result
        return result


def _copy(to: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """Copy numbers where one or both tensors have codes."""
    if not isinstance(to, HiFloat8Tensor):
        return to.copy_(source.from_hifloat8() if isinstance(source, HiFloat8Tensor) else source)
    to._data.copy_(source._data if isinstance(source, HiFloat8Tensor) else _codes(source.expand(to.shape)))
    return to


def _codes(tensor: torch.Tensor) -> torch.Tensor:
    on_device = tensor.detach().to(DEVICE_TYPE)
    wide = on_device if on_device.dtype in _WIDE else on_device.float()
    codes: torch.Tensor = torch.ops.npu.npu_dtype_cast(wide, _HIFLOAT8)
    return codes


def _numbers_of(value: object) -> object:
    return value.from_hifloat8() if isinstance(value, HiFloat8Tensor) else value


def _remake(data: torch.Tensor, dtype: torch.dtype) -> HiFloat8Tensor:
    return HiFloat8Tensor(data=data, dtype=dtype)


class _ToHiFloat8(torch.autograd.Function):
    @staticmethod
    def forward(_: object, tensor: torch.Tensor) -> HiFloat8Tensor:
        return HiFloat8Tensor(data=_codes(tensor), dtype=tensor.dtype if tensor.dtype in _WIDE else torch.float32)

    @staticmethod
    def backward(_: object, gradient: torch.Tensor) -> torch.Tensor:
        return gradient


class _FromHiFloat8(torch.autograd.Function):
    @staticmethod
    def forward(_: object, tensor: HiFloat8Tensor, dtype: torch.dtype) -> torch.Tensor:
        numbers: torch.Tensor = torch.ops.npu.npu_dtype_cast(tensor._data, _NUMBERS[dtype], _HIFLOAT8)
        return numbers

    @staticmethod
    def backward(_: object, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return gradient, None
