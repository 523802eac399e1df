"""Load ``mindspore_like`` under the name ``mindspore``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_SERVED_AS = "mindspore"
_STAND_IN = "mindspore_like"
_SAYS = (
    "there is no MindSpore here: the script gets mindspore_like under its name (profiler, callbacks, operators of "
    "NumPy; no networks). pip install 'drynpu[mindspore]' for MindSpore itself"
)


class StandInLoader(Loader):
    """Loads ``mindspore_like`` under the name ``mindspore``, its modules under both names, and prints a line."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Print a line, import the package and return it as the module that the script imports."""
        del spec
        sys.stderr.write(f"[drynpu] {_SAYS}\n")
        module = importlib.import_module(_STAND_IN)
        self._own = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the package its own spec back, and its submodules their second names."""
        module.__spec__ = self._own
        for name, each in list(sys.modules.items()):
            # Before anything imports them by that name: the import system would put `schedule`, a module, into
            # `mindspore.profiler`, where a class of that name belongs.
            if name.startswith(f"{_STAND_IN}.") and "._" not in name:
                sys.modules.setdefault(_SERVED_AS + name.removeprefix(_STAND_IN), each)
        sys.meta_path.insert(0, _Refusal())


class _Refusal(MetaPathFinder):
    """Raises for modules that the stand-in lacks."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """
        Return nothing: the modules that the stand-in has are found by others.

        Raises
        ------
        ImportError
            The stand-in has no such module. Said here, because ``from mindspore import nn`` asks for a module
            ``mindspore_like.nn`` and would only say that a name cannot be imported.
        """
        del path, target
        package, _, inner = fullname.partition(".")
        if inner and package in (_SERVED_AS, _STAND_IN) and not self._others_find(f"{_STAND_IN}.{inner}"):
            raise _missing(f"{_SERVED_AS}.{inner}")
        return None

    def _others_find(self, module: str) -> bool:
        place = sys.meta_path.index(self)
        sys.meta_path.remove(self)
        try:
            return importlib.util.find_spec(module) is not None
        finally:
            sys.meta_path.insert(place, self)


def _missing(name: str) -> ImportError:
    """Return the error for a module, or a name of the package, that the stand-in lacks."""
    return ImportError(
        f"{name} is not there: 'mindspore' is drynpu's {_STAND_IN}, which has the profiler, callbacks, Model and "
        "operators of NumPy. Networks, gradients and everything else need MindSpore itself: "
        "pip install 'drynpu[mindspore]'.",
        name=name,
    )
