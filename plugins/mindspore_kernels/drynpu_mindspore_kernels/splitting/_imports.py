"""Functions that a loaded library imports: the places where it keeps their addresses (ELF, x86-64)."""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path

from drynpu_mindspore.inside import WORD_BYTES, read_word

# ``struct link_map`` (link.h), which is what a handle of ``dlopen`` points to: base address, name, dynamic section.
_DYNAMIC_AT = 2 * WORD_BYTES
# Tags of the dynamic section (elf.h): bytes of the table of imports, strings, symbols, the table.
_SIZE, _STRINGS, _SYMBOLS, _IMPORTS = 2, 5, 6, 23
_IMPORT, _SYMBOL_BYTES, _SYMBOL_SHIFT = struct.Struct("<QQq"), 24, 32
# A symbol: name, kind, visibility, section (0: of another library), value, size.
_SYMBOL, _GLOBAL_FUNCTION = struct.Struct("<IBBHQQ"), 0x12


def loaded_library(path: Path) -> ctypes.CDLL | None:
    """Return a library that this process has loaded, ``None`` for one that it has not."""
    try:
        return ctypes.CDLL(str(path), mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return None


# N7, docs/tricks.md
def import_place(library: ctypes.CDLL, symbol: str) -> int:
    """Return where a library keeps the address of a function that it calls, 0 if it does not call it."""
    base, dynamic = read_word(library._handle), read_word(library._handle + _DYNAMIC_AT)
    tags = _tags(dynamic)
    if not {_SIZE, _STRINGS, _SYMBOLS, _IMPORTS} <= tags.keys():
        return 0
    # The loader has made addresses of these, where it can write to the section.
    strings, symbols, imports = (
        tags[tag] if tags[tag] >= base else base + tags[tag] for tag in (_STRINGS, _SYMBOLS, _IMPORTS)
    )
    wanted = symbol.encode()
    for offset, kind, _ in _IMPORT.iter_unpack(ctypes.string_at(imports, tags[_SIZE])):
        name = ctypes.c_uint32.from_address(symbols + (kind >> _SYMBOL_SHIFT) * _SYMBOL_BYTES).value
        if ctypes.string_at(strings + name) == wanted:
            return base + int(offset)
    return 0


def exported_functions(library: ctypes.CDLL) -> dict[str, int]:
    """
    Return the addresses of the functions that a loaded library exports, by the linker's names; not of templates.

    Raises
    ------
    ValueError
        The names of the library do not stand right behind its symbols, as linkers put them.
    """
    base, tags = read_word(library._handle), _tags(read_word(library._handle + _DYNAMIC_AT))
    strings, symbols = (tags[tag] if tags[tag] >= base else base + tags[tag] for tag in (_STRINGS, _SYMBOLS))
    count, left = divmod(strings - symbols, _SYMBOL_BYTES)
    if count <= 0 or left:
        raise ValueError("the symbols of the library are laid out in another way")
    return {
        ctypes.string_at(strings + name).decode(): base + value
        for name, kind, _, section, value, _ in _SYMBOL.iter_unpack(ctypes.string_at(symbols, count * _SYMBOL_BYTES))
        if kind == _GLOBAL_FUNCTION and section
    }


def _tags(dynamic: int) -> dict[int, int]:
    tags: dict[int, int] = {}
    while tag := read_word(dynamic):
        tags.setdefault(tag, read_word(dynamic + WORD_BYTES))
        dynamic += 2 * WORD_BYTES
    return tags
