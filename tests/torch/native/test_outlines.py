"""Runs without values: shapes, memory and kernels equal a run that computes; stand-ins are counted."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[3] / "examples" / "torch" / "train_gpt.py"
NETS = Path(__file__).parent / "outlined_training.py"
COLUMNS = ("Name", "Type", "Accelerator Core", "Input Shapes", "Input Data Types", "Output Shapes", "Output Data Types")
NOTHING = {"DRYNPU_COMPUTE": "0", "DRYNPU_COMPUTED_BYTES": "0"}

Run = Callable[..., Any]


def profile(folder: Path, script: Path, *arguments: object, **environ: str) -> Path:
    """Run a script that profiles itself in *folder*, and return its result directory; ``printed`` keeps its output."""
    folder.mkdir()
    kept = {name: text for name, text in os.environ.items() if not name.startswith("DRYNPU_")}
    command = [sys.executable, "-m", "drynpu", "run", "--quiet", str(script), *map(str, arguments)]
    environment = {**kept, "DRYNPU_DEVICE": "native", "RANK": "0", **environ}
    done = subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    (folder / "printed").write_text(done.stdout)
    (found,) = folder.rglob("*_ascend_pt")
    return found


def rows(run: Path, name: str, *columns: str) -> list[list[str]]:
    with (run / "ASCEND_PROFILER_OUTPUT" / name).open(newline="") as file:
        return [[row[column] for column in columns] for row in csv.DictReader(file)]


def run_notes(run: Path) -> list[str]:
    return json.loads((run / "profiler_metadata.json").read_text())["drynpu"].get("run_notes", [])


@pytest.mark.parametrize("script", [EXAMPLE, NETS], ids=["gpt", "nets"])
def test_kernels_and_memory_are_those_of_a_run_that_computes(script: Path, tmp_path: Path) -> None:
    computed, outlined = profile(tmp_path / "one", script), profile(tmp_path / "other", script, **NOTHING)
    kernels = rows(computed, "kernel_details.csv", *COLUMNS)
    assert len(kernels) > 100
    assert rows(outlined, "kernel_details.csv", *COLUMNS) == kernels
    sizes = rows(computed, "operator_memory.csv", "Name", "Size(KB)")
    assert sizes
    assert rows(outlined, "operator_memory.csv", "Name", "Size(KB)") == sizes
    assert run_notes(computed) == []
    (note,) = run_notes(outlined)
    assert note.startswith("values not computed (DRYNPU_COMPUTE=0): operators ran on shapes alone")


def test_the_example_tells_of_a_model_that_no_laptop_holds(tmp_path: Path) -> None:
    result = profile(tmp_path / "run", EXAMPLE.with_name("train_llama.py"), DRYNPU_COMPUTE="0")
    (forward,) = (float(row[0]) for row in rows(result, "step_trace_time.csv", "Computing"))
    # 6 x 6.6e9 x 2048 floating-point operations of the products take 0.2 s at the least on a chip of 353e12 a second.
    assert 200_000 < forward < 1_500_000
    kinds = [kind for (kind,) in rows(result, "kernel_details.csv", "Type")]
    assert (kinds.count("FlashAttentionScore"), kinds.count("FlashAttentionScoreGrad")) == (32, 32)


def test_layers_on_several_devices_hold_memory_there(tmp_path: Path) -> None:
    sizes = ("--width", 1024, "--layers", 4, "--inner", 2048, "--words", 4000, "--tokens", 256, "--npus", 3)
    script = EXAMPLE.with_name("train_llama.py")
    profile(tmp_path / "run", script, *sizes, DRYNPU_COMPUTE="0", DRYNPU_DEVICES="4")
    shown = (tmp_path / "run" / "printed").read_text().splitlines()[-1]
    peaks = [float(each) for each in shown.removeprefix("peak ").partition(" GiB")[0].split(", ")]
    # The first holds two of the four layers and the words, the last one layer and the head.
    assert len(peaks) == 3
    assert peaks[0] > peaks[2] >= peaks[1] > 0


def test_tokens_are_spread_evenly_over_experts(tmp_path: Path) -> None:
    sizes = ("--layers", 2, "--width", 512, "--inner", 256, "--experts", 16, "--tokens", 384, "--words", 3000)
    run = profile(tmp_path / "run", EXAMPLE.with_name("train_moe.py"), *sizes, DRYNPU_COMPUTE="0")
    shapes = [text for kind, text in rows(run, "kernel_details.csv", "Type", "Output Shapes") if "MatMul" in kind]
    # 384 tokens go to 8 of 16 experts each: 192 to every one, which has two products of this shape, gate and up.
    assert shapes.count('"192,256"') >= 2 * 16 * 2


def test_words_are_generated_with_a_cache(tmp_path: Path) -> None:
    sizes = ("--layers", 3, "--width", 512, "--inner", 700, "--words", 3000, "--prompt", 200, "--new", 5, "--batch", 2)
    run = profile(tmp_path / "run", EXAMPLE.with_name("generate_llama.py"), *sizes, DRYNPU_COMPUTE="0")
    assert (tmp_path / "run" / "printed").read_text().splitlines()[-1].startswith("205 words")
    kinds = [kind for (kind,) in rows(run, "kernel_details.csv", "Type")]
    attention = sum("Attention" in kind or "FlashAttention" in kind for kind in kinds)
    assert attention == 3 * 5
    (note,) = run_notes(run)
    assert note.endswith("the script was given stand-ins for 5 numbers")


def test_a_model_of_a_billion_weights_needs_no_memory(run: Run) -> None:
    script = """
