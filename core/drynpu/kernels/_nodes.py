"""
Operators of a graph: what is known of a node beside its inputs, and kernels that the profile shows under its name.

A signature made here carries what the node returns, its name, and its attributes by name. Attributes that begin with an
underscore are notes of whoever compiled the graph: ``_tail``, the names of nodes fused into this one; ``_before`` and
``_after``, changes of the format around it as ``(number, from, to)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from attrs import evolve, frozen

from drynpu.kernels._rules import Rule
from drynpu.kernels._specs import computed_on_cpu, cube_spec, format_change, vector_spec
from drynpu.kernels._types import KernelPlan, KernelSpec, Placement, Signature, TaskType, TensorDesc

__all__ = [
    "NO_DATA",
    "NodeCall",
    "framed",
    "node_cube_kernel",
    "node_kernel",
    "node_name",
    "node_rule",
    "node_signature",
    "numbered_format_change",
]

NO_DATA = "UNDEFINED"
"""Type of a tensor that holds no numbers (text, resources) or of which nothing is known; it counts no bytes."""

_PLAIN = (bool, int, float, str)
_LONGEST_NAME = 512


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
class NodeCall:
    """What a rule reads off a signature of :func:`node_signature`; others (of plugins, of tests) have no outputs."""

    signature: Signature

    @property
    def outputs(self) -> tuple[TensorDesc, ...]:
        """What the node returns, in order; empty when that is not known."""
        found = self._part(0)
        return found if isinstance(found, tuple) else ()

    @property
    def node(self) -> str:
        """Name in the graph, or the empty string."""
        found = self._part(1)
        return found if isinstance(found, str) else ""

    @property
    def attrs(self) -> dict[str, object]:
        """Attributes by name, lists as tuples."""
        found = self._part(2)
        return dict(found) if isinstance(found, tuple) else {}

    def tensor(self, position: int) -> TensorDesc | None:
        """Return the input at *position*; ``None`` for one that is left out or holds no numbers."""
        found = self.signature.tensor(position)
        return None if found is None or found.dtype == NO_DATA else found

    def tensors(self) -> list[TensorDesc]:
        """Return all inputs that hold numbers."""
        return [t for t in self.signature.tensors() if t.dtype != NO_DATA]

    def output(self, position: int = 0) -> TensorDesc | None:
        """Return the output at *position*; ``None`` when it is not known or holds no numbers."""
        found = self.outputs[position] if position < len(self.outputs) else None
        return None if found is None or found.dtype == NO_DATA else found

    def flag(self, name: str) -> bool:
        """Return a boolean attribute; absent counts as false."""
        return self.attrs.get(name) is True

    def text(self, name: str, default: str = "") -> str:
        """Return a text attribute."""
        found = self.attrs.get(name)
        return found if isinstance(found, str) and found else default

    def whole(self, name: str, default: int) -> int:
        """Return an integer attribute."""
        found = self.attrs.get(name)
        return found if isinstance(found, int) and not isinstance(found, bool) else default

    def integers(self, name: str) -> tuple[int, ...]:
        """Return a list of integers; empty when there is none."""
        found = self.attrs.get(name)
        return tuple(v for v in found if isinstance(v, int)) if isinstance(found, tuple) else ()

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts; empty when there is none."""
        found = self.attrs.get(name)
        return tuple(v for v in found if isinstance(v, str)) if isinstance(found, tuple) else ()

    def _part(self, position: int) -> object:
        parts = self.signature.attributes
        return parts[position] if position < len(parts) else None


def node_rule(read: Callable[[NodeCall], KernelPlan | None]) -> Rule:
    """Return the rule that reads its signature as a :class:`NodeCall`."""

    def rule(signature: Signature) -> KernelPlan | None:
        return read(NodeCall(signature))

    return rule


def node_name(call: NodeCall, op_type: str, suffix: str = "", *, tail: bool = True) -> str:
    """
    Return the name of a kernel: that of its node, or the type for one without a name.

    *suffix* is what the graph engine adds where it makes several kernels of a node; with *tail* the names of the nodes
    that were fused into this one follow.
    """
    whole = (call.node or op_type) + suffix + (call.text("_tail") if tail else "")
    return whole[:_LONGEST_NAME]


def node_kernel(
    call: NodeCall,
    op_type: str,
    inputs: Sequence[TensorDesc],
    outputs: Sequence[TensorDesc],
    *,
    suffix: str = "",
    tail: bool = True,
    task: TaskType = TaskType.AI_VECTOR_CORE,
    cost: float = 1,
    over: int | None = None,
    read: int | None = None,
    written: int | None = None,
) -> KernelSpec:
    """
    Return a vector kernel of a node.

    Parameters
    ----------
    op_type:
        GE's operator type.
    suffix, tail:
        See :func:`node_name`.
    cost:
        Element operations per element of *over* (by default the elements of the largest output or input).
    read, written:
        Bytes; by default all inputs once and all outputs once.

    Notes
    -----
    Inputs and outputs that hold no numbers are left out. No AI core kernel computes DOUBLE or complex numbers: such
    calls become AI_CPU kernels.
    """
    taken = tuple(t for t in inputs if t.dtype != NO_DATA)
    made = tuple(t for t in outputs if t.dtype != NO_DATA)
    if task is not TaskType.DSA and computed_on_cpu((*taken, *made)):
        task = TaskType.AI_CPU
    name = node_name(call, op_type, suffix, tail=tail)
    return vector_spec(name, op_type, taken, made, task=task, cost=cost, over=over, read=read, written=written)


def node_cube_kernel(
    call: NodeCall,
    op_type: str,
    inputs: Sequence[TensorDesc],
    outputs: Sequence[TensorDesc],
    *,
    flops: int,
    tiles: int,
    vector_ops: int = 0,
    hf32: bool = False,
) -> KernelSpec:
    """
    Return a kernel of the matrix unit.

    *flops* counts multiply and add, *tiles* the independent output tiles. DOUBLE and complex go to the AI CPU.
    """
    on_cpu = computed_on_cpu((*inputs, *outputs))
    return cube_spec(
        node_name(call, op_type),
        op_type,
        inputs,
        outputs,
        flops=flops,
        tiles=tiles,
        task=TaskType.AI_CPU if on_cpu else TaskType.AI_CORE,
        vector_ops=vector_ops,
        hf32=hf32 and not on_cpu,
    )


def framed(rule: Rule) -> Rule:
    """Return *rule* with the kernels that the graph engine puts before and behind a node's to change formats."""

    def around(signature: Signature) -> KernelPlan | None:
        found = rule(signature)
        attrs = NodeCall(signature).attrs if found is not None else {}
        if found is None or not ("_before" in attrs or "_after" in attrs):
            return found
        before, after = _format_changes(attrs.get("_before")), _format_changes(attrs.get("_after"))
        return evolve(found, kernels=(*before, *found.kernels, *after))

    return around


def _format_changes(changes: object) -> list[KernelSpec]:
    return [numbered_format_change(*change) for change in changes] if isinstance(changes, tuple) else []


def numbered_format_change(number: int, source: TensorDesc, target: TensorDesc) -> KernelSpec:
    """Return the kernel that changes the format; the graph engine numbers them through a graph."""
    return format_change(f"trans_TransData_{number}", source, target)
