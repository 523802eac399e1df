"""What PyTorch's dispatcher knows of operators without a rule: which compute, and which are views."""

from __future__ import annotations

import contextlib
import enum
import functools

from torch import _C

from drynpu.kernels import KernelPlan, Signature, opaque_plan
from drynpu_torch.rules._names import transparent


class Implementation(enum.Enum):
    """How an operator comes to its result."""

    KERNEL = "kernel"
    """By a kernel for the device; what that calls is its own business."""
    VIEW = "view"
    """By another look at its input."""


def dispatcher_rule(signature: Signature) -> KernelPlan | None:
    """
    Rule for ``aten`` operators that no table lists.

    One with a kernel for the CPU needs one for the NPU too: it launches the generic kernel and counts as unmapped, even
    where the CPU's kernel happens to call other operators. A view launches nothing. Of all others nothing is said: what
    they called launches for them.
    """
    kind = implementation(signature.name) if signature.name.startswith("aten::") else None
    if kind is Implementation.KERNEL:
        return opaque_plan(signature)
    return transparent(signature) if kind is Implementation.VIEW else None


@functools.cache
def implementation(name: str) -> Implementation | None:
    """
    Return how the operator of a qualified *name* (``aten::svd``) computes; None where the dispatcher does not tell.

    A name stands for all its overloads, because an event of the tracer does not name one. The kernel of a form with
    ``out`` counts as the operator's, unless the function itself is made of other operators (adaptive_avg_pool2d).
    """
    schemas = _C._jit_get_schemas_for_operator(name)
    functions = [schema for schema in schemas if not _has_out(schema)]
    if any(_is_view(schema) for schema in functions):
        return Implementation.VIEW
    made_of_others = any(_has_kernel(name, schema, "CompositeImplicitAutograd") for schema in functions)
    counted = functions if made_of_others else schemas
    return Implementation.KERNEL if any(_has_kernel(name, schema, "CPU") for schema in counted) else None


def _has_kernel(name: str, schema: _C.FunctionSchema, key: str) -> bool:
    overload = f"{name}.{schema.overload_name}" if schema.overload_name else name
    # TorchScript has overloads that the dispatcher does not know, such as einsum.sublist; it raises for these.
    with contextlib.suppress(RuntimeError):
        return bool(_C._dispatch_has_kernel_for_dispatch_key(overload, key))
    return False


def _has_out(schema: _C.FunctionSchema) -> bool:
    return any(argument.is_out for argument in schema.arguments)


def _is_view(schema: _C.FunctionSchema) -> bool:
    aliases = [value.alias_info for value in schema.returns]
    return any(alias is not None and not alias.is_write for alias in aliases)