import json, resource, torch, torch_npu
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(32000, 4096)
        self.layers = torch.nn.Sequential(*(torch.nn.Linear(4096, 4096, bias=False) for _ in range(60)))
        self.head = torch.nn.Linear(4096, 32000, bias=False)
        self.head.weight = self.table.weight
    def forward(self, ids):
        return self.head(self.layers(self.table(ids)))
net = Net().to(torch.bfloat16).npu()
count = sum(p.numel() for p in net.parameters())
held = torch.npu.memory_allocated()
optimizer = torch.optim.AdamW(net.parameters(), foreach=False)
loss = net(torch.randint(32000, (2, 512), device="npu")).float().logsumexp(-1).mean()
loss.backward()
optimizer.step()
number = loss.item()
del loss
host_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([count, held - 2 * count, net.head.weight is net.table.weight, net.table.weight.device.type,
                  number, torch.npu.memory_allocated() / count, host_mb < 1200]))
"""
    count, padding, tied, device, loss, bytes_each, small = run(script, DRYNPU_COMPUTE="0")
    assert count == 32000 * 4096 + 60 * 4096 * 4096
    # Blocks are multiples of 512 after 32 bytes of padding, one for each of 61 weights.
    assert padding == 61 * 512
    assert (tied, device, loss, small) == (True, "npu", 1.0, True)
    # Weights, gradients and two moments in two bytes each, and what the optimizer counts.
    assert 8 <= bytes_each < 8.1


def test_values_that_follow_from_the_host_are_computed(run: Run) -> None:
    script = """
import json, torch, torch_npu
mask = torch.ones(2, 5, dtype=torch.long).npu()
mask[1, 3:] = 0
lengths = mask.sum(-1)
x = torch.randn(1024, 1024, device="npu")
mixed = (mask[:, :1] * x[0, 0]).sum()
print(json.dumps([
    lengths.tolist(), mask.nonzero().shape[0], bool(mask.all()), torch.arange(7, device="npu").cumsum(0)[-1].item(),
    mixed.item(), x.sum().item(), lengths.cpu().tolist(),
]))
"""
    assert run(script, DRYNPU_COMPUTE="0", DRYNPU_VALUES="0.25") == [[5, 3], 8, False, 21, 0.25, 0.25, [5, 3]]


def test_stand_ins(run: Run) -> None:
    script = """
