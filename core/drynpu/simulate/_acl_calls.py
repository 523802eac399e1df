"""Calls of the vendor's library that an adapter saw the script make."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import frozen

from drynpu.arrays import I32, I64


@frozen(eq=False, kw_only=True)
class AclCalls:
    """
    Calls by their C names (``aclmdlExecute``); columns of shape ``[n]``, in any order.

    A recording that has them shows these calls into ACL; no calls are then derived from the waits among its
    ``host_calls``.
    """

    names: tuple[str, ...]
    """The distinct names."""
    name: I32
    start_ns: I64
    """Unix time, as measured."""
    end_ns: I64
    thread: I64
    """OS thread id."""

    def __len__(self) -> int:
        return len(self.name)

    @classmethod
    def from_rows(cls, rows: Sequence[tuple[str, int, int, int]]) -> AclCalls:
        """Return the table of rows ``(name, start_ns, end_ns, thread)``."""
        numbers = {name: number for number, name in enumerate(dict.fromkeys(row[0] for row in rows))}
        return cls(
            names=tuple(numbers),
            name=np.fromiter((numbers[row[0]] for row in rows), np.int32, len(rows)),
            start_ns=np.fromiter((row[1] for row in rows), np.int64, len(rows)),
            end_ns=np.fromiter((row[2] for row in rows), np.int64, len(rows)),
            thread=np.fromiter((row[3] for row in rows), np.int64, len(rows)),
        )
