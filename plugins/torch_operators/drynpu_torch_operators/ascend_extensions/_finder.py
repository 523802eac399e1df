"""The patch of ``torch.utils.cpp_extension``, made when somebody imports it, which takes long."""

from __future__ import annotations

import functools
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Final

_BUILDER: Final = "torch.utils.cpp_extension"


class _PatchingLoader(Loader):
    """Runs a module by another loader and patches it then."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        _patch(module)


class _Finder(MetaPathFinder):
    """Finds the builder of extensions once, by the other finders, and lets it be patched."""

    def find_spec(self, fullname: str, *others: object) -> ModuleSpec | None:
        del others
        if fullname != _BUILDER:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _PatchingLoader(spec.loader)
        return spec


def watch_loads() -> None:
    """Let ``torch.utils.cpp_extension.load`` serve extensions for the device, now or when it is imported."""
    if _BUILDER in sys.modules:
        _patch(sys.modules[_BUILDER])
    else:
        sys.meta_path.insert(0, _Finder())


def _patch(module: ModuleType) -> None:
    from drynpu_torch_operators.ascend_extensions._load import load

    # What load() calls, because a script may have imported load() itself before torch_npu.
    compile_sources = module._jit_compile
    module._jit_compile = functools.partial(load, compile_sources)  # type: ignore[attr-defined]
