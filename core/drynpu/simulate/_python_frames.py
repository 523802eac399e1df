"""Calls of Python functions while a recording ran."""

from __future__ import annotations

from attrs import frozen

from drynpu.arrays import I64


@frozen(eq=False, kw_only=True)
class PythonFrames:
    """
    Calls of Python functions, sorted by ``(start_ns, -end_ns)``; every column has shape ``[n]``, times Unix ns.

    A name is ``<file>(<line>): <function>``, that of a built-in function, or ``<class>######<object>`` for the call
    of a module.
    """

    names: tuple[str, ...]
    name: I64
    start_ns: I64
    end_ns: I64
    thread: I64
