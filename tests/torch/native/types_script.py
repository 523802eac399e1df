"""Run operators in types that the CPU has no kernels for; print what test_types.py compares."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import torch
import torch_npu
from torch.nn import functional

torch.manual_seed(0)
found: dict[str, Any] = {}


def compare(label: str, function: Callable[..., torch.Tensor], *tensors: torch.Tensor, gradients: bool = True) -> None:
    """Keep dtype, shape and the largest error relative to FP64, of the result and of the gradients."""

    def run(values: list[torch.Tensor]) -> list[torch.Tensor]:
        leaves = [t.detach().requires_grad_(gradients and t.is_floating_point()) for t in values]
        result = function(*leaves)
        wanted = [leaf for leaf in leaves if leaf.requires_grad]
        return [result.detach(), *torch.autograd.grad(result.double().square().sum(), wanted)] if wanted else [result]

    exact = run([t.double() if t.is_floating_point() else t.long() for t in tensors])
    there = run([t.npu() for t in tensors])
    errors = []
    for one, other in zip(exact, there, strict=True):
        scale = max(float(one.abs().max()), 1e-6)
        errors.append(float((one.double() - other.cpu().double()).abs().max()) / scale)
    found[label] = [str(there[0].dtype), list(there[0].shape) == list(exact[0].shape), errors]


for dtype in (torch.float16, torch.bfloat16):
    kind = str(dtype)[6:]
    x, small = torch.randn(4, 8).to(dtype), torch.randn(2, 3, 6, 6, 6).to(dtype)
    compare(f"softmax {kind}", lambda t: torch.softmax(t, -1, dtype=torch.float32), x)
    compare(f"log_softmax {kind}", lambda t: torch.log_softmax(t, 0, dtype=torch.float32), x)
    compare(f"add_relu {kind}", lambda t: torch._VF._add_relu(t, t * 0.5), x, gradients=False)
    compare(f"inv {kind}", torch.linalg.inv, x[:, :4] + 6 * torch.eye(4).to(dtype), gradients=False)
    compare(f"avg_pool3d {kind}", lambda t: functional.avg_pool3d(t, 2), small)
    compare(f"cdist {kind}", torch.cdist, x, torch.randn(5, 8).to(dtype))
    grid = torch.rand(2, 5, 5, 2).to(dtype)
    compare(f"grid_sample {kind}", lambda t, g: functional.grid_sample(t, g, align_corners=False), small[:, :, 0], grid)
    compare(f"mish {kind}", functional.mish, x)
positive, sizes = torch.rand(2, 3, 4, 5, 6).half() * 100, (9, 10, 11)
found["interpolate"] = []
for mode, given in (("linear", positive[0, 0]), ("bicubic", positive[0]), ("trilinear", positive)):
    size = sizes[: given.dim() - 2]
    near = functional.interpolate(given.npu(), size=size, mode=mode).cpu().double()
    exact = functional.interpolate(given.double(), size=size, mode=mode)
    found["interpolate"].append(float(((near - exact) / exact).abs().max()))
index = torch.tensor([[1, 2, -1, 0], [0, -1, 1, 1]], dtype=torch.int32)
compare("multilabel_margin_loss", functional.multilabel_margin_loss, torch.randn(2, 4).half(), index, gradients=False)
compare("nll_loss2d", functional.nll_loss, torch.randn(2, 3, 2, 2), torch.randint(0, 3, (2, 2, 2)).int())
labels = torch.tensor([2, 0, 1], dtype=torch.int32)
compare("one_hot", lambda t: functional.one_hot(t, 4), labels, gradients=False)
out = torch.empty(2, 3, 3, 3, 3).half().npu()
torch.ops.aten.avg_pool3d.out(small.half().npu(), [2, 2, 2], out=out)
found["out"] = bool((out.cpu() == functional.avg_pool3d(small.half().float(), 2).half()).all())
tensors, numbers = [torch.ones(3).npu() for _ in range(2)], torch.tensor([1.0, 2.0])
found["foreach"] = [t.tolist() for t in torch._foreach_addcdiv(tensors, tensors, tensors, numbers)]
mean, inverse = torch.batch_norm_stats(small[:, :, 0].float().npu(), 1e-5)
exact = small[:, :, 0].double()
normalised = torch.empty(0).npu()
torch.batch_norm_elemt(small[:, :, 0].float().npu(), None, None, mean, inverse, 1e-5, out=normalised)
wanted = torch.nn.functional.batch_norm(exact, None, None, training=True)
found["batch_norm_stats"] = [
    float((normalised.cpu() - wanted).abs().max()),
    float((mean.cpu() - exact.mean((0, 2, 3))).abs().max()),
    float((inverse.cpu() - (exact.var((0, 2, 3), correction=0) + 1e-5).rsqrt()).abs().max()),
]
cell, given = torch.nn.LSTMCell(8, 4).npu(), torch.randn(3, 8).half()
states = [torch.randn(3, 4).half() for _ in range(2)]
hidden, state = cell(given.npu(), tuple(t.npu() for t in states))
hidden.float().sum().backward()
exact = torch.nn.LSTMCell(8, 4).double()
exact.load_state_dict({name: t.cpu().double() for name, t in cell.state_dict().items()})
there = exact(given.double(), tuple(t.double() for t in states))
found["lstm_cell"] = [
    [str(hidden.dtype), str(cell.weight_ih.grad.dtype)],
    max(float((a.cpu().double() - b).abs().max()) for a, b in zip((hidden, state), there, strict=True)),
]
torch.use_deterministic_algorithms(True)
kinds = (torch.float16, torch.int32)
found["filled"] = [
    [torch.empty(2, dtype=kind, device="npu").tolist() for kind in kinds],
    torch.empty_strided((2,), (1,), device="npu").isnan().tolist(),
]
torch.use_deterministic_algorithms(False)
found["summary"] = torch.npu.memory_summary().splitlines()[1:4:2]
before = torch.npu.memory_allocated()
swapped = torch_npu.empty_with_swapped_memory([1 << 20], dtype=torch.float32, device="npu")
found["swapped"] = [torch.npu.memory_allocated() - before, swapped.fill_(2).sum().item()]
try:
    torch.empty(1 << 60, dtype=torch.int8, device="npu")
except torch.OutOfMemoryError as error:
    found["most"] = str(error).splitlines()[0]
query = torch.randn(1, 64, 32).half()
outputs, expected = [], []
for attend in (torch_npu.npu_fusion_attention, torch_npu.npu_fusion_attention_v2):
    torch.npu.manual_seed(2)
    packed = torch_npu._npu_dropout_gen_mask(query.npu(), [1, 2, 64, 64], p=1 - 0.9, seed=2, offset=0)
    torch.manual_seed(5)  # the host's generator is another one
    torch.npu.manual_seed(2)
    given = [query.npu()] * 3
    outputs += [attend(*given, head_num=2, input_layout="BSH", scale=0.1, keep_prob=0.9)[0].cpu() for _ in range(2)]
    bits = (packed.cpu().unsqueeze(-1) >> torch.arange(8, dtype=torch.uint8)) & 1
    kept = bits.flatten()[: 2 * 64 * 64].reshape(1, 2, 64, 64).double() / 0.9
    heads = query.double().unflatten(2, (2, 16)).transpose(1, 2)
    shares = (heads @ heads.transpose(2, 3) * 0.1).softmax(-1) * kept
    expected.append((shares @ heads).transpose(1, 2).flatten(2))
found["seeded dropout"] = [
    [float((outputs[2 * i].double() - expected[i]).abs().max()) for i in range(2)],
    [torch.equal(outputs[2 * i], outputs[2 * i + 1]) for i in range(2)],
]
print(json.dumps(found))
