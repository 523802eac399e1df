"""
Kernels that an operator of ``torch.ops.npu`` states itself when it is called.

Kineto records neither texts (``input_layout``) nor the types of tensors in lists, and the work of some operators hangs
on what a tensor contains (how many rows each expert gets). So such an operator calls, for every kernel, an operator
without effect: ``npu_kernels::<api>__<kernel type>``, with the tensors of the kernel and its work in numbers.

Kernels that generated interfaces launch show their bare type (device_and_cost_model.md 4.1); their operators have
``generated`` in place of the API.
"""

from __future__ import annotations

from typing import Final

from attrs import evolve, frozen

from drynpu.kernels import Binding, KernelPlan, KernelSpec, Signature, TaskType, TensorDesc
from drynpu_torch.rules._call import AtenCall

NAMESPACE: Final = "npu_kernels"
"""Namespace of the operators that stand for kernels."""
TENSOR_SLOTS: Final = 24
"""Tensors that such an operator takes; the work counts the bytes of further ones, too."""
_OPERATORS: Final = "npu::"
_GENERATED: Final = "generated"


@frozen(kw_only=True)
class KernelWork:
    """
    Work of a kernel, as whole numbers in the order of the fields.

    ``inputs`` and ``outputs`` count tensors. ``task`` is the position in :class:`TaskType`, ``vector_ops`` are element
    operations, ``read`` and ``written`` bytes, ``flops`` operations of the matrix unit, ``tiles`` its output tiles.
    """

    inputs: int
    outputs: int
    task: int
    vector_ops: int
    read: int
    written: int
    flops: int = 0
    tiles: int = 0


def operator_of_kernel(api: str, kernel_type: str) -> str:
    """
    Return the name, without namespace, of the operator that stands for a kernel.

    An empty *api* is the generated interface that has the name of the kernel.
    """
    return f"{api or _GENERATED}__{kernel_type}"


def launched_rule(signature: Signature) -> KernelPlan | None:
    """
    Return the plan of ``torch.ops.npu`` operators and of the operators that stand for their kernels.

    The operators of ``npu`` launch nothing but what they state; ``None`` for every other name.
    """
    if signature.name.startswith(_OPERATORS):
        return KernelPlan(claims=False)
    namespace, _, name = signature.name.partition("::")
    numbers = signature.attributes[-1] if signature.attributes else None
    if namespace != NAMESPACE or not isinstance(numbers, tuple):
        return None
    api, _, kernel_type = name.partition("__")
    work = KernelWork(**dict(zip(KernelWork.__annotations__, numbers, strict=True)))
    tensors = [t for t in signature.inputs[:TENSOR_SLOTS] if isinstance(t, TensorDesc)]
    inputs, outputs = tensors[: work.inputs], tensors[work.inputs : work.inputs + work.outputs]
    generated = api == _GENERATED
    call = AtenCall(signature, Binding(api=f"aclnn{kernel_type}" if generated else api))
    return call.plan(_kernel(call.under("") if generated else call, kernel_type, inputs, outputs, work))


def _kernel(
    call: AtenCall, kernel_type: str, inputs: list[TensorDesc], outputs: list[TensorDesc], work: KernelWork
) -> KernelSpec:
    task = tuple(TaskType)[work.task]
    if not work.flops:
        return call.kernel(
            kernel_type, inputs, outputs, task=task, over=work.vector_ops, read=work.read, written=work.written
        )
    ops, flops, tiles = work.vector_ops, work.flops, work.tiles
    spec = call.cube_kernel(kernel_type, inputs, outputs, flops=flops, tiles=tiles, vector_ops=ops, task=task)
    return evolve(spec, bytes_read=work.read, bytes_written=work.written)
