"""
The hooks of the extension.

Cheap to import, as every plugin has to be: what a hook needs is imported when it is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from drynpu.plugins import KernelRule, build_manager, hookimpl

if TYPE_CHECKING:
    import click

    from drynpu.kernels import KernelPlan, Signature

__all__ = ["drynpu_chips", "drynpu_cli", "drynpu_kernel_rules", "drynpu_products", "gated_silu"]


@hookimpl
def drynpu_chips() -> list[Path]:
    """Return our chip."""
    return [Path(__file__).with_name("AcmeHalf910B2.yaml")]


@hookimpl
def drynpu_kernel_rules(framework: str) -> Mapping[str, KernelRule]:
    """Return the rule for the one operator that our library adds to torch."""
    return {"acme::gated_silu": gated_silu} if framework == "torch" else {}


@hookimpl
def drynpu_products() -> list[object]:
    """Return the result directory of our profiler."""
    from drynpu_acme.product import PRODUCT

    return [PRODUCT]


@hookimpl
def drynpu_cli(group: click.Group) -> None:
    """Add ``drynpu acme-rules``."""
    import click

    @group.command("acme-rules")
    @click.option("--framework", default="torch", show_default=True)
    def acme_rules(framework: str) -> None:
        """List the operators that have a kernel rule."""
        for name in sorted(build_manager().kernel_rules(framework)):
            click.echo(name)


def gated_silu(signature: Signature) -> KernelPlan | None:
    """
    Map ``acme::gated_silu(x, gate)`` to one vector kernel: ``x * gate * sigmoid(gate)``.

    Both tensors have one shape; five operations an element (negate, exp, add, divide, multiply) and one for the gate.
    """
    from drynpu.kernels import KernelPlan, KernelSpec, TaskType

    x, gate = signature.tensor(0), signature.tensor(1)
    if x is None or gate is None or x.shape != gate.shape:
        return None
    kernel = KernelSpec(
        name="aclnnAcmeGatedSilu_GatedSilu_GatedSilu",
        op_type="GatedSilu",
        task_type=TaskType.AI_VECTOR_CORE,
        inputs=(x, gate),
        outputs=(x,),
        vector_ops=6 * x.elements,
        bytes_read=x.size_bytes + gate.size_bytes,
        bytes_written=x.size_bytes,
    )
    return KernelPlan(api="aclnnAcmeGatedSilu", kernels=(kernel,))
