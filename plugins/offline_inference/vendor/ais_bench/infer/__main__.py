"""``python -m ais_bench.infer``."""

from __future__ import annotations

import sys

from ais_bench.infer.benchmark_process import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
