"""Extensions that need CANN's headers are served, others are compiled, and what drynpu does not compute says so."""

from __future__ import annotations

import json
import shutil
import sys
from typing import Any

import pytest

SOURCES = """
from pathlib import Path
from torch.utils.cpp_extension import load
import json
import torch
import torch_npu

def extension(name, *functions, header="torch_npu/csrc/include/ops.h"):
    lines = "".join(f'    m.def("{function}", &{function}, "text");\\n' for function in functions)
    text = f"#include <torch/extension.h>\\n#include <{header}>\\nPYBIND11_MODULE(NAME, m) {{\\n{lines}}}\\n"
    Path(name + ".cpp").write_text(text)
    return load(name=name, sources=[name + ".cpp"], extra_ldflags=["-lascendcl", "-ltorch_npu"])

def tensors(*shapes):
    torch.manual_seed(1)
    return [torch.randn(shape) for shape in shapes]

def show(*found):
    print("FOUND", json.dumps([t.tolist() for t in found]))
"""
GROUPS = """
module = extension("grouped", "npu_gmm", "npu_gmm_backward", "npu_gmm_backward_fusion")
x, weight, slope = tensors((7, 5), (3, 5, 4), (7, 4))
x, weight, slope = x.npu(), weight.npu(), slope.npu()
ends = [2, 3, 7]
rows = module.npu_gmm([x], [weight], [], ends, 0, 0)[0]
dx, dw, _ = module.npu_gmm_backward([slope], [x], [weight], torch.tensor([2, 1, 4]).npu(), 1)
(alone,), _, _ = module.npu_gmm_backward_fusion([slope], [weight], ends, 0)
show(rows, dx[0], dw[0], alone)
"""
OTHERS = """
module = extension("several", "npu_rotary_position_embedding", "rms_norm", "swiglu", "npu_apply_fused_adamw_v2",
    "npu_matmul_add_fp32", "npu_dropout_add_layer_norm", header="atb/operation.h")
x, gamma, grad, first, second = (t.npu() for t in tensors((2, 3, 4), (4,), (5,), (5,), (5,)))
cos, sin = torch.full((1, 2, 1, 4), 0.6).npu(), torch.full((1, 2, 1, 4), 0.8).npu()
turned = module.npu_rotary_position_embedding(x[:, :, None, :][:1, :2], cos, sin, 1)
param = torch.ones(5).npu()
second = second.square()
plain = [t.clone().cpu() for t in (param, grad, first, second)]
module.npu_apply_fused_adamw_v2(
    param, grad, first, second, None, torch.tensor([3.0]).npu(), 0.1, 0.9, 0.99, 0.01, 1e-8, False, False)
total = torch.ones(4, 4).npu()
module.npu_matmul_add_fp32(x[0], x[1], total)
norm, before, mask = module.npu_dropout_add_layer_norm(
    x, gamma, x, None, None, gamma, 0.0, 1e-6, True, False, True, True)
show(turned, module.rms_norm(x, gamma, 1e-6), module.swiglu(x, -1), param, total, norm, before, *plain, x, gamma)
"""


def found(scripts: Any, text: str) -> list[Any]:
    done = scripts(SOURCES + text)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("FOUND ")]
    values: list[Any] = json.loads(line.removeprefix("FOUND "))
    return values


def test_grouped_products_and_their_gradients(scripts: Any) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(1)
    x, weight, slope = (torch.randn(shape, requires_grad=True) for shape in ((7, 5), (3, 5, 4), (7, 4)))
    rows = torch.cat([part @ weight[i] for i, part in enumerate(x.split([2, 1, 4]))])
    rows.backward(slope)
    values = found(scripts, GROUPS)
    expected = [rows, x.grad, weight.grad, x.grad]
    for value, reference in zip(values, expected, strict=True):
        torch.testing.assert_close(torch.tensor(value), reference.detach())


def test_other_functions_by_their_formulas(scripts: Any) -> None:
    torch = pytest.importorskip("torch")
    values = [torch.tensor(value) for value in found(scripts, OTHERS)]
    turned, rms, gated, param, total, norm, before, weight, grad, first, second, x, gamma = values
    pairs = x[:1, :2, None]
    across = torch.stack((-pairs[..., 1::2], pairs[..., ::2]), -1).flatten(-2)
    torch.testing.assert_close(turned, 0.6 * pairs + 0.8 * across)
    torch.testing.assert_close(rms, x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * gamma)
    torch.testing.assert_close(gated, torch.nn.functional.silu(x[..., :2]) * x[..., 2:])
    torch.testing.assert_close(total, 1 + x[0].t() @ x[1])
    torch.testing.assert_close(before, x * gamma + x)
    torch.testing.assert_close(norm, before / (before.square().mean(-1, keepdim=True) + 1e-6).sqrt() * gamma)
    weight.requires_grad_()
    weight.grad = grad
    optimizer = torch.optim.AdamW([weight], lr=0.1, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.01)
    optimizer.state[weight] = {"step": torch.tensor(2.0), "exp_avg": first, "exp_avg_sq": second}
    optimizer.step()
    torch.testing.assert_close(param, weight.detach())


def test_a_function_that_is_not_computed_refuses_when_it_is_called(scripts: Any) -> None:
    text = """
module = extension("links", "matmul_all_reduce", "swiglu")
print(module.swiglu(torch.ones(2).npu()))
try:
    module.matmul_all_reduce(1, 2)
except Exception as error:
    print(type(error).__name__, error)
"""
    done = scripts(SOURCES + text)
    assert "does not provide these functions of extension 'links': matmul_all_reduce" in done.stderr
    assert "CaptureError matmul_all_reduce of the extension 'links' is compiled against CANN's headers" in done.stdout


@pytest.mark.skipif(not shutil.which("c++") and not shutil.which("g++"), reason="no C++ compiler")
@pytest.mark.skipif(sys.platform != "linux", reason="compiles a shared object")
def test_sources_without_such_headers_are_compiled_without_the_libraries_of_the_device(scripts: Any) -> None:
    pytest.importorskip("ninja")
    text = """
Path("sums.cpp").write_text('''
#include <torch/extension.h>
at::Tensor twice(const at::Tensor& x) { return x + x; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("twice", &twice); }
''')
module = load(name="sums", sources=["sums.cpp"], extra_ldflags=["-lascendcl"], build_directory=".")
print(Path(module.__file__).name, module.twice(torch.tensor([1.5]).npu()).item())
"""
    assert "sums.so 3.0" in scripts(SOURCES + text).stdout
