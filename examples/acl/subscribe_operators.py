"""
Times of a model's operators while it runs: ``acl.prof.model_subscribe`` and a thread that reads the pipe.

    python examples/acl/subscribe_operators.py

It imports nothing of drynpu: with CANN and an NPU (and a model converted with ATC) it runs there.
"""

import argparse
import os
import tempfile
from collections import defaultdict
from pathlib import Path

import acl
import numpy as np
from perceptron import BATCH, SIZES, Model, build, check

ACL_AICORE_NONE = 0xFF


def read_pipe(arguments):
    """Collect durations by operator until the writing end is closed."""
    descriptor, context, durations_us = arguments
    check(acl.rt.set_context(context), "acl.rt.set_context")
    size, _ = acl.prof.get_op_desc_size()
    while True:
        data = os.read(descriptor, 10 * size)
        if not data:
            break
        pointer, length = acl.util.bytes_to_ptr(data), len(data)
        count, ret = acl.prof.get_op_num(pointer, length)
        check(ret, "acl.prof.get_op_num")
        for index in range(count):
            op_type, _ = acl.prof.get_op_type_v2(pointer, length, index)
            name, _ = acl.prof.get_op_name_v2(pointer, length, index)
            durations_us[name, op_type].append(acl.prof.get_op_duration(pointer, length, index))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    check(acl.init(), "acl.init")
    context, ret = acl.rt.create_context(0)
    check(ret, "acl.rt.create_context")
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "perceptron.om")
        build(path)
        model = Model(path)

    source, sink = os.pipe()
    config = acl.prof.create_subscribe_config(1, ACL_AICORE_NONE, sink)
    check(acl.prof.model_subscribe(model.model_id, config), "acl.prof.model_subscribe")
    durations_us = defaultdict(list)
    thread, _ = acl.util.start_thread(read_pipe, [source, context, durations_us])
    x = np.ones((BATCH, SIZES[0]), np.float32)
    for _ in range(options.runs):
        model(x)
    # Unsubscribing closes the writing end, so that the reader comes to its end.
    check(acl.prof.model_unsubscribe(model.model_id), "acl.prof.model_unsubscribe")
    acl.util.stop_thread(thread)
    os.close(source)
    acl.prof.destroy_subscribe_config(config)
    for (name, op_type), of in durations_us.items():
        print(f"{name:<32} {op_type:<12} {len(of)} runs, {sum(of) / len(of):.1f} us")

    model.unload()
    acl.rt.destroy_context(context)
    check(acl.finalize(), "acl.finalize")


if __name__ == "__main__":
    main()
