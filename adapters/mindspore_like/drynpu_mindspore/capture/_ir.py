"""
MindSpore's graphs as it saves them in text (mindspore_profiler.md 13), read once per distinct node.

A node stands on lines of its own (observed in 2.7.2)::

    %22(CNode_2439) = PrimFunc_MatMul(%21, %14, Bool(0), Bool(1)) {instance name: matmul} primitive_attrs: {...} ...
        : (<Tensor[Float32], (2, 10)>, <Ref[Tensor[Float32]], (10, 288), ref_key=fc.weight>, ...) -> (<Tensor[...]...>)
        # Fullname with scope: (Gradients/Default/network-WithLossCell/.../Grad_MatMul/MatMul-op0)

The name after ``Fullname with scope`` is the one under which the CPU profiler lists the launches of the node.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from attrs import frozen

from drynpu.kernels import TensorDesc
from drynpu.kernels.ops import ge_dtype

_NODE = re.compile(r"^  (%\d+)\([^)]*\) = (?:PrimFunc_)?(\w+)\(")
_ATTRS = " primitive_attrs: {"
_TYPES = "      : ("
_FULL_NAME = "      # Fullname with scope: ("
_NUMBER = re.compile(r"^(Bool|[IUF]\d+|BF16)\((.*)\)$")
_CONSTANT = re.compile(r"Tensor\(shape=\[([\d, ]*)\], dtype=(\w+)")
_TENSOR = re.compile(r"Tensor\[(\w+)\]")
_NOTES = ("IsFeatureMap", "input_names", "output_names")
"""Attributes that do not change the work of a node."""
_OPERANDS = ("%", "Tensor(")
_OPEN, _CLOSE = "([{<", ")]}>"


@frozen
class GraphNode:
    """
    One node of a graph.

    Attributes
    ----------
    name:
        Full name with scope; ``""`` in the graphs of PyNative, which have none.
    inputs:
        By position; ``None`` for an argument that is no tensor. Monads, which only order the nodes, are left out.
    outputs:
        ``None`` where a shape is not known before the run.
    arguments:
        By position the value of an argument that is no tensor.
    label:
        The name of the node in the graph: ``%22``.
    operands:
        By position the label of a node, the name of a parameter (``%para3_fc.weight``) or the text of a constant
        tensor; ``""`` for anything else.
    in_place:
        Whether the result is a reference to what the first argument refers to.
    """

    name: str
    primitive: str
    inputs: tuple[TensorDesc | None, ...]
    outputs: tuple[TensorDesc, ...] | None
    attrs: tuple[tuple[str, object], ...]
    arguments: tuple[object, ...]
    label: str = ""
    operands: tuple[str, ...] = ()
    in_place: bool = False


def read_graph(text: str) -> tuple[GraphNode, ...]:
    """Return the nodes of a saved graph, all of its subgraphs, in the order in which they stand in it."""
    return tuple(read_nodes(text.splitlines()))


def read_nodes(lines: list[str]) -> Iterator[GraphNode]:
    """Yield the nodes that stand on *lines*."""
    starts = [index for index, line in enumerate(lines) if line.startswith("  %")]
    for start, end in pairwise([*starts, len(lines)]):
        # Values of constants may go over several lines.
        middle = next((i for i in range(start + 1, end) if lines[i].startswith(_TYPES)), end)
        text = " ".join(lines[start:middle])
        head = _NODE.match(text)
        if head is None or middle == end:
            continue
        full = next((line for line in lines[middle + 1 : end] if line.startswith(_FULL_NAME)), "")
        name = full.removeprefix(_FULL_NAME).rstrip().removesuffix(")")
        label, primitive = head.groups()
        yield _node(name, (label, primitive), text[head.end() - 1 :], lines[middle].removeprefix(_TYPES[:-1]))


def _node(name: str, head: tuple[str, str], call: str, types: str) -> GraphNode:
    label, primitive = head
    arguments, rest = group(call)
    input_types, output_types = group(types)
    kinds = split(input_types)
    operands = split(arguments)
    keep = [i for i, kind in enumerate(kinds) if "Monad" not in kind.partition(",")[0]]
    inputs = tuple(single_tensor(tensors_of(kinds[i])) for i in keep)
    # A list of tensors counts as so many inputs.
    flat: list[TensorDesc | None] = []
    for i, single in zip(keep, inputs, strict=True):
        several = tensors_of(kinds[i])
        flat.extend(several if several is not None and len(several) > 1 else [single])
    results = split(group(output_types.partition("-> ")[2] or "()")[0])
    known = [tensors_of(kind) for kind in results]
    outputs = None if any(part is None for part in known) else tuple(t for part in known for t in part or ())
    return GraphNode(
        name=name,
        primitive=primitive,
        inputs=tuple(flat),
        outputs=outputs,
        attrs=_attributes(rest),
        arguments=tuple(value_of(operands[i]) if i < len(operands) else None for i in keep),
        label=label,
        operands=tuple(operands[i] if i < len(operands) and operands[i].startswith(_OPERANDS) else "" for i in keep),
        in_place=bool(results) and results[0].startswith("<Ref["),
    )


def _depths(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield index, letter and depth of brackets of every letter outside of quotes; a bracket counts to its inside."""
    depth, quoted = 0, False
    for index, letter in enumerate(text):
        if letter == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif letter in _OPEN:
            depth += 1
        elif letter in _CLOSE and text[index - 1] != "-":  # the end of an arrow closes nothing
            depth -= 1
        yield index, letter, depth


