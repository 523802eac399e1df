"""
The guard at the top of every facade: a genuine vendor package always wins.

The facades reach ``sys.path`` after site-packages, but that alone is not enough: a genuine package that is found by
an editable finder, or that lies in a base site directory further down the path, would come second. So each
facade's ``__init__.py`` asks first, and keeps its own body in a module of its own, which is then never run::

    from __future__ import annotations

    from drynpu import hand_over

    if not hand_over(__name__, __file__):
        from torch_npu._facade import *

The import system returns whatever ``sys.modules`` holds once the facade has run, and looks up submodules in that
module's ``__path__``. So ``import torch_npu``, ``from torch_npu import profiler`` and ``import torch_npu.profiler``
all reach the genuine package, and nothing of the facade but its first lines is executed.

The words ``hand_over(__name__, __file__)`` in an ``__init__.py`` are also what marks it as a facade, so that two
copies of drynpu (one in the base environment, one in the checkout) do not hand over to each other for ever.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

_MARK = b"hand_over(__name__, __file__)"
_VERSION = "DRYNPU_TORCH_NPU_VERSION"
_IS_VERSION = re.compile(r"\d+(\.\d+)+((a|b|rc|\.?post|\.?dev)\d+)*(\+[a-z0-9.]+)?", re.ASCII)


def find_genuine(name: str) -> ModuleSpec | None:
    """
    Return the spec of the genuine package *name*, or ``None`` where only facades (or nothing) would be found.

    Every finder on ``sys.meta_path`` is asked in order; one that answers with a facade is asked again with the
    folders that hold facades taken out of the path. A folder without ``__init__.py`` is not a genuine package:
    a directory that happens to be called ``acl`` beside a script must not win.
    """
    path = [entry for entry in sys.path if not _is_facade(Path(entry, name, "__init__.py"))]
    for finder in sys.meta_path:
        for search in (None, path):
            spec = finder.find_spec(name, search) if hasattr(finder, "find_spec") else None
            if spec is None or spec.loader is None:
                break
            if spec.origin is None or not _is_facade(Path(spec.origin)):
                return spec
    return None


def hand_over(name: str, file: str) -> ModuleType | None:
    """
    Put the genuine package *name* in the place of the facade that calls this, if there is one.

    Parameters
    ----------
    name, file:
        The facade's ``__name__`` and ``__file__``, written just so (see the module's docstring).

    Returns
    -------
    ModuleType | None
        The genuine package, executed and in ``sys.modules``; ``None`` when the facade is to go on. An error that
        the genuine package raises while it is imported is not caught.
    """
    spec = find_genuine(name)
    if spec is None or spec.loader is None or spec.origin == file:
        return None
    from importlib.util import module_from_spec  # here: most facades never get this far

    module = module_from_spec(spec)
    # As the import system marks it: other threads wait, and circular imports are told apart from missing names.
    spec._initializing = True  # type: ignore[attr-defined]
    try:
        sys.modules[name] = module
        spec.loader.exec_module(module)
    finally:
        spec._initializing = False  # type: ignore[attr-defined]
    return sys.modules[name]


def facade_version(framework_version: str, environ: Mapping[str, str] = os.environ) -> str:
    """
    Return the version that torch_npu's facade states: the framework's release, and that drynpu answers for it.

    ``DRYNPU_TORCH_NPU_VERSION`` names another, for programs that want a certain one.
    """
    stated = environ.get(_VERSION, "").strip()
    if _IS_VERSION.fullmatch(stated):
        return stated
    if stated:
        from drynpu._say import say_once  # here, because hardly anybody needs it

        say_once(f"{_VERSION}={stated!r}: a release such as 2.7.1 or 2.7.1.post2 was expected. It is ignored.")
    return f"{framework_version.partition('+')[0]}+drynpu"


def _is_facade(file: Path) -> bool:
    try:
        return _MARK in file.read_bytes()
    except OSError:
        return False
