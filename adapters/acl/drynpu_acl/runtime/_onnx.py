"""
Models: ONNX files, run node by node by ONNX's reference evaluator.

A model of the vendor's is a closed container; the ONNX file it is made from stands in for it, under its own suffix or
under ``.om``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from attrs import field, frozen

from drynpu import DrynpuError
from drynpu.arrays import I64, Array
from drynpu.kernels import TensorDesc
from drynpu.kernels.ops import ge_dtype
from drynpu_acl.kernels import ACL_SIZES, Compiled, GraphNode, acl_dtype, compile_graph

_LARGEST_MODEL = 2**31
"""Protocol buffers hold less than 2 GiB."""


class UnreadableModel(DrynpuError):
    """The bytes are not an ONNX model, or ONNX is not installed."""


@frozen
class Tensor:
    """
    An input or an output of a model.

    ``dims`` has numbers, names for dims that are equal where the names are, and -1 for unknown ones. ``onnx_type`` is
    TensorProto's number.
    """

    name: str
    dims: tuple[int | str, ...]
    onnx_type: int

    @property
    def item_bytes(self) -> int:
        """Size of an element."""
        return _numpy_type(self.onnx_type).itemsize

    @property
    def numpy_type(self) -> np.dtype[Any]:
        """Type of the elements."""
        return _numpy_type(self.onnx_type)

    @property
    def shape(self) -> tuple[int, ...]:
        """Dims with -1 where they are not numbers."""
        return tuple(dim if isinstance(dim, int) else -1 for dim in self.dims)

    @property
    def size_bytes(self) -> int:
        """Size of the tensor, 0 where it is not known."""
        return 0 if min(self.shape, default=1) < 0 else int(np.prod(self.shape, dtype=np.int64)) * self.item_bytes


@frozen(eq=False)
class NodeTimes:
    """
    The results of one run: outputs by name, start and end (Unix ns) of every node.

    ``tensor_types`` has the name, shape and type of every tensor but the weights; runs of equal shapes have equal ones.
    """

    outputs: Mapping[str, Array]
    start_ns: I64
    end_ns: I64
    tensor_types: tuple[tuple[str, tuple[int, ...], np.dtype[Any]], ...] = field(repr=False)

    @property
    def tensors(self) -> dict[str, TensorDesc]:
        """The tensors as the compiler wants them."""
        return {name: TensorDesc(shape, ge_dtype(dtype.name)) for name, shape, dtype in self.tensor_types}


@frozen(eq=False)
class ModelFile:
    """A model that was read, and what runs it."""

    name: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    nodes: tuple[GraphNode, ...]
    weight_bytes: int
    work_bytes: int
    """Size of all tensors between the nodes, as far as their shapes are known from the file."""
    _evaluator: Any = field(repr=False)
    _constants: frozenset[str] = field(repr=False)
    _weights: Mapping[str, TensorDesc] = field(repr=False)

    def run(self, feeds: Mapping[str, Array]) -> NodeTimes:
        """Run every node in order. What a node raises is raised."""
        results: dict[str, Any] = {"": None, **self._evaluator.rt_inits_, **feeds}
        steps = self._evaluator.rt_nodes_
        start_ns, end_ns = np.zeros(len(steps), np.int64), np.zeros(len(steps), np.int64)
        clock = time.time_ns
        for number, step in enumerate(steps):
            start_ns[number] = clock()
            inputs = [results[name] for name in step.input]
            outputs = step.run(*inputs, context=results) if step.need_context() else step.run(*inputs)
            end_ns[number] = clock()
            results.update(zip(step.output, outputs, strict=False))
        return NodeTimes(
            {tensor.name: np.asarray(results[tensor.name]) for tensor in self.outputs},
            start_ns,
            end_ns,
            tuple(
                (name, value.shape, value.dtype)
                for name, value in results.items()
                if name not in self._weights and isinstance(value, (np.ndarray, np.generic))
            ),
        )

    def compile(self, tensors: Mapping[str, TensorDesc], *, split: bool) -> Compiled:
        """Return what the model's graph becomes when the tensors that are no weights have these shapes."""
        results = [tensor.name for tensor in self.outputs]
        every = {**self._weights, **tensors}
        return compile_graph(self.nodes, every, self._constants, results, split=split)


