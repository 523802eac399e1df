"""
Modules that drynpu serves or changes when they are imported.

``vllm_ascend.vllm_ascend_C`` is compiled against CANN. It is served where nothing else finds it.
``vllm_ascend.device_allocator.camem`` maps the memory of an engine that can sleep. ``vllm.triton_utils.importing`` has
the decorator that stands for ``triton.jit`` where no driver of Triton is active; a function that it decorates cannot be
launched. ``vllm_ascend.ops.triton.triton_utils`` asks the driver for the number of cores. The queue of
``shm_broadcast`` waits until every rank of a group reads.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_loader
from types import ModuleType
from typing import Final

_COMPILED: Final = "vllm_ascend.vllm_ascend_C"


class _CompiledModule(MetaPathFinder, Loader):
    """Finds vLLM-Ascend's compiled module after all other finders; importing it registers the operators."""

    def find_spec(self, fullname: str, *others: object) -> ModuleSpec | None:
        del others
        return spec_from_loader(fullname, self) if fullname == _COMPILED else None

    def create_module(self, spec: ModuleSpec) -> None:
        del spec

    def exec_module(self, module: ModuleType) -> None:
        from drynpu_vllm_ascend.operators import register

        register()
        # What the allocator takes from it, and what takes their place when that is imported.
        for name in ("init_module", "python_create_and_map", "python_unmap_and_release"):
            setattr(module, name, None)


class _ChangedModule(MetaPathFinder):
    """Finds a module once, by the other finders, and changes it after it ran."""

    def __init__(self, name: str, change: Callable[[ModuleType], None]) -> None:
        self._name = name
        self._change = change

    def find_spec(self, fullname: str, *others: object) -> ModuleSpec | None:
        del others
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Changing(spec.loader, self._change)
        return spec


class _Changing(Loader):
    """Runs a module by its loader and changes it then."""

    def __init__(self, loader: Loader, change: Callable[[ModuleType], None]) -> None:
        self._loader = loader
        self._change = change

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._change(module)


def _launch_kernels(importing: ModuleType) -> None:
    from drynpu_vllm_ascend.triton_kernels import patch_stand_in

    patch_stand_in(importing)


def _state_cores(triton_utils: ModuleType) -> None:
    """State the cores of the simulated chip, for which Triton's driver would be asked."""
    from drynpu_vllm_ascend.triton_kernels import device_properties

    cores = device_properties()
    vars(triton_utils).update(_NUM_AICORE=cores["num_aicore"], _NUM_VECTORCORE=cores["num_vectorcore"])


def _broadcast_without_readers(shm_broadcast: ModuleType) -> None:
    """Let a rank that runs without its peers have no queue; its groups then broadcast by collectives."""
    import os

    from drynpu.recorder import WorldCommand

    if WorldCommand.from_environ(os.environ) is not None:
        shm_broadcast.MessageQueue.create_from_process_group = staticmethod(_no_queue)


def _sleep(camem: ModuleType) -> None:
    from drynpu_vllm_ascend.sleeping import serve_allocator

    serve_allocator(camem)


def _no_queue(*arguments: object, **options: object) -> None:
    del arguments, options


_CHANGES: Final = {
    "vllm.triton_utils.importing": _launch_kernels,
    "vllm_ascend.ops.triton.triton_utils": _state_cores,
    "vllm.distributed.device_communicators.shm_broadcast": _broadcast_without_readers,
    "vllm_ascend.device_allocator.camem": _sleep,
}


def watch_imports() -> None:
    """Serve and change them from now on; a module that is there already is changed at once."""
    sys.meta_path.append(_CompiledModule())
    for name, change in _CHANGES.items():
        if name in sys.modules:
            change(sys.modules[name])
        else:
            sys.meta_path.insert(0, _ChangedModule(name, change))
