"""Launches become operators: graphs and the profiler's descriptions say which call each distinct launch was."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from attrs import evolve

from drynpu.arrays import I32, I64, Bools
from drynpu.kernels import NO_DATA, Operators, Signature, TensorDesc
from drynpu_mindspore.capture._forward import ForwardCall
from drynpu_mindspore.capture._graphs import GraphStore, Shapes, shapes_of
from drynpu_mindspore.capture._hook import SeenLaunches
from drynpu_mindspore.capture._ir import GraphNode
from drynpu_mindspore.capture._launches import Launches
from drynpu_mindspore.capture._pynative import explain
from drynpu_mindspore.capture._seen import completed, join_seen
from drynpu_mindspore.capture._shapes import ReportedCalls, join_calls
from drynpu_mindspore.rules import signature

_FUNCTION, _BACKWARD_FUNCTION = 0, 1
_INPUT = re.compile(r"input_\d+:([^;]*);")
_COUNTED = re.compile(r"-op\d+$")
_COMPILED = re.compile(r"^Default/\w+-op(\d+)$")
_GRADIENT = re.compile(r"Grad(Ext|V\d)?$|Backprop(Input|Filter)$|Backward$")


def primitive_of(name: str) -> str:
    """Return the primitive of a launch: ``MatMul`` for ``Default/network-Net/fc-Dense/MatMul-op0``."""
    return _COUNTED.sub("", name.rpartition("/")[2])


def is_backward(name: str) -> bool:
    """
    Return whether the name of a launch shows that it belongs to the backward pass.

    In a graph that is everything below ``Gradients``. In PyNative names have no scope, so only primitives that compute
    nothing but gradients count.
    """
    return name.startswith("Gradients/") or _GRADIENT.search(primitive_of(name)) is not None


def describe(
    launches: Launches,
    graphs: GraphStore,
    thread: int,
    forward: Sequence[tuple[ForwardCall, ...]] = (),
    calls: ReportedCalls | None = None,
    seen: SeenLaunches | None = None,
) -> Operators:
    """
    Return the launches as operators.

    *forward* holds the graphs that PyNative saved during the recording, *calls* what operators reported themselves,
    *seen* what the hook saw. Launches that were seen are what they were seen to be; of others graphs come first: they
    have the arguments that are no tensors as well.

    Launches without a thread get *thread*; the CPU build writes none. One thread launches everything beside a device,
    so launches that overlapped are shown one after another: each ends at the latest when the next one starts.
    """
    columns = len(launches.described) + 1
    key = launches.name.astype(np.int64) * columns + launches.description + 1
    distinct, index = np.unique(key, return_inverse=True)
    signatures: dict[Signature, int] = {}
    key_signature = [
        signatures.setdefault(
            _signature(launches.names[number // columns], _text(launches, number % columns - 1), graphs),
            len(signatures),
        )
        for number in distinct.tolist()
    ]
    start, end = _in_turn(launches)
    call = np.array(key_signature or [0], np.int32)[index.reshape(-1)]
    backward = np.array([is_backward(name) for name in launches.names] or [False])[launches.name]
    if forward:
        call, in_backward = _explained(launches, graphs, forward, call, signatures)
        backward = backward | in_backward
    if calls is not None:
        call = _reported(launches, calls, call, signatures)
    if seen is not None:
        call = _seen(launches, seen, call, signatures)
    known = tuple(signatures)
    return Operators(
        names=launches.names,
        name=launches.name,
        start_ns=start,
        end_ns=end,
        thread=np.where(launches.thread > 0, launches.thread, thread).astype(np.int64),
        fwd_thread=np.zeros(len(launches), np.int64),
        sequence=np.full(len(launches), -1, np.int64),
        scope=np.where(backward, _BACKWARD_FUNCTION, _FUNCTION).astype(np.uint8),
        signature=call,
        signatures=known,
        texts=tuple(input_texts(call) for call in known),
    )


def _explained(
    launches: Launches,
    graphs: GraphStore,
    forward: Sequence[tuple[ForwardCall, ...]],
    call: I32,
    signatures: dict[Signature, int],
) -> tuple[I32, Bools]:
    """Return the calls of PyNative's launches, and which of them are backward; new ones are added to *signatures*."""
    kinds = [primitive_of(name) for name in launches.names]
    distinct = list(dict.fromkeys(kinds))
    codes = np.array([distinct.index(kind) for kind in kinds] or [0], np.int32)[launches.name]
    in_graph = np.array([bool(graphs.named(name)) for name in launches.names] or [False])[launches.name]
    explained = explain(codes, distinct, np.flatnonzero(in_graph), forward)
    unknown = np.array([not is_known(known) for known in signatures])
    return _filled(call, unknown, explained.signatures, explained.call, signatures), explained.backward


def _reported(launches: Launches, calls: ReportedCalls, call: I32, signatures: dict[Signature, int]) -> I32:
    """Return the calls of launches, with those that are not known yet as their operators reported them."""
    distinct = list(dict.fromkeys(name for name in launches.names if "/" not in name))
    codes = np.array([distinct.index(name) if "/" not in name else -1 for name in launches.names] or [-1], np.int32)
    reported, number = join_calls(distinct, codes[launches.name], calls)
    unknown = np.array([not is_known(known) for known in signatures] or [False])
    return _filled(call, unknown, reported, number, signatures)