def open_model(path: Path) -> ModelFile:
    """
    Return the model of a file.

    Raises
    ------
    FileNotFoundError
        There is no such file; nor, beside a missing ``X.om``, an ``X.onnx``.
    UnreadableModel
        It is no ONNX model.
    """
    found = _found(path)
    try:
        data = found.read_bytes()
    except OSError as error:
        raise UnreadableModel(f"{path}: {error.strerror}") from error
    return parse_model(data, path.stem, path.parent)


def _found(path: Path) -> Path:
    try:
        if path.is_file():
            return path
        if path.suffix == ".om" and path.with_suffix(".onnx").is_file():
            return path.with_suffix(".onnx")
    except OSError as error:  # a name that no file can have
        raise FileNotFoundError(str(path)) from error
    raise FileNotFoundError(str(path))


def parse_model(data: bytes, name: str, folder: Path | None = None) -> ModelFile:
    """
    Return the model of the bytes of a file; *folder* is where weights in files of their own are looked for.

    Raises
    ------
    UnreadableModel
        It is no ONNX model, or one that the evaluator does not know operators of.
    """
    try:
        import onnx
        from onnx.reference import ReferenceEvaluator
    except ImportError as error:
        raise UnreadableModel(
            f"models are run by onnx, which is not installed: pip install 'drynpu[onnx]' ({error})"
        ) from error
    if not data or len(data) >= _LARGEST_MODEL:
        raise UnreadableModel(f"{name}: {len(data)} bytes are no model; an ONNX file is expected, also under .om")
    try:
        proto = onnx.load_model_from_string(data)
        if folder is not None:
            onnx.load_external_data_for_model(proto, str(folder))
        # In this order: the checker refuses results without a shape, which inference gives them.
        proto = onnx.shape_inference.infer_shapes(proto)
        onnx.checker.check_model(proto)
        evaluator = ReferenceEvaluator(proto)
    except Exception as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise UnreadableModel(
            f"{name}: not a readable ONNX model, which is expected also under .om: {reason}"
        ) from error
    return _model(proto, evaluator, name)


def _model(proto: Any, evaluator: Any, name: str) -> ModelFile:
    graph = proto.graph
    weights = {key: _described(value) for key, value in evaluator.rt_inits_.items() if isinstance(value, np.ndarray)}
    inputs = tuple(_tensor(value) for value in graph.input if value.name not in weights)
    outputs = tuple(_tensor(value) for value in graph.output)
    for tensor in (*inputs, *outputs):
        if tensor.numpy_type.itemsize != ACL_SIZES.get(acl_dtype(tensor.onnx_type)):
            raise UnreadableModel(
                f"{name}: {tensor.name} has a type that cannot go in or out (ONNX type {tensor.onnx_type})"
            )
    between = [_tensor(value) for value in graph.value_info]
    return ModelFile(
        name,
        inputs,
        outputs,
        tuple(_node(node, number) for number, node in enumerate(graph.node)),
        sum(t.size_bytes for t in weights.values()),
        sum(t.size_bytes for t in between),
        evaluator,
        frozenset(evaluator.rt_inits_),
        weights,
    )


def _tensor(value: Any) -> Tensor:
    tensor = value.type.tensor_type
    dims = [dim.dim_value if dim.HasField("dim_value") else (dim.dim_param or -1) for dim in tensor.shape.dim]
    return Tensor(value.name, tuple(dims), tensor.elem_type)


def _node(node: Any, number: int) -> GraphNode:
    """Return a node with plain attributes; one without a name is called by its type and number, as converters do."""
    import onnx

    plain = (onnx.AttributeProto.FLOAT, onnx.AttributeProto.INT, onnx.AttributeProto.STRING)
    lists = (onnx.AttributeProto.FLOATS, onnx.AttributeProto.INTS, onnx.AttributeProto.STRINGS)
    attrs = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute if a.type in (*plain, *lists)}
    name = node.name or f"{node.op_type}_{number}"
    return GraphNode(name, node.op_type, tuple(node.input), tuple(node.output), attrs)


def _numpy_type(onnx_type: int) -> np.dtype[Any]:
    import onnx

    try:
        return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(onnx_type))
    except (KeyError, ValueError, TypeError):
        return np.dtype(np.uint8)


def _described(value: Any) -> TensorDesc:
    return TensorDesc(tuple(int(dim) for dim in value.shape), ge_dtype(value.dtype.name))
