"""
The inside of MindSpore's libraries, which no header declares.

Tables of virtual functions, maps by their layout and functions by the linker's names differ between releases. A part
that reads or replaces such asks :func:`require` first, and is off in any other release; then it checks the layout
(docs/tricks.md). The capture uses this room, and so do plugins.
"""

from __future__ import annotations

from drynpu_mindspore.inside._compiled import compiled_library
from drynpu_mindspore.inside._memory import (
    ALWAYS,
    CORE,
    HARDWARE,
    LAUNCH,
    WORD_BYTES,
    address_of,
    change_table,
    find_library,
    find_symbol,
    function,
    new_memory,
    new_table,
    new_text,
    read_class,
    read_functions,
    read_text,
    read_vector,
    read_word,
    write_word,
)
from drynpu_mindspore.inside._releases import (
    KNOWN,
    Inside,
    UnknownInside,
    graph_module,
    pynative_executor,
    replace_everywhere,
    require,
    wait_for_pynative,
)
from drynpu_mindspore.inside._tried import Tried

__all__ = [
    "ALWAYS",
    "CORE",
    "HARDWARE",
    "KNOWN",
    "LAUNCH",
    "WORD_BYTES",
    "Inside",
    "Tried",
    "UnknownInside",
    "address_of",
    "change_table",
    "compiled_library",
    "find_library",
    "find_symbol",
    "function",
    "graph_module",
    "new_memory",
    "new_table",
    "new_text",
    "pynative_executor",
    "read_class",
    "read_functions",
    "read_text",
    "read_vector",
    "read_word",
    "replace_everywhere",
    "require",
    "wait_for_pynative",
    "write_word",
]
