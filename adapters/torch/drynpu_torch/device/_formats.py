"""
Formats of tensors: where their elements lie on the device (``torch_npu/csrc/framework/FormatHelper.cpp``).

The host's memory has one order, so a format changes no value here. A storage keeps the number that its tensor was cast
to, which views share, and how many elements the padded format has.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any, Final

import torch
from attrs import frozen

from drynpu_torch.device._errors import ErrCode, pta_error
from drynpu_torch.device._objects import storage_of
from drynpu_torch.device.npu import config


class Format(IntEnum):
    """The numbers of ``torch_npu/npu/_format.py``, which equal ``aclFormat``."""

    UNDEFINED = -1
    NCHW = 0
    NHWC = 1
    ND = 2
    NC1HWC0 = 3
    FRACTAL_Z = 4
    NC1HWC0_C04 = 12
    HWCN = 16
    NDHWC = 27
    FRACTAL_NZ = 29
    NCDHW = 30
    NDC1HWC0 = 32
    FRACTAL_Z_3D = 33
    NC = 35
    NCL = 47
    FRACTAL_NZ_C0_16 = 50
    FRACTAL_NZ_C0_32 = 51
    FRACTAL_NZ_C0_2 = 52
    FRACTAL_NZ_C0_4 = 53
    FRACTAL_NZ_C0_8 = 54


_BY_DIMENSIONS: Final = {4: Format.NCHW, 5: Format.NCDHW}
"""Format of a tensor that was never cast, by number of dimensions; any other is ND."""
_BASE_OF_PRIVATE: Final = {
    Format.NC1HWC0: Format.NCHW,
    Format.FRACTAL_Z: Format.NCHW,
    Format.NDC1HWC0: Format.NCDHW,
    Format.FRACTAL_Z_3D: Format.NCDHW,
    Format.FRACTAL_NZ: Format.ND,
    Format.FRACTAL_NZ_C0_16: Format.ND,
    Format.FRACTAL_NZ_C0_32: Format.ND,
    Format.FRACTAL_NZ_C0_2: Format.ND,
    Format.FRACTAL_NZ_C0_4: Format.ND,
    Format.FRACTAL_NZ_C0_8: Format.ND,
}
_NZ_COLUMNS: Final = {
    Format.FRACTAL_NZ_C0_16: 16,
    Format.FRACTAL_NZ_C0_32: 32,
    Format.FRACTAL_NZ_C0_2: 2,
    Format.FRACTAL_NZ_C0_4: 4,
    Format.FRACTAL_NZ_C0_8: 8,
}
_BLOCK, _BLOCK_BYTES = 16, 32
_MARK: Final = "_drynpu_format"
_FORBIDDEN: Final = (
    "Cannot create tensor with internal format while allow_internal_format=False, tensor will be created with base "
    "format."
)


@frozen
class _Layout:
    """What a storage keeps of a cast: the format, and the elements of its padded layout."""

    format: int
    elements: int


def get_npu_format(tensor: torch.Tensor) -> int:
    """Return the number of the tensor's format: from its cast, otherwise 0 (NCHW), 30 (NCDHW) or 2 (ND)."""
    layout = _layout(tensor)
    return int(_BY_DIMENSIONS.get(tensor.dim(), Format.ND)) if layout is None else layout.format


def npu_format_cast(
    tensor: torch.Tensor,
    acl_format: int | torch.Tensor,
    *,
    customize_dtype: int | None = None,
    input_dtype: int | None = None,
) -> torch.Tensor:
    """
    Return *tensor* in another format, given by its number or by another tensor.

    Between base formats that is the tensor itself. Types that the vendor takes by number change no format here.
    """
    del customize_dtype, input_dtype
    wanted = _wanted(tensor, acl_format)
    if get_npu_format(tensor) == wanted:
        return tensor
    if not (_is_private(wanted) or _is_private(get_npu_format(tensor))):
        return _mark(tensor, wanted)
    return _mark(torch.ops.npu._npu_format_cast(tensor, wanted), wanted)


def npu_format_cast_(
    tensor: torch.Tensor,
    acl_format: int | torch.Tensor,
    *,
    customize_dtype: int | None = None,
    input_dtype: int | None = None,
) -> torch.Tensor:
    """Give *tensor* another format in place, as :func:`npu_format_cast`, and return it."""
    del customize_dtype, input_dtype
    wanted = _wanted(tensor, acl_format)
    private = _is_private(wanted) or _is_private(get_npu_format(tensor))
    if private and get_npu_format(tensor) != wanted:
        torch.ops.npu._npu_format_cast(tensor.detach(), wanted)  # as on the device, whose copy takes the tensor's place
    return _mark(tensor, wanted)


def storage_elements(tensor: torch.Tensor) -> int:
    """Return how many elements of the tensor's type its storage has room for on the device."""
    layout = _layout(tensor)
    return tensor.untyped_storage().nbytes() // tensor.element_size() if layout is None else layout.elements


def mark_format(tensor: torch.Tensor, acl_format: int) -> torch.Tensor:
    """Note on a new tensor the format that it is made in, and return it."""
    return _mark(tensor, _allowed(Format(acl_format), tensor.dim()))


