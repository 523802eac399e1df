"""
One run of a graph: its nodes in order; nodes inside `If`, `Loop` and `Scan` where they are called.

Nodes are computed by ONNX's reference evaluator, but for recurrent ones, quantised products and those with graphs
inside, of which it computes a part only. A run of a graph inside gives nodes of its own, with tensors of its own;
nodes that launch nothing (`Identity`) tie them to the tensors outside. So a run is a list of nodes without graphs, as a
device executes it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import define, evolve

from drynpu_acl.kernels import GraphNode
from drynpu_acl.runtime import Evaluation
from drynpu_onnx_nodes._foreign import Graph, Result, Step, Values
from drynpu_onnx_nodes._quantised import QUANTISED
from drynpu_onnx_nodes._recurrent import RECURRENT

_QUANTISED_SINCE = 19
"""The first opset whose quantisation ONNX's evaluator runs; it means the same in those before."""
_ENDLESS = 2**63 - 1
"""Turns of a loop without a number of them."""


def build_evaluator(proto: Any) -> Any:
    """
    Return ONNX's evaluator of a model, with what it refuses although `NestedEvaluation` or a later opset computes it.

    Raises whatever ONNX does for operators that it does not know.
    """
    from onnx.defs import get_schema
    from onnx.reference import ReferenceEvaluator
    from onnx.reference.op_run import OpRun
    from onnx.reference.ops import op_dequantize_linear, op_quantize_linear

    further = [type("Scan", (OpRun,), {"op_domain": "", "_run": _run_scan})]
    if max((opset.version for opset in proto.opset_import if not opset.domain), default=0) < _QUANTISED_SINCE:
        for name, module in (("QuantizeLinear", op_quantize_linear), ("DequantizeLinear", op_dequantize_linear)):
            base = vars(module)[f"{name}_{_QUANTISED_SINCE}"]
            further.append(type(name, (base,), {"op_domain": "", "op_schema": get_schema(name, _QUANTISED_SINCE)}))
    return ReferenceEvaluator(proto, new_ops=further)


@define(eq=False)
class NestedEvaluation(Evaluation):
    """What one run computed. The name of a tensor in a graph inside ends in the number of that graph."""

    _scopes: int = 0

    def run(self, evaluator: Graph, values: Values) -> None:
        """Run the nodes of a model; what they return is added to *values*."""
        self.run_graph(evaluator, values, {}, "")

    def run_graph(self, evaluator: Graph, values: Values, names: dict[str, str], prefix: str) -> None:
        """
        Run the nodes of a graph; what they return is added to *values*.

        Parameters
        ----------
        values:
            Tensors by the names that the graph uses, and tensors of the graphs around it.
        names:
            What these tensors are called in the whole run; names that are missing are their own.
        prefix:
            What the names of nodes begin with.
        """
        for number, step in enumerate(evaluator.rt_nodes_):
            node = self.plain(step.onnx_node, number)
            started = time.time_ns()
            if step.op_type in _WITH_GRAPHS:
                self.varying = True
                returned = _WITH_GRAPHS[step.op_type](self, step, node, values, names, f"{prefix}{node.name}/")
                values.update(zip(node.outputs, returned, strict=False))
                continue
            outputs = self.compute(step, node, values)
            if prefix:
                for name in filter(None, node.outputs):
                    names[name] = f"{name}@{names['']}"
            self.add(
                evolve(
                    node,
                    name=f"{prefix}{node.name}",
                    inputs=tuple(names.get(name, name) if name else "" for name in node.inputs),
                    outputs=tuple(names.get(name, name) if name else "" for name in node.outputs),
                ),
                outputs,
                started,
            )

    def compute(self, step: Step, node: GraphNode, values: Values) -> Sequence[Any]:
        """Return what a node returns; some are computed here in full."""
        if step.op_type not in _COMPUTED:
            return super().compute(step, node, values)
        outputs = _COMPUTED[step.op_type]([values[name] for name in step.input], node.attrs)
        values.update(zip(step.output, outputs, strict=False))
        return outputs

    def run_inside(
        self,
        body: Graph,
        inputs: Mapping[str, Result],
        values: Mapping[str, object],
        names: Mapping[str, str],
        prefix: str,
    ) -> list[Result]:
        """
        Run a graph inside a node and return its results with their names in the whole run.

        *inputs* are the graph's inputs by name, each with the name of the tensor that it is, empty for one that the
        host knows.
        """
        self._scopes += 1
        scope = str(self._scopes)
        inner_names = {**names, "": scope}
        fixed = {name: value for name, value in body.rt_inits_.items() if name}
        for name in (*fixed, *inputs):
            inner_names[name] = f"{name}@{scope}"
        inner = {**values, **fixed, **{name: value for name, (value, _) in inputs.items()}}
        self.tensors.update((inner_names[name], inner[name]) for name in (*fixed, *inputs))
        self.constants.update(inner_names[name] for name in fixed)
        for name, (value, source) in inputs.items():
            if source:
                self.tie(source, inner_names[name], value)
            else:
                self.constants.add(inner_names[name])
        self.run_graph(body, inner, inner_names, prefix)
        results = [(inner[name], inner_names.get(name, name)) for name in body.output_names]
        self.results.update(name for _, name in results)
        return results

    def tie(self, source: str, name: str, value: object) -> None:
        """Let a tensor be another one."""
        self.add(GraphNode(f"{name}_is", "Identity", (source,), (name,)), [value], time.time_ns())

    def return_from(self, node: GraphNode, results: Sequence[Result], names: dict[str, str], prefix: str) -> None:
        """Give a node with a graph inside its outputs."""
        for name, (value, source) in zip(node.outputs, results, strict=False):
            if name:
                self.claim(name, names, prefix)
                self.tie(source, names.get(name, name), value)

    def claim(self, name: str, names: dict[str, str], prefix: str) -> str:
        """Return what an output of the graph that runs is called in the whole run."""
        if prefix.count("/") > 1:
            names[name] = f"{name}@{names['']}"
        return names.get(name, name)

    def stack(self, node: GraphNode, output: str, parts: Sequence[Result], axis: int) -> Any:
        """Join what the turns of a node gave to one tensor, and return it."""
        started = time.time_ns()
        joined = np.stack([value for value, _ in parts], axis=axis) if parts else np.zeros(0, np.float32)
        concat = GraphNode(f"{node.name}_stack", "Concat", tuple(name for _, name in parts), (output,), {"axis": axis})
        self.add(concat, [joined], started)
        return joined


