"""
The inside of MindSpore's libraries, which no header declares, and the releases in which it was tried.

Tables of virtual functions, maps by their layout and functions by the linker's names differ between releases. A part
that reads or replaces such asks :func:`require` first, and is off in any other release; then it checks the layout.
"""

from __future__ import annotations

import platform
import sys
from enum import Enum
from types import MappingProxyType, ModuleType
from typing import Any, Final


class Inside(Enum):
    """Parts of drynpu that reach into MindSpore's libraries; the value says what is lost without."""

    COMPOSITIONS = "operators that only Ascend has, bf16 and fp16 in kernels of the CPU that lack them"
    LAUNCHES = "shapes of operators that others call inside"
    EVENTS = "events of the host"
    SPLITTING = "graphs split over ranks"


KNOWN: Final = MappingProxyType(
    {
        Inside.COMPOSITIONS: ("2.7.1", "2.7.2"),
        Inside.LAUNCHES: ("2.7.1", "2.7.2"),
        Inside.EVENTS: ("2.7.0", "2.7.1", "2.7.2", "2.8.0", "2.9.0", "2.10.0"),
        Inside.SPLITTING: ("2.7.1", "2.7.2"),
    }
)
"""The releases in which each part was tried, on Linux with x86-64."""
_SYSTEM: Final = ("Linux", "x86_64")

# Where a release keeps what compiles graphs, newest first: 2.9 moved it.
_GRAPH_MODULES: Final = ("mindspore.graph.api", "mindspore.common.api")


class UnknownInside(RuntimeError):
    """The inside of the MindSpore of this process was not tried."""


def require(part: Inside) -> None:
    """
    Do nothing where *part* was tried with the MindSpore that is imported.

    Raises
    ------
    UnknownInside
        It was not.
    """
    release = str(getattr(sys.modules.get("mindspore"), "__version__", "none"))
    if release not in KNOWN[part] or (platform.system(), platform.machine()) != _SYSTEM:
        raise UnknownInside(f"known for {' and '.join(KNOWN[part])} on {' '.join(_SYSTEM)}")


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
