"""The kinds of record and lines of README.txt of the counters outside the cores."""

from __future__ import annotations

from drynpu.layouts import soc_pmu

KINDS = soc_pmu.KINDS

README = {"soc_pmu.csv": "Hits and misses of the translation buffers by task."}
