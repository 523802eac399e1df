"""Processes that are forked while a profiler records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.scripts import FRESH

pytestmark = pytest.mark.slow

SCRIPT = """
import os, sys
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore.profiler import ProfilerActivity, profile, tensorboard_trace_handler

class Rows:
    def __len__(self):
        return 32

    def __getitem__(self, number):
        return np.full(8, number, np.float32)

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend")
profiler = profile(
    activities=[ProfilerActivity.CPU], with_stack=True, on_trace_ready=tensorboard_trace_handler("out"),
    start_profile=False,
)
profiler.start()
source = ds.GeneratorDataset(Rows(), ["x"], num_parallel_workers=2, python_multiprocessing=True)
print("rows", sum(1 for _ in source.create_tuple_iterator(num_epochs=1)))
for _ in range(5):  # MindSpore's threads have to be waiting, which not every moment finds
    child = os.fork()
    if child == 0:
        ms.Tensor(np.ones(3))
        sys.exit(0)
    os.waitpid(child, 0)
profiler.stop()
"""


def test_what_is_recorded_is_left_to_the_process_that_began(scripts: Any) -> None:
    run = scripts.simulated(SCRIPT, environment=FRESH)
    assert "rows 32" in run.stdout
    (directory,) = run.runs("out")
    assert len(list(directory.glob("logs/*"))) == 1, "nobody else wrote there"
    assert run.stdout.count("Written: ") == 1
    table = (Path(directory) / "ASCEND_PROFILER_OUTPUT" / "dataset.csv").read_text()
    assert ",__next__,32," in table
