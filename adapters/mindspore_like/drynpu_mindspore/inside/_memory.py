"""Values of C++ in the memory of this process: words, texts, lists and tables of virtual functions (GNU C++)."""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Iterable, Mapping
from typing import Any

from drynpu.host import memory_maps

# What precedes the functions in a table of virtual functions (Itanium C++ ABI 2.5.2), and more than any table has.
_TABLE_HEAD, _TABLE_LONGEST = 2, 64
CORE, HARDWARE = "lib/libmindspore_core.so", "lib/libmindspore_hardware_abstract.so"
"""Libraries of MindSpore, as seen from its package."""
WORD_BYTES = struct.calcsize("P")
# Length, capacity and number of sharers stand before the characters of a text.
_TEXT_HEAD_BYTES = 3 * WORD_BYTES


class _Place(ctypes.Structure):
    """``Dl_info`` of ``dladdr``."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


_C = ctypes.CDLL(None)
_C.malloc.restype, _C.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
ALWAYS: int = ctypes.cast(_C.ffsl, ctypes.c_void_p).value or 0
"""A function of C that is true for every address but 0: the place of the first bit that is set."""

LAUNCH = ctypes.CFUNCTYPE(ctypes.c_bool, *[ctypes.c_void_p] * 5)
"""Type of a kernel's function that launches: kernel, inputs, workspace, outputs, stream (kernel_base/kernel.h)."""


def read_word(address: int) -> int:
    """Return the word at *address*, which is a pointer or a number of its size."""
    return ctypes.c_void_p.from_address(address).value or 0


def write_word(address: int, value: int) -> None:
    """Replace the word at *address*."""
    ctypes.c_void_p.from_address(address).value = value


# N6, docs/tricks.md
def new_text(text: str) -> ctypes.Array[ctypes.c_char]:
    """
    Return a ``std::string``, to be passed by reference; it is copied by whoever takes it.

    That is a pointer to the characters, in front of which stand length, capacity and number of sharers (GNU C++ before
    C++11, which is what ``Ss`` in the linker's names says); a negative number forbids to share it.
    """
    characters = text.encode()
    body = struct.pack("<QQq", len(characters), len(characters), -1) + characters + b"\0"
    buffer = ctypes.create_string_buffer(WORD_BYTES + len(body))
    start = ctypes.addressof(buffer) + WORD_BYTES
    buffer.raw = struct.pack("<Q", start + _TEXT_HEAD_BYTES) + body
    return buffer


def read_text(address: int) -> str:
    """Return the ``std::string`` at *address*."""
    characters = read_word(address)
    return ctypes.string_at(characters, read_word(characters - _TEXT_HEAD_BYTES)).decode()


def read_vector(address: int) -> list[int]:
    """Return the words of the ``std::vector`` at *address*: pointers, or numbers without a sign."""
    begin, end = read_word(address), read_word(address + WORD_BYTES)
    count = (end - begin) // WORD_BYTES
    return list((ctypes.c_size_t * count).from_address(begin)) if count else []


def find_library(address: int) -> str:
    """Return the path of the library that the code at *address* belongs to, ``""`` for code of none."""
    place = _Place()
    is_known = _C.dladdr(ctypes.c_void_p(address), ctypes.byref(place))
    return place.file.decode() if is_known and place.file else ""


def read_class(table: int) -> str:
    """Return the class in C++ whose virtual functions the *table* holds, as the linker spells it; ``""`` without."""
    described = read_word(table - WORD_BYTES)
    return ctypes.string_at(read_word(described + WORD_BYTES)).decode(errors="replace") if described else ""


def find_symbol(address: int) -> str:
    """Return the linker's name of the function at *address*, ``""`` for one that has none."""
    place = _Place()
    is_known = _C.dladdr(ctypes.c_void_p(address), ctypes.byref(place))
    return place.name.decode() if is_known and place.name and place.address == address else ""


def read_functions(table: int) -> list[int]:
    """Return the virtual functions of a table; a 0 ends it, or the head of the next one, whose first word is 0."""
    functions = []
    for number in range(_TABLE_LONGEST):
        function = read_word(table + number * WORD_BYTES)
        if not function:
            break
        functions.append(function)
    return functions


def new_memory(size_bytes: int) -> int:
    """Return the address of memory that lives as long as the process; it holds zeros."""
    memory: int = _C.malloc(size_bytes)
    ctypes.memset(memory, 0, size_bytes)
    return memory


def new_table(table: int, functions: list[int]) -> int:
    """Return the address of a table with the head of *table*; it lives as long as the process."""
    words = _TABLE_HEAD + len(functions)
    memory = new_memory(words * WORD_BYTES)
    copy = (ctypes.c_void_p * words).from_address(memory)
    head = (ctypes.c_void_p * _TABLE_HEAD).from_address(table - _TABLE_HEAD * WORD_BYTES)
    copy[:] = [*head, *functions]
    return memory + _TABLE_HEAD * WORD_BYTES


def change_table(table: int, functions: Mapping[int, int]) -> None:
    """
    Replace virtual functions in the *table* of a class, for all objects that it has and will have.

    Raises
    ------
    OSError
        The memory of the table cannot be written.
    """
    writable = _is_writable(table)
    if not writable:
        _protect(table, functions, mmap.PROT_READ | mmap.PROT_WRITE)
    for place, address in functions.items():
        write_word(table + place * WORD_BYTES, address)
    if not writable:
        _protect(table, functions, mmap.PROT_READ)  # as the linker left it once the table was filled


def _protect(table: int, places: Iterable[int], protection: int) -> None:
    begin = table - table % mmap.PAGESIZE
    size_bytes = table + (max(places) + 1) * WORD_BYTES - begin
    if _C.mprotect(ctypes.c_void_p(begin), ctypes.c_size_t(size_bytes), protection):
        raise OSError(f"the table of virtual functions at {table:#x} cannot be written")


def _is_writable(address: int) -> bool:
    return any("w" in permissions for begin, end, permissions in memory_maps() if begin <= address < end)


def address_of(library: ctypes.CDLL, name: str) -> int:
    """Return the address of what a library has under the linker's name."""
    return ctypes.cast(library[name], ctypes.c_void_p).value or 0


def function(library: ctypes.CDLL, symbol: str, result: Any, *arguments: Any) -> Any:
    """Return a function of a library by the linker's name."""
    call = library[symbol]
    call.restype, call.argtypes = result, list(arguments)
    return call
