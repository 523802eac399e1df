"""
The moment to patch: right after ``import mindspore`` has run, before the script goes on.

Where there is no MindSpore, a plugin may serve a package that looks like it under the name.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import BuiltinFunctionType, ModuleType
from typing import Any

from drynpu import needs_plugin, say, say_once
from drynpu_mindspore._variables import API_VARIABLE, OPTIONS_VARIABLE

_PACKAGE = "mindspore"


# Every script passes here, most without MindSpore: nothing that takes time is imported before it is.


def serve_mindspore() -> None:
    """
    Have ``mindspore`` patched when it is imported; now, if it has been. Without one, a plugin's stand-in is served.

    Raises
    ------
    OptionError
        ``DRYNPU_MINDSPORE_API`` is no release: said before MindSpore is loaded, which does not survive a failed import.
    """
    if os.environ.get(API_VARIABLE):
        from drynpu_mindspore.profiler import generation_of

        generation_of(os.environ[API_VARIABLE])
    if getattr(sys.modules.get(_PACKAGE), "__name__", "") == _PACKAGE:
        _install(sys.modules[_PACKAGE])
        return
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    """Finds the installed ``mindspore``, to be patched once it is loaded, or else the stand-in."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return MindSpore's own spec with a loader that patches, or the stand-in's spec; nothing for other modules."""
        del path, target
        if fullname != _PACKAGE:
            return None
        with _out_of_the_way(self):
            spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:  # a folder without __init__.py beside the script is no MindSpore
            return _stand_in()
        spec.loader = _Patching(spec.loader)
        return spec


def _stand_in() -> ModuleSpec | None:
    """Return the spec of the package that a plugin serves where there is no MindSpore; where none does, say so."""
    from drynpu.plugins import Plugins, from_plugins

    for each in from_plugins(Plugins.stand_ins):
        if each.framework == _PACKAGE:
            return ModuleSpec(_PACKAGE, each.loader(), is_package=True)
    say_once(f"there is no MindSpore here: pip install 'drynpu[mindspore]'. {needs_plugin(_PACKAGE, 'mindspore_like')}")
    return None


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
            with _leave_cleanup_to_parent():
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


@contextmanager
def _leave_cleanup_to_parent() -> Iterator[None]:
    """
    While MindSpore is imported: have its cleanup at exit skipped in processes that are forked off this one.

    The cleanup ends MindSpore's threads. A forked process has none of them: where one of them was waiting when the
    process was forked, the cleanup waits for it for ever (``pthread_cond_destroy`` below ``ActorMgr::Finalize``, in
    about one of eight processes on a busy machine). MindSpore registers the cleanup from C++, as a function without a
    module.
    """
    registry: Any = atexit
    register = registry.register

    def register_for_this_process(function: object, *arguments: object, **named: object) -> object:
        if isinstance(function, BuiltinFunctionType) and getattr(function, "__module__", "") is None:
            register(_in_process, os.getpid(), function, *arguments, **named)
        else:
            register(function, *arguments, **named)
        return function

    registry.register = register_for_this_process
    try:
        yield
    finally:
        registry.register = register


def _in_process(process: int, function: Callable[..., Any], *arguments: object, **named: object) -> None:
    """Call *function* in the process of that id alone."""
    if os.getpid() == process:
        function(*arguments, **named)
