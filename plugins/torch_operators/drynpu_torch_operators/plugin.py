"""The hooks of the plugin ``torch_operators``; the import is cheap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from drynpu.plugins import FacadePart, facade_folder, hookimpl

if TYPE_CHECKING:
    from drynpu.kernels import KernelPlan, Rule, Signature


@hookimpl
def drynpu_facade_parts() -> tuple[FacadePart, ...]:
    """Add the operators, ``atb``, ``contrib``, ``dynamo`` and ``testing`` to ``torch_npu``."""
    folder = facade_folder(__file__) / "torch_npu"
    return (
        FacadePart(package="torch_npu", folder=folder, names="_part"),
        FacadePart(package="torch_npu.contrib", folder=folder / "contrib", names="_part"),
    )


@hookimpl
def drynpu_device_installed(framework: str) -> None:
    """Hand in what registers the operators, and serve extensions that are compiled for the device."""
    if framework != "torch":
        return
    from drynpu_torch.device import state
    from drynpu_torch_operators.ascend_extensions import watch_loads
    from drynpu_torch_operators.host_operators import leave_to_host

    state().new_operators = _register
    watch_loads()
    # Without values the host would run on zeros, which it cannot invert.
    if state().library is not None and state().computes:
        leave_to_host()


@hookimpl
def drynpu_kernel_rules(framework: str) -> Mapping[str, Rule]:
    """Let operators that the host runs launch nothing but their copies."""
    if framework != "torch":
        return {}
    from drynpu_torch_operators.host_operators import operator_names

    return dict.fromkeys(operator_names(), _copies_alone)


def _copies_alone(_: Signature) -> KernelPlan:
    from drynpu.kernels import KernelPlan

    return KernelPlan(claims=False)


def _register() -> None:
    from drynpu_torch_operators.operators import register

    register()