def change_data_ptr(dst: torch.Tensor, src: torch.Tensor, index: int) -> int:
    """
    Let *dst* lie in the memory of *src*, from its element *index* on; return 0.

    Raises
    ------
    RuntimeError
        The offset is negative or leaves too little room, or the types differ or are others than the vendor's three.
    """
    _require(index >= 0, f"Expect offset(index) equal or greater than zero, got: {index}", ErrCode.VALUE)
    text = f"Expect src and dst tensors having the same dtype, got: src with dtype {src.dtype}, dst with dtype "
    _require(src.dtype == dst.dtype, f"{text}{dst.dtype}", ErrCode.TYPE)
    text = f"Only supports src and dst tensors with dtype float32, float16 or bfloat16, got: {src.dtype}"
    _require(src.dtype in (torch.float32, torch.float16, torch.bfloat16), text, ErrCode.TYPE)
    room, size = storage_elements(src), dst.untyped_storage().nbytes()
    begin = index * src.element_size()
    text = f"Offsets overflow, got: offset(index) {index}, dst storage size {storage_elements(dst)}, src storage size "
    _require(begin + size <= room * src.element_size(), f"{text}{room}", ErrCode.PARAM)
    # A part of a storage is a storage of its own on the same memory, which it keeps.
    part: Any = src.untyped_storage()[begin : begin + size]
    moved = torch.empty(0, dtype=dst.dtype, device=dst.device)
    dst.data = moved.set_(part, dst.storage_offset(), dst.shape, dst.stride())
    return 0


def keep_formats_of_copies() -> None:
    """Let ``copy.deepcopy`` of a tensor keep its format."""
    original: Callable[..., Any] = torch.UntypedStorage.__deepcopy__

    def deepcopy(self: torch.UntypedStorage, memo: dict[int, Any]) -> torch.UntypedStorage:
        copied: torch.UntypedStorage = original(self, memo)
        layout = getattr(self, _MARK, None)
        if layout is not None:
            setattr(copied, _MARK, layout)
        return copied

    torch.UntypedStorage.__deepcopy__ = deepcopy  # type: ignore[method-assign, assignment]


def _require(condition: bool, text: str, code: ErrCode) -> None:
    if not condition:
        raise RuntimeError(text + pta_error(code))


def _wanted(tensor: torch.Tensor, acl_format: int | torch.Tensor) -> Format:
    number = get_npu_format(acl_format) if isinstance(acl_format, torch.Tensor) else acl_format
    return _allowed(Format(number), tensor.dim())


def _allowed(wanted: Format, dimensions: int) -> Format:
    """Return the format that the vendor gives in place of a private one that may not be or does not fit."""
    if not _is_private(wanted):
        return wanted
    if not config.allow_internal_format:
        warnings.warn(_FORBIDDEN, stacklevel=4)
        return _BASE_OF_PRIVATE[wanted]
    return Format.ND if wanted is Format.FRACTAL_NZ and dimensions < 2 else wanted


def _is_private(acl_format: int) -> bool:
    return acl_format in _BASE_OF_PRIVATE


def _layout(tensor: torch.Tensor) -> _Layout | None:
    layout: _Layout | None = getattr(storage_of(tensor), _MARK, None)
    return layout


def _mark(tensor: torch.Tensor, wanted: Format) -> torch.Tensor:
    if get_npu_format(tensor) != wanted:
        elements = _padded(tensor.shape, tensor.element_size(), wanted) if _is_private(wanted) else tensor.numel()
        setattr(tensor.untyped_storage(), _MARK, _Layout(int(wanted), elements))
    return tensor


def _padded(shape: Sequence[int], item_bytes: int, wanted: Format) -> int:
    """Return the elements of a private format: matrices in blocks of 16 rows, images with 16 channels a block."""
    sizes = [*shape, 1, 1] if len(shape) < 2 else list(shape)
    if _BASE_OF_PRIVATE[wanted] is Format.ND:
        columns = _NZ_COLUMNS.get(wanted, _BLOCK_BYTES // min(item_bytes, 2))
        *lead, rows, width = sizes[: max(len(shape), 2)]
        return math.prod(lead) * _blocks(rows, _BLOCK) * _blocks(width, columns)
    images, channels, *rest = _as_image(sizes, len(shape), 5 if _BASE_OF_PRIVATE[wanted] is Format.NCDHW else 4)
    if wanted in (Format.FRACTAL_Z, Format.FRACTAL_Z_3D):
        images = _blocks(images, _BLOCK)
    return images * _blocks(channels, _BLOCK) * math.prod(rest)


def _as_image(sizes: Sequence[int], dimensions: int, wanted: int) -> list[int]:
    """Return the sizes as sizes of an image: one batch in front of fewer dimensions, ones behind them."""
    if dimensions >= wanted:
        return list(sizes)
    image = [1, *sizes[:dimensions]]
    return image + [1] * (wanted - len(image))


def _blocks(size: int, block: int) -> int:
    return math.ceil(size / block) * block
