"""
The moment to patch: right after ``import mindspore`` has run, before the script goes on.

Where there is no MindSpore, the name is served by the package that looks like it.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from drynpu import say
from drynpu_mindspore._variables import API_VARIABLE, OPTIONS_VARIABLE
from drynpu_mindspore.patching._forks import leave_cleanup_to_parent

_PACKAGE = "mindspore"
STAND_IN = "mindspore_like"
_SAYS = (
    "there is no MindSpore here: the script gets mindspore_like under its name (profiler, callbacks, operators of "
    "NumPy; no networks). pip install 'drynpu[mindspore]' for MindSpore itself"
)


class StandIn(Loader):
    """Loads ``mindspore_like`` under the name ``mindspore``, its modules under both names, and prints a line."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Print a line, import the package and return it as the module that the script imports."""
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
                sys.modules.setdefault(_PACKAGE + name.removeprefix(STAND_IN), each)


def missing(name: str) -> ImportError:
    """Return the error for a module, or a name of the package, that the stand-in lacks."""
    return ImportError(
        f"{name} is not there: 'mindspore' is drynpu's {STAND_IN}, which has the profiler, callbacks, Model and "
        "operators of NumPy. Networks, gradients and everything else need MindSpore itself: "
        "pip install 'drynpu[mindspore]'.",
        name=name,
    )


# Every script passes here, most without MindSpore: nothing that takes time is imported before it is.


def serve_mindspore() -> None:
    """
    Have ``mindspore`` patched when it is imported; now, if it has been. Without one, ``mindspore_like`` is served.

    Raises
    ------
    OptionError
        ``DRYNPU_MINDSPORE_API`` is no release: said before MindSpore is loaded, which does not survive a failed import.
    """
    if os.environ.get(API_VARIABLE):
        from drynpu_mindspore.profiler import generation_of

        generation_of(os.environ[API_VARIABLE])
    if getattr(sys.modules.get(_PACKAGE), "__name__", STAND_IN) != STAND_IN:
        _install(sys.modules[_PACKAGE])
        return
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    """Finds the installed ``mindspore``, to be patched once it is loaded, or else the stand-in."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """
        Return MindSpore's own spec with a loader that patches, or the stand-in's spec; nothing for other modules.

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
        """Raise for a module that the stand-in lacks; ``from mindspore import nn`` looks for ``mindspore_like.nn``."""
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
    """Loads MindSpore by its own loader, then patches it."""

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
        options = os.environ.pop(OPTIONS_VARIABLE, None)
        try:
            with leave_cleanup_to_parent():
                self._genuine.exec_module(module)
        finally:
            if options is not None:
                os.environ[OPTIONS_VARIABLE] = options
        _install(module)


def _install(package: ModuleType) -> None:
    """Patch MindSpore; what fails is said, for MindSpore does not survive an import that ends by an exception."""
    try:
        from drynpu_mindspore.patching._install import install

        install(package)
    except Exception as error:  # noqa: BLE001 - see above
        say(f"{_PACKAGE} {getattr(package, '__version__', '')} is left as it is: {type(error).__name__}: {error}")
