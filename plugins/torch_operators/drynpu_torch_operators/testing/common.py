"""Times of tests: a baseline of runs, and cycles of the device."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any, Final, NoReturn

PERF_TEST_ENABLE: Final = os.environ.get("PERF_TEST_ENABLE", "").upper() in {"ON", "1", "YES", "TRUE", "Y"}
"""Whether ``torch_npu`` times its tests; drynpu does not, because a simulated device has no times of its own."""
PERF_BASELINE_FILE: Final = os.environ.get("PERF_BASELINE_FILE", "performance_baseline.json")


class Baseline:
    """Times of tests by their names, kept in a file."""

    def __init__(self, baselineFile: str) -> None:  # noqa: N803 - the vendor's name
        self._file = Path(baselineFile)
        self._lock = threading.Lock()
        self._baseline: dict[str, Any] = json.loads(self._file.read_text()) if self._file.is_file() else {}

    def get_baseline(self, resourceId: str) -> Any:  # noqa: N803 - the vendor's name
        """Return the time of a test, ``None`` where there is none."""
        return self._baseline.get(resourceId)

    def set_baseline(self, resourceId: str, baseline: Any) -> None:  # noqa: N803 - the vendor's name
        """Keep the time of a test."""
        with self._lock:
            self._baseline[resourceId] = baseline

    def save_baseline(self) -> None:
        """Write all times to the file."""
        with self._lock:
            self._file.write_text(json.dumps(self._baseline))


PerfBaseline = Baseline(PERF_BASELINE_FILE)


def get_cycles_per_ms() -> NoReturn:
    """
    Return how many cycles of ``torch.npu._sleep`` the device counts in a millisecond.

    Raises
    ------
    NotImplementedError
        Always: a simulated device has no kernel that waits.
    """
    raise NotImplementedError("get_cycles_per_ms exists in torch_npu, but drynpu has no kernel that waits")
