"""
Precision modes: which operators the graph engine computes in 16 bits, and where it converts.

Modes do what the options ``precision_mode`` and ``precision_mode_v2`` do (CANN's manual of ATC). In mixed
precision an operator of the list of trust is reduced, one of the list of refusal keeps float32, one that is on neither
follows what makes its input. The lists come from the operators' definitions (``PrecisionReduceFlag`` in CANN's
repositories ops-nn and ops-math). Operators that write variables keep the type of the variable.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from attrs import define, evolve, field, frozen

from drynpu.kernels import Placement, TensorDesc
from drynpu.kernels.ops import GraphOperator, Place
from drynpu_tf.ranks import NODE_TYPES
from drynpu_tf.rules._call import KERNEL_TYPES
from drynpu_tf.rules._placement import CHANGES_STATE, is_host, launches_kernels, runs_on_ai_cpu
from drynpu_tf.rules._points import sorted_by_inputs

_FLOAT, _HALF, _BRAIN = "FLOAT", "FLOAT16", "DT_BF16"
_CUBE_NAMES: Final = """
MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3 _FusedMatMul Conv2D _FusedConv2D Conv2DBackpropInput Conv2DBackpropFilter
DepthwiseConv2dNative DepthwiseConv2dNativeBackpropInput DepthwiseConv2dNativeBackpropFilter Conv3D
Conv3DBackpropInputV2 Conv3DBackpropFilterV2
"""
_CUBE: Final = frozenset(_CUBE_NAMES.split())
"""Operators of the cube core."""
_REFUSED: Final = frozenset(
    ["SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits", "L2Loss", "Acosh", "Asinh", "Inv"]
)
"""Operators whose definitions refuse reduction, beside the optimizers."""
_FOLLOWING: Final = frozenset({"Transpose", "Split", "SplitV", "Unpack", "Tile", "DynamicStitch"})
"""Operators whose definitions say nothing."""
_PARTS: Final[Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]]] = {
    **dict.fromkeys(("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"), ((0,), (0,))),
    **dict.fromkeys(("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"), ((0, 1), (0,))),
    **dict.fromkeys(
        ("Conv2DBackpropFilter", "DepthwiseConv2dNativeBackpropFilter", "Conv3DBackpropFilterV2"), ((0, 2), ())
    ),
}
"""Operators of which only some inputs and outputs are reduced; scales, statistics, filter gradients stay float32."""


class PrecisionMode(enum.Enum):
    """What the modes of both options come to."""

    ALL = enum.auto()
    CUBE = enum.auto()
    CUBE_INPUTS = enum.auto()
    MIXED = enum.auto()


_MODES: Final[Mapping[str, tuple[PrecisionMode, str]]] = {
    "force_fp16": (PrecisionMode.ALL, _HALF),
    "fp16": (PrecisionMode.ALL, _HALF),
    "allow_fp32_to_fp16": (PrecisionMode.CUBE, _HALF),
    "allow_fp32_to_bf16": (PrecisionMode.CUBE, _BRAIN),
    "cube_fp16in_fp32out": (PrecisionMode.CUBE_INPUTS, _HALF),
    "allow_mix_precision": (PrecisionMode.MIXED, _HALF),
    "allow_mix_precision_fp16": (PrecisionMode.MIXED, _HALF),
    "allow_mix_precision_bf16": (PrecisionMode.MIXED, _BRAIN),
    "mixed_float16": (PrecisionMode.MIXED, _HALF),
    "mixed_bfloat16": (PrecisionMode.MIXED, _BRAIN),
}


@frozen
class Precision:
    """
    How a graph's precision is reduced: the mode, the type, and what a mixed list changes.

    ``trusted``, ``refused`` and ``following`` are types of operators, the framework's or the engine's, that a list of
    the script puts there.
    """

    mode: PrecisionMode
    dtype: str
    trusted: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()
    following: frozenset[str] = frozenset()

    def reduces(self, operator: GraphOperator, *, upstream: bool) -> bool:
        """Return whether an operator is computed in 16 bits; *upstream* says whether what makes its inputs is."""
        op_type = operator.op_type
        if op_type.startswith(CHANGES_STATE):
            return False
        if self.mode is PrecisionMode.ALL:
            return True
        if self.mode is not PrecisionMode.MIXED:
            return op_type in _CUBE
        names = {op_type, KERNEL_TYPES.get(op_type, op_type)}
        if names & self.refused:
            return False
        if names & self.trusted:
            return True
        if names & self.following or op_type in _FOLLOWING:
            return upstream
        return op_type not in _REFUSED


def read_precision(mode: str, mixed_list: str = "") -> Precision | None:
    """
    Return what a mode does; ``None`` where operators keep their types, and for modes that are not known.

    Parameters
    ----------
    mode:
        A value of ``precision_mode`` or ``precision_mode_v2``.
    mixed_list:
        Path of the JSON file of ``modify_mixlist``, ``""`` for none. One that cannot be read changes nothing.
    """
    if mode not in _MODES:
        return None
    lists = _read_lists(mixed_list)
    removed = lists["white-list", "to-remove"] | lists["black-list", "to-remove"] | lists["gray-list", "to-add"]
    return Precision(
        *_MODES[mode],
        trusted=lists["white-list", "to-add"],
        refused=lists["black-list", "to-add"],
        following=removed,
    )


def _read_lists(path: str) -> dict[tuple[str, str], frozenset[str]]:
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8")) if path else {}
    except (OSError, ValueError):
        document = {}
    return {
        (name, change): frozenset(map(str, document.get(name, {}).get(change, ())))
        for name in ("white-list", "black-list", "gray-list")
        for change in ("to-add", "to-remove")
    }


@define(eq=False)
class _Reduction:
    """One pass over a graph, its operators in an order in which each comes after its inputs."""

    precision: Precision
    known: Collection[str]
    dtypes: dict[Place, str] = field(factory=dict)
    """Types of the tensors that are no longer float32."""
    reduced: set[str] = field(factory=set)
    casts: dict[tuple[Place, str], str] = field(factory=dict)
    """The operator that each conversion, of a tensor to a type, stands at."""

    def choose(self, op: GraphOperator) -> None:
        """Choose the types of an operator's results; one without a kernel passes on what it is given."""
        upstream = any(place in self.dtypes for place in op.inputs)
        if not _works(op):
            dtype = next((self.dtypes[place] for place in op.inputs if place in self.dtypes), None)
            self._give(op, dtype if op.signature.placement is Placement.DEVICE else None)
        elif op.name not in self.known and self.precision.reduces(op, upstream=upstream):
            self.reduced.add(op.name)
            if self.precision.mode is not PrecisionMode.CUBE_INPUTS:
                self._give(op, self.precision.dtype)

    def _give(self, op: GraphOperator, dtype: str | None) -> None:
        chosen = _PARTS.get(op.op_type, (None, None))[1]
        for slot, (place, tensor) in enumerate(zip(op.outputs, op.call.outputs, strict=False)):
            if dtype is not None and tensor.dtype == _FLOAT and (chosen is None or slot in chosen):
                self.dtypes[place] = dtype

    def needs(self, op: GraphOperator, position: int) -> str:
        """Return the type in which an operator takes an input that was float32."""
        place, chosen = op.inputs[position], _PARTS.get(op.op_type, (None, None))[0]
        if op.name in self.reduced:
            return self.precision.dtype if chosen is None or position in chosen else _FLOAT
        passes = op.signature.placement is Placement.DEVICE and not _works(op)
        return self.dtypes.get(place, _FLOAT) if passes else _FLOAT

    def convert(
        self, op: GraphOperator, makers: Mapping[Place, GraphOperator]
    ) -> Iterator[tuple[str, str, TensorDesc, TensorDesc]]:
        """Yield what is converted for an operator: where the kernel stands, on which side, and what becomes what."""
        for position, (place, tensor) in enumerate(zip(op.inputs, op.signature.inputs, strict=False)):
            if not isinstance(tensor, TensorDesc) or tensor.dtype != _FLOAT or place[0] in self.known:
                continue
            have, needs = self.dtypes.get(place, _FLOAT), self.needs(op, position)
            if have == needs or (place, needs) in self.casts:
                continue
            maker = makers.get(place)
            stands_here = _works(op) and op.op_type not in NODE_TYPES
            if not stands_here and (maker is None or not _works(maker)):
                continue
            self.casts[place, needs] = op.name
            at, side = (op.name, "_casts_before") if stands_here or maker is None else (maker.name, "_casts_after")
            yield at, side, evolve(tensor, dtype=have), evolve(tensor, dtype=needs)


