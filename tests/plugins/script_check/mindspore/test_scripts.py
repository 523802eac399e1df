"""``drynpu check`` of MindSpore scripts with planted mistakes, each of which has to be found at its line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Check = Callable[..., Any]
TRAINING = """
import mindspore as ms
import numpy as np
from mindspore import nn, ops
from mindspore.profiler import ProfilerLevel, profile, schedule, tensorboard_trace_handler, _ExperimentalConfig

ms.set_context(mode=ms.PYNATIVE_MODE)
net = nn.Dense(16, 8)
optimizer = nn.SGD(net.trainable_params(), 0.1)


def forward(x):
    return net(x).square().mean()


gradients = ms.value_and_grad(forward, None, optimizer.parameters)
prof = profile(  # profiler
    schedule=schedule(wait=1, warmup=1, active=2, repeat=1),
    {handler}
)
prof.start()
for step in range({steps}):
    loss, found = gradients(ms.Tensor(np.ones((4, 16), np.float32)))
    optimizer(found)
    print(float(loss.asnumpy()))  # waits
    {step}
prof.stop()
open("ended", "w").close()
"""
HANDLER = "on_trace_ready=tensorboard_trace_handler('taken/prof'),"


def training(*, handler: str = HANDLER, step: str = "prof.step()", steps: int = 20) -> str:
    return TRAINING.format(handler=handler, step=step, steps=steps)


def test_planted_mistakes_are_found_at_their_lines(checked: Check, tmp_path: Path) -> None:
    found = checked(training(handler="", step="pass"), tmp_path)
    assert found.status == 1
    profiler = ["prof = profile(  # profiler"]
    assert (found.sources("step-never-called"), found.sources("handler-missing")) == (profiler, profiler)
    assert "mindspore.profiler.tensorboard_trace_handler" in found.named("handler-missing")[0]["fix"]
    assert found.sources("host-waits") == ["print(float(loss.asnumpy()))  # waits"]
    assert "torch" not in str(found.document["mistakes"])
    assert (found.document["steps"], found.document["ended_by_limit"]) == (5, True)
    assert not (tmp_path / "ended").exists()
    assert not list(tmp_path.rglob("*_ascend_ms")), "the script's own profiler records nothing"


def test_a_clean_script_has_no_error(checked: Check, tmp_path: Path) -> None:
    found = checked(training(), tmp_path, "--steps", "20")
    assert (found.status, found.document["errors"]) == (0, 0)
    assert found.document["kernels_per_step"] > 3
    assert found.document["step_us"] > 0
    assert found.document["peak_allocated_bytes"] > 0


def test_the_schedule_is_checked_against_the_run(checked: Check, tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    found = checked(training(), tmp_path, "--steps", "2")
    assert found.status == 1
    assert {"never-records", "not-writable"} <= found.names


def test_a_training_by_model_counts_its_steps(checked: Check, tmp_path: Path) -> None:
    script = (
        "import mindspore as ms\nimport numpy as np\nfrom mindspore import nn\n"
        "data = ms.dataset.NumpySlicesDataset((np.ones((32, 16), np.float32), np.ones((32, 8), np.float32)))\n"
        "net = nn.Dense(16, 8)\nmodel = ms.train.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))\n"
        "model.train(1, data.batch(4), dataset_sink_mode=False)\nopen('ended', 'w').close()\n"
    )
    found = checked(script, tmp_path)
    assert (found.document["steps"], found.document["ended_by_limit"]) == (5, True)
    assert found.document["kernels_per_step"] > 0
    assert not (tmp_path / "ended").exists()
