"""Recurrent layers of the native device compute what the CPU does, and launch what a device does."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

LAST_BITS = {"float32": 1e-6, "float64": 1e-14, "bfloat16": 2**-6}
"""How far losses may be apart where the device has cells, whose sums are in another order: a few bits of each type."""


def test_layers_equal_the_cpus_bit_for_bit(run: Any) -> None:
    found = run(Path(__file__).with_name("recurrent.py"))
    assert len(found) == 144
    for label, (is_equal, difference) in found.items():
        kind, *_, dtype = label.split()
        if kind == "LSTM" or (kind == "GRU" and "packed" not in label):
            assert is_equal, label
        assert difference <= LAST_BITS[dtype], label


PROFILED = """
import json, sys, torch, torch_npu
from torch import nn
from torch_npu.profiler import ProfilerLevel, _ExperimentalConfig, profile, tensorboard_trace_handler
kind, folder = sys.argv[1:]
net = getattr(nn, kind)(7, 5, num_layers=2, bidirectional=True).npu()
x = torch.randn(6, 4, 7, device="npu")
config = _ExperimentalConfig(profiler_level=ProfilerLevel.Level1)
with profile(experimental_config=config, record_shapes=True, on_trace_ready=tensorboard_trace_handler(folder)):
    net(x)[0].sum().backward()
print(json.dumps(0))
"""


def _kernels(run: Any, folder: Path, kind: str) -> list[tuple[str, str, str]]:
    run(PROFILED, kind, str(folder))
    (found,) = folder.glob("*/ASCEND_PROFILER_OUTPUT/kernel_details.csv")
    with found.open(encoding="utf-8", newline="") as stream:
        rows = [(row["Type"], row["Input Shapes"], row["Accelerator Core"]) for row in csv.DictReader(stream)]
    return [row for row in rows if row[0].startswith("Dynamic")]


def test_each_layer_and_direction_of_an_lstm_is_a_kernel(run: Any, tmp_path: Path) -> None:
    kernels = _kernels(run, tmp_path, "LSTM")
    assert [kind for kind, _, _ in kernels] == ["DynamicRNN"] * 4 + ["DynamicRNNGrad"] * 4
    # Input, joined weights of input and state, joined bias, state and cell of one direction.
    first, second = '"6,4,7;12,20;20;1,4,5;1,4,5"', '"6,4,10;15,20;20;1,4,5;1,4,5"'
    assert [shapes for _, shapes, _ in kernels[:4]] == [first] * 2 + [second] * 2
    assert [shapes.split(";")[0] for _, shapes, _ in kernels[4:]] == ['"6,4,10'] * 2 + ['"6,4,7'] * 2
    assert {core for _, _, core in kernels} == {"MIX_AIC"}


def test_each_layer_and_direction_of_a_gru_is_a_kernel(run: Any, tmp_path: Path) -> None:
    kernels = _kernels(run, tmp_path, "GRU")
    assert [kind for kind, _, _ in kernels] == ["DynamicGRUV2"] * 4 + ["DynamicGRUV2Grad"] * 4
    first, second = '"6,4,7;7,15;5,15;15;15;1,4,5"', '"6,4,10;10,15;5,15;15;15;1,4,5"'
    assert [shapes for _, shapes, _ in kernels[:4]] == [first] * 2 + [second] * 2


def test_what_the_kernels_keep_is_memory_of_the_device(run: Any) -> None:
    script = """
import json, torch, torch_npu
from torch import nn
net, x = nn.LSTM(64, 128).npu(), torch.randn(50, 8, 64, device="npu")
held = []
for training in (True, False):
    before = torch.npu.memory_allocated()
    with torch.set_grad_enabled(training):
        y, (h, c) = net(x)
    held.append(torch.npu.memory_allocated() - before)
    if training:
        y.sum().backward()
        net.zero_grad()
    del y, h, c
    held.append(torch.npu.memory_allocated() - before)
