"""The times of a session's runs."""

from __future__ import annotations

import time
from collections.abc import Sequence

from drynpu_offline_inference.inference._console import DEBUG
from drynpu_offline_inference.inference._options import RunSummary
from drynpu_offline_inference.inference.process import LIBRARY

_NS_PER_MS = 1e6


class RunTimes:
    """When the runs of a session began and ended, ms since it was made."""

    def __init__(self) -> None:
        self._zero_ns = time.time_ns()
        self._pairs: list[tuple[float, float]] = []

    def add(self, start_ns: int, end_ns: int) -> None:
        """Take over one run (Unix ns)."""
        LIBRARY.console.say(DEBUG, f"model aclExec cost : {(end_ns - start_ns) / _NS_PER_MS:.6f}")
        self._pairs.append(((start_ns - self._zero_ns) / _NS_PER_MS, (end_ns - self._zero_ns) / _NS_PER_MS))

    def summary(self) -> RunSummary:
        """Work out what is not known yet and return all runs."""
        LIBRARY.times.name_source()
        LIBRARY.times.settle()
        return RunSummary(list(self._pairs))

    def clear(self) -> None:
        """Forget all runs so far."""
        LIBRARY.times.forget(self)
        self._pairs.clear()

    def join(self, zero_ns: int) -> None:
        """Count from the beginning of another session."""
        self._zero_ns = zero_ns

    @property
    def zero_ns(self) -> int:
        """From when times are counted, Unix ns."""
        return self._zero_ns

    def extend(self, others: Sequence[tuple[float, float]]) -> None:
        """Count runs of another session as well."""
        self._pairs.extend(others)
