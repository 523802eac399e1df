"""
Operators of a graph: what is known of a node beside its inputs, and kernels that the profile shows under its name.

A signature made here carries what the node returns, its name, and its attributes by name. Attributes that begin with an
underscore are notes of whoever compiled the graph: ``_tail``, the names of nodes fused into this one; ``_before`` and
``_after``, changes of the format around it as ``(number, from, to)``; ``_casts_before`` and
``_casts_after``, changes of the type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from drynpu.kernels._call import NO_DATA, Key, OperatorCall
from drynpu.kernels._rules import Rule
from drynpu.kernels._specs import format_change
from drynpu.kernels._types import KernelPlan, KernelSpec, Placement, Signature, TensorDesc

_PLAIN = (bool, int, float, str)
# Names of fused nodes join the names of all their parts; longer ones are cut.
_LONGEST_NAME = 512
_AROUND = frozenset({"_before", "_after", "_casts_before", "_casts_after"})


def node_signature(
    op_type: str,
    inputs: Sequence[TensorDesc | None],
    outputs: Sequence[TensorDesc | None],
    attrs: Mapping[str, object],
    *,
    node: str = "",
    placement: Placement = Placement.DEVICE,
) -> Signature:
    """
    Return the signature of one node.

    Parameters
    ----------
    op_type:
        As the framework calls it: ``MatMul``, ``ResourceApplyAdam``, ``Gemm``.
    inputs, outputs:
        By position; ``None`` for what is left out or not known.
    attrs:
        Attributes by name; lists become tuples, what is neither plain nor a tensor its text.
    node:
        Name in the graph, by which the profile shows its kernels; ``""`` shows their types.
    placement:
        ``HOST`` for what launches nothing on a device.
    """
    named = tuple((key, _frozen_value(value)) for key, value in sorted(attrs.items()))
    returned = tuple(t for t in outputs if t is not None)
    return Signature(op_type, tuple(inputs), (returned, node, named), placement)


def _frozen_value(value: object) -> object:
    if isinstance(value, (list, tuple)):
        return tuple(_frozen_value(item) for item in value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if value is None or isinstance(value, (*_PLAIN, TensorDesc)) else str(value)


@frozen
class NodeCall(OperatorCall):
    """A call whose signature :func:`node_signature` made; of others (of plugins, of tests) only inputs are known."""

    simplified = True
    outputs_at, attrs_at = 0, 2

    @property
    def node(self) -> str:
        """Name in the graph, or the empty string."""
        name = self._part(1)
        return name if isinstance(name, str) else ""

    @property
    def fused(self) -> tuple[str, ...]:
        """Operators that the graph engine, or the framework before it, fused into this one."""
        return self.texts("_fused") or self.texts("fused_ops")

    def tensor(self, key: Key) -> TensorDesc | None:
        """Return an input; ``None`` for one that is left out or holds no numbers."""
        tensor = super().tensor(key)
        return None if tensor is None or tensor.dtype == NO_DATA else tensor

    def tensors(self, *keys: Key) -> list[TensorDesc]:
        """Return the inputs *keys*, or all inputs, that hold numbers."""
        return [t for t in super().tensors(*keys) if t.dtype != NO_DATA]

    def further(self, count: int) -> list[TensorDesc]:
        """Return the inputs behind the first *count*: inputs of operators that were fused into this one, or a bias."""
        return self.tensors()[count:]

    def output(self, position: int = 0) -> TensorDesc | None:
        """Return the output at *position*; ``None`` when it is not known or holds no numbers."""
        output = super().output(position)
        return None if output is None or output.dtype == NO_DATA else output

    def kernel_name(self, op_type: str, *, suffix: str = "", tail: bool = True, on_cpu: bool = False) -> str:
        """Return the name of the node, or the type for one without a name."""
        del on_cpu
        whole = (self.node or op_type) + suffix + (self.text("_tail") if tail else "")
        return whole[:_LONGEST_NAME]

    def kernel(
        self, op_type: str, inputs: Sequence[TensorDesc], outputs: Sequence[TensorDesc], **options: Any
    ) -> KernelSpec:
        """Return a vector kernel; inputs and outputs that hold no numbers are left out."""
        numeric = [t for t in inputs if t.dtype != NO_DATA]
        return super().kernel(op_type, numeric, [t for t in outputs if t.dtype != NO_DATA], **options)

    def format_change(self, number: int, source: TensorDesc, result: TensorDesc) -> KernelSpec:
        """Return the kernel that changes the format; the graph engine numbers them through a graph."""
        return numbered_format_change(number, source, result)


def framed(rule: Rule) -> Rule:
    """Return *rule* with the kernels that the graph engine puts around a node's to change formats and types."""

    def around(signature: Signature) -> KernelPlan | None:
        plan = rule(signature)
        attrs = NodeCall(signature).attrs if plan is not None else {}
        if plan is None or attrs.keys().isdisjoint(_AROUND):
            return plan
        before, after = _format_changes(attrs.get("_before")), _format_changes(attrs.get("_after"))
        first, last = (_casts(signature, attrs.get(name)) for name in ("_casts_before", "_casts_after"))
        return evolve(plan, kernels=(*first, *before, *plan.kernels, *after, *last))

    return around


def _casts(signature: Signature, casts: object) -> list[KernelSpec]:
    """Return kernels that change types; the graph engine numbers them through a graph."""
    call = NodeCall(signature)
    return [
        evolve(call.kernel("Cast", [source], [result]), name=f"trans_Cast_{number}")
        for number, source, result in (casts if isinstance(casts, tuple) else ())
    ]


def _format_changes(changes: object) -> list[KernelSpec]:
    return [numbered_format_change(*change) for change in changes] if isinstance(changes, tuple) else []


def numbered_format_change(number: int, source: TensorDesc, result: TensorDesc) -> KernelSpec:
    """Return the kernel that changes the format; the graph engine numbers them through a graph."""
    return format_change(f"trans_TransData_{number}", source, result)
