"""
The attributes of a primitive of the older kind (``ops.SplitV(size_splits=..., split_dim=...)``) by name.

MindSpore keeps them in the primitive, and a kernel knows its primitive.
"""

from __future__ import annotations

import ast
import ctypes
import re
from typing import Any, Final

from attrs import field, frozen

from drynpu_mindspore.inside import find_symbol, function, new_text, read_functions, read_text, read_word
from drynpu_mindspore_kernels._binding import PRIMITIVE_AT

_WORDS: Final = re.compile(r"[(\[]([\w, ]*)[)\]]")
_TO_TEXT: Final = "8ToStringEv"
_TEXT_TYPE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


@frozen(eq=False)
class AttributeLibrary:
    """The functions of MindSpore that find an attribute, and let go of it and of a text."""

    find: Any
    release: Any
    end_text: Any

    def of_kernel(self, kernel: int) -> Attributes:
        """Return the attributes of the primitive of the kernel at an address."""
        return Attributes(self, read_word(kernel + PRIMITIVE_AT))


@frozen(eq=False)
class Attributes:
    """The attributes of one primitive, read when they are asked for."""

    library: AttributeLibrary
    primitive: int
    """Its address."""
    _read: dict[str, Any] = field(factory=dict)

    def value(self, name: str) -> Any:
        """
        Return a number, a truth value, a text or a tuple of such; ``None`` for an attribute that is not there.

        Of a number there are the six digits that MindSpore shows.
        """
        if name not in self._read:
            self._read[name] = self._find(name)
        return self._read[name]

    def _find(self, name: str) -> Any:
        shared, label = (ctypes.c_void_p * 2)(), new_text(name)
        self.library.find(ctypes.addressof(shared), self.primitive, ctypes.addressof(label))
        value, sharers = shared[0], shared[1]
        if not value:
            return None
        try:
            return read_value(self._shown(value))
        finally:
            if sharers:
                self.library.release(sharers)

    def _shown(self, value: int) -> str:
        """Return what MindSpore shows of a value."""
        text = (ctypes.c_void_p * 1)()
        show = next(each for each in read_functions(read_word(value)) if _TO_TEXT in find_symbol(each))
        _TEXT_TYPE(show)(ctypes.addressof(text), value)
        try:
            return read_text(ctypes.addressof(text))
        finally:
            self.library.end_text(ctypes.addressof(text))


def read_value(text: str) -> Any:
    """
    Return what a text of MindSpore's says: ``(1, 2)``, ``[3]``, ``true``, ``(isend, irecv)``.

    Anything else is the text itself.
    """
    if text in ("true", "false"):
        return text == "true"
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        words = _WORDS.fullmatch(text)
        return text if words is None else tuple(word.strip() for word in words[1].split(",") if word.strip())
    return tuple(value) if isinstance(value, list) else value


# N6, docs/tricks.md
def load_attributes(core: ctypes.CDLL) -> AttributeLibrary:
    """
    Return the functions of MindSpore's library.

    Raises
    ------
    AttributeError
        A function is not there.
    OSError
        The library of C++ is not there.
    """
    word = ctypes.c_void_p
    release = "_ZNSt16_Sp_counted_baseILN9__gnu_cxx12_Lock_policyE2EE10_M_releaseEv"
    return AttributeLibrary(
        find=function(core, "_ZNK9mindspore9Primitive7GetAttrERKSs", word, word, word, word),
        release=function(core, release, None, word),
        end_text=function(ctypes.CDLL("libstdc++.so.6"), "_ZNSsD1Ev", None, word),
    )
