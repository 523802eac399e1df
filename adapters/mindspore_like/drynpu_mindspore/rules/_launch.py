"""
One launch of a MindSpore primitive: as a signature, and as rules read it.

A signature carries besides its inputs what the launch returns and the attributes of the primitive by name; values that
MindSpore passes as arguments (``transpose_b`` of a MatMul) are attributes under their position.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drynpu.kernels import (
    NO_DATA,
    KernelPlan,
    KernelSpec,
    Operator,
    OperatorCall,
    Placement,
    Signature,
    TaskType,
    TensorDesc,
)
from drynpu.kernels.ops import engine_of


def signature(
    primitive: str,
    inputs: Sequence[TensorDesc | None],
    outputs: Sequence[TensorDesc] | None = None,
    attrs: Mapping[str, object] | None = None,
    arguments: Sequence[object] = (),
    *,
    placement: Placement = Placement.DEVICE,
) -> Signature:
    """
    Return the signature of one launch.

    Parameters
    ----------
    primitive:
        As MindSpore names it: ``MatMul``, ``Conv2DBackpropFilter``.
    inputs:
        By position; ``None`` for an argument that is no tensor, or of which nothing is known. A tensor of unknown type
        has ``UNDEFINED``.
    outputs:
        In order; ``None`` when they are not known.
    attrs:
        Attributes by name, lists as tuples.
    arguments:
        By position the value of an argument that is no tensor, else ``None``.
    """
    named = tuple(sorted((attrs or {}).items()))
    known = None if outputs is None else tuple(outputs)
    return Signature(primitive, tuple(inputs), (known, named, tuple(arguments)), placement)


class LaunchCall(OperatorCall):
    """
    A launch whose signature :func:`drynpu_mindspore.rules.signature` made; of others only inputs are known.

    MindSpore launches its kernels one by one (jit level O0, PyNative), so a kernel bears GE's operator type as its name
    (mindspore_profiler.md 12.2: ``.../MatMul-op0/MatMulV2``); the scope is in the name of the launch.
    """

    guesses = False
    outputs_at, attrs_at, arguments_at = 0, 1, 2

    def answer(self, operator: Operator) -> KernelPlan | None:
        """
        Return what *operator* makes of this launch.

        A launch of which shapes or types are not known is shown under its kernel's type and on its kind of core,
        without tensors, work or time: nothing is guessed. The recording's metadata counts it.
        """
        return answer_known(self, operator)


def answer_known(call: OperatorCall, operator: Operator) -> KernelPlan:
    """Return what *operator* makes of a call whose shapes and types are known, else a kernel of which nothing is."""
    known = all(t.dtype != NO_DATA for t in (*call.signature.tensors(), *call.outputs))
    kernel_plan = operator(call) if known else None
    if kernel_plan is not None:
        return kernel_plan
    return unknown_plan(call.binding.kernel or call.signature.name, engine_of(operator))


def unknown_plan(op_type: str, engine: TaskType = TaskType.AI_VECTOR_CORE) -> KernelPlan:
    """Return the plan of a launch whose work is not known: one kernel without a time."""
    return KernelPlan(kernels=(KernelSpec(name=op_type, op_type=op_type, task_type=engine, known=False),))


def unknown_without_tensors(signature: Signature) -> KernelPlan | None:
    """Return the plan of a launch for which there is no rule, where nothing is known of its tensors either."""
    outputs, *_ = signature.attributes
    return None if signature.tensors() or outputs else unknown_plan(signature.name)
