"""
Prototypes of operators: names of their tensors, and their attributes in order.

The public headers ``*_proto.h`` of cann/ops-nn and cann/ops-math state them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from attrs import frozen

from drynpu.kernels import DTYPES, KernelSpec, Signature

Value: TypeAlias = "bool | int | float | str | tuple[int, ...]"
ValueOf: TypeAlias = Callable[[KernelSpec, Signature], "Value | None"]
"""Returns the value of an attribute, or None where the call does not tell it."""


@frozen
class Attribute:
    """One attribute of a kernel with its value; ``dtype`` is the word of the operator library."""

    name: str
    dtype: str
    value: Value


@frozen
class Prototype:
    """An operator of the library. Names of tensors that a call may leave out end in ``?``."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[tuple[str, str, Value | ValueOf], ...] = ()

    def read(self, kernel: KernelSpec, signature: Signature) -> tuple[Attribute, ...] | None:
        """Return the attributes of a kernel, None where the call does not tell one of them."""
        known = []
        for name, dtype, source in self.attributes:
            value = source(kernel, signature) if callable(source) else source
            if value is None:
                return None
            known.append(Attribute(name, dtype, value))
        return tuple(known)


def _argument(kind: type | tuple[type, ...], **positions: int) -> ValueOf:
    """Return what reads an argument of one of the operators, by the operator's name without ``aten::``."""

    def read(kernel: KernelSpec, signature: Signature) -> Value | None:
        del kernel
        place = positions.get(signature.name.removeprefix("aten::"), -1)
        value = signature.attributes[place] if 0 <= place < len(signature.attributes) else None
        return value if isinstance(value, kind) else None  # type: ignore[return-value]

    return read


def _shape(kernel: KernelSpec, place: int) -> tuple[int, ...]:
    return kernel.inputs[place].shape if place < len(kernel.inputs) else ()


def _transposed(place: int) -> ValueOf:
    """Return what tells from the shapes of a product whether an operand is transposed; a square one is not."""

    def read(kernel: KernelSpec, signature: Signature) -> Value | None:
        del signature
        operand, result = _shape(kernel, place), kernel.outputs[0].shape if kernel.outputs else ()
        if len(operand) < 2 or len(result) < 2:
            return None
        outer, expected = (-2, result[-2]) if place == 0 else (-1, result[-1])
        return operand[outer] != expected

    return read


def _normalized_axis(kernel: KernelSpec, signature: Signature) -> Value | None:
    """Return the first of the axes that layer normalization works on."""
    shape = _argument(tuple, native_layer_norm=1, layer_norm=1)(kernel, signature)
    return len(_shape(kernel, 0)) - len(shape) if isinstance(shape, tuple) else None


def _number(**positions: int) -> ValueOf:
    argument = _argument((int, float), **positions)

    def read(kernel: KernelSpec, signature: Signature) -> Value | None:
        value = argument(kernel, signature)
        return None if value is None else float(value)  # type: ignore[arg-type]

    return read


def _axis(**positions: int) -> ValueOf:
    argument = _argument(int, **positions)

    def read(kernel: KernelSpec, signature: Signature) -> Value | None:
        value = argument(kernel, signature)
        return None if value is None else (int(value),)  # type: ignore[arg-type]

    return read


def _result_type(kernel: KernelSpec, signature: Signature) -> Value | None:
    del signature
    return DTYPES[kernel.outputs[0].dtype].ge_id if kernel.outputs else None


def _prototype(tensors: str, *attributes: tuple[str, str, Value | ValueOf]) -> Prototype:
    inputs, _, outputs = tensors.partition("->")
    return Prototype(tuple(inputs.split()), tuple(outputs.split()), attributes)


def _reduction(*names: str) -> Prototype:
    argument = _argument(bool, **dict.fromkeys(names, 2))

    def keep(kernel: KernelSpec, signature: Signature) -> Value | None:
        return argument(kernel, signature) is True  # the forms without the argument keep nothing

    return _prototype("x axes -> y", ("keep_dims", "bool", keep), ("noop_with_empty_axes", "bool", True))


_PRODUCT = (("transpose_x1", "bool", _transposed(0)), ("transpose_x2", "bool", _transposed(1)), ("offset_x", "int", 0))
_BATCHED = (("adj_x1", "bool", _transposed(0)), ("adj_x2", "bool", _transposed(1)), ("offset_x", "int", 0))
_OPERANDS = "x1 x2 bias? offset_w? -> y"
_ELEMENTWISE: Final = """
    Add Sub Mul Div RealDiv Pow Maximum Minimum Equal NotEqual Greater GreaterEqual Less LessEqual LogicalAnd LogicalOr
"""
_OF_ONE: Final = "Relu Gelu Sigmoid Tanh Sqrt Rsqrt Neg Abs Square Reciprocal Erf Sin Cos Silu"

PROTOTYPES: Final[Mapping[str, Prototype]] = MappingProxyType(
    {
        **dict.fromkeys(_ELEMENTWISE.split(), _prototype("x1 x2 -> y")),
        **dict.fromkeys(_OF_ONE.split(), _prototype("x -> y")),
        "MatMulV2": _prototype(_OPERANDS, *_PRODUCT),
        "MatMulV3": _prototype(
            _OPERANDS, *_PRODUCT, ("opImplMode", "int", lambda kernel, _: 0x40 if kernel.hf32 else 0x1)
        ),
        "BatchMatMulV2": _prototype(_OPERANDS, *_BATCHED),
        "BatchMatMulV3": _prototype(_OPERANDS, *_BATCHED, ("enable_hf32", "bool", lambda kernel, _: kernel.hf32)),
        "LayerNormV3": _prototype(
            "x gamma beta -> y mean rstd",
            ("begin_norm_axis", "int", _normalized_axis),
            ("begin_params_axis", "int", _normalized_axis),
            ("epsilon", "float", _number(native_layer_norm=4, layer_norm=4)),
        ),
        "SoftmaxV2": _prototype(
            "x -> y", ("axes", "list_int", _axis(_softmax=1, softmax=1)), ("half_to_float", "bool", False)
        ),
        "SoftmaxGrad": _prototype(
            "softmax grad_softmax -> grad_x", ("axes", "list_int", _axis(_softmax_backward_data=2))
        ),
        "LogSoftmaxV2": _prototype("logits -> logsoftmax", ("axes", "list_int", _axis(_log_softmax=1, log_softmax=1))),
        "ReduceSum": _reduction("sum"),
        "ReduceMean": _reduction("mean"),
        "Cast": _prototype("x -> y", ("dst_type", "int", _result_type)),
        "ReluGrad": _prototype("gradients features -> backprops"),
        "Select": _prototype("condition x1 x2 -> y"),
    }
)
"""Operator type -> its prototype; kernels of other types have no attributes here."""
