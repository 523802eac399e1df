"""
Nodes of graphs, as every route of the capture reads them.

With oneDNN on, TensorFlow rewrites nodes into its kernels (``_MklNativeConv2DWithBias``) when it runs a graph. On a
device they are the operators that the script wrote.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from attrs import frozen

from drynpu.kernels import Placement, Signature, TensorDesc, node_signature
from drynpu_tf.foreign import NodeDef
from drynpu_tf.ranks import MARK, hcom_of
from drynpu_tf.rules import VENDOR_TYPE, attributes_of

FUNCTION, BACKWARD_FUNCTION = 0, 1
"""Values of ``Operators.scope``."""
_FEED, _FETCH = "_Arg", "_Retval"
_BACKWARD = re.compile(r"(?:^|/)gradient(?:s(?:_\d+)?|_tape)/")
"""Name scopes of ``tf.gradients`` (and of all TF1 optimizers), and of gradient tapes."""
_KERNEL = re.compile(r"_Mkl(?:Native)?(?=[A-Z])")
_WITH_BIAS = "WithBias"
_FUSED = re.compile(r"Fused(?=Conv2D|MatMul|BatchMatMul|DepthwiseConv2dNative)")
_NONE: Mapping[str, object] = MappingProxyType({})


@frozen
class Node:
    """A node: data inputs as ``(producer, slot)``, its attributes, and what its graph says of its outputs' shapes."""

    op_type: str
    inputs: tuple[tuple[str, int], ...]
    attributes: Mapping[str, object]
    outputs: tuple[TensorDesc | None, ...] = ()


def read_node(definition: NodeDef) -> Node:
    """Return a node of a ``GraphDef``, as the operator that the script wrote; its outputs' shapes are not known."""
    inputs = tuple(_producer(text) for text in definition.input if not text.startswith("^"))
    op_type, further = written_operator(definition.op)
    return Node(op_type, inputs, attributes_of(definition) | dict(further) | communication_of(definition))


def communication_of(definition: NodeDef) -> dict[str, object]:
    """Return the attribute of a ``NodeDef`` that calls this process to communicate; nothing for other nodes."""
    return {MARK: definition.attr[MARK].s.decode()} if MARK in definition.attr else {}


def node_call(
    name: str,
    op_type: str,
    inputs: Sequence[TensorDesc | None],
    outputs: Sequence[TensorDesc],
    attributes: Mapping[str, object],
    *,
    fed: Placement,
    fetched: Placement,
) -> Signature:
    """Return the call of a node; *fed* and *fetched* say who brings what a graph is given, and what it returns."""
    hcom = hcom_of(attributes)
    op_type = str(attributes.get(VENDOR_TYPE, op_type)) if hcom is None else hcom.op_type
    if op_type == _FEED:
        return node_signature(op_type, outputs, outputs, {}, node=name, placement=fed)
    if op_type == _FETCH:
        return node_signature(op_type, inputs, (), {}, node=name, placement=fetched)
    return node_signature(op_type, inputs, outputs, attributes, node=name)


def is_backward(node: str) -> bool:
    """Return whether a node computes gradients, by its scope; updates of variables do not."""
    return _BACKWARD.search(node) is not None


def _producer(text: str) -> tuple[str, int]:
    """Return node and slot of an input as GraphDef spells it: ``name`` is slot 0 of it, else ``name:slot``."""
    name, colon, slot = text.rpartition(":")
    return (name, int(slot)) if colon else (text, 0)


def written_operator(op_type: str) -> tuple[str, Mapping[str, object]]:
    """
    Return the operator that oneDNN's *op_type* stands for, and attributes for what it does besides.

    A convolution with its bias is a convolution that the graph engine has put the bias into; the gradient of the
    weights that makes the bias's as well is the gradient of the weights. Others come back as they are.
    """
    prefix = _KERNEL.match(op_type)
    if prefix is None:
        return op_type, _NONE
    plain = op_type[prefix.end() :]
    if not plain.endswith(_WITH_BIAS):
        return _FUSED.sub("_Fused", plain, count=1), _NONE
    plain = plain.removesuffix(_WITH_BIAS)
    return (plain, _NONE) if "Backprop" in plain else (plain, MappingProxyType({"_fused": ("BiasAdd",)}))
