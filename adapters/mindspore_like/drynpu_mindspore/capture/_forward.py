"""
The forward graphs of PyNative: one is saved for every step that computes gradients.

Of operators that belong to no compiled graph ("pyboost") the profiler knows only name and time. The saved graph lists
the calls in their order with all arguments (observed in 2.7.2)::

    #   4: @pynative_forward_graph_510:CNode_435{[0]: ValueNode<Primitive> PrimFunc_MatMul, [1]: CNode_434, ...

Views are no nodes of that graph, so the result of a view stands in it as a constant with shape and type.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np
from attrs import define, field, frozen

from drynpu.kernels import TensorDesc, broadcast_shape
from drynpu_mindspore.capture._ir import constant_tensor, group, split, tensors_of, value_of

_CALL = re.compile(r"^#\s+\d+: @\w+:(\w+)\{\[0\]: ValueNode<\w+> (?:PrimFunc_)?(\w+)(?:, |\})(.*)$")
_ARGUMENT = re.compile(r"(?:^|, )\[\d+\]: ")
_PARAMETER = re.compile(r"^%para(\d+)_([^:]*): (<.*>)")
_USED = re.compile(r"%para(\d+)_(\w+)")
_NODE = re.compile(r"^  %(\d+)\((\w+)\) = (?:PrimFunc_)?(\w+)\((.*)$")
_NUMBERED = re.compile(r"(?:CNode|Parameter|graph)_(\d+)|0x[0-9a-f]+")
_VALUES = re.compile(r"value=(?:\[[^,)]*|[^,)]*)")
_LIKE_FIRST_NAMES = """
BiasAdd Softmax LogSoftmax ReLU GeLU Sigmoid Tanh SiLU Sqrt Rsqrt Exp Log Abs Neg Square Contiguous LayerNorm Dropout
DropoutExt Clone Copy Erf Softplus ELU LeakyReLUExt HSwish HSigmoid ReluGrad SigmoidGrad TanhGrad SqrtGrad RsqrtGrad
SiLUGrad GeLUGrad
"""
_JOINING_NAMES = """
Add AddExt Sub SubExt Mul Div RealDiv Maximum Minimum Pow InplaceAddExt InplaceSubExt InplaceMul InplaceDiv
"""
_LIKE_FIRST, _JOINING = frozenset(_LIKE_FIRST_NAMES.split()), frozenset(_JOINING_NAMES.split())
_VIEWS = frozenset({"SelectView", "Squeeze", "StridedSlice"})
_PRODUCTS = frozenset({"MatMul", "BatchMatMul", "MatMulExt", "BatchMatMulExt", "Mm"})


@frozen
class ForwardCall:
    """
    One call of an operator in a forward pass.

    Attributes
    ----------
    inputs:
        By position; ``None`` for an argument that is no tensor or of which nothing is known.
    outputs:
        ``None`` where they are not known.
    arguments:
        By position the value of an argument that is no tensor.
    gradient:
        By position whether a gradient flows back to the argument; ``None`` for the result of a view, where the graph
        does not show it.
    """

    primitive: str
    inputs: tuple[TensorDesc | None, ...]
    outputs: tuple[TensorDesc, ...] | None
    arguments: tuple[object, ...]
    gradient: tuple[bool | None, ...]


@define
class _Known:
    """The tensors of a graph, and whether gradients flow to them, by their names in the list of calls."""

    tensors: dict[str, TensorDesc] = field(factory=dict)
    gradients: dict[str, bool | None] = field(factory=dict)


def read_forward(text: str) -> tuple[ForwardCall, ...]:
    """Return the calls of a saved forward graph in the order in which they were made."""
    lines = text.splitlines()
    known = _parameters(lines)
    _printed(lines, known)
    calls = []
    for line in lines:
        match = _CALL.match(line)
        if match is None or match.group(2) == "Return":
            continue
        name, primitive, rest = match.groups()
        calls.append(_call(name, primitive, _ARGUMENT.split(rest.rstrip("}"))[1:], known))
    return tuple(calls)


def same_graph(text: str) -> bytes:
    """Return a key that two saved graphs share if they differ in numbering and in values of tensors only."""
    numbers = np.array([int(digits) for digits in _NUMBERED.findall(text) if digits] or [0], np.int64)
    plain = _NUMBERED.sub("_", _VALUES.sub("", text))
    return hashlib.blake2b(plain.encode() + (numbers - numbers.min()).tobytes()).digest()


def _parameters(lines: Sequence[str]) -> _Known:
    """Return the inputs of the graph by the names that the body of the graph gives to their numbers."""
    known = _Known()
    used = {number: name for line in lines if line.startswith("  %") for number, name in _USED.findall(line)}
    for line in lines:
        match = _PARAMETER.match(line)
        if match is None:
            continue
        number, name, kind = match.groups()
        tensors = tensors_of(kind)
        label = f"param_{name or used.get(number, '')}"
        if tensors:
            known.tensors[label] = tensors[0]
        known.gradients[label] = "has_default" in line
    return known


def _printed(lines: Sequence[str], known: _Known) -> None:
    """Add the tensors that the nodes of the body return; picking an element of a tuple is a node but no call."""
    names: dict[str, str] = {}
    for index, line in enumerate(lines):
        match = _NODE.match(line)
        if match is None:
            continue
        number, name, primitive, rest = match.groups()
        names[number] = name
        types = next((text for text in lines[index + 1 : index + 4] if text.startswith("      : (")), "")
        results = tensors_of(group(types.partition("-> ")[2] or "()")[0]) if types else None
        if results and len(results) == 1:
            known.tensors[name] = results[0]
        if primitive == "TupleGetItem":
            source = names.get(rest.partition(",")[0].lstrip("%"))
            known.gradients.setdefault(name, None)
            if source is not None:
                known.gradients[name] = known.gradients.get(source, True)


def _call(name: str, primitive: str, arguments: Sequence[str], known: _Known) -> ForwardCall:
    inputs = tuple(constant_tensor(text) or known.tensors.get(text) for text in arguments)
    gradient = tuple(_flows(text, known) for text in arguments)
    values = tuple(_value(text) for text in arguments)
    result = known.tensors.get(name) or result_of(primitive, inputs, values)
    if result is not None:
        known.tensors[name] = result
    flowing = [flag for flag, tensor in zip(gradient, inputs, strict=True) if tensor is not None]
    known.gradients[name] = True if any(flowing) else (None if None in flowing else False)
    return ForwardCall(primitive, inputs, None if result is None else (result,), values, gradient)


def _flows(text: str, known: _Known) -> bool | None:
    if text.startswith("ValueNode<"):
        return None if "Tensor(" in text else False
    return known.gradients.get(text)


def _value(text: str) -> object:
    kind, _, value = text.partition("> ")
    if not kind.startswith("ValueNode<") or value.startswith("Tensor("):
        return None
    if kind.endswith("BoolImm"):
        return value == "true"
    if value.startswith("("):
        return tuple(value_of(part) for part in split(value[1:-1]))
    return value_of(value)


def result_of(primitive: str, inputs: Sequence[TensorDesc | None], values: Sequence[object]) -> TensorDesc | None:
    """Return the result of a common operator, worked out from its inputs; ``None`` for other operators."""
    tensors = [t for t in inputs if t is not None]
    if primitive == "AllFinite" and tensors:
        return TensorDesc((), "BOOL")
    if primitive in _LIKE_FIRST:
        return inputs[0] if inputs else None
    if primitive in _VIEWS and inputs and inputs[0] is not None:
        return _view(primitive, inputs[0], values)
    if primitive in _JOINING and len(tensors) >= 2:
        shape = broadcast_shape([t.shape for t in tensors[:2]])
        return None if shape is None else TensorDesc(shape, max(tensors[:2], key=lambda t: len(t.shape)).dtype)
    if primitive in _PRODUCTS and len(tensors) >= 2:
        return _product(tensors[0], tensors[1], values)
    return None


def _view(primitive: str, x: TensorDesc, values: Sequence[object]) -> TensorDesc | None:
    """
    Return the tensor that a view of *x* shows.

    ``SelectView(x, index, dim)``, ``Squeeze(x, dims)``, ``StridedSlice(x, begin, end, strides, five masks)``.
    """
    if primitive == "SelectView" and len(values) > 2 and isinstance(values[2], int):
        gone = {values[2] % max(len(x.shape), 1)}
    elif primitive == "Squeeze" and len(values) > 1 and isinstance(values[1], tuple) and values[1]:
        gone = {dim % max(len(x.shape), 1) for dim in values[1] if isinstance(dim, int)}
    elif primitive == "StridedSlice":
        return _slice(x, values)
    else:
        return None
    return TensorDesc(tuple(size for dim, size in enumerate(x.shape) if dim not in gone), x.dtype)


def _slice(x: TensorDesc, values: Sequence[object]) -> TensorDesc | None:
    places, masks = values[1:4], values[4:]
    if len(places) < 3 or any(masks) or not all(isinstance(p, tuple) and len(p) == len(x.shape) for p in places):
        return None
    cuts = zip(*places, strict=True)
    dims = [len(range(*slice(*cut).indices(size))) for cut, size in zip(cuts, x.shape, strict=True)]
    return TensorDesc(tuple(dims), x.dtype)


def _product(a: TensorDesc, b: TensorDesc, values: Sequence[object]) -> TensorDesc | None:
    if min(len(a.shape), len(b.shape)) < 2:
        return None
    turn_a, turn_b = (position < len(values) and values[position] is True for position in (2, 3))
    rows, inner = a.shape[-2:][::-1] if turn_a else a.shape[-2:]
    other, columns = b.shape[-2:][::-1] if turn_b else b.shape[-2:]
    batch = broadcast_shape([a.shape[:-2], b.shape[:-2]])
    return TensorDesc((*batch, rows, columns), a.dtype) if batch is not None and inner == other else None
