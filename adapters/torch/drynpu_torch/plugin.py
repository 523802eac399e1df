"""
The hooks of the torch adapter.

The import is cheap: torch and the rest of the adapter are imported when a hook needs them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from drynpu.plugins import Facade, KernelRule, facade_folder, hookimpl

if TYPE_CHECKING:
    import click


@hookimpl
def drynpu_facades() -> tuple[Facade, ...]:
    """Return the one vendor module of this adapter, ``torch_npu``."""
    folder = facade_folder(__file__)
    return (Facade(module="torch_npu", framework="torch", extra="torch", folder=folder, note=_native_note),)


def _native_note() -> str:
    from drynpu_torch.extension import find_build, find_compiler

    found = find_build()
    if found.done:
        return f"native device for torch {found.torch_version} is built (DRYNPU_DEVICE=native)"
    return "native device: run drynpu native build" if find_compiler() else "native device: needs a C++ compiler"


@hookimpl
def drynpu_kernel_rules(framework: str) -> Mapping[str, KernelRule]:
    """Return the rules for ``aten`` operators."""
    if framework != "torch":
        return {}
    from drynpu_torch.rules import RULES

    return RULES


@hookimpl
def drynpu_cli(group: click.Group) -> None:
    """Add ``drynpu native``."""
    from drynpu_torch.extension import native

    group.add_command(native)
