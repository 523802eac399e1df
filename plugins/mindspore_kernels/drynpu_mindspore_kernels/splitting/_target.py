"""The device that MindSpore's passes see: Ascend where they split a graph, the CPU everywhere else."""

from __future__ import annotations

import ctypes
import re
from contextlib import suppress
from pathlib import Path

from attrs import frozen

from drynpu import CommandError
from drynpu_mindspore.inside import (
    CORE,
    UnknownInside,
    address_of,
    change_table,
    compiled_library,
    function,
    read_text,
    read_word,
)
from drynpu_mindspore.target import CPU
from drynpu_mindspore_kernels._binding import known_release
from drynpu_mindspore_kernels.splitting._imports import exported_functions, import_place, loaded_library

_SOURCE = Path(__file__).parents[1] / "native" / "targets.cpp"
# Without tail calls: the address that a call returns to tells which pass it comes from.
_FLAGS = ("-O2", "-std=c++17", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-optimize-sibling-calls")
_FRONTEND, _ALL = "lib/libmindspore_frontend.so", "lib/**/libmindspore_*.so"
_MARK = "_ZNK9mindspore9MsContext14MarkReadStatusENS_10MsCtxParamE"
_OPTION = "_ZNK9mindspore9MsContext9get_paramISsEERKT_NS_10MsCtxParamE"
_CONTEXT = "_ZN9mindspore9MsContext13inst_context_E"
# N9, docs/tricks.md
_FIRST = "_ZN9mindspore8parallel16CostModelContext14ResetCostModelEv"
"""The function at the begin of the code of ``frontend/parallel`` in the library; the binding has what follows it."""
_PASS = re.compile(r"_ZNK?9mindspore8parallel")


@frozen(eq=False)
class TargetSwitch:
    """The functions in place; they live as long as the process."""

    _library: ctypes.CDLL

    def split(self, *, on: bool) -> None:
        """Have the passes that split a graph see Ascend, or the CPU again."""
        self._library.drynpu_split(on)


def load_switch(package: Path) -> TargetSwitch | None:
    """
    Put the functions in place in the MindSpore in the folder *package*; compile them where that was not done before.

    Returns
    -------
    switch
        ``None`` without a compiler, or where the inside of MindSpore's libraries is not known.
    """
    with suppress(OSError, AttributeError, CommandError, ValueError, UnknownInside):
        return _put_in_place(package)
    return None


# N7, docs/tricks.md
def _put_in_place(package: Path) -> TargetSwitch | None:
    from mindspore._c_expression import ms_ctx_param

    release = known_release()
    core, frontend = (ctypes.CDLL(str(package / file)) for file in (CORE, _FRONTEND))
    places = (frontend, _FIRST), (frontend, release.behind_passes), (core, _MARK)
    first, end, mark = (address_of(*each) for each in places)
    imported = import_place(frontend, _MARK)
    path = compiled_library(_SOURCE, _FLAGS)
    if path is None or not imported or read_word(imported) != mark or not _is_code_of_passes(frontend, first, end):
        return None
    number = int(ms_ctx_param.device_target)
    context = ctypes.c_void_p.in_dll(core, _CONTEXT).value
    option = function(core, _OPTION, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32)(context, number)
    if read_text(option) != CPU:
        return None
    library = ctypes.CDLL(str(path))
    library.drynpu_prepare((ctypes.c_size_t * 5)(mark, option, number, first, end))
    for each in package.glob(_ALL):
        loaded = loaded_library(each)
        place = import_place(loaded, _MARK) if loaded is not None else 0
        if place and place != imported and read_word(place) == mark:
            change_table(place, {0: address_of(library, "drynpu_other_reads")})
    change_table(imported, {0: address_of(library, "drynpu_pass_reads")})
    return TargetSwitch(library)


def _is_code_of_passes(frontend: ctypes.CDLL, first: int, end: int) -> bool:
    """Return whether all exported functions of the passes, and no others, are between two addresses."""
    return all(
        (first <= address < end) == bool(_PASS.match(name)) for name, address in exported_functions(frontend).items()
    )
