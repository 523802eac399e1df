"""The release of the MindSpore of this process, and places of its Python that differ between releases."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import Enum
from types import MappingProxyType, ModuleType
from typing import Any, Final

from drynpu import modules_with
from drynpu.host import machine, system


class Inside(Enum):
    """Parts of the adapter that reach into MindSpore's libraries; the value says what is lost without."""

    LAUNCHES = "shapes of operators that others call inside"
    EVENTS = "events of the host"


KNOWN: Final = MappingProxyType(
    {
        Inside.LAUNCHES: ("2.7.1", "2.7.2"),
        Inside.EVENTS: ("2.7.0", "2.7.1", "2.7.2", "2.8.0", "2.9.0", "2.10.0"),
    }
)
"""The releases in which each part was tried, on Linux with x86-64."""
_SYSTEM: Final = ("Linux", "x86_64")

# Where a release keeps what compiles graphs, newest first: 2.9 moved it.
_GRAPH_MODULES: Final = ("mindspore.graph.api", "mindspore.common.api")


class UnknownInside(RuntimeError):
    """The inside of the MindSpore of this process was not tried."""


def require(releases: Sequence[str]) -> str:
    """
    Return the release of the MindSpore that is imported: one of *releases*, in which a part was tried, on its system.

    Raises
    ------
    UnknownInside
        It was not.
    """
    release = str(getattr(sys.modules.get("mindspore"), "__version__", "none"))
    if release not in releases or (system(), machine()) != _SYSTEM:
        raise UnknownInside(f"known for {', '.join(releases)} on {' '.join(_SYSTEM)}")
    return release


def graph_module() -> ModuleType:
    """
    Return the module of MindSpore that compiles graphs and runs PyNative.

    Raises
    ------
    LookupError
        MindSpore keeps it elsewhere.
    """
    for name in _GRAPH_MODULES:
        if (module := sys.modules.get(name)) is not None:
            return module
    raise LookupError(f"MindSpore has none of {', '.join(_GRAPH_MODULES)}")


def pynative_executor() -> Any:
    """
    Return what runs the operators of PyNative.

    Raises
    ------
    LookupError, AttributeError
        MindSpore keeps it elsewhere.
    """
    return graph_module()._pynative_executor


def wait_for_pynative() -> None:
    """
    Wait until MindSpore has computed what PyNative has queued; not where it keeps the queue elsewhere.

    Raises
    ------
    RuntimeError, TypeError, ValueError
        An operator of the script failed.
    """
    try:
        executor = pynative_executor()
    except (LookupError, AttributeError):
        return
    executor.sync()


def replace_everywhere(attribute: str, genuine: Any, replaced: Any) -> None:
    """Replace a function in all modules of MindSpore that have it under that name."""
    for module in modules_with(attribute, genuine, "mindspore"):
        setattr(module, attribute, replaced)
