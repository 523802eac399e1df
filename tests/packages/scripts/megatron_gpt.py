"""
Train GPT by Megatron's ``pretrain_gpt.py``: on the NPU with MindSpeed (or by MindSpeed-LLM's), on the CPU without it.

``python megatron_gpt.py PRETRAIN_GPT OPTION ...``; the losses are those that Megatron prints. Megatron asks CUDA for
everything, so on the CPU a mode answers in its place; MindSpeed does that on the NPU.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import re
import runpy
import sys
import types
from pathlib import Path
from typing import Any

import torch

LOSS = re.compile(r"lm loss: (\S+) .*grad norm: (\S+)")


class CpuForCuda(torch.overrides.TorchFunctionMode):
    """Gives the CPU to whoever asks for CUDA."""

    def __torch_function__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch.Tensor.cuda:
            return args[0]
        if func is torch.Tensor.type and len(args) == 1:
            return func(*args).replace("torch.", "torch.cuda.")
        if "cuda" in str(kwargs.get("device")):
            kwargs["device"] = "cpu"
        args = tuple("cpu" if isinstance(value, str) and value.startswith("cuda") else value for value in args)
        return func(*args, **kwargs)


def answer_for_cuda() -> None:
    """Let the functions of ``torch.cuda`` that Megatron calls answer for the CPU."""
    answers: dict[str, Any] = {
        "is_available": lambda: True,
        "current_device": lambda: "cpu",
        "device_count": lambda: int(os.environ["WORLD_SIZE"]),
        "get_device_capability": lambda *_: (8, 0),
        "get_device_properties": lambda *_: type("Properties", (), {"major": 8, "total_memory": 1 << 34}),
        "get_rng_state": lambda *_: torch.get_rng_state(),
        "set_rng_state": lambda state, *_: torch.set_rng_state(state),
        "is_current_stream_capturing": lambda: False,
        "memory_reserved": lambda *_: 0,
        "max_memory_reserved": lambda *_: 0,
        "memory_allocated": lambda *_: 0,
        "max_memory_allocated": lambda *_: 0,
        "memory_stats": lambda *_: {},
    }
    silent = ("set_device", "manual_seed", "synchronize", "empty_cache", "reset_peak_memory_stats")
    # Dynamo's tables want an object of its own for every name.
    answers |= {name: functools.partial(lambda *_, **__: None) for name in silent}
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)
    work = types.SimpleNamespace(wait_stream=lambda _: None, wait_event=lambda _: None, synchronize=lambda: None)
    torch.cuda.Stream = torch.cuda.current_stream = lambda *_, **__: work  # type: ignore[assignment, misc]
    torch.cuda.stream = lambda _: contextlib.nullcontext()  # type: ignore[assignment]
    for name in ("Float", "Double", "Half", "BFloat16", "Int", "Long", "Byte"):
        setattr(torch.cuda, f"{name}Tensor", getattr(torch, f"{name}Tensor"))
    torch.nn.Module.cuda = lambda self, *_: self  # type: ignore[method-assign, assignment]


def prepare_cpu() -> None:
    """Let Megatron do on the CPU what it does with CUDA and with packages that need it."""
    answer_for_cuda()
    package = types.ModuleType("grouped_gemm")
    package.ops = types.SimpleNamespace(gmm=multiply_groups)  # type: ignore[attr-defined]
    sys.modules["grouped_gemm"] = package
    import megatron.core.tensor_parallel.random as states
    import megatron.legacy.fused_kernels as kernels
    import megatron.training.training as training

    kernels.load = lambda _: None  # it compiles for CUDA
    training.set_jit_fusion_options = lambda: None  # its trial runs would draw from the CPU's generator
    states._get_cuda_rng_state = lambda *_, **__: torch.get_rng_state()
    states._set_cuda_rng_state = lambda state, *_, **__: torch.set_rng_state(state)


def multiply_groups(x: torch.Tensor, weight: torch.Tensor, sizes: torch.Tensor, trans_b: bool) -> torch.Tensor:
    """Return the product of each group of rows with its weight."""
    assert not trans_b
    return torch.cat([rows @ weight[i] for i, rows in enumerate(x.split(sizes.tolist()))])


def main() -> None:
    """Run the script and print what it said of each step."""
    script = sys.argv[1]
    sys.path.insert(0, str(Path(script).parent))
    sys.argv[:] = [script, *sys.argv[2:]]
    on_npu = os.environ.get("DRYNPU_AUTOLOAD") == "1"
    mode: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()
    if on_npu:
        if "mindspeed" not in Path(script).read_text(encoding="utf-8"):
            import mindspeed.megatron_adaptor  # noqa: F401 - the line that MindSpeed's guide adds to Megatron's script
    else:
        prepare_cpu()
        mode = CpuForCuda()
    printed = io.StringIO()
    try:
        with mode, contextlib.redirect_stdout(printed):
            runpy.run_path(script, run_name="__main__")
    finally:
        print(printed.getvalue())
    steps = [(float(loss), float(norm)) for loss, norm in LOSS.findall(printed.getvalue())]
    if int(os.environ["RANK"]) == int(os.environ["WORLD_SIZE"]) - 1:
        losses, norms = zip(*steps, strict=True)
        device = "npu" if on_npu else "cpu"
        print("RESULT", json.dumps({"device": device, "losses": losses, "norms": norms}))


main()
