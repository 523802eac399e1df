"""
The table in which MindSpore looks up its kernels of the CPU: a ``std::map`` from the primitive's name to a function.

A node of the map is (GNU C++): color, parent, left and right child, the name, and a ``std::function`` of four words, of
which the last two are what copies and what calls it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from itertools import pairwise

from attrs import frozen

from drynpu_mindspore.inside import WORD_BYTES, function, new_memory, new_text, read_text, read_word, write_word
from drynpu_mindspore_kernels._binding import (
    CALL,
    FUNCTION,
    LEFT,
    MANAGER,
    MAP_COUNT,
    MAP_HEADER,
    NAME,
    NODE_WORDS,
    PARENT,
    RIGHT,
)

_KEY = "N9mindspore6kernel18NativeCpuKernelModE"
"""The name of the class in C++ under which MindSpore keeps its table."""
_FIND = "_ZN9mindspore6kernel11FactoryBase11GetInstanceERKSs"
_REBALANCE = "_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_"
CREATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
"""Type of the function that creates a kernel: see :meth:`KernelFactory.add`."""
_TEXT_HEAD = 3
_OTHERWISE = "MindSpore's table of kernels is laid out in another way"


# N11, docs/tricks.md
@frozen(eq=False)
class KernelFactory:
    """MindSpore's table of the CPU's kernels, *address* being the address of its end node."""

    address: int
    _insert: object

    def check(self) -> None:
        """
        Go through the whole map before anything is written.

        Raises
        ------
        LookupError
            It is laid out in another way: a node does not name the node above it, a function cannot be called, names
            are not in order, or the map counts other nodes.
        """
        nodes = list(self._in_order())
        words = [node + (FUNCTION + word) * WORD_BYTES for node in nodes for word in (MANAGER, CALL)]
        if read_word(self.address + MAP_COUNT * WORD_BYTES) != len(nodes) or not all(map(read_word, words)):
            raise LookupError(_OTHERWISE)
        names = [read_text(node + NAME * WORD_BYTES).encode() for node in nodes]
        if any(name >= behind for name, behind in pairwise(names)):
            raise LookupError(_OTHERWISE)

    def names(self) -> dict[str, int]:
        """Return the address of the function of every primitive that has a kernel."""
        return {read_text(node + NAME * WORD_BYTES): node + FUNCTION * WORD_BYTES for node in self._in_order()}

    def create(self, name: str) -> int:
        """Return the address of a new kernel of a primitive; it lives as long as the process."""
        shared, entry = (ctypes.c_void_p * 2)(), self.names()[name]
        CREATE(read_word(entry + CALL * WORD_BYTES))(ctypes.addressof(shared), entry)
        return shared[0] or 0

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
        node = new_memory(NODE_WORDS * WORD_BYTES)
        write_word(node + NAME * WORD_BYTES, _lasting_text(name))
        creator = node + FUNCTION * WORD_BYTES
        write_word(creator + MANAGER * WORD_BYTES, read_word(like + MANAGER * WORD_BYTES))
        write_word(creator + CALL * WORD_BYTES, call)
        parent, left = self._place(name)
        self._insert(left, node, parent, self.address)  # type: ignore[operator]
        count = self.address + MAP_COUNT * WORD_BYTES
        write_word(count, read_word(count) + 1)
        return creator

    def replace(self, function: int, like: int, call: int) -> None:
        """Put another way to create a kernel in place of the *function* of a primitive; see :meth:`add`."""
        write_word(function + MANAGER * WORD_BYTES, read_word(like + MANAGER * WORD_BYTES))
        write_word(function + CALL * WORD_BYTES, call)

    def _place(self, name: str) -> tuple[int, bool]:
        """Return the parent of a new node and whether it becomes its left child; names are ordered by their bytes."""
        parent, node, left = self.address, read_word(self.address + PARENT * WORD_BYTES), True
        while node:
            parent, left = node, name.encode() < read_text(node + NAME * WORD_BYTES).encode()
            node = read_word(node + (LEFT if left else RIGHT) * WORD_BYTES)
        return parent, left

    def _in_order(self) -> Iterator[int]:
        """
        Yield every node in the order of the names.

        Raises
        ------
        LookupError
            A node does not name the node above it. So a map that is none has an end as well.
        """
        above: list[int] = []
        node, parent = read_word(self.address + PARENT * WORD_BYTES), self.address
        while node or above:
            while node:
                if read_word(node + PARENT * WORD_BYTES) != parent:
                    raise LookupError(_OTHERWISE)
                above.append(node)
                node, parent = read_word(node + LEFT * WORD_BYTES), node
            parent = above.pop()
            yield parent
            node = read_word(parent + RIGHT * WORD_BYTES)


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
    factory = KernelFactory(table + MAP_HEADER * WORD_BYTES, insert)
    factory.check()
    return factory


def _lasting_text(text: str) -> int:
    """Return the characters of a ``std::string`` in memory that the map frees."""
    characters = text.encode()
    head = new_memory(_TEXT_HEAD * WORD_BYTES + len(characters) + 1)
    write_word(head, len(characters))
    write_word(head + WORD_BYTES, len(characters))
    begin = head + _TEXT_HEAD * WORD_BYTES
    ctypes.memmove(begin, characters, len(characters))
    return begin
