"""A CUDA script runs as an NPU script once it imports ``torch_npu.contrib.transfer_to_npu``."""

from __future__ import annotations

import re
from typing import Any

import pytest

CUDA = """
import sys
import torch
if "cpu" not in sys.argv:
    import torch_npu
    from torch_npu.contrib import transfer_to_npu
from torch import nn
kind = "cpu" if "cpu" in sys.argv else "cuda"
torch.manual_seed(0)
device = torch.device(f"{kind}:0")
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 8)).to(device)
optimizer = torch.optim.Adam(model.parameters())
torch.manual_seed(1)  # a device draws from a sequence of its own, which this begins where the CPU's begins
scaler = torch.amp.GradScaler(kind)
def loop(profiler):
    for step in range(5):
        x = torch.randn(16, 32, device=kind)
        y = torch.zeros(16, 8).to(device, non_blocking=True)
        with torch.autocast(device_type=kind, dtype=torch.bfloat16):
            loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        print(f"loss {loss.item():.9f}")
        if profiler:
            torch.cuda.synchronize()
            profiler.step()
if kind == "cpu":
    loop(None)
    sys.exit()
with torch.profiler.profile(
    activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA],
    schedule=torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1),
    on_trace_ready=torch.profiler.tensorboard_trace_handler("./cuda_out"),
    record_shapes=True,
    experimental_config=torch._C._profiler._ExperimentalConfig(),
) as profiler:
    loop(profiler)
"""
NAMES = """
import io
import warnings
warnings.simplefilter("ignore")
import torch, torch_npu
from torch_npu.contrib import transfer_to_npu
tensor = torch.ones(3)
said = {
    "available": torch.cuda.is_available() and torch.cuda.device_count() == 8,
    "name": torch.cuda.get_device_name("cuda:1") == torch.npu.get_device_name(1),
    "is_cuda": tensor.cuda().is_cuda,
    "module": torch.nn.Linear(2, 2).cuda(1).weight.is_npu,
    "index": tensor.to(1).is_npu,
    "copied": tensor.to("cuda").data_ptr() != tensor.data_ptr(),
    "same": tensor.cuda().to("cuda:0").is_npu,
    "amp": isinstance(torch.cuda.amp.GradScaler(), torch.npu.amp.GradScaler),
    "script": torch.jit.script(len) is len,
    "nccl": torch.distributed.is_nccl_available(),
    "generator": torch.Generator("cuda") is not None,
    "context": None,
}
with torch.cuda.device(3):
    said["context"] = torch.cuda.current_device() == 3
with torch.device("cuda:2"):
    said["default"] = torch.get_default_device() == torch.device("npu:2")
with torch.cuda.stream(torch.cuda.Stream()) as stream:
    said["stream"] = torch.cuda.current_stream() == torch.npu.current_stream()
file = io.BytesIO()
torch.save({"w": tensor}, file)
for place in ("cuda:0", torch.device("cuda"), {"cpu": "cuda:0"}):
    file.seek(0)
    said[f"load {place}"] = bool((torch.load(file, map_location=place)["w"].cpu() == tensor).all())
with torch.device("cuda"):
    said["made in a context"] = torch.tensor(1).is_npu
with torch.device("meta"):
    said["another context"] = torch.nn.Linear(2, 2).weight.is_meta
event = torch.Event("cuda:0", enable_timing=True)
said["event"] = event.device.type == "npu" and isinstance(event, torch.Event)
said["device module"] = torch.get_device_module("cuda:0") is torch.npu
said["amp modules"] = torch.cuda.amp.autocast_mode is torch.npu.amp.autocast_mode
said["frequencies"] = torch.fft.fftfreq(5, device="cuda:0").is_npu
said["kernel"] = torch.autograd.profiler_util.Kernel("k", "cuda", 11).device == "npu"
said["generators"] = torch.cuda.default_generators == torch.npu.default_generators
said["group class"] = torch.distributed.ProcessGroupNCCL is torch.distributed.ProcessGroupHCCL
said["double"] = torch.cuda.DoubleTensor is torch.npu.FloatTensor
address = torch.cuda.caching_allocator_alloc(1024, torch.device("cuda:0"))
said["raw memory"] = torch.cuda.memory_allocated() >= 1024 if torch.npu._raw_memory._held() else False
torch.cuda.caching_allocator_delete(address)
said["given back"] = not torch.npu._raw_memory._held()
try:
    torch.cuda.set_device("cuda:99")
except RuntimeError as error:
    said["range"] = "set device=99" in str(error)
print([name for name, right in said.items() if not right])
"""


def losses(text: str) -> list[str]:
    return re.findall(r"^loss (\S+)$", text, re.MULTILINE)


@pytest.fixture(scope="module")
def run(scripts: Any) -> Any:
    return scripts(CUDA, environment={"DRYNPU_QUIET": "1"})


def test_a_cuda_script_leaves_an_npu_profile(run: Any) -> None:
    output = run.output("cuda_out")
    assert [row["Step"] for row in output.rows("step_trace_time.csv")] == ["2", "3"]
    names = {row["Name"] for row in output.rows("kernel_details.csv")}
    assert [name for name in names if "MatMul" in name]
    assert "Call " not in run.stdout


@pytest.mark.slow
def test_its_losses_are_those_of_the_cpu(run: Any, scripts: Any) -> None:
    plain = scripts(CUDA, "cpu", environment={"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"})
    assert len(losses(plain.stdout)) == 5
    assert losses(run.stdout) == losses(plain.stdout)


def test_what_is_changed_is_told_once(run: Any) -> None:
    assert run.stderr.count("torch.jit.script and torch.jit.script_method will be disabled") == 1
    assert run.stderr.count("ImportWarning: transfer_to_npu: torch.cuda.* is torch.npu.*") == 1
    assert run.stderr.count("The parameter experimental_config of torch.profiler.profile has been removed") == 1


@pytest.mark.slow
def test_cuda_names_mean_the_npu(scripts: Any) -> None:
    ended = scripts(NAMES)
    assert ended.stdout.splitlines()[-1] == "[]"


@pytest.mark.slow
def test_without_the_import_cuda_stays_cuda(scripts: Any) -> None:
    ended = scripts("import torch, torch_npu\nprint(torch.cuda.is_available(), torch.cuda.device_count())")
    assert ended.stdout.splitlines()[-1] == "False 0"


@pytest.mark.slow
@pytest.mark.parametrize("imported", ["import torch, torch_npu", "import torch"])
def test_the_environment_transfers_scripts_without_a_line_of_their_own(scripts: Any, imported: str) -> None:
    environment = {"TORCH_TRANSFER_TO_NPU": "1", "DRYNPU_AUTOLOAD": "1"}
    ended = scripts(f"{imported}\nprint(torch.randn(2, device='cuda').is_npu)", environment=environment)
    assert ended.stdout.splitlines()[-1] == "True"


@pytest.mark.slow
def test_another_value_of_the_variable_is_an_error(scripts: Any) -> None:
    script = "try:\n    import torch_npu\nexcept ValueError as error:\n    print(error)"
    ended = scripts(script, environment={"TORCH_TRANSFER_TO_NPU": "yes"})
    expected = "Invalid value for TORCH_TRANSFER_TO_NPU: yes. Only '0' or '1' is supported."
    assert ended.stdout.splitlines()[-1] == expected
