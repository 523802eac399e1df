"""Every kind of recording, one after the other in one process: MindSpore's import takes longer than all of them."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import mindspore
import numpy as np
from mindspore import Tensor, context, nn

from drynpu_mindspore.capture import Capture
from drynpu_mindspore.profiler import (
    AicoreMetrics,
    ExperimentalConfig,
    ExportType,
    HostSystem,
    ProfilerActivity,
    ProfilerLevel,
    build_surface,
)
from drynpu_mindspore.recording import RecordingBackend
from drynpu_mindspore_kernels.graph_engine import WholeGraphs

FORWARD = "Default/network-WithLossCell/_backbone-Net/fc-Dense/MatMul-op0"
BACKWARD = "Gradients/Default/network-WithLossCell/_backbone-Net/out-Dense/Grad_MatMul/MatMul-op1"
BOTH = [ProfilerActivity.CPU, ProfilerActivity.NPU]


class Log:
    """Goes to stderr."""

    def __getattr__(self, level: str) -> Any:
        return lambda msg, *args: print(level, msg % args, file=sys.stderr)


class Host:
    """The least that a surface needs."""

    log, callback_base, stream_class, version = Log(), object, int, "2.7.2"

    def __init__(self, jit_level: str = "O0", target: str = "Ascend") -> None:
        self._jit_level, self._target = jit_level, target

    def device_target(self) -> str:
        return self._target

    def device_id(self) -> int:
        return 0

    def jit_level(self) -> str:
        return self._jit_level

    def synchronize(self) -> None:
        return None


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.fc, self.relu, self.out = nn.Dense(64, 32), nn.ReLU(), nn.Dense(32, 4)

    def construct(self, x: Any) -> Any:
        return self.out(self.relu(self.fc(x)))


def config(**changed: Any) -> Any:
    standard = {
        "profiler_level": ProfilerLevel.Level1,
        "aic_metrics": AicoreMetrics.PipeUtilization,
        "data_simplification": False,
    }
    return ExperimentalConfig(**{**standard, **changed})


def main() -> None:
    backend = RecordingBackend(Capture(), new_graph_engine=WholeGraphs)
    backend.prepare()
    context.set_context(mode=context.GRAPH_MODE)
    network = nn.WithLossCell(Net(), nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
    step = nn.TrainOneStepCell(network, nn.Momentum(network.trainable_params(), 0.1, 0.9))
    step.set_train()
    x, y = Tensor(np.linspace(0, 1, 16 * 64, dtype=np.float32).reshape(16, 64)), Tensor(np.zeros(16, np.int32))

    def scheduled(surface: Any, folder: str, **given: Any) -> None:
        prof = surface.profile(
            activities=BOTH,
            schedule=surface.schedule(wait=0, warmup=0, active=2, repeat=2, skip_first=1),
            on_trace_ready=surface.tensorboard_trace_handler(folder),
            record_shapes=True,
            profile_memory=True,
            **given,
        )
        for _ in range(6):
            surface.mstx.mark("here")
            number = surface.mstx.range_start("training")
            step(x, y)
            surface.mstx.range_end(number)
            prof.step()
        prof.stop()

    surface = build_surface(Host(), backend)
    both = [ExportType.Text, ExportType.Db]
    scheduled(surface, "steps", with_stack=True, experimental_config=config(mstx=True, export_type=both))

    os.environ |= {"PROFILING_FP_START": FORWARD, "PROFILING_BP_END": BACKWARD}
    scheduled(build_surface(Host("O2"), backend), "graph", experimental_config=config())
    for name in ("PROFILING_FP_START", "PROFILING_BP_END"):
        del os.environ[name]

    # Two pairs of start and stop before the analysis add to one directory; nothing is analysed until then.
    surface = build_surface(Host(), backend)
    prof = surface.Profiler(
        output_path=str(Path("twice").resolve()),
        start_profile=False,
        profile_memory=True,
        host_sys=[HostSystem.CPU, HostSystem.MEM],
    )
    for _ in range(2):
        prof.start()
        step(x, y)
        prof.stop()
        (directory,) = Path("twice").glob("*_ascend_ms")
        assert not (directory / "ASCEND_PROFILER_OUTPUT").exists()
    prof.add_metadata("who", "drynpu")
    prof.analyse()

    surface = build_surface(Host(), backend)
    prof = surface.profile(
        activities=[ProfilerActivity.CPU], on_trace_ready=surface.tensorboard_trace_handler("host", "worker")
    )
    prof.start()
    step(x, y)
    prof.stop()

    surface = build_surface(Host(), backend)
    prof = surface.profile(activities=BOTH, data_process=True, on_trace_ready=surface.tensorboard_trace_handler("data"))
    prof.start()
    source = mindspore.dataset.GeneratorDataset([(np.ones(64, np.float32), np.int32(0))] * 64, ["x", "y"])
    for row in source.map(lambda value: value + 1, ["x"]).batch(16).create_tuple_iterator():
        step(row[0].astype(mindspore.float32), row[1].reshape(-1))
    prof.stop()

    # Offline, on all ranks at once: a folder that holds one directory more than can be read.
    broken = Path("steps") / "broken_1_20260101000000000_ascend_ms" / "FRAMEWORK"
    broken.mkdir(parents=True)
    surface.analyse(str(Path("steps").resolve()), max_process_number=2)
    print("finished=" + json.dumps([path.name for path in backend.finished]))


if __name__ == "__main__":
    main()
