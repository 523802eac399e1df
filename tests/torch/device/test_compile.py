"""``torch.compile`` under the simulated npu: real tracing and differentiation, one kernel for every operator."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytestmark = pytest.mark.slow

TRAIN = """
import sys, warnings
import torch
from torch import nn
compiled = "compiled" in sys.argv
device = "npu" if compiled else "cpu"
if compiled:
    import torch_npu
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
if compiled:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = torch.compile(model.npu(), mode="max-autotune")
        assert torch.compile(len, disable=True) is len
        torch.compile(backend="eager")(abs)
    print("warned", [str(w.message) for w in caught if "does not model fused kernels" in str(w.message)])
def step():
    loss = model(torch.randn(8, 16).to(device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.9f}")
step()
if compiled:
    handler = torch_npu.profiler.tensorboard_trace_handler("./out")
    with torch_npu.profiler.profile(on_trace_ready=handler, record_shapes=True, experimental_config=
        torch_npu.profiler._ExperimentalConfig(profiler_level=torch_npu.profiler.ProfilerLevel.Level1)):
        step()
else:
    step()
"""


@pytest.fixture(scope="module")
def compiled(scripts: Any) -> Any:
    return scripts(TRAIN, "compiled")


def losses(text: str) -> list[str]:
    return re.findall(r"^loss (\S+)$", text, re.MULTILINE)


def test_losses_are_those_of_the_plain_model(compiled: Any, scripts: Any) -> None:
    plain = scripts(TRAIN, environment={"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"})
    assert len(losses(plain.stdout)) == 2
    assert losses(compiled.stdout) == losses(plain.stdout)


def test_operators_of_the_graph_become_kernels(compiled: Any) -> None:
    output = compiled.output("out")
    types = [row["Type"] for row in output.rows("kernel_details.csv")]
    # Two layers: two products forward, and backward two for weights and one for the hidden layer.
    assert sum(kind.startswith("MatMul") for kind in types) == 5
    assert {"Gelu", "GeluGrad"} <= set(types)
    assert "Every operator that launches a kernel is mapped." in compiled.stdout


def test_what_is_not_modelled_is_told_once_per_call(compiled: Any) -> None:
    (line,) = [line for line in compiled.stdout.splitlines() if line.startswith("warned ")]
    assert line.count("backend 'aot_eager' in place of 'inductor'") == 1
