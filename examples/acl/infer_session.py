"""
Run a model with arrays and say how fast it is, as the vendor's inference samples do.

    python examples/acl/infer_session.py --runs 20

The scores are computed, the times come from the simulated device. With ``--profiler`` the runs leave a profile.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from ais_bench.infer.interface import InferSession, MemorySummary
from perceptron import BATCH, SIZES, build


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--profiler", action="store_true", help="record the runs into infer_out")
    options = parser.parse_args()
    build("perceptron.om")
    acl_json = None
    if options.profiler:
        Path("infer_out").mkdir(exist_ok=True)
        acl_json = "acl.json"
        Path(acl_json).write_text(json.dumps({"profiler": {"switch": "on", "output": "infer_out"}}))

    session = InferSession(0, "perceptron.om", acl_json)
    random = np.random.default_rng(1)
    for _ in range(options.runs):
        x = random.standard_normal((BATCH, SIZES[0])).astype(np.float32)
        (scores,) = session.infer([x])
    times = [end - start for start, end in session.summary().exec_time_list]
    print(f"{len(times)} runs, scores add up to {scores.sum(1).mean():.3f}")
    print(f"NPU_compute_time {np.mean(times):.4f} ms, {1000 * BATCH / np.mean(times):.0f} rows a second (modelled)")
    print(f"copies to the device {np.mean(MemorySummary.get_h2d_time_list()):.4f} ms (modelled)")
    session.free_resource()
    InferSession.finalize()


if __name__ == "__main__":
    main()