def _run_if(
    run: NestedEvaluation, step: Step, node: GraphNode, values: Values, names: dict[str, str], prefix: str
) -> list[object]:
    chosen = step.then_branch if np.asarray(values[step.input[0]]).item() else step.else_branch
    results = run.run_inside(chosen, {}, values, names, prefix)
    run.return_from(node, results, names, prefix)
    return [value for value, _ in results]


def _run_loop(
    run: NestedEvaluation, step: Step, node: GraphNode, values: Values, names: dict[str, str], prefix: str
) -> list[object]:
    body = step.body
    turns = values[step.input[0]] if step.input[0] else None
    most = _ENDLESS if turns is None else int(np.asarray(turns).item())
    going = bool(np.asarray(values[step.input[1]]).item()) if len(step.input) > 1 and step.input[1] else True
    states = [(values[name], names.get(name, name)) for name in step.input[2:]]
    parts: list[list[Result]] = [[] for _ in range(len(body.output_names) - 1 - len(states))]
    turn = 0
    while going and turn < most:
        known = {body.input_names[0]: (np.array(turn, np.int64), ""), body.input_names[1]: (np.array(True), "")}
        inputs = known | dict(zip(body.input_names[2:], states, strict=True))
        results = run.run_inside(body, inputs, values, names, prefix)
        going = bool(np.asarray(results[0][0]).item())
        states, scanned = results[1 : 1 + len(states)], results[1 + len(states) :]
        for part, result in zip(parts, scanned, strict=True):
            part.append(result)
        turn += 1
    return _finish(run, node, states, parts, [0] * len(parts), names, prefix)


def _run_scan(
    run: NestedEvaluation, step: Step, node: GraphNode, values: Values, names: dict[str, str], prefix: str
) -> list[object]:
    body, attrs = step.body, node.attrs
    count = int(attrs["num_scan_inputs"])
    states = [(values[name], names.get(name, name)) for name in step.input[: len(step.input) - count]]
    scanned = step.input[len(step.input) - count :]
    axes = list(attrs.get("scan_input_axes") or [0] * count)
    backwards = list(attrs.get("scan_input_directions") or [0] * count)
    stacked = len(body.output_names) - len(states)
    parts: list[list[Result]] = [[] for _ in range(stacked)]
    rows = [np.moveaxis(values[name], axis, 0) for name, axis in zip(scanned, axes, strict=True)]
    for turn in range(len(rows[0])):
        slices = []
        for name, row, back in zip(scanned, rows, backwards, strict=True):
            value, source = row[len(row) - 1 - turn if back else turn], names.get(name, name)
            started, place = time.time_ns(), f"{source}[{turn}]{prefix}"
            run.add(GraphNode(f"{prefix}slice", "Slice", (source,), (place,)), [value], started)
            slices.append((value, place))
        inputs = dict(zip(body.input_names, [*states, *slices], strict=True))
        results = run.run_inside(body, inputs, values, names, prefix)
        states = results[: len(states)]
        for part, result in zip(parts, results[len(states) :], strict=True):
            part.append(result)
    for part, back in zip(parts, attrs.get("scan_output_directions") or [0] * stacked, strict=True):
        if back:
            part.reverse()
    return _finish(run, node, states, parts, list(attrs.get("scan_output_axes") or [0] * stacked), names, prefix)


def _finish(
    run: NestedEvaluation,
    node: GraphNode,
    states: Sequence[Result],
    parts: Sequence[Sequence[Result]],
    axes: Sequence[int],
    names: dict[str, str],
    prefix: str,
) -> list[object]:
    """Return the outputs of a node that ran its graph in turns: the last states, then what all turns gave."""
    run.return_from(node, states, names, prefix)
    outputs = [value for value, _ in states]
    for output, part, axis in zip(node.outputs[len(states) :], parts, axes, strict=False):
        outputs.append(run.stack(node, run.claim(output, names, prefix), part, axis))
    return outputs


_COMPUTED: Mapping[str, Callable[..., tuple[object, ...]]] = {**RECURRENT, **QUANTISED}
_WITH_GRAPHS: Mapping[str, Callable[..., list[object]]] = {"If": _run_if, "Loop": _run_loop, "Scan": _run_scan}
"""What runs a node with graphs inside, by its type."""