import json, torch, torch_npu
x = torch.randn(64, 1024, device="npu")
ids = x.softmax(-1)[:, :8].topk(2, dim=-1)[1]
hot = torch.nn.functional.one_hot(ids, num_classes=8)
rows, slots = torch.where(hot.permute(2, 1, 0)[3])
scaler = torch.amp.GradScaler("npu")
weight = torch.nn.Parameter(torch.ones(1024, 1024, device="npu"))
optimizer = torch.optim.SGD([weight], lr=1.0)
scaler.scale((x @ weight).sum()).backward()
scaler.step(optimizer)
scaler.update()
print(json.dumps([
    torch.isfinite(x).all().item(), torch.isnan(x).any().item(), x.isinf().any().item(), scaler.get_scale(),
    hot.sum((0, 1)).tolist(), torch.bincount(ids.flatten(), minlength=8).tolist(), list(rows.shape),
    (ids == 3).nonzero().shape[0], x[x > 0].shape[0], x[x[:, 0] > 0].shape[0], torch.masked_select(x, x < 1).shape[0],
    ids.unique().shape[0], x.cpu().unique().tolist(), x.argmax().item(),
    torch.repeat_interleave(x, hot.sum((0, 1)).repeat(8), dim=0).shape[0],
]))
"""
    found = run(script, **NOTHING)
    assert found[:3] == [True, False, False]
    assert found[4] == found[5] == [16] * 8  # 64 tokens, two of eight experts each
    assert found[6:8] == [[16], 16]
    assert found[8:11] == [32768, 32, 32768]  # a comparison holds for half of the elements
    assert found[11:] == [8, [1.0], 0, 1024]
    assert found[3] == 1.0  # the scale is a value too


def test_no_gradient_overflows(run: Run) -> None:
    script = """
import json, torch, torch_npu
weight = torch.nn.Parameter(torch.ones(1024, 1024, device="npu"))
optimizer = torch.optim.SGD([weight], lr=1.0)
steps = []
optimizer.step = lambda *a, **k: steps.append(1)
scaler = torch.amp.GradScaler("npu")
scaler.scale((weight * weight).sum()).backward()
scaler.step(optimizer)
scaler.update()
print(json.dumps([len(steps), scaler.get_scale()]))
"""
    assert run(script, DRYNPU_COMPUTE="0") == [1, 65536.0]


def test_what_has_no_shape_without_values_is_refused_by_name(run: Run) -> None:
    script = """
import json, torch, torch_npu
try:
    torch.linalg.lstsq(torch.randn(700, 700, device="npu"), torch.randn(700, 2, device="npu"), driver="gelsd")
    text = ""
except NotImplementedError as error:
    text = str(error)
print(json.dumps(text))
"""
    text = run(script, DRYNPU_COMPUTE="0")
    assert text.startswith("aten::linalg_lstsq")
    assert "DRYNPU_COMPUTE=0" in text


def test_only_the_native_device_runs_on_shapes(tmp_path: Path) -> None:
    environment = {**os.environ, "DRYNPU_COMPUTE": "0", "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", "import torch_npu"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode
    assert "DRYNPU_COMPUTE=0 needs it; the native device has not been built for torch" in done.stderr
    assert "run: drynpu native build" in done.stderr or "install a C++ compiler" in done.stderr


def test_a_graph_fixes_results_that_have_no_values(run: Run) -> None:
    # The product is larger than DRYNPU_COMPUTED_BYTES and has no values, so neither has what follows from it.
    script = """
import json, torch, torch_npu
x, w = torch.randn(16, 1024, device="npu"), torch.randn(1024, 1024, device="npu")
small = torch.arange(6, device="npu")
graph = torch.npu.NPUGraph()
with torch.npu.graph(graph):
    y = x @ w
    z, n = torch_npu.npu_rms_norm(y, w[0], 1e-6)
    a = z.view(16, 1024)
    b = small.view(2, 3) + 1
graph.replay()
c = torch.empty(0, device="npu").set_(a.untyped_storage(), 1024, (3, 5), (8, 1))
print(json.dumps([a.shape, n.shape, b.tolist(), c.shape, c.storage_offset(), c.device.type]))
"""
    shape, scale, computed, *viewed = run(script, DRYNPU_COMPUTE="0")
    assert (shape, scale, computed) == ([16, 1024], [16, 1], [[1, 2, 3], [4, 5, 6]])
    assert viewed == [[3, 5], 1024, "npu"]
