"""
Reductions, and other operators that pass over one tensor: arg-max, top-k, running sums, cross entropy.

They cost element operations per element of what they read. Axes are attributes of the kernels of graphs, which do not
read them. The loss and the gradient of the logits of a cross entropy of softmax come from one kernel.
"""

from __future__ import annotations

from attrs import evolve

from drynpu.kernels._call import OperatorCall
from drynpu.kernels._types import KernelPlan, KernelSpec, TaskType, TensorDesc


def reduction(call: OperatorCall) -> KernelPlan | None:
    """``x``: over some of the axes. Over none, or over axes of length 1, it is a change of shape."""
    x, out = call.tensor("x"), call.output()
    if x is None or (out is None and not call.outputs_optional):
        return None
    if out is not None and x.elements == out.elements and call.simplified:
        return call.plan()
    outputs = [] if out is None else [out]
    return call.plan(call.kernel(call.binding.kernel, [x], outputs, cost=call.binding.operations, over=x.elements))


def one_pass(call: OperatorCall) -> KernelPlan | None:
    """``x``: one pass over it, whatever the operator returns."""
    x = call.tensor("x")
    if x is None or not (call.outputs or call.outputs_optional):
        return None
    cost = call.binding.operations
    return call.plan(call.kernel(call.binding.kernel, [x], call.outputs, cost=cost, over=x.elements))


def paired_pass(call: OperatorCall) -> KernelPlan | None:
    """``x``: one pass by a kernel that was measured on pairs of cores (device_and_cost_model.md 4.1)."""
    plan = one_pass(call)
    return plan and call.plan(*(evolve(kernel, task_type=TaskType.MIX_AIV) for kernel in plan.kernels))


_CROSS_ENTROPY = "SoftmaxCrossEntropyWithLogits"
_CROSS_ENTROPY_OPS = 8


def cross_entropy(call: OperatorCall) -> KernelPlan | None:
    """``logits labels -> loss, gradient``."""
    logits, labels = call.tensor("logits"), call.tensor("labels")
    if logits is None or labels is None:
        return None
    outputs = call.output(0) or TensorDesc(logits.shape[:1], logits.dtype), call.output(1) or logits
    return call.plan(_cross_entropy(call, labels, logits, outputs))


def unfolded_cross_entropy(call: OperatorCall) -> KernelPlan | None:
    """
    ``logits labels -> mean loss``, or with ``is_grad`` the gradient: labels are numbers of classes.

    On a device MindSpore unfolds it (its pass SparseSoftmaxCrossEntropyWithLogitsUnifyMindIR): the labels become
    one-hot rows, then comes the dense operator, then a mean over the batch, or for the gradient a scaling by it.
    """
    logits, labels, gradient = call.tensor("logits"), call.tensor("labels"), call.known_flag("is_grad")
    if logits is None or labels is None or len(logits.shape) != 2 or gradient is None:
        return None
    rows, scalar = TensorDesc(logits.shape[:1], logits.dtype), TensorDesc((), logits.dtype)
    one_hot = call.kernel("OneHot", [labels, scalar, scalar], [logits], over=logits.elements)
    dense = _cross_entropy(call, logits, logits, (rows, logits))
    if gradient:
        return call.plan(one_hot, dense, call.kernel("RealDiv", [logits, scalar], [logits]))
    return call.plan(one_hot, dense, call.kernel("ReduceMean", [rows], [scalar], over=rows.elements))


def _cross_entropy(
    call: OperatorCall, labels: TensorDesc, logits: TensorDesc, outputs: tuple[TensorDesc, TensorDesc]
) -> KernelSpec:
    op_type = call.binding.kernel or _CROSS_ENTROPY
    return call.kernel(op_type, [logits, labels], outputs, cost=_CROSS_ENTROPY_OPS, over=logits.elements)
