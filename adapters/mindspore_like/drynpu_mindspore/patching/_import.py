"""
The moment to patch: right after ``import mindspore`` has run, before the script goes on.

Where there is no MindSpore, the name is served by the package that looks like it.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from drynpu_mindspore.patching._stand_in import STAND_IN, StandIn, missing

_PACKAGE = "mindspore"
# Every script passes here, most without MindSpore: nothing that takes time is imported before it is.
_API, _OPTIONS = "DRYNPU_MINDSPORE_API", "MS_PROFILER_OPTIONS"


def serve_mindspore() -> None:
    """
    Have ``mindspore`` patched when it is imported; now, if it has been. Without one, ``mindspore_like`` is served.

    Raises
    ------
    OptionError
        ``DRYNPU_MINDSPORE_API`` is no release: said before MindSpore is loaded, which does not survive a failed import.
    """
    if os.environ.get(_API):
        from drynpu_mindspore.profiler import generation_of

        generation_of(os.environ[_API])
    if getattr(sys.modules.get(_PACKAGE), "__name__", STAND_IN) != STAND_IN:
        _install(sys.modules[_PACKAGE])
        return
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    """Finds ``mindspore`` where everybody finds it and has it patched once it is loaded, or finds the stand-in."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """
        Return MindSpore's own spec with a loader that patches, or that of the stand-in; nothing for other modules.

        Raises
        ------
        ImportError
            The stand-in is served and has no such module. Said here, because ``from mindspore import nn`` asks for a
            module ``mindspore.nn`` and would only say that a name cannot be imported.
        """
        del path, target
        if fullname != _PACKAGE:
            self._refuse_what_the_stand_in_lacks(fullname)
            return None
        with _out_of_the_way(self):
            spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:  # a folder without __init__.py beside the script is no MindSpore
            return ModuleSpec(_PACKAGE, StandIn(), is_package=True)
        spec.loader = _Patching(spec.loader)
        return spec

    def _refuse_what_the_stand_in_lacks(self, fullname: str) -> None:
        """Only if it is served; ``from mindspore import nn`` goes by the package's own name, ``mindspore_like.nn``."""
        package, _, inner = fullname.partition(".")
        served = getattr(sys.modules.get(_PACKAGE), "__name__", "") == STAND_IN
        if not served or not inner or package not in (_PACKAGE, STAND_IN):
            return
        with _out_of_the_way(self):
            if importlib.util.find_spec(f"{STAND_IN}.{inner}") is None:
                raise missing(f"{_PACKAGE}.{inner}")


@contextmanager
def _out_of_the_way(finder: MetaPathFinder) -> Iterator[None]:
    """Take a finder out of the search while it searches itself."""
    place = sys.meta_path.index(finder)
    sys.meta_path.remove(finder)
    try:
        yield
    finally:
        sys.meta_path.insert(place, finder)


class _Patching(Loader):
    """MindSpore's loader, and the patches after it."""

    def __init__(self, genuine: Loader) -> None:
        self._genuine = genuine

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Create the module as its own loader does."""
        return self._genuine.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Load the package and patch it; its own profiler must not start from the environment."""
        if module.__spec__ is not None:
            module.__spec__.loader = self._genuine
        module.__loader__ = self._genuine
        options = os.environ.pop(_OPTIONS, None)
        try:
            self._genuine.exec_module(module)
        finally:
            if options is not None:
                os.environ[_OPTIONS] = options
        _install(module)


def _install(package: ModuleType) -> None:
    from drynpu_mindspore.patching._install import install

    install(package)
