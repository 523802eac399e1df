"""
Models: ONNX files, run node by node by ONNX's reference evaluator.

A model of the vendor's is a closed container; the ONNX file it is made from stands in for it, under its own suffix or
under ``.om``.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve, field, frozen

from drynpu import DrynpuError, PluginError
from drynpu.arrays import I64, U8, Array
from drynpu.kernels import TensorDesc
from drynpu.kernels.ops import ge_dtype
from drynpu_acl.kernels import ACL_SIZES, Compiled, GraphNode, acl_dtype, compile_graph
from drynpu_acl.runtime._aipp import AIPP_INPUT, AippSettings, BadConversion, apply_aipp, data_bytes, static_settings
from drynpu_acl.runtime._conversion import GEAR_INPUT, GEAR_SUFFIX, Conversion, find_conversion
from drynpu_acl.runtime._evaluation import NewRun, choose_evaluators

_LARGEST_MODEL = 2**31
"""Protocol buffers hold less than 2 GiB."""
_SYSTEM_SUFFIX = re.compile(r"_linux_(x86_64|aarch64)$")
"""What the model compiler adds to the name of an offline model for another machine."""
_UINT8, _INT32 = 2, 6
"""TensorProto's numbers."""


class UnreadableModel(DrynpuError):
    """The bytes are not an ONNX model, or ONNX is not installed."""


@frozen
class Tensor:
    """
    An input or an output of a model.

    ``dims`` has numbers, names for dims that are equal where the names are, and -1 for unknown ones. ``onnx_type`` is
    TensorProto's number. ``largest`` is the shape in the largest gear of a model with gears. ``is_data`` is false for
    what the model compiler adds: no node reads it. ``stored`` is how an image lies in memory that the model prepares
    itself, ``stored_bytes`` the room for one whose settings come before each run.
    """

    name: str
    dims: tuple[int | str, ...]
    onnx_type: int
    largest: tuple[int, ...] | None = None
    is_data: bool = True
    stored: tuple[int, ...] | None = None
    stored_bytes: int = 0

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
        """Size of the tensor, in the largest gear where there are gears; 0 where it is not known."""
        if self.stored_bytes:
            return self.stored_bytes
        shape = self.stored or (self.shape if self.largest is None else self.largest)
        return 0 if min(shape, default=1) < 0 else int(np.prod(shape, dtype=np.int64)) * self.item_bytes

    def dim_name(self, axis: int) -> str:
        """Return the name of a dim that is not a number: the model's, or one of its own."""
        dim = self.dims[axis]
        return dim if isinstance(dim, str) else f"{self.name}:{axis}"


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
    nodes: tuple[GraphNode, ...] = field(default=(), repr=False)
    """The nodes that ran, where that differs from run to run (branches and turns); else empty."""
    inner_constants: frozenset[str] = frozenset()
    inner_results: frozenset[str] = frozenset()
    """Tensors of graphs inside nodes: those that are known before the run, and those that are read outside."""

    @property
    def key(self) -> object:
        """What runs of equal nodes and shapes have in common."""
        return self.tensor_types, tuple((node.name, node.inputs) for node in self.nodes)

    @property
    def tensors(self) -> dict[str, TensorDesc]:
        """The tensors as the compiler wants them."""
        return {name: TensorDesc(shape, ge_dtype(dtype.name)) for name, shape, dtype in self.tensor_types}


