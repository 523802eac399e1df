"""
Switches of the vendor's stack, which drynpu keeps without effect.

They change how a real device compiles and computes. Here the CPU computes, so no value changes a result.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping

from attrs import frozen

from drynpu_torch.device._state import state

__all__ = [
    "aclnn",
    "config",
    "conv",
    "get_mm_bmm_format_nd",
    "is_jit_compile_false",
    "matmul",
    "set_compile_mode",
    "set_mm_bmm_format_nd",
    "set_option",
]

_ON, _OFF = "enable", "disable"
_ALLOWED = {
    "ACL_PRECISION_MODE": ("allow_fp32_to_fp16", "must_keep_origin_dtype"),
    "ACL_OP_SELECT_IMPL_MODE": ("high_performance", "high_precision"),
    "ACL_AICORE_NUM": tuple(str(number) for number in range(1, 33)),
    "ACL_OP_DEBUG_LEVEL": ("0", "1", "2", "3", "4"),
    "ACL_OP_COMPILER_CACHE_MODE": ("disable", "enable", "force"),
}
"""Values the vendor accepts for options that it checks; other options take any value."""


@frozen
class _Switch:
    """An attribute that turns an option of the vendor's stack on and off."""

    option: str
    default: bool

    def __get__(self, owner: object, kind: type | None = None) -> bool:
        return _get(self.option, default=self.default)

    def __set__(self, owner: object, value: bool) -> None:
        _set(self.option, value)


class _Config:
    """Whether tensors may take the device's private formats."""

    __slots__ = ()
    allow_internal_format = _Switch("ALLOW_INTERNAL_FORMAT", default=False)


class _Convolution:
    """Whether convolutions of float32 may run in the faster HF32 format."""

    __slots__ = ()
    allow_hf32 = _Switch("ALLOW_CONV_HF32", default=True)

    @contextlib.contextmanager
    def flags(self, allow_hf32: bool = True) -> Iterator[None]:
        """Set the switch inside a ``with`` block."""
        before, self.allow_hf32 = self.allow_hf32, allow_hf32
        try:
            yield
        finally:
            self.allow_hf32 = before

    def version(self) -> None:
        """Warn that the version of the operators' library is not known, as the vendor's function does."""
        warnings.warn("torch.npu.aclnn.version isn't implemented!", stacklevel=2)


class _MatrixProduct:
    """Whether matrix products of float32 may run in the faster HF32 format."""

    __slots__ = ()
    allow_hf32 = _Switch("ALLOW_MATMUL_HF32", default=False)


config = _Config()
conv = aclnn = _Convolution()  # the vendor has the switch of convolutions under two names
matmul = _MatrixProduct()


def set_option(option: Mapping[str, object]) -> None:
    """
    Keep options of the vendor's stack.

    Raises
    ------
    TypeError
        *option* is not a dict.
    ValueError
        An option that the vendor checks has a value that it refuses; nothing is kept then.
    """
    if not isinstance(option, dict):
        raise TypeError(f"npu option must be a dict, got {type(option).__name__}.")
    texts = {str(name): str(value) for name, value in option.items()}
    for name, value in texts.items():
        if name in _ALLOWED and value not in _ALLOWED[name]:
            raise ValueError(f"value of {name} should be in {list(_ALLOWED[name])} but got {value}")
    state().options.update(texts)


def set_compile_mode(jit_compile: bool = False) -> None:
    """Keep whether operators are compiled when they are first used."""
    _set("jitCompile", jit_compile)


def is_jit_compile_false() -> bool:
    """Return whether prebuilt kernels are used, as chips with separate cube and vector cores do by default."""
    return not _get("jitCompile", default=not state().chip.split)


def set_mm_bmm_format_nd(is_nd: bool = True) -> None:
    """Keep whether matrix products take plain layouts."""
    _set("MM_BMM_ND_ENABLE", is_nd)


def get_mm_bmm_format_nd() -> bool:
    """Return whether matrix products take plain layouts."""
    return _get("MM_BMM_ND_ENABLE", default=True)


def _get(option: str, *, default: bool) -> bool:
    text = state().options.get(option)
    return default if text is None else text == _ON


def _set(option: str, value: bool) -> None:
    state().options[option] = _ON if value else _OFF


def option_bytes(name: str) -> bytes | None:
    """Return the value of an option as the vendor's module of C++ does, or None where it was not set."""
    value = state().options.get(name)
    return None if value is None else value.encode()
