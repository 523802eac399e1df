"""
The table in which MindSpore looks up its kernels of the CPU: a ``std::map`` from the primitive's name to a function.

A node of the map is (GNU C++): color, parent, left and right child, the name, and a ``std::function`` of four words, of
which the last two are what copies and what calls it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

from attrs import frozen

from drynpu_mindspore.inside import WORD_BYTES, function, new_memory, new_text, read_text, read_word, write_word

_KEY = "N9mindspore6kernel18NativeCpuKernelModE"
"""The name of the class in C++ under which MindSpore keeps its table."""
_FIND = "_ZN9mindspore6kernel11FactoryBase11GetInstanceERKSs"
_REBALANCE = "_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_"
# In words: of the table up to the map's end node; in a node; in an end node.
_HEADER = 2
_PARENT, _LEFT, _RIGHT, _NAME, _FUNCTION, _NODE = 1, 2, 3, 4, 5, 9
_COUNT = 4
_MANAGER, CALL = 2, 3
CREATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
"""Type of the function that creates a kernel: see :meth:`KernelFactory.add`."""
_TEXT_HEAD = 3


# N11, docs/tricks.md
@frozen(eq=False)
class KernelFactory:
    """MindSpore's table of the CPU's kernels, *address* being the address of its end node."""

    address: int
    _insert: object

    def names(self) -> dict[str, int]:
        """Return the address of the function of every primitive that has a kernel."""
        return {read_text(node + _NAME * WORD_BYTES): node + _FUNCTION * WORD_BYTES for node in self._nodes()}

    def add(self, name: str, like: int, call: int) -> int:
        """
        Add a primitive and return the address of its function.

        Parameters
        ----------
        like:
            The address of a function of the table, whose way to be copied is used.
        call:
            The address of the function of C that creates a kernel: it gets the place of the result and the address
            that is returned here.
        """
        node = new_memory(_NODE * WORD_BYTES)
        write_word(node + _NAME * WORD_BYTES, _lasting_text(name))
        creator = node + _FUNCTION * WORD_BYTES
        write_word(creator + _MANAGER * WORD_BYTES, read_word(like + _MANAGER * WORD_BYTES))
        write_word(creator + CALL * WORD_BYTES, call)
        parent, left = self._place(name)
        self._insert(left, node, parent, self.address)  # type: ignore[operator]
        count = self.address + _COUNT * WORD_BYTES
        write_word(count, read_word(count) + 1)
        return creator

    def replace(self, function: int, like: int, call: int) -> None:
        """Put another way to create a kernel in place of the *function* of a primitive; see :meth:`add`."""
        write_word(function + _MANAGER * WORD_BYTES, read_word(like + _MANAGER * WORD_BYTES))
        write_word(function + CALL * WORD_BYTES, call)

    def _place(self, name: str) -> tuple[int, bool]:
        """Return the parent of a new node and whether it becomes its left child; names are ordered by their bytes."""
        parent, node, left = self.address, read_word(self.address + _PARENT * WORD_BYTES), True
        while node:
            parent, left = node, name.encode() < read_text(node + _NAME * WORD_BYTES).encode()
            node = read_word(node + (_LEFT if left else _RIGHT) * WORD_BYTES)
        return parent, left

    def _nodes(self) -> Iterator[int]:
        waiting = [read_word(self.address + _PARENT * WORD_BYTES)]
        while waiting:
            node = waiting.pop()
            if node:
                yield node
                waiting += [read_word(node + _LEFT * WORD_BYTES), read_word(node + _RIGHT * WORD_BYTES)]


def find_factory(hardware: ctypes.CDLL) -> KernelFactory:
    """
    Return the table.

    Raises
    ------
    AttributeError, OSError
        A library lacks a function, or is not there.
    LookupError
        MindSpore has no table, or the nodes of a table are laid out in another way.
    """
    word = ctypes.c_void_p
    standard = ctypes.CDLL("libstdc++.so.6")
    table: int | None = function(hardware, _FIND, word, word)(new_text(_KEY))
    if not table:
        raise LookupError("MindSpore has no table of kernels")
    insert = function(standard, _REBALANCE, None, ctypes.c_bool, word, word, word)
    return KernelFactory(table + _HEADER * WORD_BYTES, insert)


def _lasting_text(text: str) -> int:
    """Return the characters of a ``std::string`` in memory that the map frees."""
    characters = text.encode()
    head = new_memory(_TEXT_HEAD * WORD_BYTES + len(characters) + 1)
    write_word(head, len(characters))
    write_word(head + WORD_BYTES, len(characters))
    begin = head + _TEXT_HEAD * WORD_BYTES
    ctypes.memmove(begin, characters, len(characters))
    return begin