def group(text: str) -> tuple[str, str]:
    """Return what stands in the brackets that *text* begins with, and what follows them."""
    end = next((index for index, letter, depth in _depths(text) if depth == 0 and letter in _CLOSE), len(text))
    return text[1:end], text[end + 1 :]


def split(text: str) -> list[str]:
    """Return the parts between the commas that stand in no bracket."""
    commas = [index for index, letter, depth in _depths(text) if letter == "," and depth == 0]
    parts = [text[begin + 1 : end].strip() for begin, end in pairwise([-1, *commas, len(text)])]
    return parts if parts[-1] else parts[:-1]


def constant_tensor(text: str) -> TensorDesc | None:
    """Return the first tensor that *text* writes as ``Tensor(shape=[2, 3], dtype=Float32, ...)``, if there is one."""
    match = _CONSTANT.search(text)
    if match is None:
        return None
    return TensorDesc(tuple(int(dim) for dim in match.group(1).split(",") if dim.strip()), ge_dtype(match.group(2)))


def single_tensor(tensors: tuple[TensorDesc, ...] | None) -> TensorDesc | None:
    """Return the one tensor of an argument, ``None`` for a list of them and where nothing is known."""
    return tensors[0] if tensors is not None and len(tensors) == 1 else None


def tensors_of(kind: str) -> tuple[TensorDesc, ...] | None:
    """
    Return the tensors of ``<Tensor[Float32], (2, 10)>``, ``<Tuple[Tensor[Float32]*3], TupleShape((2), (1), (1))>``.

    None of them for a number; ``None`` where a dim is not known before the run (written as -1, a list without a shape).
    """
    types, *shapes = split(kind[1:-1])
    names = _names(types)
    if not names:
        return ()
    text = shapes[0] if shapes else ""
    shape_texts = split(group(text.removeprefix("TupleShape"))[0]) if text.startswith("TupleShape") else [text]
    dims = [_dims(shape) for shape in shape_texts]
    if len(dims) != len(names):
        return None
    tensors = [TensorDesc(shape, ge_dtype(name)) for name, shape in zip(names, dims, strict=True) if shape is not None]
    return tuple(tensors) if len(tensors) == len(names) else None


def _names(types: str) -> list[str]:
    """Return the types of the tensors of ``Tuple[Tensor[Float32]*3]``; none for what is no tensor."""
    if not types.startswith("Tuple["):
        match = _TENSOR.search(types)
        return [match.group(1)] if match else []
    names: list[str] = []
    for part in split(types[len("Tuple[") : -1]):
        match = _TENSOR.search(part)
        _, star, count = part.rpartition("*")
        if match:
            names += [match.group(1)] * (int(count) if star and count.isdigit() else 1)
    return names


def _dims(text: str) -> tuple[int, ...] | None:
    if not (text.startswith("(") and text.endswith(")")):
        return None
    dims = tuple(int(part) for part in split(text[1:-1]) if part.lstrip("-").isdigit())
    return dims if all(dim >= 0 for dim in dims) else None


def _attributes(text: str) -> tuple[tuple[str, object], ...]:
    _, separator, rest = text.partition(_ATTRS)
    if not separator:
        return ()
    pairs = (part.partition(": ") for part in split(group("{" + rest)[0]))
    values = ((name, value_of(value)) for name, _, value in pairs if not name.startswith(_NOTES))
    return tuple(sorted((name, value) for name, value in values if value is not None))


def value_of(text: str) -> object:
    """Return a number, a truth value, a text or a list of them as a plain value; ``None`` for tensors and nodes."""
    if text.startswith('"'):
        return text.strip('"')
    number = _NUMBER.match(text)
    if number:
        kind, digits = number.groups()
        if kind == "Bool":
            return digits == "1"
        return _float(digits) if kind in {"BF16", "F16", "F32", "F64"} else int(digits)
    if text.startswith(("(", "[")):
        return tuple(value_of(part) for part in split(text[1:-1]))
    return int(text) if text.lstrip("-").isdigit() else None


def _float(digits: str) -> float | None:
    try:
        return float(digits)
    except ValueError:
        return None
