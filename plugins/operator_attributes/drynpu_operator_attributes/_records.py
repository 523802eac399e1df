"""Records of ``op_attr``, and the files of ``record_op_args``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from drynpu.arrays import I64, Records
from drynpu.deliverables.record_context import GroupRecords, RecordContext
from drynpu.kernels import KernelSpec, Signature, TaskType
from drynpu.layouts.tasks import NODE_ATTR_INFO
from drynpu_operator_attributes._op_args import write_op_args
from drynpu_operator_attributes._prototypes import PROTOTYPES, Attribute, Value

_WITHOUT = frozenset({TaskType.MEMCPY, TaskType.AI_CPU, TaskType.DSA})
"""Kernels that the operator library does not launch as its own on a core."""


def build(context: RecordContext) -> GroupRecords:
    """Return the attributes of each kernel of an aclnn operator, where the request asks for them."""
    switches = context.request.switches
    if switches.record_op_args:
        write_op_args(context.destination, ((kernel, described) for kernel, described, _ in _described(context)))
    return GroupRecords(host={NODE_ATTR_INFO.name: _records(context)} if switches.op_attributes else {})


def _described(context: RecordContext) -> Iterator[tuple[KernelSpec, tuple[Attribute, ...], I64]]:
    """Yield each kernel with its attributes and the launches of the host that launch it."""
    simulation = context.simulation
    lowered, operators = simulation.lowered, simulation.lowered.recording.operators
    launches = context.host.launches.launch
    caller = operators.signature[lowered.dispatch_op[lowered.launch_dispatch[launches]]].astype(np.int64)
    kernel = lowered.launch_kernel[launches]
    width = len(operators.signatures) + 1
    pairs, inverse = np.unique(kernel * width + caller, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    edges = np.searchsorted(inverse[order], np.arange(len(pairs) + 1))
    for number, pair in enumerate(pairs.tolist()):
        spec, signature = lowered.kernels[pair // width], operators.signatures[pair % width]
        known = _attributes(spec, signature)
        if known is not None:
            yield spec, known, order[edges[number] : edges[number + 1]]


def _attributes(spec: KernelSpec, signature: Signature) -> tuple[Attribute, ...] | None:
    prototype = PROTOTYPES.get(spec.op_type)
    if prototype is None or spec.task_type in _WITHOUT or not spec.name.startswith("aclnn"):
        return None
    return prototype.read(spec, signature)


def _records(context: RecordContext) -> Records:
    places, names, texts = [], [], []
    for kernel, attributes, place in _described(context):
        if attributes:  # the operator library reports nothing for an operator without attributes
            places.append(place)
            names += [kernel.name] * len(place)
            texts += [attribute_text(attributes)] * len(place)
    place = np.concatenate([np.zeros(0, np.int64), *places])
    launches = context.host.launches
    rows = NODE_ATTR_INFO.new(len(place))
    rows["thread_id"] = launches.thread[place]
    rows["timestamp"] = launches.node_end_ns[place] - 1 + context.to_raw_ns
    rows["op_name"], rows["hash_id"] = context.texts.ids(names), context.texts.ids(texts)
    return rows


def attribute_text(attributes: tuple[Attribute, ...]) -> str:
    """Return attributes as one text, the way the operator library writes them (cann_msprof.md 7.3)."""
    return "|".join(f"attr_{place}:{_text(attribute.value)}" for place, attribute in enumerate(attributes))


def _text(value: Value) -> str:
    if isinstance(value, tuple):
        return ",".join(map(_text, value))
    if isinstance(value, float):
        return f"{value:f}"
    return str(int(value)) if isinstance(value, int) else value
