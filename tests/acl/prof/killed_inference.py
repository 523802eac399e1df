"""
Inference that is killed, or whose journal is kept beside its result: ``killed_inference.py RUNS END``.

END is ``kill`` (SIGKILL after the last run) or ``keep`` (the journal is copied to ``kept`` before it is removed). A run
takes 0.15 s.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from pathlib import Path

import acl
import numpy as np
from perceptron import BATCH, SIZES, Model, build, check

from drynpu.recorder import Recorder

RUNS, END = int(sys.argv[1]), sys.argv[2]
ACL_API, TASK_TIME, MSPROFTX = 0x1, 0x2, 0x80

if END == "keep":
    settle = Recorder.settle

    def keep(recorder: Recorder) -> None:
        """Wait until the last part is written, and copy the journal."""
        kept = recorder.journal
        if kept is not None:
            kept._parts.put(None)
            kept._thread.join()
            shutil.copytree(kept.path, Path("kept") / kept.path.name)
        settle(recorder)

    Recorder.settle = keep

check(acl.init(), "acl.init")
check(acl.rt.set_device(0), "acl.rt.set_device")
stream, ret = acl.rt.create_stream()
check(ret, "acl.rt.create_stream")
build("perceptron.om")
model = Model("perceptron.om")
check(acl.prof.init("out"), "acl.prof.init")
config = acl.prof.create_config([0], 1, 0, ACL_API | TASK_TIME | MSPROFTX)
check(acl.prof.start(config), "acl.prof.start")
x = np.random.default_rng(1).standard_normal((BATCH, SIZES[0])).astype(np.float32)
for number in range(RUNS):
    model(x)
    check(acl.prof.mark_ex(f"run {number}", stream), "acl.prof.mark_ex")
    print("RUN", number, flush=True)
    time.sleep(0.15)
if END == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(0.5)
acl.rt.synchronize_stream(stream)  # a call after the time between two parts, so that all runs are saved
check(acl.prof.stop(config), "acl.prof.stop")
check(acl.prof.finalize(), "acl.prof.finalize")