print(json.dumps(held))
"""
    training, after, inference, end = run(script)
    sequence, state = 50 * 8 * 128 * 4 + 512, 8 * 128 * 4 + 512  # blocks are padded and rounded up
    weights, bias = (64 + 128) * 4 * 128 * 4 + 512, 4 * 128 * 4 + 512
    # The output; what the gradient needs: seven sequences more, the joined weights and bias, the first states.
    assert training == 8 * sequence + weights + bias + 4 * state
    assert inference == sequence + 2 * state
    assert after == end == 0


CASES = """
import json, torch, torch_npu
from torch import nn
found = {}

def raised(function):
    try:
        function()
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return ""

torch.manual_seed(0)
net, x = nn.LSTM(4, 3).npu(), torch.randn(5, 2, 4, device="npu")
host = nn.LSTM(4, 3)
host.load_state_dict({name: t.cpu() for name, t in net.state_dict().items()})

def loss(module, given):
    return module(given)[0].square().sum()

def gradient(module, given, passes):
    module.zero_grad()
    value = loss(module, given)
    for _ in range(passes):
        value.backward(retain_graph=True)
    return module.weight_hh_l0.grad.tolist()

found["twice"] = gradient(net, x, 2) == gradient(host, x.cpu(), 2)
value = loss(net, x)
value.backward()
found["released"] = raised(value.backward)
value = loss(net, x)
with torch.no_grad():
    net.weight_hh_l0.mul_(1)
found["changed"] = raised(value.backward)
(first,) = torch.autograd.grad(loss(net, x), net.weight_hh_l0, create_graph=True)
found["second"] = raised(first.sum().backward)
found["mixed"] = raised(lambda: net(x.cpu()))
found["state"] = raised(lambda: net(x, (torch.zeros(1, 2, 3), torch.zeros(1, 2, 3))))
same = torch.randn(1, 2, 3)

def state_gradient(module, given, device):
    state = same.to(device).requires_grad_()
    module(given, (state, state))[0].sum().backward()
    return state.grad.tolist()

found["one state twice"] = state_gradient(net, x, "npu") == state_gradient(host, x.cpu(), "cpu")
with torch.inference_mode():  # in which oneDNN's sums are in another order, on the CPU too
    found["inference"] = net(x)[0].tolist() == host(x.cpu())[0].tolist()
with torch.autocast("npu", dtype=torch.float16):
    found["autocast"] = str(net(x.half())[0].dtype)
weights = dict(net.named_parameters())
there = torch.func.grad(lambda w: torch.func.functional_call(net, w, (x,))[0].sum())(weights)
found["functional"] = str(there["weight_hh_l0"].device), list(there["weight_hh_l0"].shape)
print(json.dumps(found))
"""


def test_gradients_are_taken_as_of_a_device(run: Any) -> None:
    found = run(CASES)
    assert found["twice"] is True
    assert found["one state twice"] is True
    assert found["inference"] is True
    assert found["autocast"] == "torch.float16"
    assert found["functional"] == ["npu:0", [12, 3]]
    assert found["released"].startswith("RuntimeError: Trying to backward through the graph a second time")
    assert "has been modified by an inplace operation" in found["changed"]
    assert found["second"].startswith("RuntimeError: derivative for npu::npu_lstm_backward is not implemented")
    assert found["mixed"].startswith("RuntimeError: Input and parameter tensors are not at the same device")
    assert found["state"].startswith("RuntimeError: Input and hidden tensors are not at the same device")


def test_layers_without_values_take_the_same_kernels(run: Any, tmp_path: Path) -> None:
    computed = _kernels(run, tmp_path / "one", "GRU")
    run(PROFILED, "GRU", str(tmp_path / "other"), DRYNPU_COMPUTE="0", DRYNPU_COMPUTED_BYTES="0")
    (found,) = (tmp_path / "other").glob("*/ASCEND_PROFILER_OUTPUT/kernel_details.csv")
    with found.open(encoding="utf-8", newline="") as stream:
        rows = [(row["Type"], row["Input Shapes"], row["Accelerator Core"]) for row in csv.DictReader(stream)]
    assert [row for row in rows if row[0].startswith("Dynamic")] == computed
    assert computed
