"""Device reporting, ``DRYNPU_REPORT_DEVICE=1``: in processes of their own, because it changes ``torch.Tensor``."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

SINK = {"DRYNPU_DEVICE": "sink"}
ON = {**SINK, "DRYNPU_REPORT_DEVICE": "1"}
SAYS = """
import copy, io, pickle
from torch.optim.optimizer import _default_to_fused_or_foreach
import torch, torch_npu
npu0, cpu = torch.device("npu:0"), torch.device("cpu")
there = torch.zeros(2, 3, device="npu:1")
result = torch.ones(2, device="npu") * 2
host = result.cpu()
module = torch.nn.Linear(2, 2).npu()
said = {
    "factory": there.device == torch.device("npu", 1) and there.get_device() == 1 and not there.is_cpu,
    "result": result.device == npu0 and result.is_npu,
    "view": there[0].t().device.index == 1,
    "repr": "device='npu:0'" in repr(result),
    "host": host.device == cpu and host.is_cpu and host[0].device == cpu and host.data_ptr() != result.data_ptr(),
    "host once": host.cpu() is host and host.to("cpu") is host and host.to(cpu) is host,
    "host by name": result.to("cpu").device == result.to(cpu).device == result.to(device="cpu").device == cpu,
    "back": host.to("npu").device == npu0 and host.to(result).device == npu0 and result.to(host).device == cpu,
    "dtype": result.to(torch.float64).dtype == torch.float64 and result.to(cpu, torch.int32).dtype == torch.int32,
    "module": module.weight.device == npu0 and module.to("cpu").weight.device == cpu,
    "like": torch.zeros(1, device=result.device).device == npu0 and torch.empty_like(result).device == npu0,
    "foreach": _default_to_fused_or_foreach([torch.nn.Parameter(result)], False)[1],
    "deepcopy": copy.deepcopy(module.npu()).weight.device == npu0,
    "pickle": bool((pickle.loads(pickle.dumps(result)) == result).all()),
    "numpy": host.numpy().tolist() == [2.0, 2.0],
    "meta": torch.zeros(1, device="meta").device.type == "meta",
    "sparse": torch.eye(2, device="npu").to_sparse().device.type == "npu",
}
file = io.BytesIO()
torch.save(module.state_dict(), file)
file.seek(0)
said["load"] = torch.load(file, map_location="npu:0")["weight"].device == npu0
print([name for name, right in said.items() if not right])
"""
WORKERS = """
import torch, torch_npu
from torch.utils.data import DataLoader, TensorDataset
if __name__ == "__main__":
    loader = DataLoader(TensorDataset(torch.arange(8.0)), batch_size=2, num_workers=2)
    print([batch.npu().sum().item() for (batch,) in loader])
"""


def losses(text: str) -> list[str]:
    return re.findall(r"step \d+ loss (\S+)$", text, re.MULTILINE)


def test_tensors_say_where_they_are(scripts: Any) -> None:
    assert scripts(SAYS, environment=ON).stdout.splitlines()[-1] == "[]"


def test_without_the_option_they_say_cpu(scripts: Any) -> None:
    ended = scripts("import torch, torch_npu\nprint(torch.ones(2, device='npu').device)", environment=SINK)
    assert ended.stdout.splitlines() == ["cpu"]


@pytest.mark.slow
def test_the_example_trains_to_the_same_losses_by_the_optimizer_of_a_device(scripts: Any, example: Path) -> None:
    program = (str(Path(sys.executable).with_name("drynpu")), "run", "--report-device", "--quiet")
    calls = [
        lambda: scripts(example, program=program, environment=SINK),
        lambda: scripts(example, "--device", "cpu", environment={"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}),
    ]
    reporting, plain = scripts.together(*calls)
    assert len(losses(plain.stdout)) == 8
    assert losses(reporting.stdout) == losses(plain.stdout)
    names = {event["name"] for event in reporting.output("demo_out").operators()}
    assert "aten::_foreach_addcdiv_" in names


def test_workers_of_a_loader_live(scripts: Any) -> None:
    assert scripts(WORKERS, environment=ON).stdout.splitlines()[-1] == "[1.0, 5.0, 9.0, 13.0]"
