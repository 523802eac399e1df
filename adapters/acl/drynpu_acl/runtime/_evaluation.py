"""One run of a graph, its nodes in order, by ONNX's reference evaluator or what a plugin puts in its place."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from attrs import define, field

from drynpu import PluginError, needs_plugin
from drynpu.plugins import from_plugins
from drynpu_acl.kernels import GraphNode

_OF_PLUGIN = frozenset(
    {"DequantizeLinear", "GRU", "If", "LSTM", "Loop", "QLinearMatMul", "QuantizeLinear", "RNN", "Scan"}
)
"""Types of nodes that ONNX's evaluator refuses, computes in part, or runs without showing the nodes inside."""


def reference_evaluator(proto: Any) -> Any:
    """Return ONNX's evaluator of a model. Raises whatever ONNX does for operators that it does not know."""
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(proto)


@define(eq=False)
class Evaluation:
    """
    What one run computed.

    Attributes
    ----------
    plain:
        Returns a node of the reference evaluator with plain attributes and a name.
    nodes, start_ns, end_ns:
        The nodes that ran, in order (Unix ns).
    tensors:
        Every tensor by its name.
    constants:
        Names of tensors of graphs inside nodes that are known before the run.
    results:
        Names of tensors inside that something outside reads.
    varying:
        Whether the nodes differ from run to run.
    """

    plain: Callable[[Any, int], GraphNode]
    nodes: list[GraphNode] = field(factory=list)
    start_ns: list[int] = field(factory=list)
    end_ns: list[int] = field(factory=list)
    tensors: dict[str, Any] = field(factory=dict)
    constants: set[str] = field(factory=set)
    results: set[str] = field(factory=set)
    varying: bool = False

    def run(self, evaluator: Any, values: dict[str, Any]) -> None:
        """Run the nodes of a graph; what they return is added to *values*."""
        for number, step in enumerate(evaluator.rt_nodes_):
            node, started = self.plain(step.onnx_node, number), time.time_ns()
            self.add(node, self.compute(step, node, values), started)

    def compute(self, step: Any, node: GraphNode, values: dict[str, Any]) -> Sequence[Any]:
        """Return what a node of the evaluator returns, and add it to *values*."""
        del node  # for those who compute it from its attributes
        context = {"context": values} if step.need_context() else {}
        outputs: Sequence[Any] = step.run(*(values[name] for name in step.input), **context)
        values.update(zip(step.output, outputs, strict=False))
        return outputs

    def add(self, node: GraphNode, outputs: Sequence[object], started: int) -> None:
        """Append a node that has run since *started* (Unix ns)."""
        self.nodes.append(node)
        self.start_ns.append(started)
        self.end_ns.append(time.time_ns())
        self.tensors.update((name, value) for name, value in zip(node.outputs, outputs, strict=False) if name)


NewRun: TypeAlias = Callable[[Callable[[Any, int], GraphNode]], Evaluation]
"""Returns an empty run from what returns plain nodes."""


@define
class Evaluators:
    """
    What computes a model: what a plugin's hook ``drynpu_framework_loaded`` gets for ``"onnx"`` and may replace.

    Attributes
    ----------
    build:
        Returns the evaluator of a model.
    new_run:
        Returns an empty run.
    """

    build: Callable[[Any], Any] = reference_evaluator
    new_run: NewRun = Evaluation


def choose_evaluators(types: Sequence[str]) -> Evaluators:
    """
    Return what computes a model with nodes of these *types*: plugins are asked where it has nodes that need them.

    Raises
    ------
    PluginError
        The plugin that computes such a node is off.
    """
    evaluators = Evaluators()
    needed = sorted(_OF_PLUGIN.intersection(types))
    if needed:
        from_plugins(lambda plugins: plugins.framework_loaded("onnx", evaluators))
        if evaluators.new_run is Evaluation:
            raise PluginError(needs_plugin(needed[0], "onnx_nodes"))
    return evaluators
