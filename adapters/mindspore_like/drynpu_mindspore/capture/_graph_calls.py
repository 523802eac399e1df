"""When a script ran compiled graphs: one call may run several graphs of kernels, as control flow takes it."""

from __future__ import annotations

import numpy as np
from attrs import define, field

from drynpu.arrays import I64

NO_CALLS: I64 = np.empty((0, 2), np.int64)


@define(eq=False)
class GraphCalls:
    """The calls of compiled graphs while a recording is under way."""

    _spans: list[tuple[int, int]] | None = field(default=None)

    def begin(self) -> None:
        """Keep calls from now on."""
        self._spans = []

    def add(self, start_ns: int, end_ns: int) -> None:
        """Take a call that has ended, from and to in Unix ns."""
        spans = self._spans
        if spans is not None:
            spans.append((start_ns, end_ns))

    def end(self) -> I64:
        """Keep no more; return the calls since the begin in order of time, int64 ``[n, 2]``."""
        spans, self._spans = self._spans, None
        return np.array(sorted(spans), np.int64).reshape(-1, 2) if spans else NO_CALLS