def _seen(launches: Launches, seen: SeenLaunches, call: I32, signatures: dict[Signature, int]) -> I32:
    """
    Return the calls of launches, with what was seen of them.

    Launches of no graph are described as they were seen; only a graph knows attributes.
    """
    seen_signatures, number = join_seen(launches.names, launches.name, launches.start_ns, launches.end_ns, seen)
    if not seen_signatures:
        return call
    bare = np.array([_COUNTED.search(name) is None for name in launches.names])[launches.name]
    triples, at = np.unique(np.stack([call, number, bare], axis=1), axis=0, return_inverse=True)
    known = tuple(signatures)
    better = [
        old
        if new < 0
        else signatures.setdefault(_better(known[old], seen_signatures[new], bool(alone)), len(signatures))
        for old, new, alone in triples.tolist()
    ]
    chosen: I32 = np.array(better, np.int32)[at.reshape(-1)]
    return chosen


def _better(call: Signature, seen: Signature, alone: bool) -> Signature:
    return seen if alone else completed(call, seen)


def _filled(
    call: I32, unknown: Bools, reported: Sequence[Signature], number: I32, signatures: dict[Signature, int]
) -> I32:
    """Return *call* with the *reported* calls in place of unknown ones; *number* is -1 where nothing was reported."""
    numbers = [signatures.setdefault(each, len(signatures)) for each in reported]
    return np.where((number >= 0) & unknown[call], np.array([*numbers, -1], np.int32)[number], call).astype(np.int32)


def is_known(call: Signature) -> bool:
    """Return whether the shapes and types of a call are known."""
    return bool(call.tensors() or call.attributes[0]) and all(t.dtype != NO_DATA for t in call.tensors())


def _text(launches: Launches, description: int) -> str:
    return launches.described[description] if description >= 0 else ""


def _in_turn(launches: Launches) -> tuple[I64, I64]:
    turn = np.arange(len(launches))
    start = np.maximum.accumulate(launches.start_ns - turn) + turn if len(launches) else launches.start_ns
    end = np.maximum(launches.end_ns, start + 1)
    end[:-1] = np.minimum(end[:-1], start[1:])
    return start, end


def _signature(name: str, description: str, graphs: GraphStore) -> Signature:
    primitive, shapes = primitive_of(name), _shapes(description)
    known_shapes = tuple(shape for shape in shapes if shape is not None)
    candidates = graphs.named(name)
    if shapes:
        fitting = [node for node in candidates if shapes_of(node) == known_shapes]
        node = fitting[0] if fitting else _compiled(name, known_shapes, graphs)
        if node is not None and shapes_of(node) != known_shapes:
            return _with_shapes(evolve(node, arguments=()), known_shapes)
        return node_signature(node) if node is not None else _by_shapes(primitive, shapes, candidates, graphs)
    distinct = list(dict.fromkeys(node_signature(node) for node in candidates))
    return distinct[0] if len(distinct) == 1 else signature(primitive, ())


def _compiled(name: str, shapes: Shapes, graphs: GraphStore) -> GraphNode | None:
    """Return what PyNative compiled for a launch: what has its number, else the first of its shapes."""
    primitive, counted = primitive_of(name), _COMPILED.match(name)
    node = graphs.compiled(primitive, int(counted.group(1)), shapes) if counted else None
    return node or graphs.single(primitive, shapes)


def node_signature(node: GraphNode) -> Signature:
    """Return the call that a node of a graph is."""
    return signature(node.primitive, node.inputs, node.outputs, dict(node.attrs), node.arguments)


def _by_shapes(
    primitive: str, shapes: Sequence[tuple[int, ...] | None], candidates: Sequence[GraphNode], graphs: GraphStore
) -> Signature:
    """
    Return the call of a launch of which only the shapes are known.

    Its types come from a node of that name with as many tensors: shapes vary from run to run, types do not.
    """
    known_shapes = [shape for shape in shapes if shape is not None]
    types = graphs.types(primitive, len(known_shapes))
    if types:
        dtypes = iter(types)
        return signature(primitive, [None if shape is None else TensorDesc(shape, next(dtypes)) for shape in shapes])
    for node in candidates:
        types = tuple(t.dtype for t in node.inputs if t is not None)
        if len(types) == len(known_shapes):
            return _with_shapes(node, known_shapes)
    return signature(primitive, [None if shape is None else TensorDesc(shape, NO_DATA) for shape in shapes])


def _with_shapes(node: GraphNode, shapes: Sequence[tuple[int, ...]]) -> Signature:
    """Return the call of a node on tensors of other shapes; its results are not known."""
    rest = iter(shapes)
    inputs = [None if t is None else evolve(t, shape=next(rest)) for t in node.inputs]
    return signature(node.primitive, inputs, None, dict(node.attrs), node.arguments)


def _shapes(description: str) -> tuple[tuple[int, ...] | None, ...]:
    """Return the shapes of ``MatMul;MatMul-op0;0;input_1:[4, 2];input_2:NoShape;``, ``None`` for what has none."""
    return tuple(
        tuple(int(dim) for dim in text[1:-1].split(",") if dim.strip()) if text.startswith("[") else None
        for text in _INPUT.findall(description)
    )


def input_texts(call: Signature) -> tuple[str, str]:
    """Return the types and the shapes of the inputs in their order, each joined by ``;``; no tensor gives no text."""
    tensors = [value if isinstance(value, TensorDesc) else None for value in call.inputs]
    return (
        ";".join("" if tensor is None or tensor.dtype == NO_DATA else tensor.dtype for tensor in tensors),
        ";".join("" if tensor is None else ",".join(map(str, tensor.shape)) for tensor in tensors),
    )
