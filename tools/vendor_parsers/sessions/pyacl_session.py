"""
Three runs of a small model by pyACL, with marks on the host and on the stream.

    drynpu run pyacl_session.py FOLDER LEVEL [METRICS]
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[3] / "examples" / "acl"))

import acl
import numpy as np
from perceptron import BATCH, SIZES, Model, build, check

ACL_API, AICORE_METRICS, AICPU, MSPROFTX, RUNTIME_API = 0x1, 0x4, 0x8, 0x80, 0x100
TASK_TIME = {"l0": 0x800, "l1": 0x2, "l2": 0x2000}
NO_METRICS, MEMORY_FREQUENCY = 0xFF, 3
METRICS = (
    *("ArithmeticUtilization", "PipeUtilization", "Memory", "MemoryL0", "ResourceConflictRatio"),
    *("MemoryUB", "L2Cache", "PipelineExecuteUtilization", "MemoryAccess"),
)
"""Groups of counters in the order of their numbers (pyacl_prof.md 4)."""


def main() -> None:
    """Record."""
    folder, level, *metrics = sys.argv[1:]
    group = METRICS.index(metrics[0]) if metrics and metrics[0] else NO_METRICS
    mask = ACL_API | AICPU | MSPROFTX | RUNTIME_API | TASK_TIME[level]
    mask |= AICORE_METRICS if group != NO_METRICS else 0
    path = str(Path(folder) / "perceptron.om")
    build(path)
    check(acl.init(), "acl.init")
    check(acl.rt.set_device(0), "acl.rt.set_device")
    stream, ret = acl.rt.create_stream()
    check(ret, "acl.rt.create_stream")
    model = Model(path)
    check(acl.prof.init(folder), "acl.prof.init")
    config = acl.prof.create_config([0], group, 0, mask)
    check(acl.prof.set_config(MEMORY_FREQUENCY, "50"), "acl.prof.set_config")
    check(acl.prof.start(config), "acl.prof.start")
    for number in range(3):
        stamp = acl.prof.create_stamp()
        message = f"inference {number}"
        check(acl.prof.set_stamp_trace_message(stamp, message, len(message)), "acl.prof.set_stamp_trace_message")
        check(acl.prof.push(stamp), "acl.prof.push")
        model(np.full((BATCH, SIZES[0]), 0.5, np.float32))
        check(acl.prof.pop(), "acl.prof.pop")
        acl.prof.destroy_stamp(stamp)
        check(acl.prof.mark_ex(f"inference {number} done", stream), "acl.prof.mark_ex")
    check(acl.prof.stop(config), "acl.prof.stop")
    check(acl.prof.finalize(), "acl.prof.finalize")
    check(acl.finalize(), "acl.finalize")


if __name__ == "__main__":
    main()