@frozen
class AippImage:
    """The input that a model prepares by itself: as nodes read it, and its settings where the compiler fixed them."""

    tensor: Tensor
    settings: AippSettings | None

    @property
    def raw_name(self) -> str:
        """Name of the images before that."""
        return f"{self.tensor.name}_raw"


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
    conversion: Conversion
    aipp: AippImage | None
    _evaluator: Any = field(repr=False)
    _constants: frozenset[str] = field(repr=False)
    _weights: Mapping[str, TensorDesc] = field(repr=False)
    _new_run: NewRun = field(repr=False)

    def run(self, feeds: Mapping[str, Array], images: tuple[AippSettings, U8] | None = None) -> NodeTimes:
        """
        Run every node in order. What a node raises is raised.

        *images* are settings and bytes of the input that the model prepares by itself, before all nodes.
        """
        values: dict[str, Any] = {"": None, **self._evaluator.rt_inits_, **feeds}
        run = self._new_run(_node)
        run.tensors.update(feeds)
        if self.aipp is not None and images is not None:
            started, raw = time.time_ns(), images[1].reshape(images[0].stored_shape)
            name = self.aipp.tensor.name
            values[name] = apply_aipp(*images).astype(self.aipp.tensor.numpy_type)
            run.tensors[self.aipp.raw_name] = raw
            run.add(GraphNode(f"{name}_aipp", "Aipp", (self.aipp.raw_name,), (name,)), [values[name]], started)
        run.run(self._evaluator, values)
        return NodeTimes(
            {tensor.name: np.asarray(values[tensor.name]) for tensor in self.outputs},
            np.array(run.start_ns, np.int64),
            np.array(run.end_ns, np.int64),
            tuple(
                (name, value.shape, value.dtype)
                for name, value in run.tensors.items()
                if name not in self._weights and isinstance(value, (np.ndarray, np.generic))
            ),
            tuple(run.nodes) if run.varying else (),
            frozenset(run.constants),
            frozenset(run.results),
        )

    def compile(self, run: NodeTimes, *, split: bool, gear: int | None = None) -> Compiled:
        """
        Return what the model's graph becomes with the shapes of a run, and in it the nodes that the run passed.

        Operators bear the number of the *gear* where the model has gears, because each is a graph of its own.
        """
        results = [*(tensor.name for tensor in self.outputs), *run.inner_results]
        nodes = run.nodes or self.nodes
        if gear is not None:
            nodes = tuple(evolve(node, name=f"{node.name}{GEAR_SUFFIX}{gear}") for node in nodes)
        every = {**self._weights, **run.tensors}
        return compile_graph(nodes, every, self._constants | run.inner_constants, results, split=split)

    def output_shapes(self, shapes: Mapping[str, tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Return the shapes of the outputs for *shapes* of the inputs, -1 for dims that only a run knows."""
        return _output_shapes(self._evaluator.proto_, shapes)


def open_model(path: Path, tell: Callable[[str], object]) -> ModelFile:
    """
    Return the model of a file; without a readable ``X.om``, the model of the ``X.onnx`` beside it.

    *tell* gets a line where an ``X.om`` is there and the other file is read.

    Raises
    ------
    FileNotFoundError
        There is no such file, nor one that stands in for it.
    UnreadableModel
        It is no ONNX model.
    """
    try:
        stand_in, there = _stand_in(path), path.is_file()
    except OSError as error:  # a name that no file can have
        raise FileNotFoundError(str(path)) from error
    if not there:
        if stand_in is None:
            raise FileNotFoundError(str(path))
        return _read_model(stand_in, path.stem)
    try:
        return _read_model(path, path.stem)
    except UnreadableModel:
        if stand_in is None:
            raise
    model = _read_model(stand_in, path.stem)
    tell(f"{path.name} cannot be read (only the vendor's tools open it): {stand_in.name} beside it is used")
    return model


def _stand_in(path: Path) -> Path | None:
    """Return the ONNX file beside an offline model from which it was made, ``None`` where there is none."""
    if path.suffix != ".om":
        return None
    candidates = [path.with_suffix(".onnx"), path.with_name(f"{_SYSTEM_SUFFIX.sub('', path.stem)}.onnx")]
    return next((each for each in candidates if each.is_file()), None)


def _read_model(path: Path, name: str) -> ModelFile:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UnreadableModel(f"{path}: {error.strerror}") from error
    try:
        conversion = find_conversion(path)
        if conversion == Conversion():
            conversion = find_conversion(path.with_name(f"{name}.om"))
    except BadConversion as error:
        raise UnreadableModel(str(error)) from error
    return parse_model(data, name, path.parent, conversion)


def parse_model(data: bytes, name: str, folder: Path | None = None, conversion: Conversion | None = None) -> ModelFile:
    """
    Return the model of the bytes of a file; *folder* is where weights in files of their own are looked for.

    *conversion* says which shapes the inputs have.

    Raises
    ------
    UnreadableModel
        It is no ONNX model, or one that the evaluator does not know operators of.
    """
    try:
        import onnx
        import onnx.reference
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
        conversion = conversion or Conversion()
        _open_negative_dims(proto)
        _set_shapes(proto, {} if conversion.kind else conversion.shapes)
        # In this order: the checker refuses results without a shape, which inference gives them.
        proto = onnx.shape_inference.infer_shapes(proto, data_prop=bool(conversion.shapes))
        onnx.checker.check_model(proto)
        evaluators = choose_evaluators([node.op_type for node in proto.graph.node])
        evaluator = evaluators.build(proto)
    except PluginError as error:
        raise UnreadableModel(f"{name}: {error}") from error
    except Exception as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise UnreadableModel(
            f"{name}: not a readable ONNX model, which is expected also under .om: {reason}"
        ) from error
    return _model(proto, evaluator, name, conversion, evaluators.new_run)


def _model(proto: Any, evaluator: Any, name: str, conversion: Conversion, new_run: NewRun) -> ModelFile:
    graph = proto.graph
    weights = {key: _described(value) for key, value in evaluator.rt_inits_.items() if isinstance(value, np.ndarray)}
    inputs = tuple(_tensor(value) for value in graph.input if value.name not in weights)
    outputs = tuple(_tensor(value) for value in graph.output)
    unknown = conversion.shapes.keys() - {tensor.name for tensor in inputs}
    if unknown:
        raise UnreadableModel(f"{name}.atc: --input_shape names {sorted(unknown)[0]}, which is no input of the model")
    if conversion.kind is not None:
        inputs, outputs = _geared(proto, inputs, outputs, conversion)
    aipp = _find_image(inputs, conversion, name)
    if aipp is not None:
        inputs = _with_images(inputs, aipp, conversion)
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
        (*_aipp_nodes(aipp), *(_node(node, number) for number, node in enumerate(graph.node))),
        sum(t.size_bytes for t in weights.values()),
        sum(t.size_bytes for t in between),
        conversion,
        aipp,
        evaluator,
        frozenset(evaluator.rt_inits_),
        weights,
        new_run,
    )


def _geared(
    proto: object, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...], conversion: Conversion
) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return inputs and outputs as a model with gears has them: with the sizes of the largest gear."""
    shapes = conversion.bind(conversion.gears[conversion.largest])
    data = [
        evolve(tensor, dims=conversion.shapes.get(tensor.name, tensor.dims), largest=shapes.get(tensor.name))
        for tensor in inputs
    ]
    sizes = _output_shapes(proto, shapes)
    results = tuple(evolve(tensor, dims=shape, largest=shape) for tensor, shape in zip(outputs, sizes, strict=True))
    return (*data, Tensor(GEAR_INPUT, (len(conversion.gears[0]),), _INT32, is_data=False)), results


def _find_image(inputs: tuple[Tensor, ...], conversion: Conversion, name: str) -> AippImage | None:
    """Return the input that the model prepares by itself, as nodes read it."""
    if conversion.aipp is None:
        return None
    number = conversion.aipp.related_input
    if number >= len(inputs) or len(inputs[number].dims) != len("NCHW") or min(inputs[number].shape) < 1:
        raise UnreadableModel(f"{name}.atc: AIPP needs an input {number} with four dims that are numbers")
    tensor = inputs[number]
    if conversion.aipp.settings is None:
        return AippImage(tensor, None)
    settings = static_settings(conversion.aipp, tensor.shape)
    if problem := settings.problem() or misfit(settings, tensor):
        raise UnreadableModel(f"{name}.atc: AIPP: {problem}")
    return AippImage(tensor, settings)


def misfit(settings: AippSettings, tensor: Tensor) -> str:
    """Return what keeps images from being the input of a model, empty for nothing."""
    batch, _, height, width = tensor.shape
    if (len(settings.images), settings.output_size(0)) == (batch, (width, height)):
        return ""
    wide, high = settings.output_size(0)
    return f"{len(settings.images)} images of {wide} x {high} come out, the model takes {batch} of {width} x {height}"


def _with_images(inputs: tuple[Tensor, ...], aipp: AippImage, conversion: Conversion) -> tuple[Tensor, ...]:
    """Return the inputs as a program sees them: images of bytes, and room for settings that it makes."""
    number, changed = inputs.index(aipp.tensor), list(inputs)
    if aipp.settings is not None:
        shape = aipp.settings.image_shape
        changed[number] = evolve(aipp.tensor, onnx_type=_UINT8, dims=shape, stored=aipp.settings.stored_shape)
        return tuple(changed)
    assert conversion.aipp is not None, "there is an image"
    room = conversion.aipp.max_source_bytes
    changed[number] = evolve(aipp.tensor, onnx_type=_UINT8, stored_bytes=room)
    return (*changed, Tensor(AIPP_INPUT, (data_bytes(aipp.tensor.shape[0]),), _UINT8, is_data=False))


def _aipp_nodes(aipp: AippImage | None) -> list[GraphNode]:
    """Return the node that the compiler puts before all others."""
    if aipp is None:
        return []
    return [GraphNode(f"{aipp.tensor.name}_aipp", "Aipp", (aipp.raw_name,), (aipp.tensor.name,))]


def _open_negative_dims(proto: Any) -> None:
    """Take away the lengths of dims that are said to be negative: some exporters write -1 where they know none."""
    for value in (*proto.graph.input, *proto.graph.output, *proto.graph.value_info):
        for dim in value.type.tensor_type.shape.dim:
            if dim.HasField("dim_value") and dim.dim_value < 0:
                dim.ClearField("dim_value")


def _set_shapes(proto: Any, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Give inputs of a model these dims; -1 leaves a dim as it is."""
    for value in proto.graph.input:
        dims = value.type.tensor_type.shape.dim
        for dim, length in zip(dims, shapes.get(value.name, ()), strict=False):
            if length >= 0:
                dim.dim_value = length


def _output_shapes(proto: object, shapes: Mapping[str, tuple[int, ...]]) -> list[tuple[int, ...]]:
    import onnx

    bound = onnx.ModelProto()
    bound.CopyFrom(proto)
    _set_shapes(bound, shapes)
    inferred = onnx.shape_inference.infer_shapes(bound, data_prop=True)
    return [_tensor(value).shape for value in inferred.graph.output]


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
