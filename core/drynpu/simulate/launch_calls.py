"""The calls by which the host launches a plan: their names, and whether they ask for a workspace or compile."""

from __future__ import annotations

from collections.abc import Mapping

from drynpu.kernels import Copy, KernelPlan

_SINGLE_OP = "aclopCompileAndExecute"
"""The call of operators that have no interface of their own (downstream_consumers.md 1.6)."""

# Genuine profiles show the first; the others follow its pattern.
_COPY_NAMES: Mapping[Copy, str] = {
    Copy.HOST_TO_DEVICE: "acl_memcpy_host_to_device",
    Copy.DEVICE_TO_HOST: "acl_memcpy_device_to_host",
    Copy.DEVICE_TO_DEVICE: "acl_memcpy_device_to_device",
}

_IN_PLACE = ("aclnnInplace", "aclnnForeach")


def launch_api(plan: KernelPlan) -> str:
    """Return the ACL API that launches the kernels; a plan that names none goes the single-op path."""
    return plan.api or _SINGLE_OP


def asks_workspace(plan: KernelPlan) -> bool:
    """Return whether the call asks for the size of its workspace first, as all aclnn operators do."""
    return launch_api(plan).startswith("aclnn") and not plan.in_graph


def allocates(plan: KernelPlan) -> bool:
    """
    Return whether the call has its result allocated, which is an operator of its own to a profiler (``empty_tensor``).

    Copies, and what works in place on one tensor or on lists, take memory that is there.
    """
    api = launch_api(plan)
    return bool(plan.kernels) and api.startswith(("aclnn", "aclop")) and not api.startswith(_IN_PLACE)


def compiles(plan: KernelPlan) -> bool:
    """Return whether the call compiles its operator, as the single-op path does."""
    return bool(plan.kernels) and launch_api(plan).startswith("aclop") and not plan.in_graph


def queue_name(plan: KernelPlan) -> str:
    """
    Return what the task queue shows after ``Dequeue@``.

    An API by its name, a copy by its direction, an operator of the single-op path by its type: the type of the kernel
    with the most matrix work (``Conv2D``, not the TransData around it), the last one where none has any.
    """
    if not plan.kernels:
        return plan.api
    main = max(plan.kernels, key=lambda kernel: kernel.cube_flops)
    if main.cube_flops == 0:
        main = plan.kernels[-1]
    if main.copy is not None and not asks_workspace(plan):
        return _COPY_NAMES[main.copy]
    return main.op_type if compiles(plan) else launch_api(plan)
