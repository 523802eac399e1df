"""A process with a rank of its own: MindSpore numbers its files by it."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import mindspore as ms
import mindspore.dataset as ds
import numpy as np
from mindspore import nn
from mindspore.profiler import profile, tensorboard_trace_handler

ms.set_context(mode=ms.PYNATIVE_MODE)
net = nn.Dense(4, 3)
with profile(data_process=True, on_trace_ready=tensorboard_trace_handler("out")):
    rows = ds.GeneratorDataset([(np.ones(4, np.float32),)] * 6, ["a"]).batch(2)
    for (batch,) in rows:
        net(batch).asnumpy()
"""


def test_operators_and_pipelines_of_other_ranks_are_recorded(scripts: Any) -> None:
    run = scripts.simulated(SCRIPT, environment={"RANK_ID": "2"})
    (path,) = run.runs("out")
    output = path / "ASCEND_PROFILER_OUTPUT"
    kernels = (output / "kernel_details.csv").read_text(encoding="utf-8").splitlines()
    assert sum("MatMul" in line for line in kernels) == 3
    assert (path / "FRAMEWORK" / "pipeline_profiling_2.json").is_file()
    assert (output / "minddata_pipeline_raw_2.csv").is_file()