def reduce_precision(operators: Sequence[GraphOperator], known: Collection[str], precision: Precision) -> None:
    """Write reduced types, and kernels that convert, into the signatures of *operators*; *known* are constants."""
    place = sorted_by_inputs(operators)
    ordered = sorted(operators, key=lambda op: place[op.name])
    makers = {output: op for op in operators for output in op.outputs}
    reduction = _Reduction(precision, known)
    for op in ordered:
        reduction.choose(op)
    notes: dict[str, dict[str, tuple[object, ...]]] = {}
    number = 0
    for op in ordered:
        for at, side, source, result in reduction.convert(op, makers):
            number += 1
            sides = notes.setdefault(at, {})
            sides[side] = (*sides.get(side, ()), (number, source, result))
    for op in ordered:
        if op.name in known or op.signature.placement is not Placement.DEVICE:
            continue
        inputs = [
            _typed(tensor, reduction.needs(op, position)) if isinstance(tensor, TensorDesc) else tensor
            for position, tensor in enumerate(op.signature.inputs)
        ]
        outputs = [
            _typed(tensor, reduction.dtypes.get(output, _FLOAT))
            for output, tensor in zip(op.outputs, op.call.outputs, strict=False)
        ]
        more = op.call.outputs[len(outputs) :]
        op.signature = op.describe(notes.get(op.name, {}), inputs=inputs, outputs=[*outputs, *more])


def _works(op: GraphOperator) -> bool:
    """Return whether an operator has a kernel on the cube or vector cores, or communicates."""
    return (
        op.signature.placement is Placement.DEVICE
        and launches_kernels(op.op_type)
        and not is_host(op.op_type)
        and not runs_on_ai_cpu(op.op_type)
    )


def _typed(tensor: TensorDesc, dtype: str) -> TensorDesc:
    """Return a tensor that was float32 in another type; others as they are."""
    return evolve(tensor, dtype=dtype) if tensor.dtype == _FLOAT else tensor
