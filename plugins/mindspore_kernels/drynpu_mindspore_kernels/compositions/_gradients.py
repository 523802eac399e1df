"""
Gradients in PyNative that need an input which MindSpore has freed by then.

On a device the gradient of a sorted tensor begins with zeros of the input's shape, whose numbers nobody reads. The
kernel of the CPU gets the input itself, so it must not be freed after the forward call. MindSpore keeps by primitive,
in a table of robin_hood::unordered_node_map, the function that differentiates and the one that frees.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from drynpu_mindspore.inside import WORD_BYTES, find_library, function, read_text, read_word, write_word
from drynpu_mindspore_kernels._binding import (
    CALL,
    COUNT,
    ENTRIES,
    ENTRY_MULTIPLIER,
    FREEING,
    FREEING_WORDS,
    MANAGER,
    MASK,
    MULTIPLIER,
    USED,
)

KEPT: Final = ("Cummax", "CumminExt", "SortExt", "TopkExt")
"""Primitives whose inputs are kept."""
_FACTORY = "_ZN9mindspore8expander5bprop21BpropIRBuilderFactory8InstanceEv"
_KNOWN_MULTIPLIER = 0xC4CEB9FE1A85EC53
"""What robin_hood's tables start to multiply hashes with; it says that this is one."""
_OVERFLOW = 256
"""Entries that a table may have beyond its mask."""


def keep_inputs(pynative: ctypes.CDLL, names: Iterable[str] = KEPT) -> tuple[str, ...]:
    """
    Have MindSpore keep the inputs of primitives for their gradients; return those that it knows.

    Raises
    ------
    AttributeError
        MindSpore's library has no such table.
    LookupError
        The table is laid out in another way.
    """
    entries = _entries(function(pynative, _FACTORY, ctypes.c_void_p)())
    known = tuple(name for name in names if name in entries)
    folder = Path(pynative._name).parents[1]
    if not all(_is_entry(entries[name], folder) for name in known):
        raise LookupError("MindSpore keeps the functions that free inputs elsewhere")
    for name in known:
        for word in range(FREEING, FREEING + FREEING_WORDS):
            write_word(entries[name] + word * WORD_BYTES, 0)
    return known


# N15, docs/tricks.md
def _entries(table: int) -> dict[str, int]:
    """Return the address of every primitive's entry."""
    if read_word(table + MULTIPLIER * WORD_BYTES) != _KNOWN_MULTIPLIER:
        raise LookupError("MindSpore's table of gradients is laid out in another way")
    entries, used, count, mask = (read_word(table + word * WORD_BYTES) for word in (ENTRIES, USED, COUNT, MASK))
    # The marks stand behind the entries, in one piece of memory, whose size is a power of two and a rest.
    room, left = divmod(used - entries, WORD_BYTES)
    if left or mask & (mask + 1) or not 0 < count <= mask + 1 < room <= mask + 1 + _OVERFLOW:
        raise LookupError("MindSpore's table of gradients has another size")
    marks = ctypes.string_at(used, room)
    places = [place for place, mark in enumerate(marks) if mark][:count]
    addresses = [read_word(entries + place * WORD_BYTES) for place in places]
    by_name = {read_text(address): address for address in addresses}
    if len(by_name) != count or not all(name.replace(".", "").isidentifier() for name in by_name):
        raise LookupError("MindSpore's table of gradients has entries of another kind")
    return by_name


def _is_entry(entry: int, package: Path) -> bool:
    """Return whether an entry has a hash map in its place, and a function behind it that is empty or MindSpore's."""
    words = [read_word(entry + (FREEING + word) * WORD_BYTES) for word in (MANAGER, CALL)]
    is_mindspores = all(package in Path(find_library(word)).parents for word in words)
    return read_word(entry + ENTRY_MULTIPLIER * WORD_BYTES) == _KNOWN_MULTIPLIER and (is_mindspores or not any(words))
