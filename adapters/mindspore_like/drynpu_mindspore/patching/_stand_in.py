"""``mindspore_like`` under the name ``mindspore``, where there is no MindSpore."""

from __future__ import annotations

import importlib
import sys
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType

STAND_IN = "mindspore_like"
_NAME = "mindspore"
_SAYS = (
    "there is no MindSpore here: the script gets mindspore_like under its name (profiler, callbacks, operators of "
    "NumPy; no networks). pip install 'drynpu[mindspore]' for MindSpore itself"
)


class StandIn(Loader):
    """Gives ``mindspore`` the modules of ``mindspore_like``, each under both names, and says so."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Say so, import the package and return it; the import system takes it for the module that was asked for."""
        del spec
        sys.stderr.write(f"[drynpu] {_SAYS}\n")
        module = importlib.import_module(STAND_IN)
        self._own = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the package its own spec back, and its submodules their second names."""
        module.__spec__ = self._own
        for name, each in list(sys.modules.items()):
            # Before anything imports them by that name: the import system would put `schedule`, a module, into
            # `mindspore.profiler`, where a class of that name belongs.
            if name.startswith(f"{STAND_IN}.") and "._" not in name:
                sys.modules.setdefault(_NAME + name.removeprefix(STAND_IN), each)


def missing(name: str) -> ImportError:
    """Return the error for a module, or a name of the package, that the stand-in lacks."""
    return ImportError(
        f"{name} is not there: 'mindspore' is drynpu's {STAND_IN}, which has the profiler, callbacks, Model and "
        "operators of NumPy. Networks, gradients and everything else need MindSpore itself: "
        "pip install 'drynpu[mindspore]'.",
        name=name,
    )
