"""
What a million operator records of FRAMEWORK/torch.op_range cost to write and to read, beside a raw write.

``python benchmarks/bench_raw.py [records] [rounds]``. Writing, reading and a plain write of the same bytes alternate
within each round; the ratios compare the medians.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from ratios import record_ratio

from drynpu.layouts import framework_torch as torch_facts
from drynpu.layouts.framework_torch import FrameworkRecord, OpRangeField
from drynpu.raw import read_tlv, write_tlv

NAMES = 200
RAW_CHUNK = 1 << 22


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def write_raw(path: Path, content: bytes) -> None:
    with path.open("wb", buffering=0) as stream:
        for offset in range(0, len(content), RAW_CHUNK):
            stream.write(content[offset : offset + RAW_CHUNK])


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    random = np.random.default_rng(0)
    fixed = np.zeros(count, torch_facts.OP_RANGE)
    fixed["start"] = np.cumsum(random.integers(1_000, 20_000, count))
    fixed["end"] = fixed["start"] + 900
    texts = [
        {
            int(OpRangeField.NAME): f"aten::operator_{number}",
            int(OpRangeField.INPUT_DTYPES): "float;float;Scalar",
            int(OpRangeField.INPUT_SHAPES): f"{number},{2 * number};{number},8;",
        }
        for number in range(NAMES)
    ]
    index = random.integers(0, NAMES, count)
    written, read, raw = [], [], []
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "torch.op_range"
        for _ in range(rounds):
            written.append(seconds(lambda: write_tlv(path, FrameworkRecord.OP_RANGE, fixed, index, texts)))
            read.append(seconds(lambda: read_tlv(path, torch_facts.OP_RANGE)))
            raw.append(seconds(partial(write_raw, path.with_name("raw"), path.read_bytes())))
        size_mb = path.stat().st_size / 1e6
        back = read_tlv(path, torch_facts.OP_RANGE)
    assert (back.fixed == fixed).all()
    base = statistics.median(raw)
    print(f"{count} records, {size_mb:.0f} MB")
    for title, times in (("raw write", raw), ("write_tlv", written), ("read_tlv", read)):
        median = statistics.median(times)
        if times is not raw:
            record_ratio(f"{title} / a plain write", median / base)
        spread = f"{min(times):.3f}-{max(times):.3f} s"
        print(f"{title:10} {median:7.3f} s {size_mb / median:6.0f} MB/s {median / base:6.2f} x raw   ({spread})")


if __name__ == "__main__":
    main()
