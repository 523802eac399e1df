"""The hooks of the plugin ``vllm_ascend``; the import is cheap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from drynpu.plugins import hookimpl

if TYPE_CHECKING:
    from drynpu.kernels import KernelPlan, Rule, Signature


@hookimpl
def drynpu_device_installed(framework: str) -> None:
    """Serve the compiled module of vLLM-Ascend and its Triton kernels once something imports them."""
    if framework != "torch":
        return
    from drynpu_vllm_ascend.imports import watch_imports

    watch_imports()


@hookimpl
def drynpu_kernel_rules(framework: str) -> Mapping[str, Rule]:
    """Let the operators launch nothing but the kernels that they state when they run."""
    if framework != "torch":
        return {}
    from drynpu_vllm_ascend.operators import operator_names
    from drynpu_vllm_ascend.triton_kernels import kernel_names

    return dict.fromkeys((*operator_names(), *kernel_names()), _stated_alone)


def _stated_alone(_: Signature) -> KernelPlan:
    from drynpu.kernels import KernelPlan

    return KernelPlan(claims=False)
