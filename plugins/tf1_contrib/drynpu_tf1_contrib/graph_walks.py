"""``tf.contrib.graph_editor``: walks through a graph, and tensors put in the place of others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow.compat.v1 as tf

from drynpu_tf.foreign import Graph, Operation, Tensor


def _operators(values: Any) -> list[Operation]:
    """Return the operators of tensors and operators; of a graph all."""
    if isinstance(values, tf.Graph):
        return list(values.get_operations())
    several = values if isinstance(values, Iterable) and not tf.is_tensor(values) else [values]
    return list(dict.fromkeys(value.op if tf.is_tensor(value) else value for value in several))


def _walk(
    seeds: object, inclusive: bool, within: object, stop: object, forwards: bool, controls: bool
) -> list[Operation]:
    inside = None if within is None else set(_operators(within))
    ends = set(_operators(stop or []))
    first = _operators(seeds)
    reached = dict.fromkeys(first)
    todo = list(first)
    while todo:
        operator = todo.pop()
        if operator in ends:
            continue
        for neighbour in _neighbours(operator, forwards, controls):
            if neighbour not in reached and (inside is None or neighbour in inside):
                reached[neighbour] = None
                todo.append(neighbour)
    kept = reached if inclusive else [operator for operator in reached if operator not in set(first)]
    return [operator for operator in kept if inside is None or operator in inside]


def _neighbours(operator: Operation, forwards: bool, controls: bool) -> Iterator[Operation]:
    if forwards:
        for output in operator.outputs:
            yield from output.consumers()
        if controls:
            yield from operator._control_outputs
    else:
        yield from (value.op for value in operator.inputs)
        if controls:
            yield from operator.control_inputs


def get_forward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Any = None,
    stop_at_ts: Any = (),
    control_outputs: Any = None,
) -> list[Operation]:
    """Return the operators that take, directly or through others, what *seed_ops* give; with these if *inclusive*."""
    reached = _walk(seed_ops, inclusive, within_ops, stop_at_ts, forwards=True, controls=bool(control_outputs))
    return [operator for operator in reached if within_ops_fn is None or within_ops_fn(operator)]


def get_backward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Any = None,
    stop_at_ts: Any = (),
    control_inputs: bool = False,
) -> list[Operation]:
    """Return the operators that *seed_ops* take from, directly or through others; with these if *inclusive*."""
    reached = _walk(seed_ops, inclusive, within_ops, stop_at_ts, forwards=False, controls=control_inputs)
    return [operator for operator in reached if within_ops_fn is None or within_ops_fn(operator)]


def filter_ts(ops: Iterable[Operation], positive_filter: Any) -> list[Tensor]:
    """Return the outputs of operators for which the filter is true, or all if it is ``True``."""
    outputs = [output for operator in _operators(ops) for output in operator.outputs]
    return outputs if positive_filter is True else [output for output in outputs if positive_filter(output)]


def filter_ts_from_regex(ops: Iterable[Operation], regex: Any) -> list[Tensor]:
    """Return the outputs of operators whose name has the pattern."""
    pattern = re.compile(regex)
    return filter_ts(ops, lambda output: pattern.search(output.op.name) is not None)


def select_ops(*args: Any, graph: Graph = None, restrict_ops_regex: Any = None, **kwargs: Any) -> list[Operation]:
    """Return the operators of a graph whose name has one of the patterns, and those that are given."""
    selected: dict[Any, None] = {}
    for value in args:
        if isinstance(value, (str, re.Pattern)):
            if graph is None:
                raise ValueError("Use the keyword argument 'graph' to use regex.")
            selected |= dict.fromkeys(each for each in graph.get_operations() if re.search(value, each.name))
        else:
            selected |= dict.fromkeys(_operators(value))
    return [each for each in selected if restrict_ops_regex is None or re.search(restrict_ops_regex, each.name)]


def add_control_inputs(op: Operation, cops: object) -> None:
    """Let an operator run after others; ``ValueError`` if it does already."""
    others = _operators(cops)
    known = [other.name for other in others if other in op.control_inputs]
    if known:
        raise ValueError(f"{known} are already control inputs of {op.name}.")
    op._add_control_inputs(others)


def reroute_ts(ts0: Any, ts1: Any, can_modify: Any = None, cannot_modify: Any = None) -> int:
    """Let all readers of each tensor of *ts1* read the one of *ts0*; return how many inputs changed."""
    allowed = None if can_modify is None else set(_operators(can_modify))
    refused = set(_operators(cannot_modify or []))
    first = [ts0] if tf.is_tensor(ts0) else list(ts0)
    second = [ts1] if tf.is_tensor(ts1) else list(ts1)
    count = 0
    for new, old in zip(first, second, strict=True):
        for operator in list(old.consumers()):
            if operator in refused or (allowed is not None and operator not in allowed):
                continue
            for index, value in enumerate(operator.inputs):
                if value is old:
                    operator._update_input(index, new)
                    count += 1
    return count


class SubGraphView:
    """Some operators of a graph."""

    def __init__(self, ops: Iterable[Operation]) -> None:
        self._ops = list(ops)

    @property
    def ops(self) -> list[Operation]:
        """The operators."""
        return self._ops

    def __iter__(self) -> Iterator[Operation]:
        return iter(self._ops)


class TransformerInfo:
    """What a copy made of operators and tensors."""

    def __init__(self, ops: dict[Any, Any], tensors: dict[Any, Any]) -> None:
        self._transformed_ops = ops
        self._transformed_ts = tensors

    def transformed(self, original: Any, missing_fn: Any = None) -> Any:
        """Return the copy of an operator or tensor; what *missing_fn* says, or ``None``, if there is none."""
        if tf.is_tensor(original):
            copy = self._transformed_ts.get(original.ref())
        else:
            copy = self._transformed_ops.get(original)
        return missing_fn(original) if copy is None and missing_fn is not None else copy


def sgv(*args: object, graph: Graph = None) -> SubGraphView:
    """Return the operators that are given, or whose name has a pattern that is given."""
    return SubGraphView(select_ops(*args, graph=graph))


def copy_with_input_replacements(
    sgv: Any,
    replacement_ts: Any,
    dst_graph: Any = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[SubGraphView, TransformerInfo]:
    """
    Copy operators, and let the copies take other tensors.

    Parameters
    ----------
    sgv:
        The operators.
    replacement_ts:
        By tensor that an operator takes from outside: the one that its copy takes. Others are shared.
    dst_graph:
        The graph of the operators, which is the only one served.
    dst_scope, src_scope, reuse_dst_scope:
        The scope of the copies in place of *src_scope*; names that are there already get a number.

    Returns
    -------
    tuple
        The copies, and which is whose.

    Raises
    ------
    ValueError
        *dst_graph* is another graph.
    """
    originals = sorted(_operators(sgv), key=lambda operator: operator._id)
    graph = originals[0].graph if originals else tf.get_default_graph()
    if dst_graph not in (None, graph):
        raise ValueError("Operators are copied within their graph only: leave dst_graph out.")
    tensors = {old.ref(): new for old, new in dict(replacement_ts).items()}
    copies: dict[Any, Any] = {}
    with graph.as_default():
        for operator in originals:
            name = operator.name.removeprefix(f"{src_scope}/" if src_scope else "")
            copies[operator] = _copy(operator, f"{dst_scope}/{name}" if dst_scope else name, tensors, copies)
    return SubGraphView(copies.values()), TransformerInfo(copies, tensors)


def _copy(operator: Operation, name: str, tensors: dict[Any, Any], copies: dict[Any, Any]) -> Any:
    """Return the copy of an operator, and enter its outputs into the table of tensors."""
    attributes = {key: value for key, value in operator.node_def.attr.items() if key != "_class"}
    controls = [copies.get(each, each) for each in operator.control_inputs]
    graph = operator.graph
    with graph.control_dependencies(None), graph.control_dependencies(controls):
        copy = graph.create_op(
            operator.type,
            [tensors.get(value.ref(), value) for value in operator.inputs],
            [output.dtype for output in operator.outputs],
            attrs=attributes,
            name=f"{graph.unique_name(name)}/",
            op_def=operator.op_def,
        )
    tensors |= {old.ref(): new for old, new in zip(operator.outputs, copy.outputs, strict=True)}
    return copy
