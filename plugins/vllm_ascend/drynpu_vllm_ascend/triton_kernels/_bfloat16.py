"""
Arithmetic in bfloat16 for Triton's interpreter.

NumPy has no such type. The interpreter keeps the bits in uint16, takes them for whole numbers where a kernel computes
with them, and cuts float32 off where it is converted. A device computes in float32 and rounds to the nearest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from drynpu.arrays import Array
from drynpu_vllm_ascend.triton_kernels.foreign import Foreign

_ARITHMETIC: Final = ("binary_op", "unary_op", "ternary_op", "create_fma", "create_rsqrt", "create_erf", "create_dot")
_CONVERSIONS: Final = ("create_fp_trunc", "create_fp_to_fp", "create_fp_ext")
_OVER_AN_AXIS: Final = ("ReduceOps", "ScanOps")


def compute_bfloat16(interpreter: Foreign) -> None:
    """Let the interpreter, a module, compute in bfloat16 as a device does."""
    builder, changed = interpreter.interpreter_builder, _Changed(interpreter)
    for names, change in ((_ARITHMETIC, changed.computing), (_CONVERSIONS, changed.converting)):
        vars(builder).update({name: change(getattr(builder, name)) for name in names})
    for name in _OVER_AN_AXIS:
        kind = getattr(interpreter, name)
        kind.apply_impl = changed.along_an_axis(kind.apply_impl)


def bfloat16_bits(values: Array) -> Array:
    """Return float32 rounded to the nearest bfloat16, to the even one of two, as its bits in uint16."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(values), 0x7FC0, rounded).astype(np.uint16)


def float32_values(bits: Array) -> Array:
    """Return the values of bfloat16, whose bits are in uint16, in float32."""
    return (np.ascontiguousarray(bits).astype(np.uint32) << 16).view(np.float32)


class _Changed:
    """The interpreter's functions, changed."""

    def __init__(self, interpreter: Foreign) -> None:
        from triton import language

        self._language, self._handle = language, interpreter.TensorHandle
        self._narrow, self._wide = language.bfloat16, language.float32

    def computing(self, compute: Foreign) -> Callable[..., Foreign]:
        """Compute in float32; the result is narrow unless an argument is wide."""

        def computed(*arguments: Foreign) -> Foreign:
            kinds = [getattr(each, "dtype", None) for each in arguments]
            if self._narrow not in kinds:
                return compute(*arguments)
            result = compute(*map(self._widened, arguments))
            is_narrow = self._wide not in kinds and result.data.dtype == np.float32
            return self._narrowed(result) if is_narrow else result

        return computed

    def converting(self, convert: Foreign) -> Callable[..., Foreign]:
        """Convert between the two types by rounding."""

        def converted(value: Foreign, kind: Foreign, *others: Foreign) -> Foreign:
            between = (value.dtype.scalar, kind.scalar)
            if between == (self._wide, self._narrow):
                return self._narrowed(value)
            return self._widened(value) if between == (self._narrow, self._wide) else convert(value, kind, *others)

        return converted

    def along_an_axis(self, apply: Foreign) -> Callable[..., Foreign]:
        """Reduce or scan in float32; what has the type of the blocks is narrow again."""

        def applied(self_: Foreign, blocks: Foreign) -> Foreign:
            if all(block.dtype.scalar != self._narrow for block in blocks):
                return apply(self_, blocks)
            results = apply(self_, tuple(self._block(self._widened(each.handle), each) for each in blocks))
            if not isinstance(results, (tuple, list)):
                return self._narrow_block(results)
            return type(results)(map(self._narrow_block, results))

        return applied

    def _narrow_block(self, block: Foreign) -> Foreign:
        return self._block(self._narrowed(block.handle), block) if block.dtype.scalar == self._wide else block

    def _widened(self, value: Foreign) -> Foreign:
        if getattr(value, "dtype", None) != self._narrow:
            return value
        return self._handle(float32_values(value.data).reshape(value.data.shape), self._wide)

    def _narrowed(self, value: Foreign) -> Foreign:
        return self._handle(bfloat16_bits(value.data).reshape(value.data.shape), self._narrow)

    def _block(self, handle: Foreign, like: Foreign) -> Foreign:
        is_block = like.type.is_block()
        kind = self._language.block_type(handle.dtype, list(like.type.shape)) if is_block else handle.dtype
        return self._language.tensor(handle, kind)
