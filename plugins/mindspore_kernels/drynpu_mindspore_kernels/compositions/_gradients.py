"""
Gradients in PyNative that need an input which MindSpore has freed by then.

On a device the gradient of a sorted tensor begins with zeros of the input's shape, whose numbers nobody reads. The
kernel of the CPU gets the input itself, so it must not be freed after the forward call. MindSpore keeps by primitive,
in a table of robin_hood::unordered_node_map, the function that differentiates and the one that frees.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Final

from drynpu_mindspore.inside import WORD_BYTES, function, read_text, read_word, write_word

KEPT: Final = ("Cummax", "CumminExt", "SortExt", "TopkExt")
"""Primitives whose inputs are kept."""
_FACTORY = "_ZN9mindspore8expander5bprop21BpropIRBuilderFactory8InstanceEv"
# In words: of the table; of an entry, the last two being what copies and what calls the function that frees.
_MULTIPLIER, _ENTRIES, _USED, _COUNT, _MASK = 2, 3, 4, 5, 6
_FREEING, _FREEING_WORDS = 12, 4
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
        The table is laid out otherwise than in 2.7.2.
    """
    entries = _entries(function(pynative, _FACTORY, ctypes.c_void_p)())
    found = tuple(name for name in names if name in entries)
    for name in found:
        for word in range(_FREEING, _FREEING + _FREEING_WORDS):
            write_word(entries[name] + word * WORD_BYTES, 0)
    return found


# N15, docs/tricks.md
def _entries(table: int) -> dict[str, int]:
    """Return the address of every primitive's entry."""
    if read_word(table + _MULTIPLIER * WORD_BYTES) != _KNOWN_MULTIPLIER:
        raise LookupError("MindSpore's table of gradients is laid out in another way")
    entries, used, count, mask = (read_word(table + word * WORD_BYTES) for word in (_ENTRIES, _USED, _COUNT, _MASK))
    marks = ctypes.string_at(used, mask + 1 + min(_OVERFLOW, mask + 1))
    places = [place for place, mark in enumerate(marks) if mark][:count]
    addresses = [read_word(entries + place * WORD_BYTES) for place in places]
    return {read_text(address): address for address in addresses}
