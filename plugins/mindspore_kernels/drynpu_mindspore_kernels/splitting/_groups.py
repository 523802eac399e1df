"""
The ranks that MindSpore's passes ask for: its ``CommManager``, of which the CPU build has one without ranks.

Its virtual functions (``include/common/utils/comm_manager.h``) are replaced by those here.
"""

from __future__ import annotations

import ctypes
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from drynpu_mindspore.inside import (
    WORD_BYTES,
    change_table,
    find_library,
    function,
    read_class,
    read_functions,
    read_text,
    read_word,
)
from drynpu_mindspore_kernels._binding import COMM_FUNCTIONS, COMM_MANAGER, CREATE_GROUP

_COMMON, _INSTANCE = "lib/libmindspore_common.so", "_ZN9mindspore11CommManager11GetInstanceEv"
_BOOL, _POINTER, _NUMBER = ctypes.c_bool, ctypes.c_void_p, ctypes.c_uint32


# N10, docs/tricks.md
def replace_groups(package: Path) -> Sequence[Any]:
    """
    Put the functions in place in the MindSpore in the folder *package*; return what has to live as long as it.

    Raises
    ------
    AttributeError, OSError
        Its libraries lack a function.
    ValueError
        The object is of another class, or its table has another number of functions.
    """
    instance = function(ctypes.CDLL(str(package / _COMMON)), _INSTANCE, _POINTER)()
    table = read_word(instance)
    calls: tuple[Any, ...] = (
        ctypes.CFUNCTYPE(_BOOL, *[_POINTER] * 3)(_create),
        ctypes.CFUNCTYPE(_BOOL, *[_POINTER] * 2)(_destroy),
        ctypes.CFUNCTYPE(_BOOL, *[_POINTER] * 3)(_find_rank),
        ctypes.CFUNCTYPE(_BOOL, *[_POINTER] * 3)(_find_size),
        ctypes.CFUNCTYPE(_NUMBER, _POINTER)(_find_own),
    )
    functions = read_functions(table)
    of_one_library = len(set(map(find_library, functions))) == 1
    if COMM_MANAGER not in read_class(table) or len(functions) != COMM_FUNCTIONS or not of_one_library:
        raise ValueError("CommManager has another table")
    addresses = (ctypes.cast(each, _POINTER).value or 0 for each in calls)
    change_table(table, dict(enumerate(addresses, CREATE_GROUP)))
    return calls


def _create(manager: int, group: int, ranks: int) -> bool:
    del manager
    from mindspore import communication

    begin, end = read_word(ranks), read_word(ranks + WORD_BYTES)
    count = (end - begin) // ctypes.sizeof(_NUMBER)
    members = list((_NUMBER * count).from_address(begin)) if count else []
    return _answered(lambda: communication.create_group(read_text(group), members))


def _destroy(manager: int, group: int) -> bool:
    del manager
    from mindspore import communication

    return _answered(lambda: communication.destroy_group(read_text(group)))


def _find_rank(manager: int, group: int, result: int) -> bool:
    del manager
    from mindspore import communication

    return _answered(lambda: _write(result, communication.get_rank(read_text(group))))


def _find_size(manager: int, group: int, result: int) -> bool:
    del manager
    from mindspore import communication

    return _answered(lambda: _write(result, communication.get_group_size(read_text(group))))


def _find_own(manager: int) -> int:
    del manager
    from mindspore import communication

    return int(communication.get_rank())


def _write(place: int, number: int) -> None:
    _NUMBER.from_address(place).value = number


def _answered(call: Callable[[], object]) -> bool:
    """Return whether a call ended well; nothing may be raised through C++, so a failure is printed."""
    try:
        call()
    except Exception:  # noqa: BLE001 - whatever it is, C++ gets to know
        sys.stderr.write(f"[drynpu] a group of ranks cannot be used:\n{traceback.format_exc()}")
        return False
    return True
