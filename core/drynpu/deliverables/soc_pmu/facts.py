"""The kinds of record and lines of README.txt of the counters outside the cores."""

from __future__ import annotations

from drynpu.layouts import soc_pmu
from drynpu.layouts.result_files import SOC_PMU_FILE

KINDS = soc_pmu.KINDS

README = {SOC_PMU_FILE: "Hits and misses of the translation buffers by task."}
