"""Runs of functions as operator tables: the trace has the nodes and times, the graphs add shapes and attributes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from attrs import define, field, frozen

from drynpu.arrays import I32, I64, U8
from drynpu.device import innermost, nest
from drynpu.kernels import NO_DATA, Operators, Placement, Signature, TensorDesc
from drynpu.layouts.graph import GET_NEXT
from drynpu.simulate import FusionOp, GraphPoints
from drynpu_tf.capture._dataset_reads import ITERATOR_GET_NEXT, UNKNOWN, DatasetRead, buffered_elements
from drynpu_tf.capture._functions import FunctionGraphs, Outputs
from drynpu_tf.capture._nodes import BACKWARD_FUNCTION, FUNCTION, Node, is_backward, node_call, written_operator
from drynpu_tf.capture._planes import Kind, Planes
from drynpu_tf.capture._runs import Runs
from drynpu_tf.rules import GraphNode, Precision, compile_graph, tensor_desc

_TENSOR = re.compile(r"([a-z_0-9]*)\[([0-9, ]*)\]")
_ARGUMENT = "_Arg"
_Tensors = tuple[TensorDesc | None, ...]
_Call = tuple[str, str, str]
"""Node, type, and the shapes of its inputs as the tracer writes them."""


@frozen(eq=False, kw_only=True)
class FunctionRun:
    """
    One run of a function that the script called.

    ``step`` is the number of the Keras or Trace step around it, -1 without one; times are Unix ns. ``reads`` are the
    times it took data from the device's queue, ``points`` where the iteration trace marks the function's graph.
    """

    function: str
    start_ns: int
    end_ns: int
    thread: int
    step: int
    operators: Operators
    fusions: tuple[FusionOp, ...] = ()
    points: GraphPoints | None = None
    consumers: Mapping[str, frozenset[str]] = field(factory=dict)
    reads: tuple[DatasetRead, ...] = ()


@frozen(eq=False)
class _Variant:
    """
    A function compiled for one set of shapes, in the order of its calls.

    ``sources`` maps the number of every call that takes data to the node that its iterator comes from.
    """

    names: tuple[str, ...]
    scope: U8
    sources: Mapping[int, str]
    signatures: tuple[Signature, ...]
    fusions: tuple[FusionOp, ...]
    points: GraphPoints | None
    consumers: Mapping[str, frozenset[str]]


@frozen(eq=False)
class _Calls:
    """The calls in a stretch: ``number`` has one for each node of its runs, ``distinct`` what the numbers stand for."""

    number: I64
    distinct: tuple[_Call, ...]

    @classmethod
    def from_rows(cls, planes: Planes, rows: I64) -> _Calls:
        # Three indices in one number, so that one sort finds the distinct calls.
        base = len(planes.texts) + 1
        columns = (planes.text[rows], planes.op_type[rows], planes.extra[rows])
        text, kind, extra = (column.astype(np.int64) + 1 for column in columns)
        codes, number = np.unique((text * base + kind) * base + extra, return_inverse=True)
        texts = ("", *planes.texts)
        distinct = (
            (texts[code // base**2], written_operator(texts[code // base % base])[0], texts[code % base])
            for code in codes.tolist()
        )
        return cls(number, tuple(distinct))


@define
class FunctionRuns:
    """
    Makes operator tables from traces; each distinct call is worked out once in the life of a recording.

    A function that runs again with the same shapes has the same signatures, so that the tables share them.
    """

    graphs: FunctionGraphs
    split: bool = True
    precision: Precision | None = None
    _variants: dict[tuple[str, frozenset[_Call]], _Variant] = field(factory=dict)

    def tables(self, planes: Planes, runs: Runs, threads: dict[int, int], default_thread: int) -> list[FunctionRun]:
        """Return the runs of a trace in time order, each with its operators by start."""
        bounds, data_bounds = (np.searchsorted(run, np.arange(len(runs.call) + 1)) for run in (runs.run, runs.data_run))
        steps, buffered = _steps(planes, runs.call), buffered_elements(planes)
        calls = _Calls.from_rows(planes, runs.node)
        known: dict[tuple[int, bytes], tuple[_Variant, I32]] = {}
        tables = []
        for number, call in enumerate(runs.call.tolist()):
            nodes = slice(int(bounds[number]), int(bounds[number + 1]))
            thread = threads.get(int(planes.thread[call]), default_thread)
            function = planes.texts[planes.text[call]]
            distinct = np.unique(calls.number[nodes])
            key = (int(planes.text[call]), distinct.tobytes())
            if key not in known:
                known[key] = self._placed(function, calls, distinct)
            variant, place = known[key]
            end_ns = int(planes.end_ns[call])
            operators = _operators(planes, runs.node[nodes], place[calls.number[nodes]], variant, thread, end_ns)
            data = runs.data[data_bounds[number] : data_bounds[number + 1]]
            tables.append(
                FunctionRun(
                    function=function,
                    start_ns=int(planes.start_ns[call]),
                    end_ns=end_ns,
                    thread=thread,
                    step=int(steps[number]),
                    operators=operators,
                    fusions=variant.fusions,
                    points=variant.points,
                    consumers=variant.consumers,
                    reads=_dataset_reads(operators, variant.sources, planes.end_ns[data], buffered[data]),
                )
            )
        return tables

    def _placed(self, function: str, calls: _Calls, numbers: I64) -> tuple[_Variant, I32]:
        """Return the variant that makes the calls with those *numbers*, and where in it each number is."""
        distinct = [calls.distinct[number] for number in numbers.tolist()]
        # Numbers differ from stretch to stretch, names do not.
        key = (function, frozenset(distinct))
        if key not in self._variants:
            self._variants[key] = self._variant(function, sorted(key[1]))
        position = {call: number for number, call in enumerate(sorted(key[1]))}
        place = np.full(len(calls.distinct), -1, np.int32)
        place[numbers] = [position[call] for call in distinct]
        return self._variants[key], place

    def _variant(self, function: str, calls: Sequence[_Call]) -> _Variant:
        graph = self.graphs.find(function, frozenset((name, kind) for name, kind, _ in calls))
        nodes = graph.nodes if graph is not None else {}
        inputs = {name: shapes_of(text) for name, _, text in calls}
        outputs = _outputs(nodes, self.graphs.traced_outputs(function), inputs)
        signatures = [
            _signature(name, kind, shapes_of(text), outputs.get(name, ()), nodes.get(name))
            for name, kind, text in calls
        ]
        # In a loop a node may have several shapes; the engine compiles for the first.
        first = {name: signature for (name, _, _), signature in reversed(list(zip(calls, signatures, strict=True)))}
        compiled = compile_graph(
            [
                GraphNode(name, node.inputs, first.get(name) or _not_run(name, node, outputs))
                for name, node in nodes.items()
            ],
            split=self.split,
            precision=self.precision,
        )
        written = (
            compiled.signatures[name] if name in compiled.signatures and signature is first[name] else signature
            for (name, _, _), signature in zip(calls, signatures, strict=True)
        )
        backward = np.array([is_backward(name) for name, _, _ in calls], bool)
        sources = {
            number: nodes[name].inputs[0][0] if name in nodes and nodes[name].inputs else name
            for number, (name, kind, _) in enumerate(calls)
            if kind == ITERATOR_GET_NEXT
        }
        return _Variant(
            names=tuple(name for name, _, _ in calls),
            scope=np.where(backward, BACKWARD_FUNCTION, FUNCTION).astype(np.uint8),
            sources=sources,
            signatures=tuple(written),
            fusions=compiled.fusions,
            # Of a function whose graph is not known nothing can be searched.
            points=compiled.points if nodes else None,
            consumers=compiled.consumers,
        )


def _operators(planes: Planes, rows: I64, position: I32, variant: _Variant, thread: int, call_end_ns: int) -> Operators:
    """Return the table of one run, whose nodes are at *rows* and make the calls at *position* of the variant."""
    # A thread that started a node without waiting for it (While, IteratorGetNext) ends its event when it gets on a
    # processor again. By then other threads may have ended the node and the whole call.
    start, end = planes.start_ns[rows], np.minimum(planes.end_ns[rows], call_end_ns)
    order = np.lexsort((-end, start))
    position = position[order]
    return Operators(
        names=variant.names,
        name=position,
        start_ns=start[order],
        end_ns=end[order],
        thread=np.full(len(rows), thread, np.int64),
        fwd_thread=np.zeros(len(rows), np.int64),
        sequence=np.full(len(rows), -1, np.int64),
        scope=variant.scope[position],
        signature=position,
        signatures=variant.signatures,
    )


def _dataset_reads(
    operators: Operators, sources: Mapping[int, str], ends_ns: I64, buffered: I64
) -> tuple[DatasetRead, ...]:
    """
    Return when a run took data from its iterators.

    *ends_ns* are the times when the data was there, *buffered* the elements that had been ready, in order of reading.
    """
    rows = np.flatnonzero(np.isin(operators.name, list(sources))).tolist() if sources else []
    pairs = zip(ends_ns.tolist(), buffered.tolist(), strict=True)
    seen = [(end, None if count == UNKNOWN else count) for end, count in pairs][: len(rows)]
    # Of data that was still under way when the trace was cut nothing is known.
    seen += [(None, None)] * (len(rows) - len(seen))
    names = [sources[int(operators.name[row])] for row in rows]
    return tuple(DatasetRead(row, name, *known) for row, name, known in zip(rows, names, seen, strict=True))


def _steps(planes: Planes, calls: I64) -> I64:
    """Return the number of the step around each call on its thread, -1 without one."""
    spans = planes.rows(Kind.SPAN)
    _, parent = nest(planes.start_ns[spans], planes.end_ns[spans], planes.thread[spans])
    around = innermost(
        planes.start_ns[calls],
        planes.thread[calls],
        planes.start_ns[spans],
        planes.end_ns[spans],
        planes.thread[spans],
        parent,
    )
    numbers = np.append(planes.number[spans], -1)
    return np.asarray(numbers[around], np.int64)


def shapes_of(text: str) -> _Tensors:
    """
    Read the tracer's ``(float[64,128];int32[])``.

    What holds no numbers (``resource[]``) has a place too; an input that had not arrived is ``None``.
    """
    inside = text.removeprefix("(").removesuffix(")")
    return tuple(map(_shape_of, inside.split(";"))) if inside else ()


def _shape_of(text: str) -> TensorDesc | None:
    match = _TENSOR.fullmatch(text.strip())
    if match is None:
        return None
    dims = tuple(int(dim) for dim in match.group(2).split(",") if dim.strip())
    return tensor_desc(dims, match.group(1))


def _outputs(
    graph: Mapping[str, Node], traced: Outputs, inputs: Mapping[str, _Tensors]
) -> dict[str, tuple[TensorDesc, ...]]:
    """Return what nodes returned: the shapes they were traced with, else what arrived at those that take it."""
    arrived: dict[str, dict[int, TensorDesc]] = {}
    for name, tensors in inputs.items():
        node = graph.get(name)
        if node is None or len(node.inputs) != len(tensors):
            continue
        for (producer, slot), tensor in zip(node.inputs, tensors, strict=True):
            if tensor is not None:
                arrived.setdefault(producer, {})[slot] = tensor
    outputs: dict[str, tuple[TensorDesc, ...]] = {}
    for name in {*inputs, *graph}:
        known = arrived.get(name, {})
        # The optimised graph may have the operands of a product the other way round, so tracing counts for more.
        known |= {slot: shape for slot, shape in enumerate(traced.get(name, ())) if shape is not None}
        if not known and name in graph:
            known = _without_numbers(graph[name])
        # What comes after a gap would stand in the wrong place.
        whole = next(slot for slot in range(len(known) + 1) if slot not in known)
        outputs[name] = tuple(known[slot] for slot in range(whole))
    return outputs


def _without_numbers(node: Node) -> dict[int, TensorDesc]:
    """Return the handle that a function is given for a variable or an iterator, of which the tracer writes no shape."""
    handle = tensor_desc((), str(node.attributes.get("T")))
    return {0: handle} if node.op_type == _ARGUMENT and handle.dtype == NO_DATA else {}


def _signature(name: str, kind: str, inputs: _Tensors, outputs: tuple[TensorDesc, ...], node: Node | None) -> Signature:
    """Return the call of a node; arguments of a function are copied before it runs, its results stay on the device."""
    kind = GET_NEXT if kind == ITERATOR_GET_NEXT else kind
    attributes = node.attributes if node is not None else {}
    return node_call(name, kind, inputs, outputs, attributes, fed=Placement.HOST, fetched=Placement.HOST)


def _not_run(name: str, node: Node, outputs: Mapping[str, tuple[TensorDesc, ...]]) -> Signature:
    """Return the call of a node that left no trace: a constant, or one of a branch that was not taken."""
    inputs = tuple(
        outputs[producer][slot] if slot < len(outputs.get(producer, ())) else None for producer, slot in node.inputs
    )
    return _signature(name, node.op_type, inputs, outputs.get(name, ()), node)
