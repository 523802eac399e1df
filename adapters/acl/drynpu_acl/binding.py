"""
How functions of the vendor's binding take their arguments.

The binding is a C extension that parses positional arguments by a format of letters (pyacl_prof.md 1):

- ``k`` and ``K`` unsigned 64 bits, which have to be ``int`` (``numpy.int64`` is none), wrapped without a check,
- ``I`` unsigned 32 bits, of anything that counts as an index, wrapped without a check,
- ``i`` a C int, ``h`` a C short and ``b`` 0..255, of anything that counts as an index, all checked; ``B`` its lowest
  byte, unchecked; ``f`` a number,
- ``s`` a ``str`` without zeros that UTF-8 can write, ``O`` anything,
- what follows ``|`` may be missing.

An empty format stands for a function that ignores its arguments: it takes any number of them.
"""

from __future__ import annotations

import enum
import functools
import operator
import os
import time
from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar

from drynpu.host import waited_ns
from drynpu.recorder import CHECK_VARIABLE

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_CHECKED = {"i": (-(2**31), 2**31 - 1), "h": (-(2**15), 2**15 - 1), "b": (0, 255)}
"""The smallest and the largest number by letter."""


class ApiListener(Protocol):
    """Takes over the calls of the library."""

    def api(self, name: str, start_ns: int, end_ns: int, arguments: tuple[object, ...], waited: int) -> None:
        """
        Take over one call on the calling thread: its C name, and when it began and returned (Unix ns).

        *arguments* are the converted ones, whose handles may be wrong. *waited* is `waited_ns` before the call.
        """


def parse(refused: str, letters: str, arguments: tuple[object, ...]) -> tuple[Any, ...]:
    """
    Return *arguments* converted by a format of letters.

    Raises
    ------
    TypeError
        Wrong number or type, with the text *refused*.
    """
    if not letters:
        return ()
    required, _, optional = letters.partition("|")
    if not len(required) <= len(arguments) <= len(required) + len(optional):
        raise TypeError(refused)
    try:
        return tuple(map(_convert, required + optional, arguments))
    except (TypeError, OverflowError, UnicodeEncodeError) as error:
        raise TypeError(refused) from error


def _convert(letter: str, value: Any) -> Any:
    """Return *value* as the binding converts it; raises what says that it is of another type or range."""
    if letter == "O":
        return value
    if letter == "s":
        if not isinstance(value, str) or "\0" in value:
            raise TypeError(type(value).__name__)
        value.encode()
        return value
    if letter in "kK":
        if not isinstance(value, int):
            raise TypeError(type(value).__name__)
        return int(value) & (2**64 - 1)
    if letter == "f":
        if isinstance(value, str):
            raise TypeError(type(value).__name__)
        return float(value)
    number = operator.index(value)
    if letter in "IB":
        return number & (2**32 - 1 if letter == "I" else 2**8 - 1)
    low, high = _CHECKED[letter]
    if not low <= number <= high:
        raise OverflowError(number)
    return number


class Binder:
    """
    Makes the functions of one of the vendor's modules.

    Parameters
    ----------
    module:
        ``acl.rt``.
    prefix:
        How the names of the module's C functions begin: ``aclrt``.
    refused:
        The text of parse errors, ``{}`` being the function; the vendor's modules differ in it.
    listener:
        Returns what takes over calls; ``None`` where nothing does.
    ready:
        Returns 0, or the code that functions with *zeros* return in place of a result.
    """

    def __init__(
        self,
        module: str,
        prefix: str,
        listener: Callable[[], ApiListener | None],
        ready: Callable[[], int] = lambda: 0,
        *,
        refused: str = "{} args parse failed",
    ) -> None:
        self._module, self._prefix, self._listener, self._ready = module, prefix, listener, ready
        self._refused = refused

    def __call__(
        self,
        name: str,
        letters: str,
        implementation: Callable[Arguments, Result],
        *,
        api: str | None = None,
        refused: str | None = None,
        zeros: int | None = None,
    ) -> Callable[Arguments, Result]:
        """
        Return the function *name*, which calls *implementation* with converted arguments and returns plain numbers.

        Parameters
        ----------
        letters:
            The format of the arguments.
        api:
            The name of the C function where it does not follow from *name*; empty where listeners get no call.
        refused:
            The text of parse errors where it is not the module's.
        zeros:
            How many zeros stand before the code in the result of a call while the library is not ready; ``None`` for
            functions that work all the same.
        """
        whole = f"{self._module}.{name}"
        call: Callable[..., Any] = implementation
        error, listener, ready = refused or self._refused.format(whole), self._listener, self._ready
        c_name = self._prefix + "".join(word.capitalize() for word in name.split("_")) if api is None else api

        def function(*arguments: object, **keywords: object) -> Any:
            if keywords:
                raise TypeError(f"{whole}() takes no keyword arguments")
            values = parse(error, letters, arguments)
            if zeros is not None and (code := ready()):
                return _plain((*(0,) * zeros, code) if zeros else code)
            listening = listener() if c_name else None
            if listening is None:
                return _plain(call(*values))
            waited, start_ns = waited_ns(), time.time_ns()
            try:
                return _plain(call(*values))
            finally:
                listening.api(c_name, start_ns, max(time.time_ns(), start_ns + 1), values, waited)

        function.__name__ = name
        function.__qualname__ = name
        function.__module__ = self._module
        function.__doc__ = getattr(implementation, "func", implementation).__doc__
        bound: Callable[Arguments, Result] = _watched(whole, function) if os.environ.get(CHECK_VARIABLE) else function
        return bound


def _watched(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return *function*, with what it returns noted for ``drynpu check``."""

    @functools.wraps(function)
    def watched(*arguments: object, **keywords: object) -> Any:
        # The facade binds its functions while it is imported; profiling is there when the first is called.
        from drynpu_acl.prof._checking import note_result
        from drynpu_acl.prof.process import CHECKED

        result = function(*arguments, **keywords)
        if CHECKED is not None:
            note_result(CHECKED, name, result)
        return result

    return watched


def refuse_names(module: str, what: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of an empty module of the vendor's, which says that *what* is not simulated."""

    def missing(name: str) -> Any:
        reason = "" if name.startswith("_") else f": drynpu does not simulate {what} (docs/pyacl.md)"
        raise AttributeError(f"module {module!r} has no attribute {name!r}{reason}")

    return missing


def _plain(result: object) -> Any:
    """Return *result* with numbers in place of enumerations: a program that prints its code sees a number."""
    if isinstance(result, tuple):
        return tuple(map(_plain, result))
    return int(result) if isinstance(result, enum.IntEnum) else result
