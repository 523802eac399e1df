"""
The hooks of the torch adapter.

The import is cheap: torch and the rest of the adapter are imported when a hook needs them.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from drynpu.plugins import BlockRecorder, Facade, KernelRule, Probe, RecordedCalls, facade_folder, hookimpl

if TYPE_CHECKING:
    import click


@hookimpl
def drynpu_facades() -> tuple[Facade, ...]:
    """Return the vendor module of this adapter: ``torch_npu``."""
    folder = facade_folder(__file__)
    return (
        Facade(module="torch_npu", framework="torch", extra="torch", folder=folder, note=_native_note, mend=_build),
    )


_PROBE = """
import torch, torch_npu
from drynpu_torch.device import state

value = torch.ones(2, 2).npu()
assert (value @ value).sum().item() == 8
native = state().library is not None
assert native is {native}, "another device serves"
"""


@hookimpl
def drynpu_probes() -> tuple[Probe, ...]:
    """Try both devices of PyTorch, each whether or not it is the usual one."""

    def probe(device: str, native: bool, advice: str, missing: Callable[[], str] | None = None) -> Probe:
        return Probe(
            surface=f"PyTorch, {device} device" if native else f"PyTorch, {device}",
            framework="torch",
            extra="torch",
            code=_PROBE.format(native=native),
            environment={"DRYNPU_DEVICE": device},
            advice=advice,
            missing=missing,
        )

    return (
        probe("native", True, "DRYNPU_DEVICE=sink does without it", _what_native_lacks),
        probe("sink", False, "drynpu native build makes the native device, which does without it"),
    )


def _what_native_lacks() -> str:
    from drynpu.compiling import COMPILER_ADVICE, find_compiler
    from drynpu_torch.extension import find_build

    if find_build().done:
        return ""
    return f"not built: {'' if find_compiler() else f'{COMPILER_ADVICE}, then run '}drynpu native build"


def _native_note() -> str:
    from drynpu.options import Settings
    from drynpu_torch.extension import find_build
    from drynpu_torch.extension.choice import choose

    return choose(Settings.from_environ(os.environ), find_build()).sentence


def _build() -> str:
    from drynpu_torch.extension import build, find_build

    return "" if find_build().done else f"built the native npu device: {build().path}"


@hookimpl
def drynpu_kernel_rules(framework: str) -> Mapping[str, KernelRule]:
    """Return the rules for ``aten`` operators."""
    if framework != "torch":
        return {}
    from drynpu_torch.rules import RULES

    return RULES


@hookimpl
def drynpu_recorded_calls(framework: str) -> RecordedCalls | None:
    """Return how profiles of torch_npu write operators; nothing where PyTorch is not, whose dispatcher knows them."""
    if framework != "torch" or importlib.util.find_spec("torch") is None:
        return None
    from drynpu_torch.rules import FALLBACKS, signature_from_profile

    return RecordedCalls(read=signature_from_profile, fallbacks=FALLBACKS)


@hookimpl
def drynpu_block_recorder(framework: str, folder: Path) -> BlockRecorder | None:
    """Return what records a block with ``torch_npu.profiler``."""
    if framework != "torch":
        return None
    from drynpu_torch.block_recorder import TorchBlockRecorder

    return TorchBlockRecorder(folder)


@hookimpl
def drynpu_cli(group: click.Group) -> None:
    """Add ``drynpu native``."""
    from drynpu_torch.extension.command import native

    group.add_command(native)
