"""The files of ``record_op_args``: one for each operator and shape."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final

from drynpu.kernels import KernelSpec, TensorDesc
from drynpu.raw import write_document
from drynpu.simulate import Destination
from drynpu_operator_attributes._prototypes import PROTOTYPES, Attribute

_FOR_AOE: Final = """
    FlashAttentionScore FlashAttentionScoreGrad MatMulV2 MatMul BatchMatMulV2 BatchMatMul Transpose TransData GeluGrad
    Gelu FastGelu FastGeluGrad SoftmaxV2 SoftmxGrad LayerNorm LayerNormXBackpropV2 LayerNormXBackpropV3
    LayerNormBetaGammaBackpropV2 LayerNormV3 Renorm
"""
"""Operators that AOE tunes, as the operator library lists them (``SoftmxGrad`` is its spelling)."""
_NOT_COMPILED: Final = """
    ReduceSum ReduceMin ReduceMax ArgMinWithValue FusedInferAttentionScore MoeDistributeCombine MoeDistributeCombineV2
    MoeDistributeDispatch MoeDistributeDispatchV2 GatherV2 GatherV3 ArgMaxWithValue
"""
"""Operators that ``op_compiler`` leaves out."""


def write_op_args(destination: Destination, kernels: Iterable[tuple[KernelSpec, tuple[Attribute, ...]]]) -> None:
    """Write the folders ``<process>``, ``<process>_debug`` and ``<process>_opcompile`` beside the result directory."""
    folder = destination.directory.with_name(f"{destination.directory.name}_op_args")
    by_text = {json.dumps(_document(*each), indent=2, sort_keys=True): each[0] for each in kernels}
    ordered = [(by_text[text], text) for text in sorted(by_text)]
    chosen = {
        f"{destination.pid}": [each for each in ordered if each[0].op_type in _FOR_AOE.split()],
        f"{destination.pid}_opcompile": [each for each in ordered if each[0].op_type not in _NOT_COMPILED.split()],
        f"{destination.pid}_debug": ordered,
    }
    for name, each in chosen.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number, (kernel, text) in enumerate(each):
            write_document(folder / name / _file_name(kernel, number), text)


def _file_name(kernel: KernelSpec, number: int) -> str:
    tensor = "".join(f"{part}_" for first in kernel.inputs[:1] for part in (_dtype(first), first.format, *first.shape))
    return f"{kernel.op_type}_{tensor}{number}.json"


def _document(kernel: KernelSpec, attributes: tuple[Attribute, ...]) -> dict[str, object]:
    prototype = PROTOTYPES[kernel.op_type]
    return {
        "op_type": kernel.op_type,
        "tune_mode": "all",
        "inputs": _tensors(prototype.inputs, kernel.inputs),
        "outputs": _tensors(prototype.outputs, kernel.outputs),
        "attrs": [
            {"name": each.name, "dtype": each.dtype, "index": place, "value": each.value}
            for place, each in enumerate(attributes)
        ],
    }


def _tensors(names: Sequence[str], tensors: Sequence[TensorDesc]) -> list[dict[str, object] | None]:
    """Return a document for each tensor of a prototype, null for one that the call leaves out."""
    return [_tensor(name, place, tensors[place]) if place < len(tensors) else None for place, name in enumerate(names)]


def _tensor(name: str, place: int, tensor: TensorDesc) -> dict[str, object]:
    return {
        "name": name.removesuffix("?"),
        "index": place,
        "param_type": "optional" if name.endswith("?") else "required",
        "dtype": _dtype(tensor),
        "format": tensor.format,
        "shape": list(tensor.shape),
        "origin_format": tensor.format,
        "origin_shape": list(tensor.shape),
        "value_depend": False,
    }


def _dtype(tensor: TensorDesc) -> str:
    return tensor.dtype.lower().removeprefix("dt_")
