"""
Route G: the graphs that functions execute; they have what a trace leaves out (tf_adapters.md 6).

TensorFlow hands over the graphs it has optimised when a function runs for the first time (the collection that
``tf.summary.trace_on(graph=True)`` uses). A function that ran before the recording began is looked up by name, and is
known as it was traced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from attrs import define, field, frozen

from drynpu.kernels import TensorDesc
from drynpu_tf.capture._nodes import Node, communication_of, read_node
from drynpu_tf.foreign import GraphDef, Private, Tensor
from drynpu_tf.rules import attributes_of, dtype_name, tensor_desc

_REMEMBERED = 4096
"""Graphs kept while none of their runs has been seen; eager operators have small ones of their own."""


Outputs: TypeAlias = Mapping[str, tuple[TensorDesc | None, ...]]
"""What nodes return, by their names; ``None`` is a tensor of unknown shape."""


@frozen(eq=False)
class NodeGraph:
    """The nodes of one function by name."""

    nodes: Mapping[str, Node]

    def holds(self, executed: Iterable[tuple[str, str]]) -> bool:
        """Return whether the graph has all of ``(name, type)``; nodes that return results have other names in a run."""
        return all(
            kind == "_Retval" or (name in self.nodes and self.nodes[name].op_type == kind) for name, kind in executed
        )


# N26, docs/tricks.md
@define
class FunctionGraphs:
    """The graphs of a process's functions."""

    _collected: list[NodeGraph] = field(factory=list)
    _traced: dict[str, NodeGraph | None] = field(factory=dict)
    _outputs: dict[str, Outputs] = field(factory=dict)

    def begin(self) -> None:
        """Have TensorFlow collect the graphs that it runs from now on."""
        from drynpu_tf.inside import context

        context.context().enable_graph_collection()

    def collect(self) -> None:
        """Read the graphs that TensorFlow has collected since the last call."""
        from drynpu_tf.inside import context

        metadata = context.context().export_run_metadata()
        if metadata is None:
            return
        for graphs in metadata.function_graphs:
            nodes = {node.name: read_node(node) for graph in graphs.partition_graphs for node in graph.node}
            self._collected.append(NodeGraph(nodes))
        del self._collected[:-_REMEMBERED]

    def end(self) -> None:
        """Have TensorFlow collect no more graphs."""
        from drynpu_tf.inside import context

        context.context().disable_graph_collection()

    def find(self, function: str, executed: frozenset[tuple[str, str]]) -> NodeGraph | None:
        """Return the graph that has the nodes *executed* in a run of *function*; ``None`` if none is known."""
        for graph in reversed(self._collected):
            if graph.holds(executed):
                return graph
        return self.traced(function)

    def traced(self, function: str) -> NodeGraph | None:
        """Return *function* as it was traced, with the shapes that were known then."""
        if function not in self._traced:
            self._traced[function] = _traced(function)
        return self._traced[function]

    def traced_outputs(self, function: str) -> Outputs:
        """Return what the nodes of *function* return by name, with the shapes that were known when it was traced."""
        if function not in self._outputs:
            self._outputs[function] = _traced_outputs(function)
        return self._outputs[function]


def _traced_outputs(function: str) -> Outputs:
    """Return the outputs of a function's nodes; nothing of a function that is not known."""
    from drynpu_tf.inside import context, errors

    try:
        definition = context.context().get_function_def(function)
        if any("_output_shapes" in node.attr for node in definition.node_def):
            graph = _traced(function)
            return {} if graph is None else {name: node.outputs for name, node in graph.nodes.items()}
        return {
            operation.name: tuple(map(_static, operation.outputs)) for operation in _imported_operations(definition)
        }
    except (errors.OpError, ValueError, KeyError):
        return {}


def _imported_operations(definition: GraphDef) -> list[Private]:
    """
    Return the operations of a function in a graph of their own, in which TensorFlow works their shapes out.

    `function_def_to_graph` does the same, and takes three times as long over devices and places of operations.
    """
    from tensorflow.core.framework import types_pb2

    from drynpu_tf.inside import c_api_util, function_def_to_graph, ops, pywrap_tf_session

    shapes = None
    if "_input_shapes" in definition.attr:
        # The shape of a handle, or of what it stands for, misleads what works out the others.
        pairs = zip(definition.attr["_input_shapes"].list.shape, definition.signature.input_arg, strict=False)
        shapes = [None if arg.type == types_pb2.DT_RESOURCE and arg.handle_data else shape for shape, arg in pairs]
    written, _ = function_def_to_graph.function_def_to_graph_def(definition, shapes)
    graph = ops.Graph()
    options = c_api_util.ScopedTFImportGraphDefOptions()
    pywrap_tf_session.TF_ImportGraphDefOptionsSetValidateColocationConstraints(options.options, False)
    with c_api_util.tf_buffer(written.SerializeToString()) as buffer, graph._c_graph.get() as place:
        results = pywrap_tf_session.TF_GraphImportGraphDefWithResults(place, buffer, options.options)
        c_api_util.ScopedTFImportGraphDefResults(results)
    return [ops.Operation._from_c_op(c_op=each, g=graph) for each in graph.new_operations()]


def _traced(function: str) -> NodeGraph | None:
    """Return a function as it was traced; shapes that it leaves open are missing."""
    from drynpu_tf.inside import context, errors, function_def_to_graph

    try:
        definition = context.context().get_function_def(function)
        graph = function_def_to_graph.function_def_to_graph(definition)
    except (errors.OpError, ValueError, KeyError):
        return None
    nodes = {
        operation.name: Node(
            op_type=operation.type,
            inputs=tuple((tensor.op.name, tensor.value_index) for tensor in operation.inputs),
            attributes=attributes_of(operation.node_def) | communication_of(operation.node_def),
            outputs=tuple(map(_static, operation.outputs)),
        )
        for operation in graph.get_operations()
    }
    # A result has a node of its own in a run, so that it is not fused away.
    returned = {
        f"{tensor.op.name}:{tensor.value_index}_RetVal": Node(
            op_type="_Retval", inputs=((tensor.op.name, tensor.value_index),), attributes={}
        )
        for tensor in graph.outputs
    }
    return NodeGraph(nodes | returned)


def _static(tensor: Tensor) -> TensorDesc | None:
    if not tensor.shape.is_fully_defined():
        return None
    return tensor_desc(tuple(tensor.shape.as_list()), dtype_name(tensor.dtype.as_datatype_enum))
