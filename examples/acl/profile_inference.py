"""
Inference with pyACL that profiles itself and marks what it does: ``acl.prof.init``, ``start``, ``stop``, ``finalize``.

    python examples/acl/profile_inference.py --output acl_out

It imports nothing of drynpu: with CANN and an NPU (and a model converted with ATC) it runs there.
"""

import argparse
import tempfile
from pathlib import Path

import acl
import numpy as np
from perceptron import BATCH, SIZES, Model, build, check

ACL_PROF_ACL_API = 0x1
ACL_PROF_TASK_TIME = 0x2
ACL_PROF_AICORE_METRICS = 0x4
ACL_PROF_MSPROFTX = 0x80
ACL_AICORE_PIPE_UTILIZATION = 1
ACL_PROF_SYS_HARDWARE_MEM_FREQ = 3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", default="acl_out", help="directory of the results")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()

    check(acl.init(), "acl.init")
    check(acl.rt.set_device(0), "acl.rt.set_device")
    stream, ret = acl.rt.create_stream()
    check(ret, "acl.rt.create_stream")
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "perceptron.om")
        build(path)
        model = Model(path)

    check(acl.prof.init(options.output), "acl.prof.init")
    mask = ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS | ACL_PROF_MSPROFTX
    config = acl.prof.create_config([0], ACL_AICORE_PIPE_UTILIZATION, 0, mask)
    check(acl.prof.set_config(ACL_PROF_SYS_HARDWARE_MEM_FREQ, "50"), "acl.prof.set_config")
    check(acl.prof.start(config), "acl.prof.start")

    x = np.random.default_rng(1).standard_normal((BATCH, SIZES[0])).astype(np.float32)
    for number in range(options.runs):
        stamp = acl.prof.create_stamp()
        message = f"inference {number}"
        check(acl.prof.set_stamp_trace_message(stamp, message, len(message)), "acl.prof.set_stamp_trace_message")
        check(acl.prof.push(stamp), "acl.prof.push")
        scores = model(x)
        check(acl.prof.pop(), "acl.prof.pop")
        acl.prof.destroy_stamp(stamp)
        check(acl.prof.mark_ex(f"inference {number} done", stream), "acl.prof.mark_ex")
    print(f"{options.runs} runs, scores add up to {scores.sum(axis=1).mean():.3f}")

    check(acl.prof.stop(config), "acl.prof.stop")
    check(acl.prof.destroy_config(config), "acl.prof.destroy_config")
    check(acl.prof.finalize(), "acl.prof.finalize")
    model.unload()
    acl.rt.destroy_stream(stream)
    acl.rt.reset_device(0)
    check(acl.finalize(), "acl.finalize")


if __name__ == "__main__":
    main()
