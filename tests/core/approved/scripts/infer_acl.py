"""Run a model, operators and marks with pyACL, profiled with every bit of the mask on."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import acl
import numpy as np
from perceptron import BATCH, SIZES, Model, build, check

MASK = 0x1 | 0x2 | 0x4 | 0x8 | 0x10 | 0x20 | 0x40 | 0x80 | 0x100 | 0x1000
FREQUENCIES = {3: "100", 4: "100", 5: "50", 8: "cpu,mem"}

check(acl.init(), "acl.init")
check(acl.rt.set_device(0), "acl.rt.set_device")
stream, ret = acl.rt.create_stream()
check(ret, "acl.rt.create_stream")
with tempfile.TemporaryDirectory() as folder:
    path = str(Path(folder) / "perceptron.om")
    build(path)
    model = Model(path)
check(acl.prof.init("out"), "acl.prof.init")
config = acl.prof.create_config([0], int(sys.argv[1]), 0, MASK)
for kind, value in FREQUENCIES.items():
    print(kind, acl.prof.set_config(kind, value))
check(acl.prof.start(config), "acl.prof.start")
x = np.random.default_rng(1).standard_normal((BATCH, SIZES[0])).astype(np.float32)
for number in range(2):
    stamp = acl.prof.create_stamp()
    message = f"inference {number}"
    check(acl.prof.set_stamp_trace_message(stamp, message, len(message)), "acl.prof.set_stamp_trace_message")
    check(acl.prof.push(stamp), "acl.prof.push")
    model(x)
    check(acl.prof.pop(), "acl.prof.pop")
    acl.prof.destroy_stamp(stamp)
    check(acl.prof.mark_ex(f"done {number}", stream), "acl.prof.mark_ex")
check(acl.prof.stop(config), "acl.prof.stop")
check(acl.prof.finalize(), "acl.prof.finalize")
